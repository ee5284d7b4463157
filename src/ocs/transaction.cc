#include "ocs/transaction.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "ocs/switch_operations.h"
#include "ocs/tl1_text.h"

namespace mixnet::ocs {
namespace {

using std::chrono::milliseconds;

constexpr Duration kFirstPause = milliseconds(20);
constexpr Duration kLastPause = std::chrono::seconds(1);
constexpr Duration kPollPause = milliseconds(20);
constexpr Duration kDelayLimit = std::chrono::seconds(10);  // of what was answered with DELAY
constexpr int kUselessReads = 3;

bool is_privilege(const Denial& denial) {
  return std::any_of(denial.codes.begin(), denial.codes.end(), [](const std::string& code) {
    return class_of(code) == ErrorClass::kPrivilege;
  });
}

// Replaces what was known of `ports` by what was read.
void merge(std::vector<Patch>& patches, const std::set<PortId>& ports,
           const std::vector<Patch>& read) {
  std::set<PortId> known = ports;
  for (const Patch& patch : read) {
    known.insert({patch.ingress, patch.egress});
  }
  std::erase_if(patches, [&](const Patch& patch) {
    return known.count(patch.ingress) > 0 || known.count(patch.egress) > 0;
  });
  patches.insert(patches.end(), read.begin(), read.end());
  std::sort(patches.begin(), patches.end());
}

}  // namespace

Transaction::Transaction(const Region& region, const ControllerOptions& options, Journal& journal,
                         LinkProbe& probe, Job job, Instant now)
    : region_(region),
      options_(options),
      journal_(journal),
      probe_(probe),
      job_(std::move(job)),
      started_(now),
      deadline_(now + options.transaction_deadline),
      batch_limit_(batch_limit(options)) {
  std::sort(job_.wanted.begin(), job_.wanted.end());
  if (job_.change) {
    for (const auto& [circuit, why] : unusable_circuits(job_.wanted, job_.unusable)) {
      faults_[circuit] = {PairOutcome::kRefused, why};
      keep_.push_back(circuit);  // as it is, there or not
    }
  }
  if (job_.expected.has_value()) {
    std::sort(job_.expected->begin(), job_.expected->end());
  }
  report_.id = job_.id;
}

void Transaction::refuse(const std::string& why, Instant now) {
  for (const Circuit& circuit : job_.wanted) {
    faults_.try_emplace(circuit, Fault{PairOutcome::kRefused, why});
  }
  end_early(why, now);
}

std::optional<Transaction::Ask> Transaction::next(Instant now) {
  CHECK(!asked_, "a second question before the answer");
  if (std::exchange(doubted_, false) &&
      (stage_ == Stage::kWrite || stage_ == Stage::kReadTouched)) {
    stage_ = Stage::kReadAll;
  }
  while (!asked_ && !done() && (!not_before_.has_value() || now >= *not_before_)) {
    not_before_.reset();
    std::optional<Ask> command;
    switch (stage_) {
      case Stage::kReadAll:
      case Stage::kConfirm:
        command = ask(read_all_patches_command(), kReadDeadlines, now);
        break;
      case Stage::kWrite:
        command = ask_write(now);
        break;
      case Stage::kReadTouched: {
        const auto ports = PortSet::make(region_.owned(), {touched_.begin(), touched_.end()});
        command = ask(read_patches_command(ports.value()), kReadDeadlines, now);
        break;
      }
      case Stage::kShutters:
        command = ask_about_ports(read_shutters_command, now);
        break;
      case Stage::kPower:
        command = ask_about_ports(read_power_command, now);
        break;
      case Stage::kCarrier:
        check_carriers(now);
        break;
      case Stage::kDone:
        break;
    }
    if (command.has_value()) {
      return command;
    }
  }
  return std::nullopt;
}

std::optional<Transaction::Ask> Transaction::ask(Command command, Deadlines deadlines,
                                                 Instant now) {
  asked_ = true;
  asked_at_ = now;
  last_asked_ = command.verb;
  return Ask{std::move(command), deadlines};
}

std::optional<Transaction::Ask> Transaction::ask_about_ports(Command (*command)(const PortSet&),
                                                             Instant now) {
  std::vector<PortId> ports = region_.owned().ports();
  if (job_.change) {
    ports.clear();
    for (const Circuit& circuit : present_circuits()) {
      const std::vector<PortId> used = ports_of(region_, circuit);
      ports.insert(ports.end(), used.begin(), used.end());
    }
  }
  const bool wanted = stage_ == Stage::kShutters ? options_.check_shutters : options_.check_power;
  if (ports.empty() || !wanted) {
    stage_ == Stage::kShutters ? go_on_after_shutters() : go_on_after_power(now);
    return std::nullopt;
  }
  return ask(command(PortSet::make(region_.owned(), std::move(ports)).value()), kReadDeadlines,
             now);
}

bool Transaction::begin_writing() {
  if (report_.id != 0) {
    return true;
  }
  std::vector<std::pair<std::string, std::string>> names;
  for (const Circuit& circuit : job_.wanted) {
    names.emplace_back(region_.nic(circuit.a).name, region_.nic(circuit.b).name);
  }
  const Result<TransactionId> id = journal_.begin(names);
  if (!id.ok()) {
    journal_error_ = id.error().text();
    return false;
  }
  report_.id = *id;
  return true;
}

std::optional<Transaction::Ask> Transaction::ask_write(Instant now) {
  batch_.create = removed_ == plan_.remove.size();
  const std::vector<Change>& changes = batch_.create ? plan_.add : plan_.remove;
  std::size_t& sent = batch_.create ? added_ : removed_;
  if (sent == changes.size()) {
    if (known_) {
      start_checks(now);
    } else {
      stage_ = Stage::kReadTouched;
    }
    return std::nullopt;
  }
  const std::size_t count = std::min(batch_limit_, changes.size() - sent);
  const auto first = changes.begin() + static_cast<std::ptrdiff_t>(sent);
  batch_.changes.assign(first, first + static_cast<std::ptrdiff_t>(count));
  sent += count;
  const PatchSet patches = patches_of(region_, batch_.changes);
  Command command = batch_.create ? connect_command(patches) : disconnect_command(patches);
  std::string text = command.verb;
  for (const Patch& patch : patches.patches()) {
    text += fmt::format(" {},{}", patch.ingress.value, patch.egress.value);
  }
  if (Status noted = journal_.note(report_.id, text); !noted.ok()) {
    journal_error_ = noted.error().text();
    end_early(fmt::format("the journal cannot be written: {}", journal_error_), now);
    return std::nullopt;
  }
  for (const Patch& patch : patches.patches()) {
    touched_.insert({patch.ingress, patch.egress});
  }
  known_ = false;
  return ask(std::move(command), kWriteDeadlines, now);
}

void Transaction::answer(const CommandDone& done, Instant now) {
  asked_ = false;
  switch (stage_) {
    case Stage::kReadAll:
      return read_all(done, now);
    case Stage::kWrite:
      return wrote(done, now);
    case Stage::kReadTouched:
      return read_touched(done, now);
    case Stage::kShutters:
      return read_shutters(done, now);
    case Stage::kPower:
      return read_power(done, now);
    case Stage::kConfirm:
      return confirm(done, now);
    case Stage::kCarrier:
    case Stage::kDone:
      return;
  }
}

void Transaction::doubt() {
  doubted_ = true;
  to_confirm_ = true;
}

void Transaction::repeat_later(Instant now) {
  not_before_ = now + std::min(kLastPause, kFirstPause * (1 << std::min(repeats_, 6)));
  ++repeats_;
}

// The switch did not take the write and may soon: no failed attempt, the deadline is the limit.
void Transaction::write_later(Instant now) {
  for (const Change& change : batch_.changes) {
    --attempts_[{change.circuit, batch_.create}];
  }
  not_before_ = now + std::min(kLastPause, kFirstPause * (1 << std::min(write_pauses_, 6)));
  ++write_pauses_;
}

std::optional<std::vector<Patch>> Transaction::patches_in(const CommandDone& done, Instant now) {
  if (done.outcome != Outcome::kCompleted) {
    if (done.outcome == Outcome::kDenied &&
        (!is_worth_repeating(done.denial) || repeats_ >= kUselessReads)) {
      end_early(fmt::format("the switch refuses {}: {}", done.command.verb, done.denial.describe()),
                now);
    } else {
      repeat_later(now);
    }
    return std::nullopt;
  }
  Result<std::vector<Patch>> patches = parse_patches(done.lines, region_.switch_size());
  if (!patches.ok()) {
    trouble_ = patches.error().text();  // shown if the deadline passes before a better answer
    repeat_later(now);
    return std::nullopt;
  }
  repeats_ = 0;
  trouble_.clear();
  std::sort(patches->begin(), patches->end());
  return std::move(patches).value();
}

void Transaction::read_all(const CommandDone& done, Instant now) {
  std::optional<std::vector<Patch>> patches = patches_in(done, now);
  if (!patches.has_value()) {
    return;
  }
  readings_.patches = *std::move(patches);
  known_ = true;
  if (!has_read_) {
    has_read_ = true;
    const SwitchView view = view_of(region_, readings_.patches);
    keep_unexpected(view);
    whole_.insert(view.circuits.begin(), view.circuits.end());
    found_ = whole_;
    for (const HalfCircuit& half : view.halves) {
      found_.insert(half.circuit);
    }
  }
  if (!job_.change) {
    return start_checks(now);
  }
  if (!begin_writing()) {
    return refuse(fmt::format("the journal cannot be written: {}", journal_error_), now);
  }
  plan_again(now);
}

void Transaction::keep_unexpected(const SwitchView& view) {
  if (!job_.expected.has_value()) {
    return;
  }
  const std::vector<Circuit> unexpected = unexpected_circuits(view, *job_.expected, job_.wanted);
  other_writer_ = !unexpected.empty();
  keep_.insert(keep_.end(), unexpected.begin(), unexpected.end());
  std::sort(keep_.begin(), keep_.end());
}

void Transaction::wrote(const CommandDone& done, Instant now) {
  report_.switching += now - asked_at_;
  wrote_at_ = now;
  const bool all_sent = removed_ == plan_.remove.size() && added_ == plan_.add.size();
  unanswered_ = done.outcome == Outcome::kUnknown;
  for (const Change& change : batch_.changes) {
    ++attempts_[{change.circuit, batch_.create}];
    last_answer_[change.circuit] = std::string(name_of(done.outcome));
  }
  switch (done.outcome) {
    case Outcome::kCompleted:
      write_pauses_ = 0;
      batch_limit_ = std::min(batch_limit_ * 2, batch_limit(options_));
      stage_ = all_sent ? Stage::kReadTouched : Stage::kWrite;
      return;
    case Outcome::kDenied:
      denied(done.denial, now);
      break;
    case Outcome::kDelayed:
      delayed_until_ = now + kDelayLimit;
      break;
    case Outcome::kBusy:
      write_later(now);
      break;
    case Outcome::kUnknown:
      // The switch may still be at it: what is read too early may change afterwards.
      not_before_ = now + options_.settle_after_unknown;
      stage_ = Stage::kReadAll;
      return;
    case Outcome::kNotSent:
      for (const Change& change : batch_.changes) {
        --attempts_[{change.circuit, batch_.create}];
      }
      stage_ = Stage::kReadAll;
      return;
    case Outcome::kPartial:
    case Outcome::kUnintelligible:
      break;
  }
  stage_ = Stage::kReadTouched;
}

void Transaction::denied(const Denial& denial, Instant now) {
  const Fault refused{PairOutcome::kRefused, denial.describe()};
  if (is_worth_repeating(denial)) {
    return write_later(now);
  }
  if (is_privilege(denial)) {
    give_up_on(plan_.remove, /*create=*/false, refused);
    return give_up_on(plan_.add, /*create=*/true, refused);
  }
  if (batch_.changes.size() == 1) {
    if (batch_.create) {
      failed_.insert(batch_.changes.front().circuit);
    }
    return give_up_on(batch_.changes, batch_.create, refused);
  }
  // One bad pair may have spoiled the whole command: halve it until the pair is found.
  batch_limit_ = batch_.changes.size() / 2;
  for (const Change& change : batch_.changes) {
    --attempts_[{change.circuit, batch_.create}];
  }
}

void Transaction::give_up_on(const std::vector<Change>& changes, bool create, const Fault& fault) {
  for (const Change& change : changes) {
    faults_.try_emplace(change.circuit, fault);
    if (!create) {
      keep_.push_back(change.circuit);
    }
  }
  std::sort(keep_.begin(), keep_.end());
}

void Transaction::read_touched(const CommandDone& done, Instant now) {
  const std::optional<std::vector<Patch>> patches = patches_in(done, now);
  if (!patches.has_value()) {
    return;
  }
  merge(readings_.patches, touched_, *patches);
  known_ = true;
  if (delayed_until_.has_value() && now < *delayed_until_ &&
      !plan_change(region_, readings_.patches, still_wanted(), keep_).empty()) {
    not_before_ = now + kPollPause;
    return;
  }
  delayed_until_.reset();
  plan_again(now);
}

std::vector<Circuit> Transaction::still_wanted() const {
  std::vector<Circuit> wanted;
  for (const Circuit& circuit : job_.wanted) {
    if (faults_.count(circuit) == 0) {
      wanted.push_back(circuit);
    }
  }
  return wanted;
}

void Transaction::plan() {
  plan_ = plan_change(region_, readings_.patches, still_wanted(), keep_);
  removed_ = 0;
  added_ = 0;
  for (const BlockedCircuit& blocked : plan_.blocked) {
    faults_[blocked.circuit] = {PairOutcome::kConflict, blocked.why};
  }
}

bool Transaction::give_up_on_repeated() {
  bool gave_up = false;
  for (const bool create : {false, true}) {
    for (const Change& change : create ? plan_.add : plan_.remove) {
      const int attempts = attempts_[{change.circuit, create}];
      if (attempts >= options_.max_rounds) {
        give_up_on(
            {change}, create,
            {unanswered_ ? PairOutcome::kUnknown : PairOutcome::kRefused,
             fmt::format("sent {} times, the last time {}, but the switch {} it", attempts,
                         last_answer_[change.circuit], create ? "does not hold" : "still holds")});
        if (create && last_answer_[change.circuit] == name_of(Outcome::kCompleted)) {
          failed_.insert(change.circuit);
        }
        gave_up = true;
      }
    }
  }
  return gave_up;
}

void Transaction::plan_again(Instant now) {
  plan();
  while (give_up_on_repeated()) {
    plan();
  }
  if (plan_.empty()) {
    start_checks(now);
  } else {
    stage_ = Stage::kWrite;
  }
}

}  // namespace mixnet::ocs
