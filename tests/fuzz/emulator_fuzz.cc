#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "core/check.h"
#include "ocs/emulated_switch.h"
#include "ocs/tl1_decoder.h"

namespace {

using mixnet::Instant;
namespace ocs = mixnet::ocs;

void check_patches(const ocs::EmulatedSwitch& emulated) {
  std::vector<int> partners(static_cast<std::size_t>(emulated.size().ports()) + 1, 0);
  for (const ocs::Patch& patch : emulated.patches()) {
    CHECK(++partners[patch.ingress.index()] == 1, "an ingress port has two partners");
    CHECK(++partners[patch.egress.index()] == 1, "an egress port has two partners");
  }
}

// Those knobs change what TL1 looks like, up to what no decoder could read.
bool turns_dialect(std::string_view line) {
  constexpr std::string_view kHarmless[] = {"busy_port", "bad_pair",     "page_lines",
                                            "delay",     "continuation", "duplicate_ports",
                                            "completed"};
  const bool harmless = std::ranges::any_of(kHarmless, [line](std::string_view name) {
    return line.find(name) != std::string_view::npos;
  });
  return line.find("knob") != std::string_view::npos && !harmless;
}

}  // namespace

// Whatever a client sends to the emulated switch, and whatever is typed at it (lines that begin
// with "!"; "!+" lets a second pass): no port has two partners, and what comes back is TL1.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  ocs::EmulatorOptions options;
  options.size = ocs::SwitchSize{8, 8};
  options.knobs.switching.fixed = std::chrono::milliseconds(30);
  ocs::EmulatedSwitch emulated(options);
  Instant now{};
  auto connection = emulated.open(now);
  ocs::Tl1Decoder decoder;
  emulated.feed(connection, "ACT-USER::admin:1::root;", now);
  while (!input.empty()) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(input.size(), line.size() + 1));
    if (line.starts_with("!+")) {
      now += std::chrono::seconds(1);
      emulated.tick(now);
    } else if (line.starts_with('!') && !turns_dialect(line)) {
      const auto shown = emulated.control(line.substr(1), now);
      CHECK(shown.ok() || !shown.error().message.empty(), "a refusal says why");
    } else {
      emulated.feed(connection, line, now);
    }
    check_patches(emulated);
    std::vector<ocs::Message> messages;
    decoder.feed(emulated.take_output(connection), messages);
    for (const ocs::Message& message : messages) {
      CHECK(!std::holds_alternative<ocs::ProtocolError>(message), "the switch wrote no TL1");
    }
    if (emulated.wants_close(connection)) {
      emulated.closed(connection, now);
      connection = emulated.open(now);
      decoder = ocs::Tl1Decoder();
    }
  }
  return 0;
}
