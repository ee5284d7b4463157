#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/matrix.h"
#include "core/wiring.h"
#include "plan/nic_counts.h"

// Routing over circuits that may change, with electrical NICs and one relay hop.
//
// Every pair (i, j) with demand divides it over its options: the electrical NICs (out of i, into
// j), its own circuits, and every third server k that has circuits to both, i -> k -> j. Resources
// are the circuits of an ordered pair (capacity: their number) and the electrical NICs of a server,
// out and in (capacity: their number). The completion is the largest load / capacity. Minimising it
// is a linear program; here it is solved by descent on the soft maximum
//   tau * log(sum_r exp(load_r / capacity_r / tau)),
// pair by pair from the dearest option that carries something to the cheapest, with tau falling.
// Every state on the way is feasible, so the descent may stop at any time. Against an exact solver
// it ends within 0.1 %. The price of a resource, exp(load / capacity / tau) / capacity, says what
// more of it would save.
namespace mixnet::plan {

class RelayFlow {
 public:
  // `demand` is n x n with zero diagonal, in units of which about 1 is to be moved per NIC;
  // `circuits` symmetric with at most `most_peers` peers per server, now and after any change.
  // Starts with everything on the pair's options in fixed parts.
  RelayFlow(const DemandMatrix& demand, const NicCounts& eps, const Matrix<int>& circuits,
            int most_peers);

  std::size_t servers() const { return n_; }
  const DemandMatrix& demand() const { return demand_; }
  const Matrix<int>& circuits() const { return circuits_; }
  // Largest load / capacity.
  double completion() const;
  // Soft maximum at the temperature of the last descent.
  double potential() const;

  // No routing over these circuits completes earlier, by linear programming duality: with prices
  // that are worth 1 over all capacity, what all demand would cost on its cheapest options. Close
  // to completion() once a descent at a low temperature has ended.
  double dual_bound() const;

  // Up to `sweeps` sweeps over all pairs at one temperature; ends when nothing moves any more.
  void descend(double tau, int sweeps);
  // The same for the pairs that changed circuits since begin_trial() have to do with, at the
  // temperature of the last descent.
  void settle(int sweeps);

  // Adds circuits between i and j, or removes them if count < 0. What was on circuits that are
  // gone goes to the electrical NICs.
  void change(std::size_t i, std::size_t j, int count);

  // From here on every change can be taken back; one trial at a time.
  void begin_trial();
  void keep_trial();
  void undo_trial();

  // Price of one unit from i to j on its cheapest option; of one unit over the circuits i -> j, 0
  // without any. At the temperature of the last descent.
  double cheapest(std::size_t i, std::size_t j) const;
  double circuit_price(std::size_t i, std::size_t j) const;
  // What the traffic on the circuits i - j, both ways, would cost more on its next best options.
  double loss_without(std::size_t i, std::size_t j) const;
  // Calls visit(k) for every peer k.
  template <typename Visit>
  void for_peers(std::size_t server, const Visit& visit) const {
    for (int s = 0; s < slots_; ++s) {
      const int peer =
          peer_[server * static_cast<std::size_t>(slots_) + static_cast<std::size_t>(s)];
      if (peer >= 0) {
        visit(static_cast<std::size_t>(peer));
      }
    }
  }

  // Pairs looked at so far: what the work costs, whatever the machine.
  int64_t work() const { return work_; }

  // Amounts as a wiring; completion and bound are left to the caller.
  Wiring wiring() const;

 private:
  // An option of a pair. Resources: i * slots + s for the circuits of slot s of server i, then one
  // per server for electrical NICs out, then in.
  struct Option {
    std::size_t amount = 0;  // index into amount_
    int first = 0;           // resource
    int second = -1;         // resource; -1: none
  };
  struct OldAmount {
    std::size_t index = 0;
    double value = 0;
  };
  struct OldLoad {
    int resource = 0;
    double load = 0;
    double weight = 0;
  };
  struct OldCircuits {
    std::size_t i = 0;
    std::size_t j = 0;
    int slot_i = 0;
    int slot_j = 0;
    int count = 0;
  };

  std::size_t slot_index(std::size_t server, int slot) const {
    return server * static_cast<std::size_t>(slots_) + static_cast<std::size_t>(slot);
  }
  Option electrical(std::size_t i, std::size_t j) const;
  // Has the pair no electrical NIC at one end, and a way over circuits instead?
  bool nowhere(std::size_t i, std::size_t j) const;
  // The option i -> peer of slot -> j, or i -> j; valid if the second circuit is there.
  bool over_slot(std::size_t i, std::size_t j, int slot, Option& option) const;
  template <typename Visit>
  void for_options(std::size_t i, std::size_t j, const Visit& visit) const;

  void spread(std::size_t i, std::size_t j);
  double price(const Option& option) const;
  double steepest(const Option& option) const;
  void reprice(std::size_t resource);
  void put(const Option& option, double amount);
  void add_load(int resource, double amount);
  bool move(std::size_t i, std::size_t j);
  void count_ways(std::size_t i, std::size_t j, int change);
  void set_count(std::size_t i, std::size_t j, int slot, int count);
  void occupy(std::size_t i, std::size_t j, int slot);
  void vacate(std::size_t i, std::size_t j);
  void evacuate(std::size_t i, std::size_t via, std::size_t j);
  void affect(std::size_t i, std::size_t j);
  void affect_around(std::size_t i, std::size_t j);
  double extra(std::size_t i, std::size_t j, int resource) const;

  std::size_t n_;
  int slots_;
  DemandMatrix demand_;
  Matrix<int> circuits_;
  std::vector<int> peer_;       // by slot index; -1: free
  Matrix<int16_t> slot_of_;     // slot of the ordered pair, -1 without circuits
  Matrix<int16_t> others_;      // options of a pair beside the electrical one
  std::vector<double> amount_;  // [slot index][destination], then electrical [i][j]
  std::vector<double> load_;
  std::vector<double> inverse_;  // 1 / capacity
  std::vector<double> weight_;   // exp((load / capacity - reference) / tau)
  std::vector<double> price_;    // weight / capacity
  double tau_ = 1;
  double reference_ = 0;
  int64_t work_ = 0;

  bool trial_ = false;
  std::vector<OldAmount> old_amounts_;
  std::vector<OldLoad> old_loads_;
  std::vector<OldCircuits> old_circuits_;
  std::vector<std::size_t> affected_;  // pairs i * n + j
  std::vector<char> is_affected_;
};

}  // namespace mixnet::plan
