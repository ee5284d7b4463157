#include "plan/cadence.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "plan/never.h"

namespace mixnet::plan {
namespace {

constexpr int64_t kSwapBudget = 2000;  // completions, to fit circuits to the layers one by one
constexpr int kEnoughSamples = 3;      // of a finer cadence before it is believed

int next_rung(int k) { return std::max(k + 1, k * 5 / 4); }

double switches_per_iteration(const IterationLoad& load) {
  return static_cast<double>(load.layers) * static_cast<double>(load.micro_batches);
}

double passes_per_iteration(const IterationLoad& load) {
  return 2 * static_cast<double>(load.micro_batches);
}

// Dark for certain, per iteration, if every pass or layer changes a single circuit.
double least_pass_s(const IterationLoad& load, DarkTimes& dark) {
  return passes_per_iteration(load) * dark.exposed_s(1, load.pass_window);
}

double least_layer_s(const IterationLoad& load, DarkTimes& dark) {
  double sum = 0;
  for (const LayerSwitch& one : load.layer_switches) {
    sum += one.foresight == Foresight::kNone ? 0 : dark.exposed_s(1, one.window);
  }
  return sum * switches_per_iteration(load);
}

bool is_fine(CadenceMode mode) {
  return mode == CadenceMode::kStage || mode == CadenceMode::kLayer;
}

}  // namespace

const char* cadence_mode_name(CadenceMode mode) {
  switch (mode) {
    case CadenceMode::kHold:
      return "hold";
    case CadenceMode::kRewire:
      return "rewire";
    case CadenceMode::kStage:
      return "stage";
    case CadenceMode::kLayer:
      return "layer";
  }
  CHECK(false, "unknown cadence mode");
}

CadenceController::CadenceController(Region region, const SwitchDevice& device,
                                     const CadenceOptions& options)
    : region_(std::move(region)),
      options_(options),
      dark_(device),
      staleness_(region_, StalenessOptions{options.longest_hold, options.sample}) {
  CHECK(options_.confidence >= 0 && options_.longest_hold >= 1, "options within their range");
  CHECK(region_.seconds_per_unit > 0, "demand takes time");
}

void CadenceController::observe(const IterationLoad& load, const Matrix<int>& circuits) {
  // Once the links are dark for longer than all all-to-alls last, no demand makes a finer cadence
  // pay, and it need not be measured.
  const double all_to_alls_s =
      staleness_.reference_s() * (1 + std::max(0.0, staleness_.held().estimate(0).mean));
  const bool first = staleness_.iterations() == 0;
  Staleness::Fine fine;
  fine.passes = options_.per_pass && (first || least_pass_s(load, dark_) < all_to_alls_s);
  fine.layers = options_.per_layer && (first || least_layer_s(load, dark_) < all_to_alls_s);
  staleness_.observe(load, circuits, dark_, fine);
  last_ = load;
  last_.demand.clear();
  laid_ = circuits;
}

// k never exceeds the iterations seen.
std::vector<CadenceController::Horizon> CadenceController::ladder(Staleness::Target target) const {
  const auto most =
      static_cast<int>(std::min<int64_t>(options_.longest_hold, staleness_.iterations()));
  std::vector<Horizon> horizons;
  Horizon at{0, 0};
  for (int rung = 1; at.k < most; rung = std::min(most, next_rung(rung))) {
    while (at.k < rung) {
      ++at.k;
      at.staleness += staleness_.excess_at(target, at.k);
    }
    horizons.push_back(at);
  }
  return horizons;
}

// Changes on offer. Completions are relative to those over circuits chosen for the summed demand,
// matrix by matrix. An offer never promises to be better than these, which would be a promise about
// the very demand that it was fitted to; and if it serves the last iteration worse than circuits
// for the target usually do, that counts: the average may be of demand that is gone.
std::vector<RewireOption> CadenceController::options_for(Staleness::Target target,
                                                         bool partial) const {
  const Matrix<int>& fresh = staleness_.circuits(target);
  const std::vector<DemandMatrix>& fitted = staleness_.matrices(target);
  const std::vector<DemandMatrix>& last = staleness_.matrices(Staleness::Target::kLast);
  const double fitted_base = summed_completion(region_, fitted, fresh);
  const double last_base =
      summed_completion(region_, last, staleness_.circuits(Staleness::Target::kLast));
  std::vector<RewireOption> options;
  if (!(fitted_base > 0) || !std::isfinite(fitted_base) || !(last_base > 0)) {
    return options;
  }
  if (partial) {
    options = rewire_frontier(WireProblem{staleness_.demand(target), region_.alpha, region_.eps},
                              laid_, fresh, region_.allocator);
    options.erase(options.begin());  // no change at all
  }
  RewireOption whole;
  whole.circuits = partial ? swap_circuits(region_, fitted, fresh, kSwapBudget) : fresh;
  options.push_back(std::move(whole));
  for (RewireOption& option : options) {
    const CircuitChange change = change_between(laid_, option.circuits);
    option.changed = change.changed();
    const double usual = std::max(0.0, staleness_.excess_at(target, 1));
    const double fit = summed_completion(region_, fitted, option.circuits) / fitted_base;
    const double now = summed_completion(region_, last, option.circuits) / last_base - usual;
    option.completion = std::max(1.0, std::max(fit, now));
    if (options_.detour) {
      option.dark_completion =
          std::max(option.completion, summed_completion(region_, last, change.stays) / last_base);
    }
  }
  if (options.back().changed == 0) {
    options.clear();  // the best is laid already
  }
  return options;
}

CadenceController::Offer CadenceController::cheapest(const std::vector<RewireOption>& frontier,
                                                     Darkness darkness, Staleness::Target target) {
  Offer best;
  best.rate_s = kNever;
  if (frontier.empty()) {
    return best;
  }
  const double reference = staleness_.reference_s();
  std::vector<double> cost;
  for (const RewireOption& option : frontier) {
    const double exposed = dark_.exposed_s(option.changed, last_.iteration_window);
    cost.push_back(darkness == Darkness::kBlock ? exposed
                                                : detour_loss_s(exposed, last_.other.seconds(),
                                                                reference * option.dark_completion,
                                                                reference * option.completion));
  }
  for (const Horizon& h : ladder(target)) {
    const std::size_t at = best_rewire(frontier, cost, h.k * reference);
    const double excess = frontier[at].completion - 1;
    const double rate = (cost[at] + reference * (h.k * excess + h.staleness)) / h.k;
    if (rate < best.rate_s) {
      best.rate_s = rate;
      best.hold_for = h.k;
      best.cost_s = cost[at];
      best.darkness = darkness;
      best.changed = frontier[at].changed;
      best.circuits = frontier[at].circuits;
      best.scope = at + 1 == frontier.size() ? ChangeScope::kWhole : ChangeScope::kPartial;
    }
  }
  return best;
}

CadenceController::Offer CadenceController::best_offer(Staleness::Target target) {
  // What no offer undercuts (a detour may be free): if even that does not beat what is done
  // now, partial changes are not looked for.
  const double least = options_.detour ? 0 : dark_.exposed_s(1, last_.iteration_window);
  double least_rate = kNever;
  for (const Horizon& h : ladder(target)) {
    least_rate = std::min(least_rate, (least + staleness_.reference_s() * h.staleness) / h.k);
  }
  double beat = staleness_.held().estimate(options_.confidence).at_least * staleness_.reference_s();
  for (const Fine& fine : fine_rates()) {
    beat = fine.mode == mode_ ? fine.rate_s - options_.confidence * fine.error_s : beat;
  }
  const bool may_pay = beat > least_rate;
  const std::vector<RewireOption> options = options_for(target, options_.partial && may_pay);
  Offer best = cheapest(options, Darkness::kBlock, target);
  if (options_.detour) {
    Offer detour = cheapest(options, Darkness::kDetour, target);
    if (detour.rate_s < best.rate_s) {
      best = std::move(detour);
    }
  }
  return best;
}

CadenceController::Offer CadenceController::best_offer() {
  if (!staleness_.knows_lag()) {
    Offer none;
    none.rate_s = kNever;
    return none;
  }
  Offer best = best_offer(Staleness::Target::kLast);
  Offer average = best_offer(Staleness::Target::kAverage);
  return average.rate_s < best.rate_s ? average : best;
}

CadenceController::Fine CadenceController::fine_rate(CadenceMode mode, const FineCadence& measured,
                                                     double times) const {
  Fine fine;
  fine.mode = mode;
  const bool detour = options_.detour && measured.detour_s.mean() < measured.block_s.mean();
  const RunningMean& cost = detour ? measured.detour_s : measured.block_s;
  fine.darkness = detour ? Darkness::kDetour : Darkness::kBlock;
  fine.cost_s = times * cost.mean();
  fine.rate_s = staleness_.reference_s() * measured.excess.mean() + fine.cost_s;
  fine.error_s =
      std::hypot(staleness_.reference_s() * measured.excess.error(), times * cost.error());
  return fine;
}

std::vector<CadenceController::Fine> CadenceController::fine_rates() const {
  std::vector<Fine> rates;
  if (options_.per_pass && staleness_.passes().excess.count() >= kEnoughSamples) {
    rates.push_back(
        fine_rate(CadenceMode::kStage, staleness_.passes(), passes_per_iteration(last_)));
  }
  if (options_.per_layer && staleness_.layers().excess.count() >= kEnoughSamples) {
    rates.push_back(
        fine_rate(CadenceMode::kLayer, staleness_.layers(), switches_per_iteration(last_)));
  }
  return rates;
}

CadenceDecision CadenceController::choose(const Offer& offer) const {
  const double reference = staleness_.reference_s();
  const HeldExcess::Estimate held = staleness_.held().estimate(options_.confidence);
  const double hold = reference * std::max(0.0, held.mean);
  const double hold_at_least = reference * held.at_least;
  CadenceDecision decision;
  decision.circuits = laid_;
  decision.hold_for = offer.rate_s < kNever ? offer.hold_for : 0;
  const std::vector<Fine> fine = fine_rates();
  // What another mode has to undercut, with confidence.
  const bool change = is_fine(mode_) ? offer.rate_s < kNever : hold_at_least > offer.rate_s;
  double bar = change ? offer.rate_s : hold_at_least;
  decision.mode = change ? CadenceMode::kRewire : CadenceMode::kHold;
  for (const Fine& one : fine) {
    // Staying in a mode needs no proof; leaving it does.
    const double doubt = options_.confidence * one.error_s * (one.mode == mode_ ? -1 : 1);
    if (one.rate_s + doubt < bar) {
      bar = one.rate_s + doubt;
      decision.mode = one.mode;
      decision.darkness = one.darkness;
      decision.cost_s = one.cost_s;
      decision.hold_for = 0;
      decision.saved_s = std::max(0.0, hold - one.rate_s);
    }
  }
  if (decision.mode == CadenceMode::kRewire) {
    decision.circuits = offer.circuits;
    decision.scope = offer.scope;
    decision.darkness = offer.darkness;
    decision.changed = offer.changed;
    decision.cost_s = offer.cost_s;
    decision.saved_s = std::max(0.0, hold - offer.rate_s);
  }
  return decision;
}

CadenceDecision CadenceController::decide() {
  CadenceDecision decision;
  decision.circuits = laid_;
  if (staleness_.iterations() == 0) {
    decision.explanation = "Nothing has been observed yet: the circuits stay.";
    return decision;
  }
  if (!std::isfinite(staleness_.reference_s())) {
    decision.explanation =
        "Some demand has neither circuits nor electrical NICs, whatever the "
        "circuits: they stay.";
    mode_ = CadenceMode::kHold;
    return decision;
  }
  const Offer offer = best_offer();
  decision = choose(offer);
  decision.explanation = explanation(decision, offer);
  mode_ = decision.mode;
  return decision;
}

}  // namespace mixnet::plan
