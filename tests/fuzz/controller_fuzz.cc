#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/check.h"
#include "ocs/controller_test_support.h"

namespace {

using mixnet::Instant;
namespace ocs = mixnet::ocs;

// What may leave the controller: nothing that deletes everything, restarts the switch or sets its
// clock.
void check_commands(std::string_view sent) {
  for (const char* never :
       {"DLT-PATCH::ALL", "DLT-PATCH:::", "DLT-PATCH::,", "INIT-SYS", "ED-DAT"}) {
    CHECK(sent.find(never) == std::string_view::npos, "a command that must never be sent");
  }
}

// Ends of requests that were counted.
void count_ends(ocs::RegionController& controller, int& open) {
  for (const ocs::ControllerEvent& event : controller.take_events()) {
    if (const auto* done = std::get_if<ocs::ApplyDone>(&event)) {
      open -= done->request != 0 ? 1 : 0;
      CHECK(open >= 0, "a request ended twice");
    }
  }
}

}  // namespace

// A switch that says anything. Lines that begin with "!" move the world: "!+" a second passes, "!-"
// the connection is lost, "!a" another transaction is asked for. Whatever happens, nothing
// dangerous is sent and every request ends by its deadline.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const ocs::Region region = ocs::test_region(3, 1);
  ocs::ControllerOptions options;
  options.session.peer = "switch";
  options.session.login = ocs::Login{"", "admin", ocs::Secret("root")};
  ocs::MemoryJournal journal;
  ocs::NoLinkProbe probe;
  ocs::RegionController controller(region, options, journal, probe);
  Instant now{std::chrono::seconds(1)};
  bool connected = false;
  int open = 0;
  const auto settle = [&] {
    controller.tick(now);
    if (connected && controller.wants_close()) {
      controller.disconnected("closed", now);
      connected = false;
    }
    if (!connected && controller.wants_connection(now)) {
      controller.connecting();
      controller.connected(now);
      connected = true;
    }
    check_commands(controller.take_output());
    count_ends(controller, open);
  };
  const auto ask = [&](int a, int b) {
    open += controller.apply({ocs::test_circuit(a, b)}, now).ok() ? 1 : 0;
  };
  settle();
  ask(0, 2);
  while (!input.empty()) {
    const std::string_view line = input.substr(0, input.find('\n') + 1);
    const std::string_view piece = line.empty() ? input : line;
    input.remove_prefix(piece.size());
    if (piece.starts_with("!+")) {
      now += std::chrono::seconds(1);
    } else if (piece.starts_with("!-") && connected) {
      controller.disconnected("cut", now);
      connected = false;
    } else if (piece.starts_with("!a")) {
      ask(1, 4);
    } else if (connected) {
      controller.feed(piece, now);
    }
    settle();
  }
  for (int step = 0; step < 400 && open > 0; ++step) {
    now = std::max(now, std::min(controller.next_deadline().value_or(Instant::max()),
                                 now + std::chrono::seconds(1)));
    settle();
  }
  CHECK(open == 0, "a request without an end");
  return 0;
}
