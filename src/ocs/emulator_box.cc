#include "ocs/emulator_box.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/check.h"
#include "ocs/tl1_text.h"

namespace mixnet::ocs {
namespace {

// Ranges that overlap again and again would need memory without end.
constexpr std::size_t kMostNamedPorts = std::size_t{2} * kMaxPorts;
constexpr std::size_t kMostOutputBytes = std::size_t{16} << 20;

EmulatorOptions with_defaults(EmulatorOptions options) {
  if (options.users.empty()) {
    options.users.push_back(EmulatedUser{"admin", Secret("root"), UserGroup::kAdmin});
  }
  if (options.nics.empty()) {
    options.nics = default_nics(options.size);
  }
  return options;
}

}  // namespace

Reply denial(std::string code, std::string text) {
  Reply reply;
  reply.completion = Completion::kDenied;
  reply.lines.push_back(TextLine{TextLine::Kind::kPlain, std::move(code)});
  if (!text.empty()) {
    reply.lines.push_back(TextLine{TextLine::Kind::kComment, std::move(text)});
  }
  return reply;
}

Reply done() { return Reply{}; }

TextLine quoted(std::string text) { return TextLine{TextLine::Kind::kQuoted, std::move(text)}; }

EmulatorBox::EmulatorBox(EmulatorOptions from)
    : options(with_defaults(std::move(from))),
      state(options.size, options.nics, options.knobs.relink, options.seed),
      switching_random(options.seed, "emulator switching"),
      ports(static_cast<std::size_t>(options.size.ports()) + 1),
      reports(options.knobs.reports) {
  idle_timeout.fill(options.knobs.idle_timeout);
}

int64_t EmulatorBox::unix_time(Instant now) const {
  return options.unix_time_at_zero + clock_offset_s +
         std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
}

Instant EmulatorBox::make_patches(const std::vector<Patch>& patches, Instant now) {
  const auto moving = std::ranges::count_if(
      patches, [&](const Patch& patch) { return state.partner(patch.ingress) != patch.egress; });
  if (moving == 0) {
    return now;
  }
  const Instant settled =
      now + draw_switching(options.knobs.switching, static_cast<int>(moving), switching_random);
  for (const Patch& patch : patches) {
    if (state.partner(patch.ingress) != patch.egress && state.connect(patch, now, settled)) {
      ++counters.patches_made;
    }
  }
  return settled;
}

bool EmulatorBox::remove_patch(PortId port, Instant now) {
  const bool removed = state.disconnect(port, now);
  counters.patches_removed += removed ? 1 : 0;
  return removed;
}

bool EmulatorBox::hears(const EmulatorSession& session) const {
  return reports && session.reports && !session.silent;
}

std::string EmulatorBox::write(const EmulatorEvent& event, Instant now) {
  const std::string time = calendar_text(unix_time(now), '-');
  constexpr std::size_t kDateBytes = 8;  // of "26-10-25", behind the century
  Autonomous message;
  message.header = header(now);
  message.alarm_code = event.alarm_code;
  message.atag = last_atag;
  message.verb = event.verb;
  message.lines.push_back(quoted(fmt::format(
      "{}:{},{},NSA,{},{},,:\"{}\"", event.about, event.verb == "REPT ALM" ? "MN" : "TC",
      event.condition, time.substr(2, kDateBytes), time.substr(2 + kDateBytes + 1), event.text)));
  return write_event(options.knobs, std::move(message));
}

void EmulatorBox::report(const EmulatorEvent& event, Instant now, const EmulatorSession* except) {
  if (!reports) {
    return;
  }
  last_atag = last_atag % kLastAtag + 1;
  ++counters.events;
  const std::string text = write(event, now);
  for (auto& [id, session] : sessions) {
    if (&session != except && !session.user.empty() && hears(session)) {
      send(session, text);
    }
  }
}

void EmulatorBox::send(EmulatorSession& session, std::string_view bytes) {
  if (session.close || session.silent) {
    return;
  }
  if (session.cut_after && bytes.size() >= *session.cut_after) {
    session.output += bytes.substr(0, *session.cut_after);
    session.close = true;
    return;
  }
  if (session.cut_after) {
    *session.cut_after -= bytes.size();
  }
  session.output += bytes;
  session.close = session.output.size() > kMostOutputBytes;
}

void EmulatorBox::reboot(Instant now) {
  if (!reboot_ends) {
    restored_after_reboot = state.patches();
  }
  ++counters.reboots;
  state.disconnect_all(now);
  delayed.clear();
  last_atag = 0;
  reports = options.knobs.reports;
  for (auto& [id, session] : sessions) {
    session.close = true;
  }
  reboot_ends = now + options.knobs.reboot_time;
}

void EmulatorBox::finish_reboot(Instant now) {
  reboot_ends.reset();
  if (options.knobs.boot == BootMode::kRestore) {
    make_patches(restored_after_reboot, now);
  }
  restored_after_reboot.clear();
}

std::vector<NamedPort> named_ports(const AidList& list, SwitchSize size) {
  const auto number = [size](const std::string& text) -> std::optional<int32_t> {
    int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole && size.has(PortId(value)) ? std::optional(value) : std::nullopt;
  };
  const auto named = [&](const std::string& text) {
    const auto value = number(text);
    return NamedPort{value ? std::optional(PortId(*value)) : std::nullopt, text};
  };
  std::vector<NamedPort> ports;
  for (const AidItem& item : list) {
    if (ports.size() > kMostNamedPorts) {
      ports.push_back(NamedPort{std::nullopt, item.first});
      break;
    }
    const auto first = number(item.first);
    const auto last = number(item.last);
    if (item.last.empty() || !first) {
      ports.push_back(named(item.first));
    } else if (!last || *last < *first) {
      ports.push_back(NamedPort{std::nullopt, item.last});
    } else {
      for (int32_t port = *first; port <= *last; ++port) {
        ports.push_back(NamedPort{PortId(port), fmt::format("{}", port)});
      }
    }
  }
  return ports;
}

Reply bad_port(std::string_view text) {
  return denial("IDNV", fmt::format("Invalid OXC port: {}", text));
}

std::vector<PortId> ports_of(const ReceivedCommand& received, SwitchSize size,
                             std::optional<Reply>& refusal) {
  const std::vector<AidList>& aid = received.command.aid;
  std::vector<PortId> ports;
  if (aid.size() > 1) {
    refusal = denial("IIAC", fmt::format("Too many parameters ({}/1)", aid.size()));
    return ports;
  }
  const bool all = aid.empty() || (aid[0].size() == 1 && aid[0][0].last.empty() &&
                                   equal_ignoring_case(aid[0][0].first, "ALL"));
  if (all) {
    for (int32_t port = 1; port <= size.ports(); ++port) {
      ports.push_back(PortId(port));
    }
    return ports;
  }
  for (const NamedPort& named : named_ports(aid[0], size)) {
    if (!named.port) {
      refusal = bad_port(named.text);
      return {};
    }
    ports.push_back(*named.port);
  }
  return ports;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return result;
}

NamedValues named_values(const ReceivedCommand& received,
                         const std::vector<std::string_view>& keys) {
  constexpr std::size_t kBlock = 2;
  NamedValues named;
  const auto& blocks = received.command.blocks;
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    for (const Parameter& parameter : blocks[i]) {
      const std::string key = upper(parameter.key);
      if (i != kBlock || std::ranges::find(keys, key) == keys.end()) {
        named.refusal =
            denial("IPNV", fmt::format("Unexpected parameter {} in block {}",
                                       parameter.key.empty() ? parameter.value : parameter.key, i));
        return named;
      }
      named.values[key] = parameter.value;
    }
  }
  return named;
}

std::string value_at(const ReceivedCommand& received, std::size_t block, std::size_t n) {
  const auto& blocks = received.command.blocks;
  if (block >= blocks.size() || n >= blocks[block].size()) {
    return "";
  }
  const Parameter& parameter = blocks[block][n];
  // A value with an equals sign looks like a named one.
  return parameter.key.empty() ? parameter.value : parameter.key + "=" + parameter.value;
}

}  // namespace mixnet::ocs
