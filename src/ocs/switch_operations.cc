#include "ocs/switch_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "ocs/tl1_text.h"

namespace mixnet::ocs {
namespace {

std::string number(PortId port) { return fmt::format("{}", port.value); }

Command command(std::string verb, std::vector<AidList> aid) {
  return Command{std::move(verb), "", std::move(aid), {}, {}};
}

// Runs of consecutive ports as ranges: every port of a run is in the set.
AidList port_list(const PortSet& set) {
  AidList list;
  const std::vector<PortId>& ports = set.ports();
  for (std::size_t i = 0; i < ports.size();) {
    std::size_t end = i + 1;
    while (end < ports.size() && ports[end].value == ports[end - 1].value + 1) {
      ++end;
    }
    list.push_back(AidItem{number(ports[i]), end - i > 1 ? number(ports[end - 1]) : ""});
    i = end;
  }
  return list;
}

Error bad_line(const TextLine& line, std::string_view wanted) {
  // A broken switch may send a whole page in one line.
  constexpr std::size_t kShown = 80;
  return Error{fmt::format("the switch wrote \"{}{}\" instead of {}", line.text.substr(0, kShown),
                           line.text.size() > kShown ? "..." : "", wanted),
               ""};
}

std::optional<PortId> parse_port(std::string_view text) {
  text = trimmed(text);
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return PortId(value);
}

// Calls visit(port, text behind the colon, line) for each line "<port>:<text>".
template <typename Visit>
Status for_each_port(const std::vector<TextLine>& lines, SwitchSize size, std::string_view wanted,
                     Visit&& visit) {
  for (const TextLine& line : lines) {
    if (line.kind == TextLine::Kind::kComment) {
      continue;
    }
    const std::string_view text = line.text;
    const std::size_t colon = text.find(':');
    const auto port = parse_port(text.substr(0, colon));
    if (colon == std::string_view::npos || !port || !size.has(*port) ||
        !visit(*port, trimmed(text.substr(colon + 1)))) {
      return bad_line(line, wanted);
    }
  }
  return Status();
}

// The text behind `key` in the first line that has it, up to a comma or blank.
std::optional<std::string> value_behind(const std::vector<TextLine>& lines, std::string_view key) {
  for (const TextLine& line : lines) {
    const std::size_t at = line.text.find(key);
    if (at != std::string::npos) {
      const std::size_t start = at + key.size();
      const std::size_t end = line.text.find_first_of(", \t", start);
      return line.text.substr(start, end == std::string::npos ? end : end - start);
    }
  }
  return std::nullopt;
}

Error no_line(const std::vector<TextLine>& lines, std::string_view wanted) {
  return lines.empty() ? Error{fmt::format("the switch wrote no line, wanted {}", wanted), ""}
                       : bad_line(lines.front(), wanted);
}

}  // namespace

Command connect_command(const PatchSet& patches) {
  AidList ingress;
  AidList egress;
  for (const Patch& patch : patches.patches()) {
    ingress.push_back(AidItem{number(patch.ingress), ""});
    egress.push_back(AidItem{number(patch.egress), ""});
  }
  return command("ENT-PATCH", {std::move(ingress), std::move(egress)});
}

Command disconnect_command(const PatchSet& patches) {
  AidList ingress;
  for (const Patch& patch : patches.patches()) {
    ingress.push_back(AidItem{number(patch.ingress), ""});
  }
  return command("DLT-PATCH", {std::move(ingress)});
}

Command read_patches_command(const PortSet& ports) {
  return command("RTRV-PATCH", {port_list(ports)});
}

Command read_all_patches_command() { return command("RTRV-PATCH", {{AidItem{"ALL", ""}}}); }

Result<std::vector<Patch>> parse_patches(const std::vector<TextLine>& lines, SwitchSize size) {
  std::map<PortId, PortId> partner;
  std::vector<Patch> patches;
  for (const TextLine& line : lines) {
    if (line.kind == TextLine::Kind::kComment) {
      continue;
    }
    const auto ends = split(line.text, ',');
    const auto first = parse_port(ends[0]);
    const bool unconnected = ends.size() == 2 && trimmed(ends[1]).empty();
    const auto second = unconnected ? PortId(0) : parse_port(ends.back());
    if (ends.size() != 2 || !first || !second) {
      return bad_line(line, "a patch such as \"1,49\"");
    }
    if (first->value == 0 || second->value == 0) {
      continue;
    }
    const Patch patch = patch_between(*first, *second);
    if (Status status = check_patch(size, patch); !status) {
      return bad_line(line, fmt::format("a patch: {}", status.error().message));
    }
    const auto [ingress, new_ingress] = partner.emplace(patch.ingress, patch.egress);
    const auto [egress, new_egress] = partner.emplace(patch.egress, patch.ingress);
    if (ingress->second != patch.egress || egress->second != patch.ingress) {
      return bad_line(line, "a port with one partner: it named another one before");
    }
    // A switch may list both directions.
    if (new_ingress && new_egress) {
      patches.push_back(patch);
    }
  }
  std::ranges::sort(patches);
  return patches;
}

Command read_power_command(const PortSet& ports) {
  return command("RTRV-PORT-POWER", {port_list(ports)});
}

Result<std::vector<PortPower>> parse_power(const std::vector<TextLine>& lines, SwitchSize size) {
  std::map<PortId, std::optional<double>> readings;
  const Status status = for_each_port(
      lines, size, "a port once and its power in dBm, such as \"1:-5.2\"",
      [&](PortId port, std::string_view text) {
        std::optional<double> dbm;
        if (!text.empty() && !equal_ignoring_case(text, "NONE")) {
          double value = 0;
          const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
          const std::string_view unit =
              trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
          if (error != std::errc() || !std::isfinite(value) ||
              !(unit.empty() || equal_ignoring_case(unit, "dBm"))) {
            return false;
          }
          dbm = value;
        }
        return readings.emplace(port, dbm).second;
      });
  if (!status) {
    return status.error();
  }
  std::vector<PortPower> result;
  result.reserve(readings.size());
  for (const auto& [port, dbm] : readings) {
    result.push_back(PortPower{port, dbm});
  }
  return result;
}

Command read_shutters_command(const PortSet& ports) {
  return command("RTRV-PORT-SHUTTER", {port_list(ports)});
}

Command open_shutters_command(const PortSet& ports) {
  return command("RLS-PORT-SHUTTER", {port_list(ports)});
}

Command close_shutters_command(const PortSet& ports) {
  return command("OPR-PORT-SHUTTER", {port_list(ports)});
}

Result<std::vector<PortShutter>> parse_shutters(const std::vector<TextLine>& lines,
                                                SwitchSize size) {
  std::map<PortId, bool> open;
  const Status status =
      for_each_port(lines, size, "a port once and OPEN or CLOSED, such as \"1:OPEN\"",
                    [&](PortId port, std::string_view text) {
                      const bool is_open = equal_ignoring_case(text, "OPEN");
                      return (is_open || equal_ignoring_case(text, "CLOSED")) &&
                             open.emplace(port, is_open).second;
                    });
  if (!status) {
    return status.error();
  }
  std::vector<PortShutter> result;
  result.reserve(open.size());
  for (const auto& [port, is_open] : open) {
    result.push_back(PortShutter{port, is_open});
  }
  return result;
}

Command read_alarms_command() { return command("RTRV-ALM-ALL", {{AidItem{"ALL", ""}}}); }

Command read_size_command() {
  Command size = command("RTRV-EQPT", {{AidItem{"SYSTEM", ""}}});
  size.blocks = {{}, {}, {Parameter{"PARAMETER", "SIZE"}}};
  return size;
}

Result<SwitchSize> parse_size(const std::vector<TextLine>& lines) {
  const auto text = value_behind(lines, "SIZE=");
  if (text) {
    if (Result<SwitchSize> size = parse_switch_size(*text)) {
      return size;
    }
  }
  return no_line(lines, "its size, such as \"SYSTEM:SIZE=48x48\"");
}

Command read_identity_command() { return command("RTRV-NETYPE", {}); }

Result<SwitchIdentity> parse_identity(const std::vector<TextLine>& lines) {
  for (const TextLine& line : lines) {
    const auto parts = split(line.text, ',');
    if (parts.size() == 4) {
      return SwitchIdentity{std::string(trimmed(parts[0])), std::string(trimmed(parts[1])),
                            std::string(trimmed(parts[2])), std::string(trimmed(parts[3]))};
    }
  }
  return no_line(lines, "\"<vendor>,<model>,<type>,<version>\"");
}

Command read_serial_number_command() { return command("RTRV-INV", {{AidItem{"OCS", ""}}}); }

Result<std::string> parse_serial_number(const std::vector<TextLine>& lines) {
  auto text = value_behind(lines, "SN=");
  if (text && !text->empty()) {
    return *std::move(text);
  }
  return no_line(lines, "a serial number, such as \"SN=1532\"");
}

}  // namespace mixnet::ocs
