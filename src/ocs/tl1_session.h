#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/instant.h"
#include "core/result.h"
#include "ocs/tl1_decoder.h"
#include "ocs/tl1_encoder.h"
#include "ocs/tl1_errors.h"
#include "ocs/tl1_message.h"

// One TL1 session with a switch, without I/O: bytes and the time go in, bytes and events come out.
// The owner of the connection
//   * calls connected(), then feed() with what arrives and tick() at next_deadline();
//   * sends take_output() and hands take_events() on, after each of these calls;
//   * drops the connection when wants_close(), and calls disconnected() whenever it is gone.
//
// One command is under way at a time; more wait in a bounded queue. An answer belongs to a command
// by its CTAG alone. A command whose answer was lost ends as kUnknown, never as failed: the switch
// may have carried it out, only reading back tells. Nothing is ever sent twice.
namespace mixnet::ocs {

struct Deadlines {
  // Without an answer or an acknowledgement by `soft` the command ends as kUnknown. Without either
  // by `hard` the connection is given up. Both count from sending.
  Duration soft = std::chrono::seconds(5);
  Duration hard = std::chrono::seconds(5);
};
inline constexpr Deadlines kReadDeadlines{std::chrono::seconds(5), std::chrono::seconds(5)};
inline constexpr Deadlines kWriteDeadlines{std::chrono::seconds(2), std::chrono::seconds(10)};

struct SessionOptions {
  std::string peer;  // for errors: "10.0.0.5:3082"
  Login login{"", "", Secret("")};
  Deadlines login_deadlines{std::chrono::seconds(5), std::chrono::seconds(5)};
  // After this long without a command one is sent, so that the switch does not end the session and
  // a dead connection is noticed. Must be below the inactivity timeout of the switch (>= 1 min).
  Duration keep_alive = std::chrono::seconds(20);
  std::size_t max_queue = 64;
  std::size_t max_events = 4096;
  std::size_t max_answer_bytes = std::size_t{8} << 20;  // all pages of one answer
  // Some switches send every page of a read as COMPLD with one CTAG. With a grace, a read is
  // complete this long after its last page; zero: the first COMPLD is the answer.
  Duration page_grace{0};
  // Some switches answer "OK" and nothing more.
  bool ok_completes = false;
  Ctag first_ctag{1};
  DecoderLimits limits;
};

enum class Outcome {
  kCompleted,       // COMPLD; for a switch command that is no proof of light
  kDenied,          // DENY: `denial` says why; not carried out
  kPartial,         // PRTL: some of it was carried out
  kDelayed,         // DELAY: will be carried out
  kBusy,            // RL, NA or NG: the switch does not take it now
  kUnintelligible,  // a completion that TL1 does not know
  kUnknown,         // no answer: carried out or not
  kNotSent,         // the session ended before it was sent
};
std::string_view name_of(Outcome outcome);

using Ticket = uint64_t;  // of one submitted command

struct CommandDone {
  Ticket ticket = 0;
  Command command;  // with the CTAG it was sent with; none when kNotSent
  Outcome outcome = Outcome::kUnknown;
  std::vector<TextLine> lines;  // of all pages; empty when kUnknown: no half tables
  Denial denial;                // kDenied
  // What happened, and what was waited for; empty when kCompleted.
  std::string message;
};
struct LoggedIn {
  std::string sid;  // the name of the switch, empty when it has none
};
struct LoginFailed {
  Denial denial;  // empty when there was no answer
  std::string message;
};
struct LoggedOut {};
struct AutonomousEvent {
  Autonomous message;
};
// Autonomous messages are missing: read everything back.
struct EventsLost {
  std::string message;
};
// The session is over; commands end as kUnknown or kNotSent before it.
struct SessionLost {
  std::string message;
};
using SessionEvent = std::variant<CommandDone, LoggedIn, LoginFailed, LoggedOut, AutonomousEvent,
                                  EventsLost, SessionLost>;

struct SessionCounters {
  uint64_t late_answers = 0;     // to a CTAG that is done with
  uint64_t foreign_answers = 0;  // to a CTAG that was not ours
  uint64_t stray_acknowledgements = 0;
  uint64_t protocol_errors = 0;
  uint64_t atag_gaps = 0;
  uint64_t keep_alives = 0;
};

class Tl1Session {
 public:
  enum class State {
    kDisconnected,
    kLoggingIn,
    kReady,
    kClosing,  // the owner is to drop the connection
  };

  explicit Tl1Session(SessionOptions options);

  // Starts the login on a new connection.
  void connected(Instant now);
  // The connection is gone; `why` in the words of whoever noticed.
  void disconnected(std::string_view why);
  void feed(std::string_view bytes, Instant now);
  // Does what is due.
  void tick(Instant now);
  // When to call tick() at the latest.
  std::optional<Instant> next_deadline() const;

  // Queues a command; its CTAG is assigned when it is sent, and then its deadlines start. Ends in
  // exactly one CommandDone. Errors: not logged in, queue full, or what encode() refuses.
  Result<Ticket> submit(Command command, Deadlines deadlines, Instant now);
  // Ends the session once everything queued is done; LoggedOut follows.
  Status logout(Instant now);

  // Holds the password during a login: not for a log.
  std::string take_output();
  std::vector<SessionEvent> take_events();
  bool wants_close() const { return state_ == State::kClosing; }
  State state() const { return state_; }
  const SessionCounters& counters() const { return counters_; }

 private:
  enum class Purpose { kUser, kLogin, kLogout, kKeepAlive };
  struct Pending {
    Purpose purpose = Purpose::kUser;
    Ticket ticket = 0;
    Command command;
    Deadlines deadlines;
    Instant sent;
    bool acknowledged = false;
    std::string description;  // the command as sent, without secrets
    std::vector<TextLine> lines;
    std::size_t answer_bytes = 0;
    std::size_t pages = 0;
    std::optional<Instant> complete_at;  // page_grace after a COMPLD
  };
  // A command that ended as kUnknown at its soft deadline; its answer may still come.
  struct Overdue {
    std::string ctag;
    std::string description;
    Instant hard;
  };

  void handle(const Acknowledgement& acknowledgement, Instant now);
  void handle(Response response, Instant now);
  void handle(Autonomous message, Instant now);
  void handle(ProtocolError error, Instant now);
  void count_stray(const std::string& ctag, Instant now);
  bool is_another_page(const Response& response) const;
  void finish_response(const Response& response, Instant now);
  void finish_login(const Response& response, Instant now);

  void start_login(Instant now);
  void log_in_again(Instant now);
  void send_next(Instant now);
  void send(Pending pending, Instant now);
  Ctag next_ctag();

  void give_up_waiting(Instant now);
  std::string waited_for(const Pending& pending, Duration waited) const;
  void retire_current();
  void complete(Outcome outcome, Denial denial, std::string message);
  void end_session(std::string why);
  void emit(SessionEvent event);
  std::string masked(std::string text) const;
  void mask_lines(std::vector<TextLine>& lines) const;

  SessionOptions options_;
  State state_ = State::kDisconnected;
  Tl1Decoder decoder_;
  std::string output_;
  std::vector<SessionEvent> events_;
  bool events_dropped_ = false;
  std::optional<Pending> current_;
  std::deque<Pending> queue_;
  std::deque<Overdue> overdue_;
  std::deque<std::string> retired_;  // the last CTAGs that were answered or given up
  Instant last_sent_;
  bool logging_out_ = false;
  bool logged_in_again_ = false;  // since the last completed command
  Denial login_denial_;
  std::optional<uint32_t> last_atag_;
  Ticket last_ticket_ = 0;
  Ctag last_ctag_;
  // What tells another page of a table from a repetition.
  struct Table {
    std::string ctag;
    TextLine first_line;
  };
  Table last_table_;
  SessionCounters counters_;
};

}  // namespace mixnet::ocs
