#include "ocs/region_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/check.h"
#include "ocs/switch_event.h"
#include "ocs/switch_operations.h"

namespace mixnet::ocs {
namespace {

constexpr Duration kMostResumePause = std::chrono::minutes(1);
constexpr const char* kSizeAlarm = "size";
constexpr Duration kReportWindow = std::chrono::seconds(10);
constexpr int kMostReports = 100;  // in that time

}  // namespace

RegionController::RegionController(Region region, ControllerOptions options, Journal& journal,
                                   LinkProbe& probe)
    : region_(std::move(region)),
      options_(std::move(options)),
      journal_(journal),
      probe_(probe),
      session_(options_.session),
      state_(region_, options_),
      random_(options_.seed, "reconnect"),
      backoff_(options_.least_backoff),
      resume_pause_(options_.health_interval) {
  CHECK(options_.max_rounds > 0 && options_.max_waiting > 0, "limits of a controller");
  restore();
}

void RegionController::restore() {
  Result<std::optional<Intent>> intent = journal_.last_intent();
  const Result<bool> settled = journal_.last_is_settled();
  if (!intent.ok() || !settled.ok()) {
    unreadable_journal_ = fmt::format("the journal cannot be read: {}",
                                      (intent.ok() ? settled.error() : intent.error()).text());
    state_.alarms().raise(AlarmKind::kJournal, "journal", unreadable_journal_, Instant{});
    return publish();
  }
  if (!intent->has_value()) {
    return;
  }
  std::vector<Circuit> circuits;
  for (const auto& [a, b] : (*intent)->circuits) {
    const Result<Circuit> circuit = region_.find_circuit(a, b);
    if (circuit.ok()) {
      circuits.push_back(*circuit);
    } else {
      events_.push_back(Notice{fmt::format("the journal wants {} - {}, which is left out: {}", a, b,
                                           circuit.error().text())});
    }
  }
  state_.restore((*intent)->id, std::move(circuits), *settled);
  publish();
}

// ---- connection and session

bool RegionController::wants_connection(Instant now) const {
  return link_ == Link::kDown && now >= next_connect_ && !stopping_;
}

void RegionController::connecting() { link_ = Link::kConnecting; }

void RegionController::connected(Instant now) {
  CHECK(link_ == Link::kConnecting, "connected() follows connecting()");
  link_ = Link::kUp;
  session_.connected(now);
  tick(now);
}

void RegionController::disconnected(std::string_view why, Instant now) {
  CHECK(link_ != Link::kDown, "disconnected() twice");
  const bool had_session = session_.state() != Tl1Session::State::kDisconnected;
  link_ = Link::kDown;
  session_.disconnected(why);
  take_session_events(now);
  if (!had_session) {
    state_.session_went(std::string(why), now);
  }
  introduced_ = false;
  read_this_session_ = false;
  const double share = 1 - random_.uniform() / 2;
  next_connect_ = now + std::chrono::duration_cast<Duration>(backoff_ * share);
  backoff_ = std::min(backoff_ * 2, options_.most_backoff);
  tick(now);
}

void RegionController::feed(std::string_view bytes, Instant now) {
  session_.feed(bytes, now);
  tick(now);
}

void RegionController::take_session_events(Instant now) {
  for (SessionEvent& event : session_.take_events()) {
    std::visit([&](auto& e) { handle(e, now); }, event);
  }
}

void RegionController::handle(CommandDone& done, Instant now) {
  if (done.ticket == ticket_ && ticket_ != 0) {
    ticket_ = 0;
    current_->answer(done, now);
  } else if (done.ticket == size_ticket_) {
    compare_size(done, now);
  } else if (done.ticket == alarms_ticket_) {
    take_alarms(done, now);
  } else if (done.ticket == identity_ticket_) {
    introduce(done, now);
  }
}

void RegionController::handle(LoggedIn& event, Instant now) {
  state_.session_came(event.sid);
  events_.push_back(Notice{fmt::format("logged in to {} ({})", options_.session.peer,
                                       event.sid.empty() ? "no name" : event.sid)});
  const auto ask = [&](Command command) {
    command.tid = options_.session.login.tid;
    const Result<Ticket> ticket = session_.submit(std::move(command), kReadDeadlines, now);
    return ticket.ok() ? *ticket : 0;
  };
  size_ticket_ = ask(read_size_command());
  alarms_ticket_ = ask(read_alarms_command());
  identity_ticket_ = ask(read_identity_command());
}

// Only a switch that says the right size is the right one again.
void RegionController::compare_size(const CommandDone& done, Instant now) {
  const Result<SwitchSize> size = parse_size(done.lines);
  if (done.outcome != Outcome::kCompleted || !size.ok()) {
    return;
  }
  wrong_size_.clear();
  if (*size != region_.switch_size()) {
    wrong_size_ =
        fmt::format("the switch at {} is {}, the region is written for {}", options_.session.peer,
                    text_of(*size), text_of(region_.switch_size()));
    state_.alarms().raise(AlarmKind::kSwitch, kSizeAlarm, wrong_size_, now);
  } else {
    state_.alarms().clear(AlarmKind::kSwitch, kSizeAlarm);
  }
}

// What was raised or cleared while nobody listened.
void RegionController::take_alarms(const CommandDone& done, Instant now) {
  std::map<std::string, std::string> standing;
  for (const TextLine& line : done.lines) {
    const SwitchEvent alarm = read_alarm(line.text);
    if (done.outcome == Outcome::kCompleted && alarm.kind == SwitchEvent::Kind::kAlarm) {
      standing.emplace(alarm.subject, alarm.text);
    }
  }
  if (!wrong_size_.empty()) {
    standing.emplace(kSizeAlarm, wrong_size_);
  }
  state_.alarms().replace(AlarmKind::kSwitch, standing, now);
}

void RegionController::introduce(const CommandDone& done, Instant now) {
  if (done.outcome == Outcome::kUnknown || done.outcome == Outcome::kNotSent) {
    return;  // the session is over; the next one asks again
  }
  const Result<SwitchIdentity> identity = parse_identity(done.lines);
  if (done.outcome == Outcome::kCompleted && identity.ok()) {
    state_.set_model(fmt::format("{} {} {}", identity->vendor, identity->model, identity->version));
  }
  introduced_ = true;
  backoff_ = options_.least_backoff;
  next_health_ = now;
  next_resume_ = now;
  resume_pause_ = options_.health_interval;
}

void RegionController::handle(LoginFailed& event, Instant now) {
  state_.alarms().raise(AlarmKind::kLogin, options_.session.peer, event.message, now);
}

void RegionController::handle(AutonomousEvent& event, Instant now) {
  const SwitchEvent read = read_event(event.message);
  switch (read.kind) {
    case SwitchEvent::Kind::kAlarm:
      state_.alarms().raise(AlarmKind::kSwitch, read.subject, read.text, now);
      break;
    case SwitchEvent::Kind::kCleared:
      state_.alarms().clear(AlarmKind::kSwitch, read.subject);
      break;
    case SwitchEvent::Kind::kStarted:
      doubt();
      break;
    case SwitchEvent::Kind::kEvent:
      break;
  }
  note_report(read.text, now);
  look_soon(now);
}

void RegionController::handle(EventsLost& event, Instant now) {
  state_.alarms().raise(AlarmKind::kEventsLost, "events", event.message, now);
  doubt();
  look_soon(now);
}

void RegionController::handle(SessionLost& event, Instant now) {
  introduced_ = false;
  read_this_session_ = false;
  doubt();
  state_.session_went(event.message, now);
  events_.push_back(Notice{event.message});
}

// A switch that reports without end must not fill a log.
void RegionController::note_report(const std::string& text, Instant now) {
  if (now >= reports_since_ + kReportWindow) {
    if (reports_ > kMostReports) {
      events_.push_back(
          Notice{fmt::format("the switch reported {} more times in {} s", reports_ - kMostReports,
                             kReportWindow / std::chrono::seconds(1))});
    }
    reports_since_ = now;
    reports_ = 0;
  }
  if (++reports_ <= kMostReports) {
    events_.push_back(Notice{fmt::format("the switch reports: {}", text)});
  }
}

// What was read may be old.
void RegionController::doubt() {
  if (current_ != nullptr) {
    current_->doubt();
  }
}

void RegionController::look_soon(Instant now) {
  next_health_ = now;
  look_soon_ = true;
}

// ---- transactions

void RegionController::tick(Instant now) {
  session_.tick(now);
  take_session_events(now);
  while (current_ != nullptr || start_next(now)) {
    if (current_request_.id == 0 && current_->is_harmless() && !waiting_.empty()) {
      current_.reset();  // a look at the switch waits for nobody; its answer is ignored
      ticket_ = 0;
      next_health_ = now;
      continue;
    }
    current_->tick(now);
    ask_next(now);
    if (!current_->done()) {
      break;
    }
    conclude(now);
  }
  log_out_when_done(now);
  state_.tick(now);
  publish();
}

void RegionController::log_out_when_done(Instant now) {
  if (stopping_ && current_ == nullptr && session_.state() == Tl1Session::State::kReady) {
    const Status status = session_.logout(now);
    (void)status;  // it is under way already
    take_session_events(now);
  }
}

void RegionController::ask_next(Instant now) {
  while (!current_->done() && ticket_ == 0 && ready()) {
    if (current_->job().change && !refusal().empty()) {
      return current_->refuse(refusal(), now);
    }
    std::optional<Transaction::Ask> ask = current_->next(now);
    if (!ask.has_value()) {
      return;
    }
    Command command = ask->command;
    command.tid = options_.session.login.tid;
    const Result<Ticket> ticket = session_.submit(command, ask->deadlines, now);
    if (ticket.ok()) {
      ticket_ = *ticket;
      take_session_events(now);
      continue;
    }
    CommandDone refused;
    refused.command = std::move(command);
    refused.outcome = Outcome::kDenied;
    refused.denial.text = ticket.error().text();
    current_->answer(refused, now);
  }
}

bool RegionController::start_next(Instant now) {
  if (!waiting_.empty()) {
    const Request request = std::move(waiting_.front());
    waiting_.pop_front();
    start(request, now);
    return true;
  }
  if (!ready() || stopping_) {
    return false;
  }
  if (owes_resume() && refusal().empty() && now >= next_resume_) {
    start_resume(now);
    return true;
  }
  if (now >= next_health_) {
    start(Request{0, false, {}, now}, now);
    return true;
  }
  return false;
}

void RegionController::start(const Request& request, Instant now) {
  Transaction::Job job;
  job.change = request.change;
  job.wanted = request.change ? request.circuits : state_.intended();
  job.expected = state_.expected();
  job.unusable = state_.unusable();
  job.relinking = state_.relinking(now);
  current_request_ = request;
  ticket_ = 0;
  current_ = std::make_unique<Transaction>(region_, options_, journal_, probe_, std::move(job),
                                           request.asked);
  next_health_ = now + options_.health_interval;
  look_soon_ = look_soon_ && request.change;  // a look sees to it
}

void RegionController::start_resume(Instant now) {
  Transaction::Job job;
  job.wanted = state_.intended();
  job.unusable = state_.unusable();
  job.relinking = state_.relinking(now);
  job.id = *state_.intent();
  current_request_ = Request{0, true, {}, now};
  ticket_ = 0;
  current_ =
      std::make_unique<Transaction>(region_, options_, journal_, probe_, std::move(job), now);
  next_resume_ = now + resume_pause_;
  resume_pause_ = std::min(resume_pause_ * 2, kMostResumePause);
}

void RegionController::conclude(Instant now) {
  state_.absorb(*current_, now);
  if (current_->met_other_writer()) {
    events_.push_back(Notice{"circuits were found that this controller did not make"});
  }
  read_this_session_ = read_this_session_ || (ready() && current_->has_read());
  if (current_request_.id != 0 || current_request_.change) {
    events_.push_back(ApplyDone{current_request_.id, current_->report()});
  }
  next_health_ = look_soon_ ? now : now + options_.health_interval;
  current_.reset();
  ticket_ = 0;
}

void RegionController::publish() {
  for (Alarm& alarm : state_.alarms().take_raised()) {
    events_.push_back(AlarmRaised{std::move(alarm)});
  }
  for (Alarm& alarm : state_.alarms().take_cleared()) {
    events_.push_back(AlarmCleared{std::move(alarm)});
  }
  if (state_.refresh()) {
    events_.push_back(TopologyChanged{});
  }
}

std::optional<Instant> RegionController::next_deadline() const {
  std::optional<Instant> next = session_.next_deadline();
  const auto consider = [&](std::optional<Instant> when) {
    if (when.has_value() && (!next.has_value() || *when < *next)) {
      next = when;
    }
  };
  if (link_ == Link::kDown && !stopping_) {
    consider(next_connect_);
  }
  if (current_ != nullptr) {
    consider(current_->next_deadline(ready()));
  } else if (ready() && !stopping_) {
    consider(next_health_);
    if (owes_resume() && refusal().empty()) {
      consider(next_resume_);
    }
  }
  return next;
}

// ---- requests

Result<uint64_t> RegionController::request(bool change, std::vector<Circuit> circuits,
                                           Instant now) {
  if (stopping_) {
    return Error{"the controller is stopping", ""};
  }
  if (change && !refusal().empty()) {
    return Error{refusal(), ""};
  }
  if (Status status = check_circuits(region_, circuits); !status.ok()) {
    return status.error();
  }
  if (waiting_.size() >= options_.max_waiting) {
    return Error{fmt::format("{} transactions wait already; try again later", waiting_.size()), ""};
  }
  std::sort(circuits.begin(), circuits.end());
  waiting_.push_back(Request{++last_request_, change, std::move(circuits), now});
  const uint64_t id = last_request_;
  tick(now);
  return id;
}

Result<ChangePreview> RegionController::preview(std::vector<Circuit> circuits) const {
  if (!state_.was_read()) {
    return Error{fmt::format("the switch at {} was not read yet", options_.session.peer), ""};
  }
  if (Status status = check_circuits(region_, circuits); !status.ok()) {
    return status.error();
  }
  std::sort(circuits.begin(), circuits.end());
  Transaction::Job job;
  job.wanted = std::move(circuits);
  job.expected = state_.expected();
  job.unusable = state_.unusable();
  return preview_of(region_, options_, job, state_.readings().patches);
}

void RegionController::stop(Instant now) {
  stopping_ = true;
  if (current_ != nullptr && current_->is_harmless() && current_request_.id == 0) {
    current_.reset();
    ticket_ = 0;
  }
  tick(now);
}

bool RegionController::stopped() const {
  return stopping_ && current_ == nullptr && waiting_.empty() &&
         (link_ == Link::kDown || session_.state() == Tl1Session::State::kClosing);
}

const std::string& RegionController::refusal() const {
  return unreadable_journal_.empty() ? wrong_size_ : unreadable_journal_;
}

bool RegionController::idle() const {
  return current_ == nullptr && waiting_.empty() && read_this_session_ && state_.settled();
}

Result<uint64_t> RegionController::apply(std::vector<Circuit> circuits, Instant now) {
  return request(true, std::move(circuits), now);
}

Result<uint64_t> RegionController::verify(Instant now) { return request(false, {}, now); }

}  // namespace mixnet::ocs
