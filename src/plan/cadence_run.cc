#include "plan/cadence_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "plan/fine_times.h"

namespace mixnet::plan {
namespace {

constexpr int64_t kStaticSwapBudget =
    300'000;  // completions looked at for the best static circuits

// Plays iterations one by one.
class Player {
 public:
  explicit Player(const CadenceTrial& trial)
      : region_(trial.region), dark_(trial.device), laid_(trial.laid) {}

  const Matrix<int>& laid() const { return laid_; }

  void play(const IterationLoad& load, const CadenceDecision& decision, CadenceRun& run) {
    run.other_s += load.other.seconds();
    switch (decision.mode) {
      case CadenceMode::kHold:
        run.all_to_all_s += all_to_all_s(region_, load, laid_);
        break;
      case CadenceMode::kRewire:
        change(load, decision, run);
        break;
      case CadenceMode::kStage:
        passes(load, decision.darkness, run);
        break;
      case CadenceMode::kLayer:
        layers(load, decision.darkness, run);
        break;
    }
    run.total_s = run.other_s + run.all_to_all_s + run.dark_s;
    last_ = load.demand;
  }

 private:
  void change(const IterationLoad& load, const CadenceDecision& decision, CadenceRun& run) {
    const double new_s = all_to_all_s(region_, load, decision.circuits);
    run.all_to_all_s += new_s;
    run.dark_s += change_loss_s(region_, load, change_between(laid_, decision.circuits), new_s,
                                decision.darkness, dark_);
    laid_ = decision.circuits;
    ++run.changes;
  }

  void add(const FineTimes& times, Darkness darkness, double often, CadenceRun& run) {
    run.all_to_all_s += often * times.all_to_all_s;
    run.dark_s += often * (darkness == Darkness::kBlock ? times.block_s : times.detour_s);
  }

  // All forward passes, then all backward passes; every pass runs over circuits for the one before.
  void passes(const IterationLoad& load, Darkness darkness, CadenceRun& run) {
    const std::size_t rows = load.rows();
    const double often = static_cast<double>(load.micro_batches) / static_cast<double>(rows);
    std::vector<Matrix<int>> own;
    for (std::size_t row = 0; row < rows; ++row) {
      own.push_back(circuits_for(region_, summed_demand(load, row)));
    }
    Matrix<int> next = before_;
    for (std::size_t pass = 0; pass < 2 * rows; ++pass) {
      const std::size_t row = pass % rows;
      next = next.empty() ? laid_ : next;
      add(pass_times(region_, load, row, {laid_, next}, dark_), darkness, often, run);
      laid_ = next;
      next = own[row];
    }
    before_ = next;
    ++run.fine;
  }

  void layers(const IterationLoad& load, Darkness darkness, CadenceRun& run) {
    const double often = static_cast<double>(load.micro_batches) / static_cast<double>(load.rows());
    for (std::size_t k = 0; k < load.demand.size(); ++k) {
      const Matrix<int> own = circuits_for(region_, load.demand[k]);
      const Matrix<int> guess =
          last_.size() == load.demand.size() ? circuits_for(region_, last_[k]) : laid_;
      add(layer_times(region_, load, load.demand[k], {laid_, guess, own}, dark_), darkness, often,
          run);
      laid_ = own;
    }
    ++run.fine;
  }

  Region region_;
  DarkTimes dark_;
  Matrix<int> laid_;
  Matrix<int> before_;  // for the last pass that was played
  std::vector<DemandMatrix> last_;
};

double total_s(const Region& region, std::span<const IterationLoad> trace,
               const Matrix<int>& circuits) {
  double sum = 0;
  for (const IterationLoad& load : trace) {
    sum += all_to_all_s(region, load, circuits);
  }
  return sum;
}

double other_total_s(std::span<const IterationLoad> trace) {
  double sum = 0;
  for (const IterationLoad& load : trace) {
    sum += load.other.seconds();
  }
  return sum;
}

DemandMatrix total_demand(std::span<const IterationLoad> trace) {
  DemandMatrix sum;
  for (const IterationLoad& load : trace) {
    DemandMatrix one = summed_demand(load);
    for (double& d : one.cells()) {
      d *= load.repeats();
    }
    if (sum.empty()) {
      sum = std::move(one);
      continue;
    }
    for (std::size_t c = 0; c < sum.cells().size(); ++c) {
      sum.cells()[c] += one.cells()[c];
    }
  }
  return sum;
}

// Matrices of up to 16 iterations, evenly spread.
std::vector<DemandMatrix> sampled(std::span<const IterationLoad> trace) {
  std::vector<DemandMatrix> matrices;
  for (std::size_t t = 0; t < trace.size(); t += (trace.size() + 15) / 16) {
    matrices.insert(matrices.end(), trace[t].demand.begin(), trace[t].demand.end());
  }
  return matrices;
}

// Laid circuits first, then the best static ones, then those for iterations evenly spread.
std::vector<Matrix<int>> candidates(std::span<const IterationLoad> trace,
                                    const CadenceTrial& trial) {
  const Region& region = trial.region;
  const Matrix<int> summed = circuits_for(region, total_demand(trace));
  std::vector<Matrix<int>> list = {
      trial.laid, summed, swap_circuits(region, sampled(trace), summed, kStaticSwapBudget)};
  const std::size_t more = std::min<std::size_t>(trace.size(), CadenceHindsight::kCandidates - 3);
  for (std::size_t k = 0; k < more; ++k) {
    list.push_back(circuits_for(region, summed_demand(trace[k * trace.size() / more])));
  }
  return list;
}

double cheaper_change_s(const CadenceTrial& trial, const IterationLoad& load,
                        const Matrix<int>& from, const Matrix<int>& to, DarkTimes& dark) {
  const CircuitChange change = change_between(from, to);
  if (change.changed() == 0) {
    return 0;
  }
  if (!trial.options.detour) {
    return dark.exposed_s(change.changed(), load.iteration_window);
  }
  return change_loss_s(trial.region, load, change, all_to_all_s(trial.region, load, to),
                       Darkness::kDetour, dark);
}

// Cheapest way through all iterations that starts at the first candidate: after iteration t with
// candidate c, the least over the candidates before it.
double cheapest_sequence_s(std::span<const IterationLoad> trace, const CadenceTrial& trial,
                           const std::vector<Matrix<int>>& list, DarkTimes& dark) {
  constexpr double kUnreached = 1e300;
  std::vector<double> least(list.size(), kUnreached);
  least[0] = 0;
  for (const IterationLoad& load : trace) {
    std::vector<double> next(list.size(), kUnreached);
    for (std::size_t to = 0; to < list.size(); ++to) {
      const double time = all_to_all_s(trial.region, load, list[to]);
      for (std::size_t from = 0; from < list.size(); ++from) {
        if (least[from] < kUnreached) {
          next[to] =
              std::min(next[to], least[from] + time +
                                     cheaper_change_s(trial, load, list[from], list[to], dark));
        }
      }
    }
    least = std::move(next);
  }
  return *std::min_element(least.begin(), least.end());
}

}  // namespace

double change_loss_s(const Region& region, const IterationLoad& load, const CircuitChange& change,
                     double new_s, Darkness darkness, DarkTimes& dark) {
  const double exposed = dark.exposed_s(change.changed(), load.iteration_window);
  if (darkness == Darkness::kBlock || exposed == 0) {
    return exposed;
  }
  return detour_loss_s(exposed, load.other.seconds(), all_to_all_s(region, load, change.stays),
                       new_s);
}

CadenceRun evaluate_cadence(std::span<const IterationLoad> trace, const CadenceTrial& trial) {
  CadenceController controller(trial.region, trial.device, trial.options);
  Player player(trial);
  CadenceRun run;
  for (const IterationLoad& load : trace) {
    CadenceDecision decision = controller.decide();
    player.play(load, decision, run);
    controller.observe(load, player.laid());
    run.decisions.push_back(std::move(decision));
  }
  return run;
}

CadenceHindsight hindsight(std::span<const IterationLoad> trace, const CadenceTrial& trial) {
  CHECK(!trace.empty(), "there are iterations to look back on");
  const Region& region = trial.region;
  DarkTimes dark(trial.device);
  const std::vector<Matrix<int>> list = candidates(trace, trial);
  const double other = other_total_s(trace);
  CadenceHindsight found;
  found.held_s = other + total_s(region, trace, trial.laid);
  found.static_s = found.held_s;
  for (const Matrix<int>& circuits : list) {
    found.static_s = std::min(
        found.static_s, other + total_s(region, trace, circuits) +
                            cheaper_change_s(trial, trace.front(), trial.laid, circuits, dark));
  }
  const WireProblem summed{total_demand(trace), region.alpha, region.eps};
  const double bound =
      region.allocator == Allocator::kRelay ? any_wiring_bound(summed) : no_relay_bound(summed);
  found.static_bound_s = other + bound * region.seconds_per_unit;
  found.every_iteration_s = other;
  Matrix<int> laid = trial.laid;
  for (const IterationLoad& load : trace) {
    const Matrix<int> exact = circuits_for(region, summed_demand(load));
    found.every_iteration_s +=
        all_to_all_s(region, load, exact) + cheaper_change_s(trial, load, laid, exact, dark);
    laid = exact;
  }
  found.sequence_s = other + cheapest_sequence_s(trace, trial, list, dark);
  return found;
}

double regret_s(const CadenceRun& run, const CadenceHindsight& hindsight) {
  return run.total_s - hindsight.static_s;
}

}  // namespace mixnet::plan
