#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ep/call.h"
#include "ep/exchange.h"
#include "ep/flow_mover.h"

// The movement of rows from their sources to the ranks of their experts, within one attempt, once
// everybody knows who sends how much and where it has its place.
namespace mixnet::ep {

// What one rank knows of the exchange.
struct RowPlan {
  TransportMode mode = TransportMode::kNvlink;
  ExpertMap experts{1, 1};
  const RowCounts& counts;
  const SendLists& lists;            // of this rank
  const std::vector<Flow>& flows;    // none in modes 0 and 1
  RowsLayout shape;                  // rows ignored; without choices only rows travel
  std::vector<int64_t> capacity;     // [rank] rows that its block is laid out for
  std::vector<uint64_t> receive_at;  // [rank] offset of the block in which its rows arrive
  std::vector<uint64_t> relay_at;    // [rank] offset of its relay block
};

// This rank's rows, and the choices of all their slots; the latter when they travel.
struct RowSource {
  ConstAddress x;
  TopK choices;
  std::span<const float> weights;
};

// Rows to `rank` pass a NIC, straight to the rank or as part of a flow; neither: inside the host.
bool by_nic(TransportMode mode, const RankMap& ranks, int self, int rank);
bool by_flow(TransportMode mode, const RankMap& ranks, int self, int rank);

// Bytes of the window that a rank needs to stage rows that leave by NIC, and to receive.
uint64_t stage_bytes(const RowPlan& plan, const RankMap& ranks, int source);
uint64_t receive_bytes(const RowPlan& plan, int rank);

class RowExchange {
 public:
  // `pulls` of every flow: found on the way when choices travel, otherwise given.
  RowExchange(Attempt& attempt, ExchangeState& state, const RowPlan& plan, const RowSource& source,
              std::vector<Pulls>& pulls);

  // Copies and writes everything that starts at this rank.
  void push();
  // Moves on what came in. True: this rank has all its rows, and nothing is left to move on.
  bool advance();
  // This rank waits for `rank` itself.
  bool missing(int rank) const;

 private:
  struct PullTask {
    int flow;
    int chunks_done;
    std::size_t next;  // of the flow's pulls
  };

  void push_inside(int rank);
  void push_by_nic(int rank, uint64_t stage);
  void write_part(int rank, int rail, uint64_t stage, const RowRange& part);
  void repeat_copies(int rank, int rail, uint64_t stage, const RowRange& part);
  void push_flow(int flow);
  void copy_lists(std::span<const TokenCopy> copies, Address rows);
  void copy_slots(std::span<const TokenCopy> copies, int rank, Address experts, Address weights);
  void write(int rank, int rail, uint64_t from, uint64_t to, uint64_t bytes);

  bool pull(PullTask& task);
  void pull_chunk(PullTask& task, int chunk);

  uint64_t rows_before_self(int rank) const;
  RowsLayout layout_of(int64_t rows) const;

  Attempt& attempt_;
  ExchangeState& state_;
  const RowPlan& plan_;
  const RowSource& source_;
  std::vector<Pulls>& pulls_;
  const RankMap& ranks_;
  int self_;
  FlowMover mover_;
  std::vector<PullTask> tasks_;
};

}  // namespace mixnet::ep
