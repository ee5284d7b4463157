#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mixnet::sim {

inline constexpr int64_t kNeverPs = INT64_MAX;

// One link of a path with the load that a rate of 1 puts on it: multiplicity * fraction. `link` is
// a LinkId's value outside an island and a local index inside.
struct Hop {
  int32_t link;
  double weight;
};

// A flow class on its way. Its flows share one path, size and start, so they share one rate.
struct FlowState {
  double remaining = 0;  // bytes left per flow at `since_ps`
  double rate = 0;       // bytes per picosecond and flow, from `since_ps` on
  int64_t since_ps = 0;
  int64_t deadline_ps = kNeverPs;  // first whole picosecond at which nothing is left
  int64_t key = 0;                 // starting order; decides every tie
  int32_t first_hop = 0;
  int32_t hops = 0;
  int32_t first_member = -1;  // head of a list in the members of the same table
  int32_t twins = 1;          // equal flows merged into it that its hops do not count yet
  bool frozen = false;        // scratch of the solver
};

// A transfer that waits for a flow.
struct FlowMember {
  int32_t transfer;
  int32_t next;  // index of the next member, -1 at the end
};

// Flows with their paths and members, as flat arrays.
struct FlowTable {
  std::vector<FlowState> flows;
  std::vector<Hop> hops;
  std::vector<FlowMember> members;

  void clear();
  std::span<const Hop> path(const FlowState& flow) const {
    return {hops.data() + flow.first_hop, static_cast<std::size_t>(flow.hops)};
  }
};

// Max-min fair rates of one connected set of flows, and its evolution as flows complete.
//
// Definitions. Progressive filling raises all rates together. A *level* is a rate at which links
// fill up; the flows on them are *frozen* there. The freezing order is kept as a sequence of
// levels. When a flow of level k completes, levels below k stay as they are: none of their full
// links carries it. So the filling is resumed at level k from the residual capacity that every hop
// remembers from its own freezing. Cost of a completion: O(h log l) for the h hops and l links of
// the flows at level k and above. (Progressive filling: Bertsekas and Gallager, Data Networks,
// section 6.5.2.)
//
// All state changes happen on whole picoseconds, and only differences of times enter the
// arithmetic, so the evolution is the same, bit for bit, whenever it starts.
class FlowIsland {
 public:
  void clear();

  // Building: links first, then flows in key order. `capacity` is in bytes per picosecond.
  int32_t add_link(int32_t link, double capacity);
  // Copies a flow of `from`; its hops are translated by `local[link]`.
  void add_flow(const FlowTable& from, const FlowState& flow, std::span<const int32_t> local);
  void reserve(std::size_t flows, std::size_t hops);

  // Solves all rates anew from `now_ps` on.
  void solve(int64_t now_ps);
  // When the first flow completes; kNeverPs if none does.
  int64_t next_ps() const { return levels_.empty() ? kNeverPs : levels_.back().earliest_ps; }
  // Removes the flows that complete at `now_ps` = next_ps(), appends the transfers of their
  // members and solves the rest.
  void complete(int64_t now_ps, std::vector<int32_t>& transfers);

  // Appends the flows on their way, in key order, to `to` with global link ids.
  void append_to(FlowTable& to) const;
  // Moves the island in time, starting order and from transfer 0 to `transfer`.
  void shift(int64_t ps, int64_t key, int32_t transfer);

  std::size_t active() const { return order_.size(); }
  std::size_t built() const { return flows_.size(); }
  std::size_t links() const { return links_.size(); }
  int32_t global_link(std::size_t local) const { return links_[local].global; }

 private:
  struct Link {
    double capacity;
    double residual;      // capacity left by flows frozen below the level of `level_rate`
    double level_frozen;  // weight frozen at the level of `level_rate`
    double level_rate;
    double weight;  // of the flows that are not frozen
    int64_t stamp;  // the filling that last touched it
    int32_t open;   // hops of the flows that are not frozen
    int32_t head;   // list of those hops
    int32_t global;
  };
  struct LinkedHop {
    double weight;
    double residual;  // of its link when the flow's level began
    int32_t link;
    int32_t flow;
    int32_t next;  // in the list of its link
  };
  struct Level {
    double rate;
    int32_t first;        // in order_
    int64_t earliest_ps;  // deadline in this or a lower level
  };
  // A link that may be the next to fill up, with a lower bound of the rate at which it does.
  struct Candidate {
    double rate;
    int32_t link;
    bool before(const Candidate& o) const { return rate != o.rate ? rate < o.rate : link < o.link; }
  };

  void touch(Link& link, double residual, int32_t index);
  void thaw(int32_t flow, bool from_capacity);
  void fill(int64_t now_ps);
  void build_candidates();
  void sift_candidate(std::size_t at);
  void drop_top_candidate();
  void open_level(double rate);
  void freeze(int32_t flow, int64_t now_ps);

  std::vector<FlowState> flows_;
  std::vector<LinkedHop> hops_;
  std::vector<FlowMember> members_;
  std::vector<Link> links_;
  std::vector<int32_t> order_;  // flows in freezing order
  std::vector<Level> levels_;
  std::vector<int32_t> suffix_;        // scratch: flows to be frozen again
  std::vector<int32_t> touched_;       // scratch: links with such flows
  std::vector<Candidate> candidates_;  // scratch: heap
  int64_t stamp_ = 0;
};

}  // namespace mixnet::sim
