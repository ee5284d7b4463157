#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/cadence.h"
#include "core/matrix.h"
#include "plan/delay.h"
#include "plan/region_time.h"
#include "plan/rewire.h"
#include "plan/staleness.h"

// When to re-wire a region: decided before every iteration, from past iterations only.
//
// Everything is measured against A*(t), the all-to-all time of iteration t over circuits for its
// own summed demand. The excess of circuits C is A(t, C) / A*(t) - 1; below 0 if they serve the
// layers better one by one. From the past come
//   q(a)   mean excess of circuits chosen a iterations earlier, for the demand of that iteration or
//          for the average of about 16 (plan/staleness.h; the better target is used),
//   h      excess of the circuits that are laid now, with its spread,
//   and what wiring for every pass or every layer gains and costs (plan/fine_times.h).
// A change to circuits with the excess e beyond q, which costs c seconds (plan/region_time.h) and
// is made every k iterations, costs per iteration beyond A*
//   lambda(e, c, k) = (c + A* sum_{a=1..k} (e + q(a))) / k.
// Holding for one more iteration costs h A*. By the renewal argument holding is right as long as
// h A* < lambda, the smallest over the changes on offer (whole or partial, blocking or with a
// detour, plan/rewire.h) and over k on a geometric ladder. k never exceeds the number of iterations
// seen: the future is trusted as far as the past reaches, so that a change is made only when it
// would have paid already, as in the ski-rental rule. h counts `confidence` standard errors below
// its mean, and another cadence must win by as many of its own: in doubt the circuits stay.
//
// The controller is a value without clock or I/O: observe() after every iteration, decide() before
// the next. Work per iteration is bounded by counts: at most 7 wire() calls; `sample` completions
// for each of about log2(longest_hold) + 2 sets of circuits; and, when a change may pay, a frontier
// of partial changes and 2000 completions for each of two targets. Memory: O(log longest_hold)
// wirings and the demand of two iterations.
namespace mixnet::plan {

struct CadenceOptions {
  double confidence = 2;    // standard errors by which a change must pay
  int longest_hold = 1024;  // iterations; the ladder of k ends here
  int sample = 8;           // matrices of an iteration that are looked at, in turn
  bool partial = true;      // changes of some circuits are on offer
  bool detour = true;       // make-before-break is on offer
  bool per_pass = true;     // Cadence::kStage is on offer
  bool per_layer = true;    // Cadence::kLayer is on offer
};

enum class CadenceMode : uint8_t {
  kHold,    // keep the circuits for the next iteration
  kRewire,  // lay `circuits` before the next iteration, starting with its window
  kStage,   // re-wire before every pass, for the summed demand of the last pass
  kLayer,   // re-wire inside every layer, as the load's layer_switches say
};
const char* cadence_mode_name(CadenceMode mode);

struct CadenceDecision {
  CadenceMode mode = CadenceMode::kHold;
  Matrix<int> circuits;  // to be laid before the next iteration; those laid now unless kRewire
  ChangeScope scope = ChangeScope::kWhole;
  Darkness darkness = Darkness::kBlock;
  int changed = 0;     // circuits, kRewire only
  int hold_for = 0;    // iterations after which the next change is expected to pay; 0 if circuits
                       // change within an iteration or nothing is known
  double cost_s = 0;   // of this change once, or of all changes of one iteration
  double saved_s = 0;  // expected, per iteration, costs deducted, against holding; >= 0
  std::string explanation;  // one paragraph with the numbers
};

class CadenceController {
 public:
  // After a failure that changes the NICs of the region, make a new one.
  CadenceController(Region region, const SwitchDevice& device, const CadenceOptions& options = {});

  // One iteration that has ended, and the circuits that are laid at its end.
  void observe(const IterationLoad& load, const Matrix<int>& circuits);

  // For the next iteration. Holds before anything was observed.
  CadenceDecision decide();

 private:
  struct Offer {  // a change before the next iteration
    Matrix<int> circuits;
    ChangeScope scope = ChangeScope::kWhole;
    Darkness darkness = Darkness::kBlock;
    int changed = 0;
    int hold_for = 1;
    double cost_s = 0;
    double rate_s = 0;  // lambda; +infinity: nothing is on offer
  };
  // What every layer or pass for itself costs beyond A*, per iteration.
  struct Fine {
    CadenceMode mode = CadenceMode::kHold;
    Darkness darkness = Darkness::kBlock;
    double rate_s = 0;
    double error_s = 0;
    double cost_s = 0;
  };
  struct Horizon {
    int k = 1;
    double staleness = 0;  // sum of q(1) to q(k)
  };

  std::vector<Horizon> ladder(Staleness::Target target) const;
  Offer best_offer();
  Offer best_offer(Staleness::Target target);
  Offer cheapest(const std::vector<RewireOption>& frontier, Darkness darkness,
                 Staleness::Target target);
  std::vector<RewireOption> options_for(Staleness::Target target, bool partial) const;
  std::vector<Fine> fine_rates() const;
  Fine fine_rate(CadenceMode mode, const FineCadence& measured, double times) const;
  CadenceDecision choose(const Offer& offer) const;
  std::string explanation(const CadenceDecision& decision, const Offer& offer) const;

  Region region_;
  CadenceOptions options_;
  DarkTimes dark_;
  Staleness staleness_;
  IterationLoad last_;
  Matrix<int> laid_;
  CadenceMode mode_ = CadenceMode::kHold;  // of the last decision
};

}  // namespace mixnet::plan
