#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "ocs/emulator_box.h"
#include "ocs/tl1_text.h"

// Shutters, power, attenuators and labels.
namespace mixnet::ocs {
namespace {

// A reply with the line of every port that the command names.
template <typename Line>
Reply line_per_port(const ReceivedCommand& received, SwitchSize size, Line&& line) {
  std::optional<Reply> refusal;
  Reply reply;
  for (const PortId port : ports_of(received, size, refusal)) {
    if (const std::optional<std::string> text = line(port)) {
      reply.lines.push_back(quoted(fmt::format("{}:{}", port.value, *text)));
    }
  }
  return refusal ? *std::move(refusal) : reply;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value > -1e6 && value < 1e6 ? std::optional(value) : std::nullopt;
}

Reply set_shutters(EmulatorBox& box, const ReceivedCommand& received, bool open, Instant now) {
  std::optional<Reply> refusal;
  Reply reply;
  for (const PortId port : ports_of(received, box.options.size, refusal)) {
    if (box.state.shutter_open(port) == open) {
      continue;
    }
    box.state.set_shutter(port, open, now);
    reply.events.push_back(EmulatorEvent{
        "A", "REPT EVT", fmt::format("{}", port.value), open ? "PORTENABLE" : "PORTDISABLE",
        fmt::format("Port {} {}", port.value, open ? "enabled" : "disabled")});
  }
  return refusal ? *std::move(refusal) : reply;
}

Reply close_shutters(EmulatorBox& box, EmulatorSession& /*session*/,
                     const ReceivedCommand& received, Instant now) {
  return set_shutters(box, received, false, now);
}

Reply open_shutters(EmulatorBox& box, EmulatorSession& /*session*/, const ReceivedCommand& received,
                    Instant now) {
  return set_shutters(box, received, true, now);
}

Reply retrieve_shutters(EmulatorBox& box, EmulatorSession& /*session*/,
                        const ReceivedCommand& received, Instant /*now*/) {
  return line_per_port(received, box.options.size, [&](PortId port) {
    return std::optional<std::string>(box.state.shutter_open(port) ? "OPEN" : "CLOSED");
  });
}

bool has_monitor(const EmulatorBox& box, PortId port) {
  const bool egress = box.options.size.egress > 0 && port.value > box.options.size.ingress;
  switch (box.options.knobs.monitors) {
    case Monitors::kAll:
      return true;
    case Monitors::kIngress:
      return !egress;
    case Monitors::kEgress:
      return egress;
    case Monitors::kNone:
      return false;
  }
  return false;
}

Reply retrieve_power(EmulatorBox& box, EmulatorSession& /*session*/,
                     const ReceivedCommand& received, Instant now) {
  return line_per_port(received, box.options.size, [&](PortId port) {
    return has_monitor(box, port)
               ? std::optional(fmt::format("{:.2f}", box.state.read_power(port, now)))
               : std::nullopt;
  });
}

Reply retrieve_monitor(EmulatorBox& box, EmulatorSession& /*session*/,
                       const ReceivedCommand& received, Instant /*now*/) {
  return line_per_port(received, box.options.size, [&](PortId port) {
    return has_monitor(box, port)
               ? std::optional(fmt::format("{:.1f},0.0,50", box.ports[port.index()].wavelength_nm))
               : std::nullopt;
  });
}

Reply set_monitor(EmulatorBox& box, EmulatorSession& /*session*/, const ReceivedCommand& received,
                  Instant /*now*/) {
  std::optional<Reply> refusal;
  const std::vector<PortId> ports = ports_of(received, box.options.size, refusal);
  const NamedValues named = named_values(received, {"WAVE", "OFFSET", "ATIME"});
  if (refusal || named.refusal) {
    return refusal ? *refusal : *named.refusal;
  }
  const auto wave = named.values.find("WAVE");
  if (wave == named.values.end()) {
    return done();
  }
  const auto nanometres = parse_number(wave->second);
  constexpr double kShortest = 1260;  // what such switches carry
  constexpr double kLongest = 1675;
  if (!nanometres || *nanometres < kShortest || *nanometres > kLongest) {
    return denial("IPNV", "Parameter not valid");
  }
  for (const PortId port : ports) {
    box.ports[port.index()].wavelength_nm = *nanometres;
  }
  return done();
}

constexpr std::pair<std::string_view, AttenuationMode> kAttenuationModes[] = {
    {"NONE", AttenuationMode::kNone},
    {"ABSOLUTE", AttenuationMode::kAbsolute},
    {"RELATIVE", AttenuationMode::kRelative},
    {"CONVERGED", AttenuationMode::kConverged},
};

Reply set_attenuation(EmulatorBox& box, EmulatorSession& /*session*/,
                      const ReceivedCommand& received, Instant /*now*/) {
  std::optional<Reply> refusal;
  const std::vector<PortId> ports = ports_of(received, box.options.size, refusal);
  NamedValues named = named_values(received, {"MODE", "LEVEL", "REFS"});
  if (refusal || named.refusal) {
    return refusal ? *refusal : *named.refusal;
  }
  for (const PortId port : ports) {
    if (port.value <= box.options.size.ingress && box.options.size.egress > 0) {
      return bad_port(fmt::format("{}", port.value));
    }
  }
  const std::string wanted = upper(named.values["MODE"]);
  const auto* mode = std::ranges::find(kAttenuationModes, wanted,
                                       &std::pair<std::string_view, AttenuationMode>::first);
  const std::string& level = named.values["LEVEL"];
  const auto decibel = level.empty() ? std::optional(0.0) : parse_number(level);
  if (mode == std::end(kAttenuationModes) || !decibel) {
    return denial("IPNV", "Parameter not valid");
  }
  const bool none = mode->second == AttenuationMode::kNone;
  for (const PortId port : ports) {
    box.state.set_attenuation(port, SwitchState::Attenuation{mode->second, none ? 0.0 : *decibel});
  }
  return done();
}

Reply retrieve_attenuation(EmulatorBox& box, EmulatorSession& /*session*/,
                           const ReceivedCommand& received, Instant /*now*/) {
  const SwitchSize size = box.options.size;
  return line_per_port(received, size, [&](PortId port) -> std::optional<std::string> {
    if (port.value <= size.ingress && size.egress > 0) {
      return std::nullopt;
    }
    const SwitchState::Attenuation attenuation = box.state.attenuation(port);
    for (const auto& [name, mode] : kAttenuationModes) {
      if (mode == attenuation.mode) {
        return fmt::format("{},{:.1f}", name, attenuation.level_db);
      }
    }
    return std::nullopt;
  });
}

bool is_label(std::string_view text) {
  constexpr std::size_t kMostBytes = 25;
  return !text.empty() && text.size() <= kMostBytes && std::ranges::all_of(text, [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view(" /_-.:+").find(c) != std::string::npos;
  });
}

Reply set_labels(EmulatorBox& box, EmulatorSession& /*session*/, const ReceivedCommand& received,
                 Instant /*now*/) {
  std::optional<Reply> refusal;
  const std::vector<PortId> ports = ports_of(received, box.options.size, refusal);
  NamedValues named = named_values(received, {"LABEL"});
  if (refusal || named.refusal) {
    return refusal ? *refusal : *named.refusal;
  }
  const auto labels = split(named.values["LABEL"], '&');
  if (labels.size() != ports.size() || !std::ranges::all_of(labels, is_label)) {
    return denial("IPNV", "Parameter not valid");
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    box.ports[ports[i].index()].label = labels[i];
  }
  return done();
}

Reply delete_labels(EmulatorBox& box, EmulatorSession& /*session*/, const ReceivedCommand& received,
                    Instant /*now*/) {
  std::optional<Reply> refusal;
  for (const PortId port : ports_of(received, box.options.size, refusal)) {
    box.ports[port.index()].label.clear();
  }
  return refusal ? *std::move(refusal) : done();
}

Reply retrieve_labels(EmulatorBox& box, EmulatorSession& /*session*/,
                      const ReceivedCommand& received, Instant /*now*/) {
  return line_per_port(received, box.options.size,
                       [&](PortId port) { return std::optional(box.ports[port.index()].label); });
}

constexpr EmulatedCommand kPortCommands[] = {
    {"OPR-PORT-SHUTTER", Right::kWrite, close_shutters},
    {"RLS-PORT-SHUTTER", Right::kWrite, open_shutters},
    {"RTRV-PORT-SHUTTER", Right::kRead, retrieve_shutters},
    {"RTRV-PORT-POWER", Right::kRead, retrieve_power},
    {"SET-PORT-PMON", Right::kWrite, set_monitor},
    {"RTRV-PORT-PMON", Right::kRead, retrieve_monitor},
    {"SET-PORT-ATTEN", Right::kWrite, set_attenuation},
    {"RTRV-PORT-ATTEN", Right::kRead, retrieve_attenuation},
    {"ED-PORT-LABEL", Right::kWrite, set_labels},
    {"DLT-PORT-LABEL", Right::kWrite, delete_labels},
    {"RTRV-PORT-LABEL", Right::kRead, retrieve_labels},
};

}  // namespace

std::span<const EmulatedCommand> port_commands() { return kPortCommands; }

}  // namespace mixnet::ocs
