#include "ocs/switch_event.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "ocs/tl1_text.h"

namespace mixnet::ocs {

// The line of an alarm: <aid>:<notification code>,<condition type>,...:"<description>"
SwitchEvent read_event(const Autonomous& message) {
  SwitchEvent event;
  event.text = message.verb;
  for (const TextLine& line : message.lines) {
    event.text += fmt::format(" {}", line.text);
  }
  const std::vector<std::string_view> verb = words(message.verb, 3);
  if (verb.size() < 2) {
    return event;
  }
  if (equal_ignoring_case(verb[1], "INITZN")) {
    event.kind = SwitchEvent::Kind::kStarted;
  } else if (equal_ignoring_case(verb[1], "ALM") && !message.lines.empty()) {
    const std::string_view line = message.lines.front().text;
    const std::size_t colon = line.find(':');
    const std::string_view fields = colon == std::string_view::npos ? line : line.substr(colon + 1);
    const std::vector<std::string_view> codes = split(fields, ',');
    event.kind = equal_ignoring_case(trimmed(codes[0]), "CL") ? SwitchEvent::Kind::kCleared
                                                              : SwitchEvent::Kind::kAlarm;
    event.subject = fmt::format("{} {}", trimmed(line.substr(0, colon)),
                                codes.size() > 1 ? trimmed(codes[1]) : "");
  }
  return event;
}

}  // namespace mixnet::ocs
