#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "ocs/emulator_box.h"
#include "ocs/tl1_text.h"

// The box itself: identity, settings, clock, alarms, reports, restart.
namespace mixnet::ocs {
namespace {

std::string first_aid(const ReceivedCommand& received) {
  const auto& aid = received.command.aid;
  return aid.empty() || aid[0].empty() ? "" : upper(aid[0][0].first);
}

Reply one_line(std::string text) {
  Reply reply;
  reply.lines.push_back(quoted(std::move(text)));
  return reply;
}

std::string model_of(const EmulatorBox& box) {
  const SwitchLabels& labels = box.options.labels;
  return labels.model.empty() ? fmt::format("N-OST-{}-HA1-DMHEV-050", text_of(box.options.size))
                              : labels.model;
}

Reply retrieve_type(EmulatorBox& box, EmulatorSession& /*session*/,
                    const ReceivedCommand& /*received*/, Instant /*now*/) {
  const SwitchLabels& labels = box.options.labels;
  return one_line(
      fmt::format("{},{},{},{}", labels.vendor, model_of(box), labels.type, labels.version));
}

Reply retrieve_inventory(EmulatorBox& box, EmulatorSession& /*session*/,
                         const ReceivedCommand& /*received*/, Instant /*now*/) {
  return one_line(fmt::format("OCS::TYPE={},SN={}", model_of(box), box.options.labels.serial));
}

Reply retrieve_header(EmulatorBox& /*box*/, EmulatorSession& /*session*/,
                      const ReceivedCommand& /*received*/, Instant /*now*/) {
  return done();
}

Reply retrieve_time(EmulatorBox& box, EmulatorSession& /*session*/,
                    const ReceivedCommand& /*received*/, Instant now) {
  return one_line(calendar_text(box.unix_time(now), ','));
}

Reply retrieve_address(EmulatorBox& /*box*/, EmulatorSession& /*session*/,
                       const ReceivedCommand& received, Instant /*now*/) {
  if (first_aid(received) != "ETH0") {
    return denial("IIAC", "Invalid access identifier");
  }
  const std::string verb = upper(received.command.verb);
  if (verb == "RTRV-MAC") {
    return one_line("eth0:02:00:00:00:00:01");
  }
  return one_line(verb == "RTRV-IP" ? "eth0:IP=192.0.2.10,MASK=255.255.255.0" : "eth0:TL1=3082");
}

Reply set_name(EmulatorBox& box, EmulatorSession& /*session*/, const ReceivedCommand& received,
               Instant /*now*/) {
  constexpr std::size_t kMostBytes = 20;
  const std::string name = value_at(received, 1, 0);
  const auto fits = [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view(" -_.").find(c) != std::string::npos;
  };
  if (name.size() > kMostBytes || !std::ranges::all_of(name, fits)) {
    return denial("IDNV", fmt::format("Invalid value {}", name));
  }
  box.options.sid = name;
  return done();
}

std::optional<int> parse_part(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && text.size() <= 4 && value >= 0 ? std::optional(value) : std::nullopt;
}

// ED-DAT:::5::26-10-25,12-00-00; echoes what it set.
Reply set_clock(EmulatorBox& box, EmulatorSession& /*session*/, const ReceivedCommand& received,
                Instant now) {
  const std::string date = value_at(received, 1, 0);
  const std::string time = value_at(received, 1, 1);
  const auto days = split(date, '-');
  const auto clock = split(time, '-');
  std::vector<int> parts;
  for (const auto* list : {&days, &clock}) {
    for (const std::string_view part : *list) {
      parts.push_back(parse_part(part).value_or(-1));
    }
  }
  constexpr int kCentury = 2000;
  if (days.size() != 3 || clock.size() != 3 || std::ranges::count(parts, -1) > 0) {
    return denial("IDNV", "Invalid value");
  }
  if (parts[0] > 99 && parts[0] < kCentury) {
    return denial("SSTP", "Invalid year");
  }
  namespace ch = std::chrono;
  const ch::year_month_day day{ch::year(parts[0] < 100 ? parts[0] + kCentury : parts[0]),
                               ch::month(static_cast<unsigned>(parts[1])),
                               ch::day(static_cast<unsigned>(parts[2]))};
  if (!day.ok() || parts[3] > 23 || parts[4] > 59 || parts[5] > 59) {
    return denial("IDNV", "Invalid value");
  }
  const ch::sys_seconds wanted =
      ch::sys_days(day) + ch::hours(parts[3]) + ch::minutes(parts[4]) + ch::seconds(parts[5]);
  box.clock_offset_s += wanted.time_since_epoch().count() - box.unix_time(now);
  return one_line(date + "," + time);
}

Reply edit_timeout(EmulatorBox& box, const ReceivedCommand& received) {
  constexpr int kLongest = 60;
  const NamedValues named = named_values(received, {"ADMIN", "USER"});
  if (named.refusal) {
    return *named.refusal;
  }
  for (const auto& [key, text] : named.values) {
    const auto value = parse_part(text);
    if (!value || *value > kLongest) {
      return denial("IPNV", "Parameter not valid");
    }
    box.idle_timeout[key == "ADMIN" ? 0 : 1] = *value;
  }
  return done();
}

Reply edit_boot(EmulatorBox& box, const ReceivedCommand& received) {
  NamedValues named = named_values(received, {"MODE"});
  if (named.refusal) {
    return *named.refusal;
  }
  const std::string& mode = named.values["MODE"];
  const bool dark = equal_ignoring_case(mode, "DARK");
  if (!dark && !equal_ignoring_case(mode, "RESTORE")) {
    return denial("IDNV", fmt::format("Invalid value {}", mode));
  }
  box.options.knobs.boot = dark ? BootMode::kDark : BootMode::kRestore;
  return done();
}

Reply edit_equipment(EmulatorBox& box, EmulatorSession& /*session*/,
                     const ReceivedCommand& received, Instant /*now*/) {
  const std::string what = first_aid(received);
  if (what == "TIMEOUT") {
    return edit_timeout(box, received);
  }
  return what == "BOOT" ? edit_boot(box, received) : denial("IIAC", "Invalid access identifier");
}

Reply port_modes(const EmulatorBox& box, std::string_view what) {
  Reply reply;
  const SwitchSize size = box.options.size;
  const bool monitors = what == "PMON";
  for (int32_t port = monitors ? 1 : size.ingress % size.ports() + 1; port <= size.ports();
       ++port) {
    constexpr std::string_view kModes[] = {"NONE", "ABSOLUTE", "RELATIVE", "CONVERGED"};
    const auto mode = static_cast<std::size_t>(box.state.attenuation(PortId(port)).mode);
    reply.lines.push_back(
        quoted(fmt::format("{}::PORT={},MODE={}", what, port, monitors ? "LIVE" : kModes[mode])));
  }
  return reply;
}

Reply retrieve_equipment(EmulatorBox& box, EmulatorSession& /*session*/,
                         const ReceivedCommand& received, Instant /*now*/) {
  const std::string what = first_aid(received);
  NamedValues named = named_values(received, {"PARAMETER"});
  if (named.refusal) {
    return *named.refusal;
  }
  const std::string parameter = upper(named.values["PARAMETER"]);
  const bool known =
      what == "SYSTEM" || what == "BOOT" || what == "TIMEOUT" || what == "PMON" || what == "ATTEN";
  if (!known) {
    return denial("IIAC", "Invalid access identifier");
  }
  if (parameter.empty()) {
    return denial("IPMS", "Too few parameters (0/1) in block 2");
  }
  if (what == "SYSTEM" && parameter == "SIZE") {
    return one_line("SYSTEM:SIZE=" + text_of(box.options.size));
  }
  if (what == "BOOT" && parameter == "MODE") {
    return one_line(fmt::format("BOOT:MODE={}",
                                box.options.knobs.boot == BootMode::kDark ? "DARK" : "RESTORE"));
  }
  if (what == "TIMEOUT" && (parameter == "ADMIN" || parameter == "USER")) {
    return one_line(
        fmt::format("TIMEOUT:{}={}", parameter, box.idle_timeout[parameter == "ADMIN" ? 0 : 1]));
  }
  if ((what == "PMON" || what == "ATTEN") && parameter == "CONFIG") {
    return port_modes(box, what);
  }
  return denial("IPNV", "Parameter not valid");
}

Reply initialise(EmulatorBox& box, EmulatorSession& /*session*/, const ReceivedCommand& received,
                 Instant now) {
  const std::string what = first_aid(received);
  const std::string level = value_at(received, 1, 0);
  if (what == "ALARM" && (level == "1" || level == "2" || level == "3")) {
    box.alarms.clear();
    return done();
  }
  if (what == "SYSTEM" && level == "1") {
    for (const Patch& patch : box.state.patches()) {
      box.remove_patch(patch.ingress, now);
    }
    for (int32_t port = 1; port <= box.options.size.ports(); ++port) {
      box.state.set_shutter(PortId(port), true, now);
    }
    return done();
  }
  if (what == "SYSTEM" && level == "10") {
    Reply reply;
    reply.then = Reply::Then::kReboot;
    return reply;
  }
  return what == "SYSTEM" || what == "ALARM"
             ? denial("IDNV", fmt::format("Invalid value {}", level))
             : denial("IIAC", "Invalid access identifier");
}

Reply set_reports(EmulatorBox& box, EmulatorSession& session, const ReceivedCommand& received,
                  bool on) {
  if (first_aid(received) != "REPMGR") {
    return denial("IIAC", "Invalid access identifier");
  }
  (box.options.knobs.inhibit_scope == InhibitScope::kBox ? box.reports : session.reports) = on;
  return done();
}

Reply inhibit_reports(EmulatorBox& box, EmulatorSession& session, const ReceivedCommand& received,
                      Instant /*now*/) {
  return set_reports(box, session, received, false);
}

Reply allow_reports(EmulatorBox& box, EmulatorSession& session, const ReceivedCommand& received,
                    Instant /*now*/) {
  return set_reports(box, session, received, true);
}

Reply retrieve_reports(EmulatorBox& box, EmulatorSession& session,
                       const ReceivedCommand& /*received*/, Instant /*now*/) {
  return box.hears(session) ? done() : one_line("REPMGR:IND,,");
}

Reply retrieve_alarms(EmulatorBox& box, EmulatorSession& /*session*/,
                      const ReceivedCommand& /*received*/, Instant /*now*/) {
  Reply reply;
  for (const EmulatorEvent& alarm : box.alarms) {
    reply.lines.push_back(quoted(
        fmt::format("{},EQPT:MN,{},NSA,,,,:\"{}\"", alarm.about, alarm.condition, alarm.text)));
  }
  return reply;
}

constexpr EmulatedCommand kSystemCommands[] = {
    {"RTRV-NETYPE", Right::kRead, retrieve_type},
    {"RTRV-INV", Right::kRead, retrieve_inventory},
    {"RTRV-HDR", Right::kRead, retrieve_header},
    {"RTRV-TOD", Right::kRead, retrieve_time},
    {"RTRV-IP", Right::kRead, retrieve_address},
    {"RTRV-IPPORT", Right::kRead, retrieve_address},
    {"RTRV-MAC", Right::kRead, retrieve_address},
    {"SET-SID", Right::kAdministrate, set_name},
    {"ED-DAT", Right::kAdministrate, set_clock},
    {"ED-EQPT", Right::kAdministrate, edit_equipment},
    {"RTRV-EQPT", Right::kRead, retrieve_equipment},
    {"INIT-SYS", Right::kAdministrate, initialise},
    {"OPR-ARC-EQPT", Right::kWrite, inhibit_reports},
    {"RLS-ARC-EQPT", Right::kWrite, allow_reports},
    {"RTRV-ARC-EQPT", Right::kRead, retrieve_reports},
    {"RTRV-ALM-EQPT", Right::kRead, retrieve_alarms},
    {"RTRV-ALM-ENV", Right::kRead, retrieve_alarms},
    {"RTRV-ALM-ALL", Right::kRead, retrieve_alarms},
};

}  // namespace

std::span<const EmulatedCommand> system_commands() { return kSystemCommands; }

}  // namespace mixnet::ocs
