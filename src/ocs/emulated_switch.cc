#include "ocs/emulated_switch.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "ocs/emulator_box.h"
#include "ocs/tl1_text.h"

namespace mixnet::ocs {
namespace {

constexpr std::size_t kMostQueuedCommands = 256;
// Stands in the input for a command that is too long.
constexpr char kTooLong = '\0';

EmulatorSession& session_of(EmulatorBox& box, EmulatedSwitch::Connection connection) {
  const auto session = box.sessions.find(connection);
  CHECK(session != box.sessions.end(), "a connection that is not open");
  return session->second;
}

const EmulatedCommand* find_command(std::string_view verb) {
  for (const auto commands :
       {patch_commands(), port_commands(), system_commands(), user_commands()}) {
    for (const EmulatedCommand& command : commands) {
      if (equal_ignoring_case(command.verb, verb)) {
        return &command;
      }
    }
  }
  return nullptr;
}

bool may_run(const EmulatorBox& box, const EmulatorSession& session, Right right) {
  switch (right) {
    case Right::kAnybody:
    case Right::kLoggedIn:
      return true;
    case Right::kRead:
      return session.group != UserGroup::kView || box.options.knobs.view_reads;
    case Right::kWrite:
      return session.group != UserGroup::kView;
    case Right::kAdministrate:
      return session.group == UserGroup::kAdmin;
  }
  return false;
}

bool is_write(Right right) { return right == Right::kWrite || right == Right::kAdministrate; }

void answer(EmulatorBox& box, EmulatorSession& session, EmulatorSession::Pending pending,
            Instant now) {
  const EmulatorKnobs& knobs = box.options.knobs;
  Reply& reply = pending.reply;
  box.counters.denied += reply.completion == Completion::kDenied ? 1 : 0;
  std::string events;
  for (const EmulatorEvent& event : reply.events) {
    box.report(event, now, &session);
    // The text carries the ATAG that the report to the others has just got.
    events += box.hears(session) ? box.write(event, now) : "";
  }
  std::vector<std::string> pages =
      write_answer(knobs, box.header(now),
                   Answer{std::move(pending.ctag), reply.completion, std::move(reply.lines)});
  const std::size_t at = knobs.event_order == EventOrder::kBefore    ? 0
                         : knobs.event_order == EventOrder::kBetween ? pages.size() / 2
                                                                     : pages.size();
  pages.insert(pages.begin() + static_cast<std::ptrdiff_t>(at), std::move(events));
  for (const std::string& page : pages) {
    box.send(session, page);
  }
  if (reply.then == Reply::Then::kClose) {
    session.close = true;
  } else if (reply.then == Reply::Then::kReboot) {
    box.reboot(now);
  }
}

// What a command comes to once it was read; none: nothing will ever be answered.
std::optional<Reply> carry_out(EmulatorBox& box, EmulatorSession& session,
                               const ReceivedCommand& received, Instant now) {
  const Command& command = received.command;
  if (!command.tid.empty() && command.tid != box.options.sid) {
    return denial("IITA", "Mismatched TID");
  }
  const EmulatedCommand* known = find_command(command.verb);
  if (session.user.empty() && (known == nullptr || known->right != Right::kAnybody)) {
    return denial(box.options.knobs.not_logged_in_code, "Not logged in");
  }
  if (known == nullptr) {
    return denial("IICM", "Invalid command");
  }
  if (!may_run(box, session, known->right)) {
    return denial("PICC", "Permission denied");
  }
  if (is_write(known->right) && box.faults.deny_write) {
    return *std::exchange(box.faults.deny_write, std::nullopt);
  }
  const bool patches = is_write(known->right) && contains_ignoring_case(known->verb, "-PATCH");
  const DropCommand drop =
      patches ? std::exchange(box.faults.drop, DropCommand::kNo) : DropCommand::kNo;
  if (drop == DropCommand::kBefore) {
    session.close = true;
    return std::nullopt;
  }
  Reply reply = known->run(box, session, received, now);
  if (drop == DropCommand::kAfter) {
    session.close = true;
    return std::nullopt;
  }
  return reply;
}

void execute(EmulatorBox& box, EmulatorSession& session, std::string_view text, Instant now) {
  const EmulatorKnobs& knobs = box.options.knobs;
  ++box.counters.commands;
  session.last_used = now;
  const auto read = text.front() == kTooLong
                        ? UnreadableCommand{"0", knobs.list_code, "Command too long"}
                        : read_command(text);
  const auto* received = std::get_if<ReceivedCommand>(&read);
  if (box.faults.busy > 0) {
    --box.faults.busy;
    const std::string ctag =
        received != nullptr ? received->ctag : std::get<UnreadableCommand>(read).ctag;
    box.send(session, write_acknowledgement(knobs, Acknowledgement{AckCode::kRepeatLater, ctag}));
    return;
  }
  EmulatorSession::Pending pending;
  pending.due = now;
  if (received == nullptr) {
    const auto& unreadable = std::get<UnreadableCommand>(read);
    pending.ctag = unreadable.ctag;
    pending.reply = denial(unreadable.code, unreadable.text);
    answer(box, session, std::move(pending), now);
    return;
  }
  std::optional<Reply> reply = carry_out(box, session, *received, now);
  if (!reply) {
    return;
  }
  pending.ctag = received->ctag;
  pending.reply = *std::move(reply);
  if (pending.reply.takes == Duration(0)) {
    answer(box, session, std::move(pending), now);
    return;
  }
  pending.due = now + pending.reply.takes;
  if (knobs.acknowledge && pending.reply.takes > knobs.acknowledge_after) {
    pending.acknowledge_at = now + knobs.acknowledge_after;
  }
  session.pending = std::move(pending);
}

void run_queue(EmulatorBox& box, EmulatorSession& session, Instant now) {
  while (!session.pending && !session.queue.empty() && !session.close && !session.silent) {
    const std::string text = std::move(session.queue.front());
    session.queue.pop_front();
    execute(box, session, text, now);
  }
}

// Cuts the bytes into commands at every ";" outside quotes.
void collect(EmulatorBox& box, EmulatorSession& session, std::string_view bytes) {
  const auto limit = static_cast<std::size_t>(box.options.knobs.max_command_bytes);
  for (const char c : bytes) {
    session.input += c;
    if (c == '"') {
      session.in_quotes = !session.in_quotes;
    }
    const bool ends = c == ';' && !session.in_quotes;
    if (!ends && session.input.size() < limit) {
      continue;
    }
    if (!ends) {
      // Only that it was too long is kept, and where its quotes stand.
      session.input.assign(1, kTooLong);
      continue;
    }
    if (session.queue.size() >= kMostQueuedCommands) {
      session.close = true;
      return;
    }
    session.queue.push_back(std::exchange(session.input, {}));
  }
}

Duration idle_limit(const EmulatorBox& box, const EmulatorSession& session) {
  const int32_t limit = box.idle_timeout[session.group == UserGroup::kAdmin ? 0 : 1];
  return box.options.knobs.idle_unit == IdleUnit::kMinutes ? Duration(std::chrono::minutes(limit))
                                                           : std::chrono::seconds(limit);
}

// When the inactivity timeout logs a session out.
std::optional<Instant> idle_end(const EmulatorBox& box, const EmulatorSession& session) {
  const Duration limit = idle_limit(box, session);
  if (session.user.empty() || session.pending || limit == Duration(0)) {
    return std::nullopt;
  }
  return session.last_used + limit;
}

void tick_session(EmulatorBox& box, EmulatorSession& session, Instant now) {
  if (const auto end = idle_end(box, session); end && *end <= now) {
    session.user.clear();
  }
  if (session.pending && session.pending->due <= now) {
    EmulatorSession::Pending pending = *std::exchange(session.pending, std::nullopt);
    answer(box, session, std::move(pending), now);
    run_queue(box, session, now);
  } else if (session.pending && session.pending->acknowledge_at &&
             *session.pending->acknowledge_at <= now) {
    session.pending->acknowledge_at.reset();
    box.send(session,
             write_acknowledgement(box.options.knobs,
                                   Acknowledgement{AckCode::kInProgress, session.pending->ctag}));
  }
}

}  // namespace

EmulatedSwitch::EmulatedSwitch(EmulatorOptions options)
    : box_(std::make_unique<EmulatorBox>(std::move(options))) {}
EmulatedSwitch::~EmulatedSwitch() = default;
EmulatedSwitch::EmulatedSwitch(EmulatedSwitch&&) noexcept = default;
EmulatedSwitch& EmulatedSwitch::operator=(EmulatedSwitch&&) noexcept = default;

EmulatedSwitch::Connection EmulatedSwitch::open(Instant now) {
  const EmulatorKnobs& knobs = box_->options.knobs;
  tick(now);
  const bool full = box_->sessions.size() >= static_cast<std::size_t>(knobs.max_sessions);
  const Connection connection = ++box_->last_session;
  EmulatorSession& session = box_->sessions[connection];
  session.last_used = now;
  ++box_->counters.connections;
  if (box_->reboot_ends || full) {
    ++box_->counters.refused_connections;
    session.close = true;
    return connection;
  }
  session.reports = true;
  session.cut_after = std::exchange(box_->faults.cut_next_connection, std::nullopt);
  if (knobs.telnet) {
    box_->send(session, "\xff\xfb\x01\xff\xfb\x03");  // WILL ECHO, WILL SUPPRESS-GO-AHEAD
  }
  if (!knobs.banner.empty()) {
    box_->send(session, "\r\n" + knobs.banner + "\r\n");
  }
  box_->send(session, text_of(knobs.prompt));
  return connection;
}

void EmulatedSwitch::closed(Connection connection, Instant now) {
  tick(now);
  box_->sessions.erase(connection);
}

void EmulatedSwitch::feed(Connection connection, std::string_view bytes, Instant now) {
  tick(now);
  EmulatorSession& session = session_of(*box_, connection);
  if (session.close || session.silent) {
    return;
  }
  if (box_->options.knobs.echo) {
    box_->send(session, bytes);
  }
  collect(*box_, session, bytes);
  run_queue(*box_, session, now);
}

void EmulatedSwitch::tick(Instant now) {
  EmulatorBox& box = *box_;
  box.last_now = std::max(box.last_now, now);
  if (box.reboot_ends && *box.reboot_ends <= now) {
    box.finish_reboot(now);
  }
  std::vector<DelayedPatches> due;
  for (auto at = box.delayed.begin(); at != box.delayed.end();) {
    if (at->when <= now) {
      due.push_back(std::move(*at));
      at = box.delayed.erase(at);
    } else {
      ++at;
    }
  }
  for (const DelayedPatches& patches : due) {
    box.make_patches(patches.patches, now);
  }
  for (auto& [id, session] : box.sessions) {
    tick_session(box, session, now);
  }
}

std::optional<Instant> EmulatedSwitch::next_deadline() const {
  const EmulatorBox& box = *box_;
  std::optional<Instant> next = box.state.next_change(box.last_now);
  const auto consider = [&next](std::optional<Instant> when) {
    if (when && (!next || *when < *next)) {
      next = when;
    }
  };
  consider(box.reboot_ends);
  for (const DelayedPatches& patches : box.delayed) {
    consider(patches.when);
  }
  for (const auto& [id, session] : box.sessions) {
    consider(idle_end(box, session));
    if (session.pending) {
      consider(session.pending->due);
      consider(session.pending->acknowledge_at);
    }
  }
  return next;
}

std::string EmulatedSwitch::take_output(Connection connection) {
  return std::exchange(session_of(*box_, connection).output, {});
}

bool EmulatedSwitch::wants_close(Connection connection) const {
  return session_of(*box_, connection).close;
}

Result<std::string> EmulatedSwitch::control(std::string_view line, Instant now) {
  tick(now);
  return run_fault(*box_, line, now);
}

SwitchSize EmulatedSwitch::size() const { return box_->options.size; }
const std::vector<EmulatedNic>& EmulatedSwitch::nics() const { return box_->options.nics; }
std::vector<Patch> EmulatedSwitch::patches() const { return box_->state.patches(); }

bool EmulatedSwitch::light_at(PortId egress, Instant now) const {
  return box_->state.light_at(egress, now);
}

bool EmulatedSwitch::carrier(PortId rx, Instant now) const { return box_->state.carrier(rx, now); }

const EmulatorCounters& EmulatedSwitch::counters() const { return box_->counters; }

}  // namespace mixnet::ocs
