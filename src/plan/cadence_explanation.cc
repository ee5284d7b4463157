#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "plan/cadence.h"
#include "plan/cadence_run.h"

// The paragraph that comes with a decision.
namespace mixnet::plan {
namespace {

std::string duration(double s) {
  if (!std::isfinite(s)) {
    return "for ever";
  }
  if (s == 0) {
    return "0 s";
  }
  const double size = std::abs(s);
  if (size >= 1) {
    return fmt::format("{:.1f} s", s);
  }
  return size >= 1e-3 ? fmt::format("{:.1f} ms", s * 1e3) : fmt::format("{:.1f} us", s * 1e6);
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string counted(int count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// What a change that is not made would cost or gain, in seconds per iteration.
std::string offer_text(double rate_s, int hold_for) {
  return fmt::format("a change would {} {} an iteration {}the next one came only after {}: {}",
                     rate_s < 0 ? "gain" : "cost", duration(std::abs(rate_s)),
                     rate_s < 0 ? "if " : "even if ", counted(hold_for, "iteration"),
                     rate_s < 0 ? "less than the doubt, holding is best" : "holding is best");
}

std::string laid_text(double excess, double at_least, double reference_s) {
  if (!std::isfinite(excess)) {
    return "the circuits laid leave some demand without a way; ";
  }
  if (excess < 0) {
    return fmt::format(
        "the circuits laid serve it {} better than circuits for the sum of each "
        "iteration; ",
        percent(-excess));
  }
  return fmt::format(
      "the circuits laid cost {} of all-to-all time ({} an iteration) against "
      "circuits for the demand of each iteration, {} at least; ",
      percent(excess), duration(excess * reference_s), percent(std::max(0.0, at_least)));
}

}  // namespace

std::string CadenceController::explanation(const CadenceDecision& decision,
                                           const Offer& offer) const {
  const double reference = staleness_.reference_s();
  const HeldExcess::Estimate laid = staleness_.held().estimate(options_.confidence);
  const double held = laid.mean;
  const double iteration = last_.other.seconds() + reference * (1 + std::max(0.0, held));
  DarkTimes dark = dark_;
  std::string text;
  const bool offered = std::isfinite(offer.rate_s);
  if (offered) {
    text += fmt::format("Re-wiring {} costs {} of dark links per change, {} of it lost ({}); ",
                        counted(offer.changed, "circuit"), duration(dark.mean_s(offer.changed)),
                        duration(offer.cost_s), darkness_name(offer.darkness));
  }
  text += fmt::format("demand drifts {} an iteration; ", percent(staleness_.drift().mean()));
  text += laid_text(held, laid.at_least, reference);
  const std::string gain = fmt::format(
      "-{}", percent(iteration > 0 && std::isfinite(iteration) ? decision.saved_s / iteration : 1));
  switch (decision.mode) {
    case CadenceMode::kHold:
      text += offered ? offer_text(offer.rate_s, offer.hold_for)
                      : "no other circuits promise more: holding is best";
      break;
    case CadenceMode::kRewire:
      text += fmt::format("re-wiring now ({}) and holding for {} is best: {}",
                          change_scope_name(decision.scope), counted(offer.hold_for, "iteration"),
                          gain);
      break;
    case CadenceMode::kStage:
    case CadenceMode::kLayer:
      text += fmt::format(
          "re-wiring for every {} loses {} an iteration to dark links and is best: {}",
          decision.mode == CadenceMode::kStage ? "pass" : "layer", duration(decision.cost_s), gain);
      break;
  }
  text += '.';
  text[0] = static_cast<char>(text[0] >= 'a' && text[0] <= 'z' ? text[0] - 'a' + 'A' : text[0]);
  return text;
}

std::string regret_text(const CadenceRun& run, const CadenceHindsight& hindsight) {
  const double regret = regret_s(run, hindsight);
  return fmt::format(
      "{} iterations took {}, {} {} than the best static circuits found in hindsight ({}; none "
      "takes less than {}), {} if the first circuits had stayed, {} with exact circuits before "
      "every iteration.",
      run.decisions.size(), duration(run.total_s), duration(std::abs(regret)),
      regret > 0 ? "more" : "less", duration(hindsight.static_s),
      duration(hindsight.static_bound_s), duration(hindsight.held_s),
      duration(hindsight.every_iteration_s));
}

}  // namespace mixnet::plan
