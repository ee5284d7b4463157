#include "ocs/tl1_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/check.h"
#include "ocs/tl1_text.h"

namespace mixnet::ocs {
namespace {

constexpr std::size_t kRetiredTags = 32;

bool is_read(const Command& command) {
  return equal_ignoring_case(std::string_view(command.verb).substr(0, 5), "RTRV-");
}

std::string text_of(Ctag ctag) { return fmt::format("{}", ctag.value); }

bool follows(uint32_t atag, uint32_t last) {
  // A repeated number loses nothing; some switches number nothing at all.
  return atag == last || atag == last + 1 || (last == kLastAtag && atag <= 1);
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kCompleted:
      return "COMPLETED";
    case Outcome::kDenied:
      return "DENIED";
    case Outcome::kPartial:
      return "PARTIAL";
    case Outcome::kDelayed:
      return "DELAYED";
    case Outcome::kBusy:
      return "BUSY";
    case Outcome::kUnintelligible:
      return "UNINTELLIGIBLE";
    case Outcome::kUnknown:
      return "UNKNOWN";
    case Outcome::kNotSent:
      return "NOT SENT";
  }
  return "";
}

Tl1Session::Tl1Session(SessionOptions options)
    : options_(std::move(options)),
      decoder_(options_.limits),
      last_ctag_{options_.first_ctag.value - 1} {
  CHECK(options_.keep_alive > Duration::zero(), "keep-alive without a pause");
  CHECK(options_.max_queue > 0, "a queue without room");
}

void Tl1Session::connected(Instant now) {
  CHECK(state_ == State::kDisconnected, "connected() twice without disconnected()");
  decoder_ = Tl1Decoder(options_.limits);
  output_.clear();
  last_atag_.reset();
  last_table_ = {};
  logged_in_again_ = false;
  start_login(now);
}

void Tl1Session::disconnected(std::string_view why) {
  if (state_ == State::kLoggingIn || state_ == State::kReady) {
    const std::string waiting =
        current_ ? fmt::format(", waiting for the answer to {}", current_->description) : "";
    end_session(fmt::format("the connection to {} was lost: {}{}", options_.peer, why, waiting));
  }
  state_ = State::kDisconnected;
}

void Tl1Session::feed(std::string_view bytes, Instant now) {
  if (state_ != State::kLoggingIn && state_ != State::kReady) {
    return;
  }
  std::vector<Message> messages;
  decoder_.feed(bytes, messages);
  for (Message& message : messages) {
    if (wants_close()) {
      return;
    }
    std::visit([&](auto& m) { handle(std::move(m), now); }, message);
  }
}

void Tl1Session::tick(Instant now) {
  if (state_ != State::kLoggingIn && state_ != State::kReady) {
    return;
  }
  if (current_ && current_->complete_at && *current_->complete_at <= now) {
    complete(Outcome::kCompleted, {}, "");
    send_next(now);
  } else if (current_ && current_->sent + current_->deadlines.hard <= now) {
    end_session(waited_for(*current_, current_->deadlines.hard));
    return;
  } else if (current_ && !current_->acknowledged &&
             current_->sent + current_->deadlines.soft <= now) {
    give_up_waiting(now);
  }
  if (!overdue_.empty() && overdue_.front().hard <= now) {
    end_session(fmt::format("no answer from {} to {}, not even late", options_.peer,
                            overdue_.front().description));
    return;
  }
  if (state_ == State::kReady && !current_ && queue_.empty() &&
      last_sent_ + options_.keep_alive <= now) {
    ++counters_.keep_alives;
    Pending pending;
    pending.purpose = Purpose::kKeepAlive;
    pending.command.verb = "RTRV-HDR";
    pending.command.tid = options_.login.tid;
    send(std::move(pending), now);
  }
}

std::optional<Instant> Tl1Session::next_deadline() const {
  if (state_ != State::kLoggingIn && state_ != State::kReady) {
    return std::nullopt;
  }
  Instant next = Instant::max();
  if (current_) {
    const Deadlines& deadlines = current_->deadlines;
    next = current_->sent + (current_->acknowledged ? deadlines.hard : deadlines.soft);
    next = std::min(next, current_->complete_at.value_or(next));
  } else if (queue_.empty()) {
    next = last_sent_ + options_.keep_alive;
  }
  if (!overdue_.empty()) {
    next = std::min(next, overdue_.front().hard);
  }
  return next;
}

Result<Ticket> Tl1Session::submit(Command command, Deadlines deadlines, Instant now) {
  CHECK(Duration::zero() < deadlines.soft && deadlines.soft <= deadlines.hard,
        "the soft deadline comes first");
  if (state_ != State::kReady || logging_out_) {
    return Error{fmt::format("not logged in to {}: {} was not sent", options_.peer, command.verb),
                 ""};
  }
  if (queue_.size() >= options_.max_queue) {
    return Error{fmt::format("{} commands wait for {} already: {} was not sent", queue_.size(),
                             options_.peer, command.verb),
                 ""};
  }
  command.ctag = Ctag{Ctag::kMax};
  if (Result<std::string> bytes = encode(command); !bytes) {
    return bytes.error();
  }
  command.ctag = Ctag{};
  Pending pending;
  pending.ticket = ++last_ticket_;
  pending.command = std::move(command);
  pending.deadlines = deadlines;
  queue_.push_back(std::move(pending));
  send_next(now);
  return last_ticket_;
}

Status Tl1Session::logout(Instant now) {
  if (state_ != State::kReady || logging_out_) {
    return Error{fmt::format("not logged in to {}", options_.peer), ""};
  }
  logging_out_ = true;
  Pending pending;
  pending.purpose = Purpose::kLogout;
  pending.command = Command{"CANC-USER", options_.login.tid, {}, {}, {}};
  pending.command.aid = {{AidItem{options_.login.user, ""}}};
  pending.deadlines = options_.login_deadlines;
  queue_.push_back(std::move(pending));
  send_next(now);
  return Status();
}

std::string Tl1Session::take_output() { return std::exchange(output_, {}); }

std::vector<SessionEvent> Tl1Session::take_events() {
  events_dropped_ = false;
  return std::exchange(events_, {});
}

// ---- what arrives

void Tl1Session::handle(const Acknowledgement& acknowledgement, Instant now) {
  const bool named = current_ && acknowledgement.ctag == text_of(current_->command.ctag);
  const bool implied = current_ && acknowledgement.ctag.empty() && overdue_.empty();
  if (!named && !implied) {
    ++counters_.stray_acknowledgements;
    return;
  }
  switch (acknowledgement.code) {
    case AckCode::kInProgress:
    case AckCode::kPrintoutFollows:
      current_->acknowledged = true;
      return;
    case AckCode::kAllRight:
      if (!options_.ok_completes) {
        current_->acknowledged = true;
        return;
      }
      finish_response(Response{{}, "", Completion::kCompleted, "COMPLD", {}, false}, now);
      return;
    case AckCode::kNoAck:
    case AckCode::kNoGood:
    case AckCode::kRepeatLater:
      break;
  }
  const std::string message =
      fmt::format("{} answered {} to {}: busy, no answer will follow", options_.peer,
                  name_of(acknowledgement.code), current_->description);
  if (current_->purpose == Purpose::kLogin || current_->purpose == Purpose::kLogout) {
    end_session(message);
    return;
  }
  complete(Outcome::kBusy, {}, message);
  send_next(now);
}

void Tl1Session::handle(Response response, Instant now) {
  const bool named = current_ && response.ctag == text_of(current_->command.ctag);
  // CTAG 0: the switch could not read the CTAG of what it refuses.
  const bool unread = current_ && response.ctag == "0" && overdue_.empty() &&
                      response.completion == Completion::kDenied;
  if (!named && !unread) {
    if (is_another_page(response)) {
      end_session(
          fmt::format("{} sends the pages of a table as complete answers, and the first was "
                      "taken for all of it: set page_grace, such as 200 ms",
                      options_.peer));
      return;
    }
    count_stray(response.ctag, now);
    return;
  }
  mask_lines(response.lines);
  for (const TextLine& line : response.lines) {
    current_->answer_bytes += line.text.size() + sizeof(TextLine);
  }
  std::ranges::move(response.lines, std::back_inserter(current_->lines));
  if (current_->answer_bytes > options_.max_answer_bytes) {
    end_session(fmt::format("the answer of {} to {} is longer than {} bytes", options_.peer,
                            current_->description, options_.max_answer_bytes));
    return;
  }
  ++current_->pages;
  current_->acknowledged = true;
  if (response.more || response.completion == Completion::kRetrieved) {
    return;
  }
  if (options_.page_grace > Duration::zero() && is_read(current_->command) &&
      response.completion == Completion::kCompleted) {
    current_->complete_at = now + options_.page_grace;
    return;
  }
  finish_response(response, now);
}

void Tl1Session::handle(Autonomous message, Instant) {
  if (last_atag_ && !follows(message.atag, *last_atag_)) {
    ++counters_.atag_gaps;
    emit(EventsLost{fmt::format("autonomous messages of {} between number {} and {} were lost",
                                options_.peer, *last_atag_, message.atag)});
  }
  last_atag_ = message.atag;
  mask_lines(message.lines);
  emit(AutonomousEvent{std::move(message)});
}

void Tl1Session::handle(ProtocolError error, Instant) {
  ++counters_.protocol_errors;
  if (current_ && error.ctag == text_of(current_->command.ctag)) {
    // The rest of the stream may be just as wrong: a table from it could not be trusted.
    end_session(fmt::format("the answer of {} to {} is broken: {}", options_.peer,
                            current_->description, error.message));
    return;
  }
  emit(EventsLost{fmt::format("{} sent {}: what it held is lost", options_.peer, error.message)});
}

void Tl1Session::count_stray(const std::string& ctag, Instant now) {
  const auto overdue = std::ranges::find(overdue_, ctag, [](const Overdue& o) { return o.ctag; });
  if (overdue != overdue_.end()) {
    ++counters_.late_answers;
    overdue_.erase(overdue);
    send_next(now);
  } else if (std::find(retired_.begin(), retired_.end(), ctag) != retired_.end()) {
    ++counters_.late_answers;
  } else {
    ++counters_.foreign_answers;
  }
}

// Of the table that was read last? A repetition of the same answer is none.
bool Tl1Session::is_another_page(const Response& response) const {
  return options_.page_grace == Duration::zero() && !last_table_.ctag.empty() &&
         response.ctag == last_table_.ctag && response.completion == Completion::kCompleted &&
         !response.lines.empty() && response.lines.front() != last_table_.first_line;
}

void Tl1Session::finish_response(const Response& response, Instant now) {
  if (current_->purpose == Purpose::kLogin) {
    finish_login(response, now);
    return;
  }
  if (current_->purpose == Purpose::kLogout) {
    end_session("logged out");
    return;
  }
  const std::string& what = current_->description;
  switch (response.completion) {
    case Completion::kCompleted:
    case Completion::kRetrieved:
      logged_in_again_ = false;
      complete(Outcome::kCompleted, {}, "");
      break;
    case Completion::kDenied: {
      Denial denial = parse_denial(current_->lines);
      std::string message = fmt::format("{} denied {}: {}", options_.peer, what, denial.describe());
      complete(Outcome::kDenied, denial, std::move(message));
      if (denial.has("PLNA") || contains_ignoring_case(denial.text, "not logged in")) {
        log_in_again(now);
        return;
      }
      break;
    }
    case Completion::kPartial:
      complete(Outcome::kPartial, {},
               fmt::format("{} carried out only part of {}", options_.peer, what));
      break;
    case Completion::kDelayed:
      complete(Outcome::kDelayed, {},
               fmt::format("{} will carry out {} later", options_.peer, what));
      break;
    case Completion::kOther:
      complete(Outcome::kUnintelligible, {},
               fmt::format("{} answered {} with the unknown word \"{}\"", options_.peer, what,
                           masked(response.completion_word)));
      break;
  }
  send_next(now);
}

void Tl1Session::finish_login(const Response& response, Instant now) {
  const Denial denial = parse_denial(current_->lines);
  const bool already = response.completion == Completion::kDenied &&
                       contains_ignoring_case(denial.text, "already logged in");
  if (response.completion != Completion::kCompleted && !already) {
    login_denial_ = denial;
    end_session(fmt::format("{} refused the login of \"{}\": {}", options_.peer,
                            options_.login.user, denial.describe()));
    return;
  }
  retire_current();
  state_ = State::kReady;
  emit(LoggedIn{response.header.sid});
  send_next(now);
}

// ---- what is sent

void Tl1Session::start_login(Instant now) {
  state_ = State::kLoggingIn;
  Pending pending;
  pending.purpose = Purpose::kLogin;
  pending.command.verb = "ACT-USER";
  pending.deadlines = options_.login_deadlines;
  send(std::move(pending), now);
}

// One new login per answer "not logged in": a switch that keeps refusing is not pestered.
void Tl1Session::log_in_again(Instant now) {
  if (logged_in_again_) {
    end_session(fmt::format("{} says \"not logged in\" right behind a login", options_.peer));
    return;
  }
  logged_in_again_ = true;
  start_login(now);
}

void Tl1Session::send_next(Instant now) {
  if (state_ != State::kReady || current_ || queue_.empty()) {
    return;
  }
  // A write whose answer is overdue may still be under way: nothing but reads beside it.
  if (!overdue_.empty() && !is_read(queue_.front().command)) {
    return;
  }
  Pending pending = std::move(queue_.front());
  queue_.pop_front();
  send(std::move(pending), now);
}

void Tl1Session::send(Pending pending, Instant now) {
  CHECK(!current_, "two commands under way");
  pending.command.ctag = next_ctag();
  pending.sent = now;
  const bool login = pending.purpose == Purpose::kLogin;
  const Result<std::string> bytes =
      login ? encode_login(options_.login, pending.command.ctag) : encode(pending.command);
  if (!bytes) {
    // Commands were checked when they were submitted: only the login can be at fault.
    current_ = std::move(pending);
    end_session(fmt::format("cannot log in to {}: {}", options_.peer, bytes.error().text()));
    return;
  }
  pending.description = login ? describe_login(options_.login, pending.command.ctag) : *bytes;
  output_ += *bytes + "\r\n";
  last_sent_ = now;
  current_ = std::move(pending);
}

Ctag Tl1Session::next_ctag() {
  do {
    last_ctag_.value = last_ctag_.value % Ctag::kMax + 1;
  } while (std::ranges::any_of(overdue_,
                               [&](const Overdue& o) { return o.ctag == text_of(last_ctag_); }));
  return last_ctag_;
}

// ---- how commands and the session end

void Tl1Session::give_up_waiting(Instant now) {
  if (decoder_.inside_message() || current_->purpose != Purpose::kUser) {
    end_session(waited_for(*current_, current_->deadlines.soft));
    return;
  }
  overdue_.push_back(Overdue{text_of(current_->command.ctag), current_->description,
                             current_->sent + current_->deadlines.hard});
  // Kept in the order in which they are due, which need not be the order of sending.
  std::ranges::sort(overdue_, {}, [](const Overdue& o) { return o.hard; });
  complete(Outcome::kUnknown, {}, waited_for(*current_, current_->deadlines.soft));
  send_next(now);
}

std::string Tl1Session::waited_for(const Pending& pending, Duration waited) const {
  const char* what = decoder_.inside_message() ? "the end of the answer"
                     : pending.pages > 0       ? "the next page of the answer"
                     : pending.acknowledged    ? "the answer behind the acknowledgement"
                                               : "an answer";
  return fmt::format("waited {:.3f} s for {} of {} to {}", seconds_of(waited), what, options_.peer,
                     pending.description);
}

void Tl1Session::retire_current() {
  retired_.push_back(text_of(current_->command.ctag));
  if (retired_.size() > kRetiredTags) {
    retired_.pop_front();
  }
  current_.reset();
}

void Tl1Session::complete(Outcome outcome, Denial denial, std::string message) {
  if (current_->purpose == Purpose::kUser) {
    CommandDone done;
    done.ticket = current_->ticket;
    done.command = std::move(current_->command);
    done.outcome = outcome;
    if (outcome == Outcome::kCompleted && is_read(done.command) && !current_->lines.empty()) {
      last_table_ = {text_of(done.command.ctag), current_->lines.front()};
    }
    if (outcome != Outcome::kUnknown) {
      done.lines = std::move(current_->lines);
    }
    done.denial = std::move(denial);
    done.message = std::move(message);
    current_->command.ctag = done.command.ctag;
    emit(std::move(done));
  }
  retire_current();
}

void Tl1Session::end_session(std::string why) {
  const bool logging_in = state_ == State::kLoggingIn;
  const bool logging_out = current_ && current_->purpose == Purpose::kLogout;
  if (current_) {
    complete(Outcome::kUnknown, {}, why);
  }
  for (Pending& pending : queue_) {
    if (pending.purpose == Purpose::kUser) {
      emit(CommandDone{pending.ticket, std::move(pending.command), Outcome::kNotSent, {}, {}, why});
    }
  }
  queue_.clear();
  overdue_.clear();
  output_.clear();
  logging_out_ = false;
  state_ = State::kClosing;
  if (logging_out) {
    emit(LoggedOut{});
    return;
  }
  if (logging_in) {
    emit(LoginFailed{std::exchange(login_denial_, {}), why});
  }
  emit(SessionLost{std::move(why)});
}

void Tl1Session::emit(SessionEvent event) {
  // Only autonomous messages have no bound of their own.
  if (events_.size() >= options_.max_events && std::holds_alternative<AutonomousEvent>(event)) {
    if (!std::exchange(events_dropped_, true)) {
      events_.push_back(EventsLost{fmt::format("more than {} events of {} were not taken",
                                               options_.max_events, options_.peer)});
    }
    return;
  }
  events_.push_back(std::move(event));
}

// ---- the password

std::string Tl1Session::masked(std::string text) const {
  const std::string_view secret = options_.login.password.reveal();
  constexpr std::string_view kMask = "***";
  if (secret.empty()) {
    return text;
  }
  for (std::size_t at = text.find(secret); at != std::string::npos;
       at = text.find(secret, at + kMask.size())) {
    text.replace(at, secret.size(), kMask);
  }
  return text;
}

// In tables only lines that repeat a login: a password "1" must not change port numbers.
void Tl1Session::mask_lines(std::vector<TextLine>& lines) const {
  const bool login = current_ && current_->purpose == Purpose::kLogin;
  for (TextLine& line : lines) {
    if (login || contains_ignoring_case(line.text, "act-user")) {
      line.text = masked(std::move(line.text));
    }
  }
}

}  // namespace mixnet::ocs
