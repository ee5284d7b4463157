#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/comparison.h"
#include "core/fabric_spec.h"
#include "core/matrix.h"
#include "core/random.h"

namespace mixnet::sim {

using CauseTimes = std::array<SimTime, kSwitchCauseCount>;  // by SwitchCause

// Commands that went out to the switch.
struct SwitchTally {
  int64_t commands = 0;
  int64_t circuits = 0;  // set up anew
  SimTime dark;          // summed over commands: from each until its last circuit is up
};

// The circuits of one region over time: which are up, which are dark and until when.
//
// A command asks for other circuits. It goes out `control_delay` after the request, never during an
// all-to-all, and the switch takes it when it is done with the command before. From then on removed
// circuits are gone; added ones are dark for the command's T_OCS and then until both of their NICs
// have linked, each after a T_NIC of its own; circuits that stay are not touched. Of parallel
// circuits those go first that are up last. A request replaces one that has not gone out.
//
// Times count from the start of the iteration.
class RegionCircuits {
 public:
  explicit RegionCircuits(const Matrix<int>& circuits);  // symmetric; all up

  // What was asked for last.
  const Matrix<int>& wanted() const { return pending_ ? pending_->wanted : installed_; }
  // Asks for other circuits; does nothing if they are wanted already. Delays are drawn now.
  void request(const Matrix<int>& wanted, SimTime now, const MixnetSettings& settings,
               RandomStream& random);
  // Moves on to `now`, which does not go back: what has become due goes out.
  void settle(SimTime now);
  // Holds a command back until `end`, when the all-to-all under way is over.
  void hold_until(SimTime end);

  // From when on all wanted circuits are up if none is held back.
  SimTime all_up() const;
  // Circuits that carry light at `now` and go on doing so until something goes out.
  Matrix<int> up(SimTime now) const;
  // Why the region waits from `from` to all_up().
  CauseTimes causes(SimTime from) const;

  const SwitchTally& tally() const { return tally_; }
  // Starts the next iteration after one of `length`, with an empty tally.
  void next_iteration(SimTime length);

 private:
  struct Circuit {
    int a = 0;  // servers, a < b
    int b = 0;
    SimTime commanded;
    SimTime switched;
    SimTime up;
  };
  struct Added {
    int a = 0;
    int b = 0;
    SimTime relink;  // the slower of its two NICs
  };
  struct Pending {
    Matrix<int> wanted;
    SimTime at;
    SimTime switching;  // T_OCS
    std::vector<Added> added;
  };
  struct State {
    std::vector<Circuit> circuits;
    SimTime switch_free;  // the command before is done
  };

  static State after(const State& state, const Pending& pending);
  static SimTime last_up(const State& state);

  Matrix<int> installed_;
  State state_;
  std::optional<Pending> pending_;
  SwitchTally tally_;
};

}  // namespace mixnet::sim
