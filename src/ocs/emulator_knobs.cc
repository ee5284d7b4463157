#include "ocs/emulator_knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "ocs/tl1_text.h"

namespace mixnet::ocs {
namespace {

struct About {
  std::string name;
  int unknown = 0;
  std::string help;
};

template <typename E>
Knob choice(const About& about, E EmulatorKnobs::*field,
            std::vector<std::pair<std::string_view, E>> names) {
  std::string values;
  for (const auto& [name, value] : names) {
    values += (values.empty() ? "" : "|") + std::string(name);
  }
  const auto set = [field, names](EmulatorKnobs& knobs, std::string_view text) {
    for (const auto& [name, value] : names) {
      if (name == text) {
        knobs.*field = value;
        return true;
      }
    }
    return false;
  };
  const auto get = [field, names](const EmulatorKnobs& knobs) {
    for (const auto& [name, value] : names) {
      if (value == knobs.*field) {
        return std::string(name);
      }
    }
    return std::string();
  };
  return Knob{about.name, about.unknown, values, about.help, set, get};
}

Knob on_off(const About& about, bool EmulatorKnobs::*field) {
  return choice<bool>(about, field, {{"on", true}, {"off", false}});
}

Knob leniency(const About& about, Leniency EmulatorKnobs::*field) {
  return choice<Leniency>(about, field, {{"deny", Leniency::kDeny}, {"accept", Leniency::kAccept}});
}

Knob number(const About& about, int32_t EmulatorKnobs::*field, int32_t least, int32_t most) {
  const auto set = [field, least, most](EmulatorKnobs& knobs, std::string_view text) {
    int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
      return false;
    }
    knobs.*field = value;
    return true;
  };
  const auto get = [field](const EmulatorKnobs& knobs) { return fmt::format("{}", knobs.*field); };
  return Knob{about.name, about.unknown, fmt::format("{}..{}", least, most), about.help, set, get};
}

Knob error_code(const About& about, std::string EmulatorKnobs::*field) {
  const auto set = [field](EmulatorKnobs& knobs, std::string_view text) {
    if (text.size() != 4 || !std::ranges::all_of(text, is_letter)) {
      return false;
    }
    knobs.*field = text;
    return true;
  };
  const auto get = [field](const EmulatorKnobs& knobs) { return knobs.*field; };
  return Knob{about.name, about.unknown, "four letters", about.help, set, get};
}

std::optional<Duration> parse_milliseconds(std::string_view text) {
  constexpr double kMost = 3.6e6;  // an hour
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value <= kMost)) {
    return std::nullopt;
  }
  return std::chrono::round<Duration>(std::chrono::duration<double, std::milli>(value));
}

std::string milliseconds_text(Duration duration) {
  return fmt::format("{}", std::chrono::duration<double, std::milli>(duration).count());
}

Knob duration(const About& about, Duration EmulatorKnobs::*field) {
  const auto set = [field](EmulatorKnobs& knobs, std::string_view text) {
    const auto value = parse_milliseconds(text);
    knobs.*field = value.value_or(knobs.*field);
    return value.has_value();
  };
  const auto get = [field](const EmulatorKnobs& knobs) { return milliseconds_text(knobs.*field); };
  return Knob{about.name, about.unknown, "milliseconds", about.help, set, get};
}

// A time that is drawn from what was measured, or fixed.
template <typename Model>
Knob drawn(const About& about, Model EmulatorKnobs::*model) {
  const auto set = [model](EmulatorKnobs& knobs, std::string_view text) {
    if (text == "measured") {
      (knobs.*model).fixed.reset();
      return true;
    }
    const auto value = parse_milliseconds(text);
    if (value) {
      (knobs.*model).fixed = value;
    }
    return value.has_value();
  };
  const auto get = [model](const EmulatorKnobs& knobs) {
    const auto& fixed = (knobs.*model).fixed;
    return fixed ? milliseconds_text(*fixed) : std::string("measured");
  };
  return Knob{about.name, about.unknown, "measured|milliseconds", about.help, set, get};
}

Knob banner() {
  const auto set = [](EmulatorKnobs& knobs, std::string_view text) {
    knobs.banner = text;
    return true;
  };
  const auto get = [](const EmulatorKnobs& knobs) { return knobs.banner; };
  return Knob{"banner", 11, "text", "sent when a connection opens", set, get};
}

void add_patch_knobs(std::vector<Knob>& knobs) {
  using K = EmulatorKnobs;
  knobs.push_back(
      choice<BusyPort>({"busy_port", 1, "ENT-PATCH on a port that has a partner"}, &K::busy_port,
                       {{"overwrite", BusyPort::kOverwrite}, {"deny", BusyPort::kDeny}}));
  knobs.push_back(error_code({"busy_code", 1, "code of that denial"}, &K::busy_code));
  knobs.push_back(choice<BadPair>(
      {"bad_pair", 2, "one bad pair among many: nothing done, those before it done, or PRTL"},
      &K::bad_pair,
      {{"atomic", BadPair::kAtomic}, {"prefix", BadPair::kPrefix}, {"prtl", BadPair::kPartial}}));
  knobs.push_back(choice<CompletedWhen>(
      {"completed", 3, "COMPLD before or after the mirrors have settled"}, &K::completed,
      {{"after", CompletedWhen::kAfter}, {"before", CompletedWhen::kBefore}}));
  knobs.push_back(leniency({"unequal_lists", 4,
                            "more ports on one side of ENT-PATCH; accepted: "
                            "the rest is ignored"},
                           &K::unequal_lists));
  knobs.push_back(leniency({"duplicate_ports", 4,
                            "a port named twice; accepted: the last one "
                            "counts"},
                           &K::duplicate_ports));
  knobs.push_back(
      leniency({"same_side", 4, "ingress to ingress, or egress to egress"}, &K::same_side));
  knobs.push_back(error_code({"list_code", 4, "code of these denials"}, &K::list_code));
  knobs.push_back(
      number({"max_pairs", 4, "of one ENT-PATCH; 0: no limit"}, &K::max_pairs, 0, 4096));
  knobs.push_back(number({"max_command_bytes", 4, "longer commands are denied"},
                         &K::max_command_bytes, 64, 1 << 20));
  knobs.push_back(choice<Unconnected>(
      {"unconnected", 5, "free ports in RTRV-PATCH: no line, \"5,0\" or \"5,\""}, &K::unconnected,
      {{"omitted", Unconnected::kOmitted},
       {"zero", Unconnected::kZero},
       {"empty", Unconnected::kEmpty}}));
}

void add_session_knobs(std::vector<Knob>& knobs) {
  using K = EmulatorKnobs;
  knobs.push_back(choice<InhibitScope>(
      {"inhibit_scope", 6, "whom OPR-ARC-EQPT::REPMGR silences"}, &K::inhibit_scope,
      {{"box", InhibitScope::kBox}, {"session", InhibitScope::kSession}}));
  knobs.push_back(on_off({"reports", 6, "autonomous messages from the start"}, &K::reports));
  knobs.push_back(
      error_code({"not_logged_in_code", 7, "code of \"Not logged in\""}, &K::not_logged_in_code));
  knobs.push_back(
      number({"max_sessions", 8, "further connections are closed"}, &K::max_sessions, 1, 1000));
  knobs.push_back(
      choice<IdleUnit>({"idle_unit", 8, "of the inactivity timeout"}, &K::idle_unit,
                       {{"minutes", IdleUnit::kMinutes}, {"seconds", IdleUnit::kSeconds}}));
  knobs.push_back(number({"idle_timeout", 8, "inactivity timeout at start; 0: never"},
                         &K::idle_timeout, 0, 60));
  knobs.push_back(on_off({"view_reads", 9, "group VIEW may use RTRV commands"}, &K::view_reads));
}

void add_wire_knobs(std::vector<Knob>& knobs) {
  using K = EmulatorKnobs;
  knobs.push_back(choice<Continuation>(
      {"continuation", 10, "pages end in \">\", are RTRV blocks, or are all COMPLD"},
      &K::continuation,
      {{"more", Continuation::kMore},
       {"rtrv", Continuation::kRetrieve},
       {"repeat", Continuation::kRepeat}}));
  knobs.push_back(
      number({"page_lines", 10, "text lines of a page; 0: one page"}, &K::page_lines, 0, 100'000));
  knobs.push_back(choice<DateStyle>({"date", 11, "26-10-25 or 2026-10-25 in headers"}, &K::date,
                                    {{"yy", DateStyle::kShort}, {"yyyy", DateStyle::kLong}}));
  knobs.push_back(choice<LineEnd>({"line_end", 11, "of everything sent"}, &K::line_end,
                                  {{"crlf", LineEnd::kCrLf}, {"lf", LineEnd::kLf}}));
  knobs.push_back(
      number({"leading_blanks", 11, "of headers and text lines"}, &K::leading_blanks, 0, 8));
  knobs.push_back(on_off({"quotes", 11, "around text lines"}, &K::quotes));
  knobs.push_back(on_off({"echo", 11, "commands are sent back"}, &K::echo));
  knobs.push_back(
      choice<Prompt>({"prompt", 11, "behind every answer and at the start"}, &K::prompt,
                     {{"none", Prompt::kNone}, {"<", Prompt::kLess}, {">", Prompt::kGreater}}));
  knobs.push_back(banner());
  knobs.push_back(choice<WordCase>({"case", 11, "of M and completion words"}, &K::word_case,
                                   {{"upper", WordCase::kUpper}, {"lower", WordCase::kLower}}));
  knobs.push_back(on_off({"ack", 12, "IP when an answer takes long"}, &K::acknowledge));
  knobs.push_back(
      choice<Prompt>({"ack_end", 12, "behind an acknowledgement"}, &K::acknowledge_end,
                     {{"<", Prompt::kLess}, {">", Prompt::kGreater}, {"none", Prompt::kNone}}));
  knobs.push_back(duration({"ack_after", 12, "when it is sent"}, &K::acknowledge_after));
  knobs.push_back(
      on_off({"patch_events", 13, "autonomous messages about patches"}, &K::patch_events));
  knobs.push_back(choice<EventOrder>({"event_order", 13, "events of a command and its answer"},
                                     &K::event_order,
                                     {{"before", EventOrder::kBefore},
                                      {"after", EventOrder::kAfter},
                                      {"between", EventOrder::kBetween}}));
  knobs.push_back(on_off({"telnet", 14, "option negotiation when a connection opens"}, &K::telnet));
  knobs.push_back(
      on_off({"delay", 14, "ENT-PATCH says DELAY and is carried out later"}, &K::delay));
}

std::vector<Knob> make_knobs() {
  using K = EmulatorKnobs;
  std::vector<Knob> knobs;
  add_patch_knobs(knobs);
  add_session_knobs(knobs);
  add_wire_knobs(knobs);
  knobs.push_back(choice<BootMode>({"boot", 0, "patches after a reboot: none, or as before"},
                                   &K::boot,
                                   {{"restore", BootMode::kRestore}, {"dark", BootMode::kDark}}));
  knobs.push_back(duration({"reboot_time", 0, "how long a reboot takes"}, &K::reboot_time));
  knobs.push_back(choice<Monitors>({"monitors", 0, "which ports can read their power"},
                                   &K::monitors,
                                   {{"all", Monitors::kAll},
                                    {"ingress", Monitors::kIngress},
                                    {"egress", Monitors::kEgress},
                                    {"none", Monitors::kNone}}));
  knobs.push_back(
      drawn<SwitchingModel>({"switch_time", 0, "how long the mirrors move"}, &K::switching));
  knobs.push_back(
      drawn<RelinkModel>({"relink_time", 0, "from light to carrier at a NIC"}, &K::relink));
  return knobs;
}

}  // namespace

const std::vector<Knob>& emulator_knobs() {
  static const std::vector<Knob> table = make_knobs();
  return table;
}

Status set_knob(EmulatorKnobs& knobs, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  std::string names;
  for (const Knob& knob : emulator_knobs()) {
    names += (names.empty() ? "" : ", ") + knob.name;
    if (knob.name != name) {
      continue;
    }
    if (equals == std::string_view::npos || !knob.set(knobs, assignment.substr(equals + 1))) {
      return Error{fmt::format("\"{}\" is no setting of knob {}: write {}=VALUE, where VALUE is {}",
                               assignment, name, name, knob.values),
                   ""};
    }
    return Status();
  }
  return Error{fmt::format("there is no knob \"{}\": write NAME=VALUE, where NAME is one of {}",
                           name, names),
               ""};
}

std::string describe_knobs() {
  const EmulatorKnobs defaults;
  std::string text;
  for (const Knob& knob : emulator_knobs()) {
    const std::string set_to = knob.get(defaults);
    text += fmt::format("  {:<19} {}{}\n", knob.name, knob.help,
                        knob.unknown > 0 ? " (unverified)" : "");
    text += fmt::format("  {:<19}   {}, default {}\n", "", knob.values,
                        set_to.empty() ? "empty" : set_to);
  }
  return text;
}

}  // namespace mixnet::ocs
