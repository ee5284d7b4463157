#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ocs/emulated_switch.h"
#include "ocs/region_controller.h"

// For the tests of the region controller: a region on an emulated switch, joined without a network,
// under a clock that jumps from one deadline to the next.
namespace mixnet::ocs {

// `servers` of two NICs each on a switch with `spare` ports on either side that are not ours. NIC k
// sends at k + 1 and receives at N + k + 1.
inline Region test_region(int servers, int spare) {
  const int half = 2 * servers + spare;
  std::vector<std::string> names;
  std::vector<Nic> nics;
  for (int s = 0; s < servers; ++s) {
    names.push_back("s" + std::to_string(s));
    for (int k = 0; k < 2; ++k) {
      const int port = 2 * s + k + 1;
      nics.push_back({names.back() + "/n" + std::to_string(k), s, "n" + std::to_string(k),
                      PortId(port), PortId(half + port)});
    }
  }
  return Region::make({half, half}, names, nics).value();
}

inline Circuit test_circuit(int a, int b) { return circuit_between(NicId(a), NicId(b)); }

// Keeps what a crash would leave.
class MemoryJournal final : public Journal {
 public:
  Result<std::optional<Intent>> last_intent() override {
    return intents.empty() ? std::optional<Intent>() : intents.back();
  }
  Result<bool> last_is_settled() override { return settled; }
  Result<TransactionId> begin(
      const std::vector<std::pair<std::string, std::string>>& circuits) override {
    if (fails) {
      return Error{"disk full", "journal"};
    }
    intents.push_back({static_cast<TransactionId>(intents.size()) + 1, circuits});
    settled = false;
    return intents.back().id;
  }
  Status note(TransactionId /*id*/, const std::string& text) override {
    notes.push_back(text);
    return Status();
  }
  Status settle(TransactionId id, const std::string& summary) override {
    settled = settled || id == static_cast<TransactionId>(intents.size());
    notes.push_back(summary);
    return Status();
  }

  std::vector<Intent> intents;
  std::vector<std::string> notes;
  bool settled = true;
  bool fails = false;
};

// Sees the NICs as the emulated switch lights them.
class EmulatedLinkProbe final : public LinkProbe {
 public:
  EmulatedLinkProbe(const Region& region, const EmulatedSwitch& emulated, const Instant& now)
      : region_(region), emulated_(emulated), now_(now) {}
  Carrier carrier(NicId nic) override {
    return emulated_.carrier(region_.nic(nic).rx, now_) ? Carrier::kUp : Carrier::kDown;
  }

 private:
  const Region& region_;
  const EmulatedSwitch& emulated_;
  const Instant& now_;
};

struct ControllerBenchOptions {
  int servers = 4;
  int spare = 2;
  std::vector<std::string> knobs = {};
  ControllerOptions controller = {};
  std::optional<SwitchSize> size = {};  // of the switch, if it is not that of the region
  std::string password = "root";
};

class ControllerBench {
 public:
  explicit ControllerBench(ControllerBenchOptions options = {})
      : region(test_region(options.servers, options.spare)),
        emulated(switch_options(options, region)),
        probe(region, emulated, now),
        settings(options.controller) {
    settings.session.peer = "switch";
    settings.session.login = Login{"", "admin", Secret(options.password)};
    restart();
  }

  // What a crash of the controller leaves: the journal and the switch.
  void restart() {
    if (connection.has_value()) {
      emulated.closed(*connection, now);
      connection.reset();
    }
    controller = std::make_unique<RegionController>(region, settings, journal, probe);
  }

  // Until `until()` or for so long; false if the time is over.
  bool run(Duration time, const std::function<bool()>& until) {
    const Instant end = now + time;
    while (true) {
      exchange();
      if (until()) {
        return true;
      }
      const Instant next = std::min(next_deadline(), end);
      if (next >= end) {
        now = end;
        exchange();
        return until();
      }
      CHECK(next > now || ++turns_in_place_ < 1000, "a deadline that nothing is done about");
      turns_in_place_ = next > now ? 0 : turns_in_place_;
      now = std::max(now, next);
      emulated.tick(now);
      controller->tick(now);
    }
  }
  void run(Duration time) {
    run(time, [] { return false; });
  }

  void start() {
    const bool ready = run(std::chrono::seconds(30), [&] { return controller->idle(); });
    CHECK(ready, "the controller did not start");
  }

  ApplyReport apply(std::vector<Circuit> circuits) {
    const Result<uint64_t> request = controller->apply(std::move(circuits), now);
    CHECK(request.ok(), request.ok() ? "" : request.error().message.c_str());
    return finish(*request);
  }
  ApplyReport verify() { return finish(controller->verify(now).value()); }

  ApplyReport finish(uint64_t request) {
    std::optional<ApplyReport> report;
    const bool done = run(std::chrono::minutes(2), [&] {
      for (const ControllerEvent& event : events) {
        const auto* apply_done = std::get_if<ApplyDone>(&event);
        if (apply_done != nullptr && apply_done->request == request) {
          report = apply_done->report;
        }
      }
      return report.has_value();
    });
    CHECK(done, "a request without an end");
    return *report;
  }

  std::string control(const std::string& line) {
    const Result<std::string> text = emulated.control(line, now);
    return text.ok() ? *text : "error: " + text.error().message;
  }

  bool has_alarm(AlarmKind kind) const {
    const std::vector<Alarm>& alarms = controller->topology().alarms;
    return std::any_of(alarms.begin(), alarms.end(),
                       [&](const Alarm& alarm) { return alarm.kind == kind; });
  }

  // The circuits that the switch holds.
  std::vector<Circuit> held() const { return view_of(region, emulated.patches()).circuits; }

  Instant now{std::chrono::seconds(1)};
  const Region region;
  EmulatedSwitch emulated;
  EmulatedLinkProbe probe;
  MemoryJournal journal;
  ControllerOptions settings;
  std::unique_ptr<RegionController> controller;
  std::optional<EmulatedSwitch::Connection> connection;
  std::vector<ControllerEvent> events;
  std::string sent;  // every byte of the controller

 private:
  static EmulatorOptions switch_options(const ControllerBenchOptions& options,
                                        const Region& region) {
    EmulatorOptions made;
    made.size = options.size.value_or(region.switch_size());
    for (const std::string& knob : options.knobs) {
      const Status status = set_knob(made.knobs, knob);
      CHECK(status.ok(), status.ok() ? "" : status.error().message.c_str());
    }
    return made;
  }

  Instant next_deadline() const {
    return std::min(controller->next_deadline().value_or(Instant::max()),
                    emulated.next_deadline().value_or(Instant::max()));
  }

  int turns_in_place_ = 0;

  // Carries bytes both ways until there are none.
  void exchange() {
    bool moved = true;
    while (moved) {
      moved = false;
      if (controller->wants_connection(now)) {
        controller->connecting();
        connection = emulated.open(now);
        controller->connected(now);
      }
      if (connection.has_value()) {
        const std::string command = controller->take_output();
        if (!command.empty()) {
          sent += command;
          emulated.feed(*connection, command, now);
          moved = true;
        }
        const std::string answer = emulated.take_output(*connection);
        if (!answer.empty()) {
          controller->feed(answer, now);
          moved = true;
        }
        if (emulated.wants_close(*connection) || controller->wants_close()) {
          emulated.closed(*connection, now);
          connection.reset();
          controller->disconnected("closed by the switch", now);
          moved = true;
        }
      }
      for (ControllerEvent& event : controller->take_events()) {
        events.push_back(std::move(event));
      }
    }
  }
};

}  // namespace mixnet::ocs
