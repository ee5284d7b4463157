#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "plan/cadence.h"

// A sequence of iterations played against the controller, and the same sequence in hindsight.
// Delays count with their expectation; there is no network model beyond plan/region_time.h, so that
// decisions can be judged apart from a simulator.
namespace mixnet::plan {

struct CadenceTrial {
  Region region;
  SwitchDevice device;
  CadenceOptions options;
  Matrix<int> laid;  // at the start
};

struct CadenceRun {
  double total_s = 0;  // = other_s + all_to_all_s + dark_s
  double other_s = 0;
  double all_to_all_s = 0;
  double dark_s = 0;                       // lost to switches
  int changes = 0;                         // before iterations
  int fine = 0;                            // iterations wired per pass or layer
  std::vector<CadenceDecision> decisions;  // before every iteration; the first always holds
};

// What one change before an iteration loses, in seconds.
double change_loss_s(const Region& region, const IterationLoad& load, const CircuitChange& change,
                     double new_s, Darkness darkness, DarkTimes& dark);

// Decides before every iteration from those before, then plays it. All loads are of one region.
CadenceRun evaluate_cadence(std::span<const IterationLoad> trace, const CadenceTrial& trial);

// Total times of the same iterations with other decisions, all known in advance.
struct CadenceHindsight {
  double held_s = 0;    // the circuits of the start for ever
  double static_s = 0;  // best static circuits found, laid before the first iteration: an upper
                        // bound of the best static wiring
  double static_bound_s = 0;  // no static wiring takes less. Completion is superadditive: circuits
                              // that carry every matrix in its own time carry the sum in their sum
  double every_iteration_s = 0;  // exact circuits before every iteration, paid for
  double sequence_s =
      0;  // cheapest sequence over at most kCandidates wirings (dynamic programming):
          // an upper bound of the best decisions without finer cadences
  static constexpr int kCandidates = 8;
};

// The static circuits: the best of those laid, those for the total demand and those for single
// iterations, then circuit swaps on up to 16 iterations as long as the total gets better.
// O(iterations * candidates^2) completions per layer.
CadenceHindsight hindsight(std::span<const IterationLoad> trace, const CadenceTrial& trial);

// Regret of a run: its total time minus that of the best static wiring in hindsight (negative if
// following the demand won), and a sentence that says so.
double regret_s(const CadenceRun& run, const CadenceHindsight& hindsight);
std::string regret_text(const CadenceRun& run, const CadenceHindsight& hindsight);

}  // namespace mixnet::plan
