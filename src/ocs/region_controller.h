#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/instant.h"
#include "core/random.h"
#include "core/result.h"
#include "ocs/change_preview.h"
#include "ocs/controller_options.h"
#include "ocs/journal.h"
#include "ocs/link_probe.h"
#include "ocs/region.h"
#include "ocs/region_report.h"
#include "ocs/region_state.h"
#include "ocs/tl1_session.h"
#include "ocs/transaction.h"

// Brings the circuits of a region to what is wanted and says what came of it, without I/O but for
// the journal and the probe it is given. Its owner does with it what tl1_session.h says of a
// session, and opens a connection when wants_connection().
//
// One transaction at a time: read back -> journal -> delete -> create -> read back -> shutters,
// power, carrier -> report. What was asked for is reached by comparing the switch with the intent,
// at every step again: nothing is inferred from an answer alone, and nothing is sent twice blindly.
namespace mixnet::ocs {

struct ApplyDone {
  uint64_t request = 0;  // as apply() returned it; 0: an intent found in the journal
  ApplyReport report;
};
struct TopologyChanged {};
struct AlarmRaised {
  Alarm alarm;
};
struct AlarmCleared {
  Alarm alarm;
};
// For a log; holds no secret.
struct Notice {
  std::string message;
};
using ControllerEvent = std::variant<ApplyDone, TopologyChanged, AlarmRaised, AlarmCleared, Notice>;

class RegionController {
 public:
  // `journal` and `probe` outlive the controller.
  RegionController(Region region, ControllerOptions options, Journal& journal, LinkProbe& probe);
  // Its parts refer to one another.
  RegionController(const RegionController&) = delete;
  RegionController& operator=(const RegionController&) = delete;

  // True from when a connection is due until connecting() is called.
  bool wants_connection(Instant now) const;
  void connecting();
  void connected(Instant now);
  void disconnected(std::string_view why, Instant now);
  void feed(std::string_view bytes, Instant now);
  void tick(Instant now);
  std::optional<Instant> next_deadline() const;
  std::string take_output() { return session_.take_output(); }  // not for a log
  bool wants_close() const { return session_.wants_close(); }

  // Wants exactly `circuits` in the region from now on. Ends in one ApplyDone. Errors, and then
  // nothing is done: a NIC in two circuits, too many transactions waiting.
  Result<uint64_t> apply(std::vector<Circuit> circuits, Instant now);
  // Reads everything back now and reports on the circuits that are there, changing nothing.
  Result<uint64_t> verify(Instant now);
  // Error: the switch was not read yet.
  Result<ChangePreview> preview(std::vector<Circuit> circuits) const;

  // Takes no more requests, ends what is under way or waits, logs out, and does not reconnect.
  void stop(Instant now);
  bool stopped() const;

  // Nothing is under way and everything was read since the session began.
  bool idle() const;
  const Topology& topology() const { return state_.topology(); }
  const Region& region() const { return region_; }
  const SessionCounters& session_counters() const { return session_.counters(); }
  std::vector<ControllerEvent> take_events() { return std::exchange(events_, {}); }

 private:
  enum class Link { kDown, kConnecting, kUp };
  struct Request {
    uint64_t id = 0;
    bool change = true;
    std::vector<Circuit> circuits;
    Instant asked;
  };

  void restore();
  void take_session_events(Instant now);
  void handle(CommandDone& done, Instant now);
  void handle(LoggedIn& event, Instant now);
  void handle(LoginFailed& event, Instant now);
  void handle(LoggedOut& /*event*/, Instant /*now*/) {}
  void handle(AutonomousEvent& event, Instant now);
  void handle(EventsLost& event, Instant now);
  void handle(SessionLost& event, Instant now);
  void compare_size(const CommandDone& done, Instant now);
  void take_alarms(const CommandDone& done, Instant now);
  void introduce(const CommandDone& done, Instant now);
  void note_report(const std::string& text, Instant now);
  void doubt();
  void look_soon(Instant now);

  bool owes_resume() const { return options_.resume && !state_.settled(); }
  bool ready() const { return introduced_ && session_.state() == Tl1Session::State::kReady; }
  Result<uint64_t> request(bool change, std::vector<Circuit> circuits, Instant now);
  // Why this switch must not be written to; empty: it may.
  const std::string& refusal() const;
  bool start_next(Instant now);
  void start(const Request& request, Instant now);
  void start_resume(Instant now);
  void ask_next(Instant now);
  void conclude(Instant now);
  void publish();
  void log_out_when_done(Instant now);

  const Region region_;
  const ControllerOptions options_;
  Journal& journal_;
  LinkProbe& probe_;
  Tl1Session session_;
  RegionState state_;
  RandomStream random_;
  std::vector<ControllerEvent> events_;

  Link link_ = Link::kDown;
  Instant next_connect_ = Instant::min();
  Duration backoff_;
  bool introduced_ = false;
  Ticket size_ticket_ = 0;
  Ticket alarms_ticket_ = 0;
  Ticket identity_ticket_ = 0;  // the last of the introduction
  std::string unreadable_journal_;
  std::string wrong_size_;
  bool look_soon_ = false;
  Instant reports_since_;
  int reports_ = 0;
  bool stopping_ = false;

  std::deque<Request> waiting_;
  uint64_t last_request_ = 0;
  std::unique_ptr<Transaction> current_;
  Request current_request_;
  Ticket ticket_ = 0;  // of the command in flight for current_; 0: none
  bool read_this_session_ = false;
  Instant next_health_ = Instant::min();
  Instant next_resume_ = Instant::min();
  Duration resume_pause_;
};

}  // namespace mixnet::ocs
