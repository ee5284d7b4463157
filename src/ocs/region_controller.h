#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/instant.h"
#include "core/result.h"
#include "ocs/journal.h"
#include "ocs/link_probe.h"
#include "ocs/region.h"
#include "ocs/region_report.h"
#include "ocs/tl1_session.h"

// Brings the circuits of a region to what is wanted and says what came of it, without I/O but for
// the journal and the probe it is given. Its owner does with it what tl1_session.h says of a
// session, and opens a connection when wants_connection().
//
// One transaction at a time: read back -> journal -> delete -> create -> read back -> shutters,
// power, carrier -> report. What was asked for is reached by comparing the switch with the intent,
// at every step again: nothing is inferred from an answer alone, and nothing is sent twice blindly.
namespace mixnet::ocs {

struct ControllerOptions {
  SessionOptions session;
  // Reconnecting: doubled from `least` to `most`, less a random part of up to a half.
  Duration least_backoff = std::chrono::milliseconds(100);
  Duration most_backoff = std::chrono::seconds(10);
  uint64_t seed = 1;  // of the random part

  Duration transaction_deadline = std::chrono::seconds(30);
  int max_rounds = 3;           // of delete, create, read back within one transaction
  std::size_t max_waiting = 8;  // transactions
  std::size_t max_pairs_per_command = 256;

  bool check_shutters = true;
  bool check_power = true;
  double least_dbm = -20;  // at the ports of a circuit; below it is dark
  Duration light_deadline = std::chrono::seconds(1);
  // How long a transaction waits for the NICs; zero: it reports without.
  Duration carrier_deadline = std::chrono::seconds(10);
  Duration carrier_interval = std::chrono::milliseconds(20);

  Duration health_interval = std::chrono::seconds(2);  // of reading everything while idle
  int failures_to_quarantine = 3;
  Duration quarantine = std::chrono::minutes(10);
};

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

// The commands that would bring the switch from what was read last to `wanted`.
struct ChangePreview {
  std::vector<Circuit> remove;
  std::vector<Circuit> add;
  std::vector<CircuitReport> blocked;  // will not be switched, and why
  std::vector<std::string> commands;   // TL1, CTAG 0 stands for the one to come
};

class RegionController {
 public:
  // `journal` and `probe` outlive the controller.
  RegionController(Region region, ControllerOptions options, Journal& journal, LinkProbe& probe);
  ~RegionController();

  // True from when a connection is due until connecting() is called.
  bool wants_connection(Instant now) const;
  void connecting(Instant now);
  void connected(Instant now);
  void disconnected(std::string_view why, Instant now);
  void feed(std::string_view bytes, Instant now);
  void tick(Instant now);
  std::optional<Instant> next_deadline() const;
  std::string take_output();  // not for a log
  bool wants_close() const;

  // Wants exactly `circuits` in the region from now on. Ends in one ApplyDone. Errors, and then
  // nothing is done: a NIC in two circuits, too many transactions waiting.
  Result<uint64_t> apply(std::vector<Circuit> circuits, Instant now);
  // Reads everything back now and reports on the circuits that are there, changing nothing.
  Result<uint64_t> verify(Instant now);
  // Error: the switch was not read yet.
  Result<ChangePreview> preview(const std::vector<Circuit>& circuits) const;

  // Nothing is under way and everything was read since the session began.
  bool idle() const;
  const Topology& topology() const;
  const Region& region() const;
  std::vector<ControllerEvent> take_events();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mixnet::ocs
