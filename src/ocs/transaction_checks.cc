// The checks after the patches, and the report.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ocs/switch_operations.h"
#include "ocs/transaction.h"

namespace mixnet::ocs {
namespace {

constexpr Duration kPowerPause = std::chrono::milliseconds(20);
constexpr Duration kConfirmReserve = std::chrono::seconds(1);  // of the time until the deadline
constexpr int kUselessAnswers = 3;

}  // namespace

std::vector<Circuit> Transaction::present_circuits() const {
  const SwitchView view = view_of(region_, readings_.patches);
  if (!job_.change) {
    return view.circuits;
  }
  std::vector<Circuit> present;
  for (const Circuit& circuit : job_.wanted) {
    if (view.has(circuit)) {
      present.push_back(circuit);
    }
  }
  return present;
}

void Transaction::start_checks(Instant now) {
  light_until_ = now + (job_.change ? options_.light_deadline : Duration::zero());
  stage_ = Stage::kShutters;
}

// A model without shutters or monitors refuses; what it says may also be in a shape that nobody
// knows. Then the report says that it was not checked.
bool Transaction::cannot_be_read(const CommandDone& done) const {
  return (done.outcome == Outcome::kDenied && !is_worth_repeating(done.denial)) ||
         (done.outcome == Outcome::kCompleted && repeats_ >= kUselessAnswers);
}

void Transaction::read_shutters(const CommandDone& done, Instant now) {
  if (done.outcome == Outcome::kCompleted) {
    const auto shutters = parse_shutters(done.lines, region_.switch_size());
    if (shutters.ok()) {
      for (const PortShutter& shutter : *shutters) {
        readings_.shutter_open[shutter.port] = shutter.open;
      }
      return go_on_after_shutters();
    }
  }
  if (cannot_be_read(done)) {
    return go_on_after_shutters();
  }
  repeat_later(now);
}

void Transaction::go_on_after_shutters() {
  repeats_ = 0;
  stage_ = Stage::kPower;
}

void Transaction::read_power(const CommandDone& done, Instant now) {
  if (done.outcome == Outcome::kCompleted) {
    const auto power = parse_power(done.lines, region_.switch_size());
    if (power.ok()) {
      for (const PortPower& reading : *power) {
        readings_.dbm[reading.port] = reading.dbm;
      }
      return go_on_after_power(now);
    }
  }
  if (cannot_be_read(done)) {
    return go_on_after_power(now);
  }
  repeat_later(now);
}

void Transaction::go_on_after_power(Instant now) {
  repeats_ = 0;
  bool dark = false;
  for (const Circuit& circuit : present_circuits()) {
    checks_[circuit] = check_light(region_, circuit, readings_, options_.least_dbm);
    dark = dark || (!checks_[circuit].passed && checks_[circuit].step == CheckStep::kPower);
  }
  if (dark && now < light_until_) {
    not_before_ = now + kPowerPause;  // COMPLD may come before the mirrors have settled
    return;
  }
  const Instant wanted = now + options_.carrier_deadline;
  carrier_wait_cut_ = job_.change && deadline_ - kConfirmReserve < wanted;
  carrier_until_ = carrier_wait_cut_ ? deadline_ - kConfirmReserve : wanted;
  stage_ = Stage::kCarrier;
}

void Transaction::check_carriers(Instant now) {
  bool waiting = false;
  std::map<Circuit, CircuitCheck> linked;
  for (const auto& [circuit, light] : checks_) {
    const bool fresh = whole_.count(circuit) == 0 || job_.relinking.count(circuit) > 0;
    if (job_.change && fresh && options_.carrier_deadline == Duration::zero()) {
      linked[circuit] = light;  // its NICs are still coming back, and nobody wants to wait
      continue;
    }
    linked[circuit] = check_link(region_, circuit, light, probe_);
    waiting = waiting || (job_.change && light.passed && !linked[circuit].passed && fresh);
  }
  if (waiting && now < carrier_until_) {
    not_before_ = std::min(carrier_until_, now + options_.carrier_interval);
    to_confirm_ = true;
    return;
  }
  checks_ = std::move(linked);
  if (!to_confirm_) {
    return finish(now);
  }
  known_ = false;
  stage_ = Stage::kConfirm;
}

void Transaction::confirm(const CommandDone& done, Instant now) {
  std::optional<std::vector<Patch>> patches = patches_in(done, now);
  if (patches.has_value()) {
    readings_.patches = *std::move(patches);
    known_ = true;
    finish(now);
  }
}

void Transaction::tick(Instant now) {
  if (!done() && now >= deadline_) {
    end_early(fmt::format("waited {:.3g} s for {}", seconds_of(now - started_), stage_text()), now);
    return;
  }
  if (stage_ == Stage::kCarrier && (!not_before_.has_value() || now >= *not_before_)) {
    not_before_.reset();
    check_carriers(now);
  }
}

std::optional<Instant> Transaction::next_deadline(bool may_ask) const {
  if (done()) {
    return std::nullopt;
  }
  const bool resumes = not_before_.has_value() && !asked_ && (may_ask || stage_ == Stage::kCarrier);
  return resumes ? std::min(*not_before_, deadline_) : deadline_;
}

std::string Transaction::stage_text() const {
  const std::string waited =
      asked_ ? fmt::format("an answer to {} from {}", last_asked_, options_.session.peer)
             : fmt::format("a session with {}", options_.session.peer);
  switch (stage_) {
    case Stage::kReadAll:
      return waited + ", to read all patches";
    case Stage::kWrite:
      return waited + ", to change patches";
    case Stage::kReadTouched:
      return waited + ", to read back what was changed";
    case Stage::kShutters:
      return waited + ", to read shutters";
    case Stage::kPower:
      return waited + ", to read power";
    case Stage::kConfirm:
      return waited + ", to confirm what was read";
    case Stage::kCarrier:
      return "the carrier of the NICs";
    case Stage::kDone:
      break;
  }
  return "nothing";
}

void Transaction::end_early(const std::string& message, Instant now) {
  trouble_ = trouble_.empty() ? message : fmt::format("{}; {}", message, trouble_);
  known_ = known_ && !to_confirm_;  // what was read before a wait was not confirmed
  finish(now);
}

void Transaction::finish(Instant now) {
  stage_ = Stage::kDone;
  not_before_.reset();
  std::set<Circuit> all(job_.wanted.begin(), job_.wanted.end());
  if (job_.change) {
    all.insert(found_.begin(), found_.end());
  }
  const SwitchView view = view_of(region_, readings_.patches);
  all.insert(view.circuits.begin(), view.circuits.end());
  for (const Circuit& circuit : all) {
    const bool wanted = std::binary_search(job_.wanted.begin(), job_.wanted.end(), circuit);
    report_.circuits.push_back(report_on(circuit, wanted, view));
  }
  report_.total = now - started_;
  if (report_.id == 0 || !settled()) {
    return;
  }
  std::string summary;
  for (const CircuitReport& report : report_.circuits) {
    summary +=
        fmt::format("{}{} {}{}", summary.empty() ? "" : "; ", region_.name_of(report.circuit),
                    report.wanted ? "" : "removed: ", name_of(report.outcome));
  }
  if (Status status = journal_.settle(report_.id, summary); !status.ok()) {
    journal_error_ = status.error().text();
  }
}

bool Transaction::settled() const {
  return std::none_of(
      report_.circuits.begin(), report_.circuits.end(),
      [](const CircuitReport& report) { return report.outcome == PairOutcome::kUnknown; });
}

CircuitReport Transaction::report_on(Circuit circuit, bool wanted, const SwitchView& view) const {
  CircuitReport report;
  report.circuit = circuit;
  report.wanted = wanted;
  const bool half = std::any_of(view.halves.begin(), view.halves.end(),
                                [&](const HalfCircuit& h) { return h.circuit == circuit; });
  const bool present = view.has(circuit) || (!wanted && half);
  report.changed = known_ && present != (whole_.count(circuit) > 0);
  const auto fault = faults_.find(circuit);
  // What was given up may have come true all the same, late.
  const bool as_asked = known_ && present == wanted && (!wanted || checks_.count(circuit) > 0);
  if (fault != faults_.end() && !as_asked) {
    report.outcome = fault->second.outcome;
    report.message = fault->second.message;
  } else {
    report.outcome = outcome_without_fault(report, present);
  }
  return report;
}

PairOutcome Transaction::outcome_without_fault(CircuitReport& report, bool present) const {
  report.message = trouble_;
  if (!known_) {
    return PairOutcome::kUnknown;
  }
  const auto sent = attempts_.find({report.circuit, report.wanted});
  const bool was_sent = sent != attempts_.end() && sent->second > 0;
  if (!report.wanted) {
    if (!present) {
      report.message.clear();
      return PairOutcome::kVerified;
    }
    if (trouble_.empty()) {
      report.message = "set by somebody else; left as it is";
      return PairOutcome::kConflict;
    }
    return was_sent ? PairOutcome::kUnknown : PairOutcome::kRefused;
  }
  if (!present) {
    if (trouble_.empty()) {
      report.message = "the switch does not hold it, or only one direction of it";
      return PairOutcome::kConflict;
    }
    return was_sent ? PairOutcome::kUnknown : PairOutcome::kRefused;
  }
  const auto check = checks_.find(report.circuit);
  if (check == checks_.end()) {
    return PairOutcome::kUnknown;
  }
  report.step = check->second.step;
  report.message = check->second.message;
  if (!check->second.passed && report.step == CheckStep::kCarrier && carrier_wait_cut_) {
    report.message += "; the deadline left it no more time";
  }
  return check->second.passed ? PairOutcome::kVerified : PairOutcome::kDark;
}

}  // namespace mixnet::ocs
