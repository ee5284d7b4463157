#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "sim/event_heap.h"
#include "sim/flow_island.h"

namespace mixnet::sim {

// A flow class before it starts.
struct FlowSpec {
  std::span<const Hop> path;  // global links; weights include the multiplicity
  int64_t bytes;              // of one flow
};

// The fluid network at the level of single flows: keeps the islands apart, merges them when a new
// flow joins them, re-solves what changed and nothing else.
//
// Flows that start at one instant are collected and solved together. A flow that starts with the
// path and the size of another one joins it as a member and costs the solver nothing.
class FluidEngine {
 public:
  // Bytes per picosecond of every link.
  explicit FluidEngine(std::vector<double> capacity);

  // A transfer completes when `flows` flows have. Returns its slot, reused after completion.
  int32_t open_transfer(int64_t id, int32_t flows);
  // Starts a flow of an open transfer at now(). `key` is unique and rises with the starting order.
  void add_flow(int32_t transfer, int64_t key, const FlowSpec& flow);

  int64_t now_ps() const { return now_ps_; }
  // When the next flow completes, or a transfer that is already complete did; kNeverPs if neither.
  int64_t next_event_ps();
  // Moves time forward and handles the completions up to and at `now_ps`.
  void advance(int64_t now_ps);
  // Transfers completed at now(), in no particular order; the caller empties it before time moves.
  std::vector<int64_t>& completed() { return completed_; }

  // Whether a flow on its way may use the link.
  bool occupied(int32_t link) const;

  // Hands all flows over to `to`, where they become the flows of its open transfer `transfer`,
  // `shift_ps` later and `shift_key` later in the starting order. This engine ran one transfer, in
  // slot 0; it is idle at time 0 afterwards.
  void hand_over(FluidEngine& to, int32_t transfer, int64_t shift_ps, int64_t shift_key);
  // Drops all flows and returns to time 0.
  void reset();
  int32_t flows_left(int32_t transfer) const;

  // Every flow on its way, once solved: visit(FlowState, path with global links).
  template <typename Visitor>
  void visit_flows(Visitor visit) {
    flush();
    FlowTable table;
    for (const FlowIsland& island : islands_) {
      island.append_to(table);
    }
    for (const FlowState& flow : table.flows) {
      visit(flow, table.path(flow));
    }
  }
  // Islands with flows on their way, for tests and statistics.
  std::size_t island_count();

 private:
  struct Transfer {
    int64_t id;
    int32_t flows_left;
  };

  void flush();
  void weigh_twins();
  void collect_affected();
  void release(int32_t island);
  void build_islands();
  int32_t root(int32_t link);
  int32_t new_island();
  void forget_links(int32_t island);
  void adopt_links(int32_t island);
  void step(int32_t island);
  void finish_flow(int32_t transfer);
  int32_t find_twin(uint64_t hash, const FlowSpec& flow) const;
  void remember(uint64_t hash, int32_t flow);

  std::vector<double> capacity_;
  int64_t now_ps_ = 0;

  std::vector<FlowIsland> islands_;
  std::vector<int32_t> free_islands_;
  std::vector<int32_t> island_of_;  // per link, -1 if no island holds it
  std::vector<int32_t> local_of_;   // per link, its index in that island
  EventHeap events_;                // next completion of each island

  std::vector<Transfer> transfers_;
  std::vector<int32_t> free_transfers_;
  std::vector<int64_t> completed_;
  std::vector<int32_t> done_;  // scratch of step()

  FlowTable pending_;                // flows that wait for flush()
  std::vector<bool> pending_link_;   // per link
  std::vector<int32_t> twin_table_;  // open addressing, indices into pending_.flows
  std::vector<int32_t> parent_;      // per link: union-find, -1 outside flush()
};

}  // namespace mixnet::sim
