#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "ocs/emulator_box.h"
#include "ocs/tl1_text.h"

// What goes wrong on demand.
namespace mixnet::ocs {
namespace {

using Words = std::vector<std::string_view>;  // the values of a line, in order
using Shown = Result<std::string>;

std::optional<double> parse_real(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value > -1e9 && value < 1e9 ? std::optional(value) : std::nullopt;
}

Result<int> parse_count(std::string_view text) {
  constexpr int kMost = 1'000'000;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > kMost) {
    return Error{fmt::format("\"{}\" is no count: write 0 to {}", text, kMost), ""};
  }
  return value;
}

Result<PortId> parse_port(const EmulatorBox& box, std::string_view text) {
  const SwitchSize size = box.options.size;
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !size.has(PortId(value))) {
    return Error{fmt::format("\"{}\" is no port: write 1 to {}", text, size.ports()), ""};
  }
  return PortId(value);
}

// Runs change(port) and says what was done.
template <typename Change>
Shown change_port(EmulatorBox& box, std::string_view text, std::string_view what, Change&& change) {
  const Result<PortId> port = parse_port(box, text);
  if (!port) {
    return port.error();
  }
  change(*port);
  return fmt::format("port {}: {}", port->value, what);
}

Shown pull_fibre(EmulatorBox& box, const Words& words, Instant now) {
  return change_port(box, words[0], "fibre pulled",
                     [&](PortId port) { box.state.set_fibre(port, false, now); });
}

Shown restore_fibre(EmulatorBox& box, const Words& words, Instant now) {
  return change_port(box, words[0], "fibre plugged",
                     [&](PortId port) { box.state.set_fibre(port, true, now); });
}

Shown close_shutter(EmulatorBox& box, const Words& words, Instant now) {
  return change_port(box, words[0], "shutter closed",
                     [&](PortId port) { box.state.set_shutter(port, false, now); });
}

Shown open_shutter(EmulatorBox& box, const Words& words, Instant now) {
  return change_port(box, words[0], "shutter open",
                     [&](PortId port) { box.state.set_shutter(port, true, now); });
}

Shown stick_mirror(EmulatorBox& box, const Words& words, Instant /*now*/) {
  return change_port(box, words[0], "mirror stuck",
                     [&](PortId port) { box.state.set_stuck(port, true); });
}

Shown free_mirror(EmulatorBox& box, const Words& words, Instant /*now*/) {
  return change_port(box, words[0], "mirror free",
                     [&](PortId port) { box.state.set_stuck(port, false); });
}

Shown patch_foreign(EmulatorBox& box, const Words& words, Instant now) {
  const auto ends = split(words[0], ',');
  if (ends.size() != 2) {
    return Error{fmt::format("\"{}\" is no patch: write IN,OUT, such as 3,51", words[0]), ""};
  }
  const Result<PortId> a = parse_port(box, ends[0]);
  const Result<PortId> b = parse_port(box, ends[1]);
  if (!a || !b) {
    return a ? b.error() : a.error();
  }
  const Patch patch = patch_between(*a, *b);
  if (const Status status = check_patch(box.options.size, patch); !status) {
    return status.error();
  }
  box.make_patches({patch}, now);
  return fmt::format("patched {},{}", patch.ingress.value, patch.egress.value);
}

Shown remove_foreign(EmulatorBox& box, const Words& words, Instant now) {
  return change_port(box, words[0], "patch removed",
                     [&](PortId port) { box.remove_patch(port, now); });
}

Shown arm_partial(EmulatorBox& box, const Words& words, Instant /*now*/) {
  const Result<int> pairs = parse_count(words[0]);
  if (!pairs) {
    return pairs.error();
  }
  box.faults.partial = static_cast<std::size_t>(*pairs);
  return fmt::format("the next ENT-PATCH of several pairs stops after {}", *pairs);
}

Shown drop_after(EmulatorBox& box, const Words& words, Instant /*now*/) {
  const Result<int> bytes = parse_count(words[0]);
  if (!bytes) {
    return bytes.error();
  }
  const auto limit = static_cast<std::size_t>(*bytes);
  if (box.sessions.empty()) {
    box.faults.cut_next_connection = limit;
    return fmt::format("the next connection is cut after {} bytes", *bytes);
  }
  for (auto& [id, session] : box.sessions) {
    session.cut_after = limit;
    session.close = session.close || limit == 0;
  }
  return fmt::format("{} connections are cut after {} bytes", box.sessions.size(), *bytes);
}

Shown drop_before_effect(EmulatorBox& box, const Words& /*words*/, Instant /*now*/) {
  box.faults.drop = DropCommand::kBefore;
  return std::string("the next patch command is lost with its connection");
}

Shown drop_after_effect(EmulatorBox& box, const Words& /*words*/, Instant /*now*/) {
  box.faults.drop = DropCommand::kAfter;
  return std::string("the next patch command is carried out, its answer lost with the connection");
}

Shown half_open(EmulatorBox& box, const Words& /*words*/, Instant /*now*/) {
  for (auto& [id, session] : box.sessions) {
    session.silent = true;
  }
  return fmt::format("{} connections answer no more", box.sessions.size());
}

Shown reboot(EmulatorBox& box, const Words& /*words*/, Instant now) {
  box.reboot(now);
  return fmt::format("rebooting, {} s",
                     std::chrono::duration<double>(box.options.knobs.reboot_time).count());
}

Shown jump_clock(EmulatorBox& box, const Words& words, Instant /*now*/) {
  const auto seconds = parse_real(words[0]);
  if (!seconds) {
    return Error{fmt::format("\"{}\" is no number of seconds", words[0]), ""};
  }
  box.clock_offset_s += static_cast<int64_t>(*seconds);
  return fmt::format("the clock of the switch jumped by {} s", static_cast<int64_t>(*seconds));
}

Shown send_event(EmulatorBox& box, const Words& words, Instant now) {
  box.report(EmulatorEvent{"A", "REPT EVT", "SYSTEM", "EVENT", std::string(words[0])}, now);
  return std::string(box.reports ? "sent" : "not sent: reports are inhibited");
}

Shown raise_alarm(EmulatorBox& box, const Words& words, Instant now) {
  constexpr std::size_t kMostAlarms = 1000;
  if (box.alarms.size() >= kMostAlarms) {
    return Error{"too many alarms are stored: clear them with INIT-SYS::ALARM", ""};
  }
  const EmulatorEvent alarm{"*", "REPT ALM", "SYSTEM", "ALARM", std::string(words[0])};
  box.alarms.push_back(alarm);
  box.report(alarm, now);
  return std::string("alarm raised");
}

Shown arm_busy(EmulatorBox& box, const Words& words, Instant /*now*/) {
  const Result<int> commands = parse_count(words[0]);
  if (!commands) {
    return commands.error();
  }
  box.faults.busy = *commands;
  return fmt::format("the next {} commands are answered RL", *commands);
}

Shown arm_denial(EmulatorBox& box, const Words& words, Instant /*now*/) {
  if (words[0].size() != 4 || !std::ranges::all_of(words[0], is_letter)) {
    return Error{fmt::format("\"{}\" is no error code: write four letters, such as SROF", words[0]),
                 ""};
  }
  box.faults.deny_write = denial(upper(words[0]), std::string(words[1]));
  return std::string("the next write is denied");
}

Shown force_power(EmulatorBox& box, const Words& words, Instant /*now*/) {
  const auto dbm = parse_real(words[1]);
  if (!dbm && words[1] != "normal") {
    return Error{fmt::format("\"{}\" is no power: write dBm, such as -25, or normal", words[1]),
                 ""};
  }
  return change_port(box, words[0], fmt::format("power {}", words[1]),
                     [&](PortId port) { box.state.set_power(port, dbm); });
}

Shown turn_knob(EmulatorBox& box, const Words& words, Instant /*now*/) {
  if (Status status = set_knob(box.options.knobs, words[0]); !status) {
    return status.error();
  }
  box.state.set_relink(box.options.knobs.relink);
  return std::string("set");
}

std::string faults_text(const EmulatorBox& box) {
  std::string text;
  for (int32_t port = 1; port <= box.options.size.ports(); ++port) {
    const PortId id(port);
    std::string faults;
    faults += box.state.fibre_plugged(id) ? "" : " fibre pulled";
    faults += box.state.shutter_open(id) ? "" : " shutter closed";
    faults += box.state.stuck(id) ? " mirror stuck" : "";
    faults += box.state.power_is_forced(id) ? " power forced" : "";
    if (!faults.empty()) {
      text += fmt::format("  port {}:{}\n", port, faults);
    }
  }
  const ArmedFaults& armed = box.faults;
  text += armed.busy > 0 ? fmt::format("  busy for {} commands\n", armed.busy) : "";
  text += armed.deny_write ? "  the next write is denied\n" : "";
  text += armed.partial ? fmt::format("  the next list stops after {}\n", *armed.partial) : "";
  text += armed.drop != DropCommand::kNo ? "  the next patch command drops its connection\n" : "";
  text += armed.cut_next_connection ? "  the next connection is cut\n" : "";
  text += box.reboot_ends ? "  rebooting\n" : "";
  return text;
}

Shown show_status(EmulatorBox& box, const Words& /*words*/, Instant now) {
  const std::vector<Patch> patches = box.state.patches();
  std::string text =
      fmt::format("{} switch, {} patches\n", text_of(box.options.size), patches.size());
  for (const Patch& patch : patches) {
    const bool light = box.state.light_at(patch.egress, now);
    const bool carrier = box.state.carrier(patch.egress, now);
    text += fmt::format("  {},{} {}\n", patch.ingress.value, patch.egress.value,
                        carrier ? "carrier"
                        : light ? "light"
                                : "dark");
  }
  const std::string faults = faults_text(box);
  text += faults.empty() ? "no faults\n" : "faults\n" + faults;
  text += fmt::format("{} sessions\n", box.sessions.size());
  for (const auto& [id, session] : box.sessions) {
    text += fmt::format("  {} {}{}\n", id, session.user.empty() ? "(not logged in)" : session.user,
                        session.silent ? ", half-open" : "");
  }
  const EmulatorCounters& counters = box.counters;
  text += fmt::format("{} commands, {} denied, {} patches made, {} removed, {} events\n",
                      counters.commands, counters.denied, counters.patches_made,
                      counters.patches_removed, counters.events);
  text.pop_back();  // the last line end
  return text;
}

Shown show_help(EmulatorBox& /*box*/, const Words& /*words*/, Instant /*now*/) {
  return describe_faults();
}

struct Fault {
  std::string_view form;  // words in lower case are typed as they are, others stand for values;
                          // a last TEXT takes the rest of the line
  std::string_view help;
  Shown (*run)(EmulatorBox&, const Words&, Instant);
};

constexpr Fault kFaults[] = {
    {"fibre pull PORT", "unplugs the fibre: no light in, none out", pull_fibre},
    {"fibre restore PORT", "plugs it again", restore_fibre},
    {"shutter close PORT", "closes a shutter without a word to anybody", close_shutter},
    {"shutter open PORT", "opens it", open_shutter},
    {"mirror stick PORT", "commands about the port say COMPLD, but change nothing", stick_mirror},
    {"mirror free PORT", "lets it move again", free_mirror},
    {"foreign remove PORT", "another controller removes the patch of a port", remove_foreign},
    {"foreign IN,OUT", "another controller patches two ports", patch_foreign},
    {"partial N", "the next ENT-PATCH of several pairs makes N and says PRTL", arm_partial},
    {"drop after N", "cuts every connection, or else the next one, after N bytes of output",
     drop_after},
    {"drop command before", "the next patch command is lost with its connection",
     drop_before_effect},
    {"drop command after", "the same, but it takes effect", drop_after_effect},
    {"half-open", "the connections of now take bytes and answer no more", half_open},
    {"reboot", "drops every session; unreachable for a while", reboot},
    {"clock jump SECONDS", "the clock of the switch jumps", jump_clock},
    {"event TEXT", "sends an event to every session", send_event},
    {"alarm TEXT", "stores an alarm and sends it", raise_alarm},
    {"busy N", "the next N commands are answered RL", arm_busy},
    {"deny CODE TEXT", "the next write is denied", arm_denial},
    {"power PORT DBM", "launches (ingress) or shows (egress) this power; normal: as before",
     force_power},
    {"knob NAME=VALUE", "turns a knob while running", turn_knob},
    {"status", "lists patches, faults and sessions", show_status},
    {"help", "lists these commands", show_help},
};

bool stands_for_value(std::string_view word) { return word.front() >= 'A' && word.front() <= 'Z'; }

// The values of `line`, if it has this form.
std::optional<Words> match(std::string_view form, std::string_view line) {
  const Words wanted = words(form, form.size());
  const bool takes_rest = wanted.back() == "TEXT";
  const Words typed = words(line, takes_rest ? wanted.size() : line.size() + 1);
  if (typed.size() != wanted.size()) {
    return std::nullopt;
  }
  Words values;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (stands_for_value(wanted[i])) {
      values.push_back(typed[i]);
    } else if (wanted[i] != typed[i]) {
      return std::nullopt;
    }
  }
  return values;
}

}  // namespace

Result<std::string> run_fault(EmulatorBox& box, std::string_view line, Instant now) {
  std::string forms;
  for (const Fault& fault : kFaults) {
    if (const auto values = match(fault.form, line)) {
      return fault.run(box, *values, now);
    }
    forms += (forms.empty() ? "" : " | ") + std::string(fault.form);
  }
  return Error{fmt::format("\"{}\" is no fault: write {}", trimmed(line), forms), ""};
}

std::string describe_faults() {
  std::string text;
  for (const Fault& fault : kFaults) {
    text += fmt::format("  {:<20}  {}\n", fault.form, fault.help);
  }
  text.pop_back();  // the last line end
  return text;
}

}  // namespace mixnet::ocs
