#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ep/call.h"
#include "ep/exchange.h"
#include "ep/flow_mover.h"

// The movement of rows back to the sources of their tokens, within one attempt. Inside a host a
// source reads the rows where they are. Between hosts a rank writes its rows to the source; or,
// for flows, the rank at which a flow came in adds up the rows of its host and sends one back.
namespace mixnet::ep {

struct ReturnPlan {
  const DispatchHandle& handle;
  // kNvlink in place of a mode with relays when somebody was lost since the dispatch, since nobody
  // else knows what a lost relay knew.
  TransportMode mode = TransportMode::kNvlink;
  RowsLayout shape;  // rows ignored, without choices
  DataType type = DataType::kBf16;
  int64_t hidden = 0;
  std::vector<Flow> flows;  // with the places of the way back; none unless the mode relays
  std::vector<uint64_t> relay_bytes;  // [rank]
  std::vector<uint64_t> receive_at;   // [rank] offset of the block in which its rows come back
  std::vector<uint64_t> relay_at;     // [rank]
  std::vector<uint64_t> rows_at;      // [rank] offset of the rows that it hands in
  std::vector<uint64_t> weights_at;   // [rank]
};

ReturnPlan plan_return(const DispatchHandle& handle, const RankSet& lost, const RankMap& ranks,
                       const RowsLayout& shape, DataType type, int64_t hidden);
std::vector<RoomNeed> needs_of(const ReturnPlan& plan, const RankMap& ranks);

class RowReturn {
 public:
  RowReturn(Attempt& attempt, ExchangeState& state, const ReturnPlan& plan);

  // Writes and adds up everything that other hosts wait for.
  void push();
  // Moves on what came in. True: everything for this rank can be read.
  bool advance();
  bool missing(int rank) const;

  // After advance() returned true.
  void sum_rows(Address out, const std::vector<ConstAddress>& biases);
  void sum_weights(std::span<float> out);
  std::vector<int32_t> tokens_with_loss() const;

 private:
  struct Part {  // of the rows that come back: one row for each of some tokens
    Address rows;
    Address weights;
    std::vector<RowMove> rows_of_tokens;  // from: row, to: token
  };

  void write_to(int source);
  void write(int rank, int rail, uint64_t from, uint64_t to, uint64_t bytes);
  void add_up(int flow);
  void add_up_rows(int flow, const RowRange& part, Address place);
  void add_up_weights(int flow, Address place);
  std::vector<Part> parts();
  void append_flows(int host, std::vector<Part>& parts);
  void append_rank(int rank, std::vector<Part>& parts);
  uint64_t landing(int source, int rank) const;
  RowsLayout layout_of(int64_t rows) const;
  int64_t count(int source, int rank) const {
    return plan_.handle.counts.to_rank(at(source), at(rank));
  }

  Attempt& attempt_;
  ExchangeState& state_;
  const ReturnPlan& plan_;
  const RankMap& ranks_;
  int self_;
  FlowMover mover_;
};

}  // namespace mixnet::ep
