#include "ocs/switch_event.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "ocs/tl1_text.h"

namespace mixnet::ocs {

// <aid>:<notification code>,<condition type>,...:"<description>"
SwitchEvent read_alarm(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view fields = colon == std::string_view::npos ? line : line.substr(colon + 1);
  const std::vector<std::string_view> codes = split(fields, ',');
  SwitchEvent alarm;
  alarm.kind = equal_ignoring_case(trimmed(codes[0]), "CL") ? SwitchEvent::Kind::kCleared
                                                            : SwitchEvent::Kind::kAlarm;
  alarm.subject = fmt::format("{} {}", trimmed(line.substr(0, colon)),
                              codes.size() > 1 ? trimmed(codes[1]) : "");
  alarm.text = line;
  return alarm;
}

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
    const SwitchEvent alarm = read_alarm(message.lines.front().text);
    event.kind = alarm.kind;
    event.subject = alarm.subject;
  }
  return event;
}

}  // namespace mixnet::ocs
