#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "ocs/emulator_box.h"
#include "ocs/tl1_text.h"

// ENT-PATCH, DLT-PATCH, RTRV-PATCH.
namespace mixnet::ocs {
namespace {

bool is_empty(const AidList& list) {
  return std::ranges::all_of(
      list, [](const AidItem& item) { return item.first.empty() && item.last.empty(); });
}

std::optional<Reply> check_groups(const std::vector<AidList>& aid) {
  if (aid.empty()) {
    return denial("IIAC", "Too few parameters (0/2)");
  }
  if (std::ranges::all_of(aid, is_empty)) {
    return denial("IIAC", "Empty parameters");
  }
  if (aid.size() != 2) {
    return denial("IIAC", fmt::format("Too {} parameters ({}/2)", aid.size() < 2 ? "few" : "many",
                                      aid.size()));
  }
  return std::nullopt;
}

// Why one pair cannot be made, given the ports that the pairs before it take.
std::optional<Reply> check_pair(const EmulatorBox& box, const NamedPort& a, const NamedPort& b,
                                const std::set<PortId>& taken) {
  const EmulatorKnobs& knobs = box.options.knobs;
  for (const NamedPort& end : {a, b}) {
    if (!end.port) {
      return bad_port(end.text);
    }
  }
  if (*a.port == *b.port) {
    return denial(knobs.list_code, fmt::format("Port {} joined to itself", a.port->value));
  }
  const SwitchSize size = box.options.size;
  const bool same_side =
      size.egress > 0 && (a.port->value <= size.ingress) == (b.port->value <= size.ingress);
  if (same_side && knobs.same_side == Leniency::kDeny) {
    return denial(knobs.list_code,
                  fmt::format("Ports {} and {} on one side", a.port->value, b.port->value));
  }
  for (const NamedPort& end : {a, b}) {
    if (taken.contains(*end.port) && knobs.duplicate_ports == Leniency::kDeny) {
      return denial(knobs.list_code, fmt::format("Port {} named twice", end.port->value));
    }
  }
  if (knobs.busy_port == BusyPort::kDeny && box.state.partner(*a.port) != *b.port) {
    for (const NamedPort& end : {a, b}) {
      if (box.state.partner(*end.port)) {
        return denial(knobs.busy_code, fmt::format("Port {} is in use", end.port->value));
      }
    }
  }
  return std::nullopt;
}

struct CheckedPairs {
  std::vector<Patch> good;           // all, or those that the knob lets through
  std::optional<Reply> first_error;  // of a pair or of the lists
};

CheckedPairs check_pairs(const EmulatorBox& box, const std::vector<AidList>& aid) {
  const EmulatorKnobs& knobs = box.options.knobs;
  const std::vector<NamedPort> from = named_ports(aid[0], box.options.size);
  const std::vector<NamedPort> to = named_ports(aid[1], box.options.size);
  const std::size_t pairs = std::min(from.size(), to.size());
  CheckedPairs result;
  if (from.size() != to.size() && knobs.unequal_lists == Leniency::kDeny) {
    result.first_error =
        denial(knobs.list_code, fmt::format("{} ports to {} ports", from.size(), to.size()));
    return result;
  }
  if (knobs.max_pairs > 0 && pairs > static_cast<std::size_t>(knobs.max_pairs)) {
    result.first_error =
        denial(knobs.list_code, fmt::format("Too many ports ({}/{})", pairs, knobs.max_pairs));
    return result;
  }
  std::set<PortId> taken;
  for (std::size_t i = 0; i < pairs; ++i) {
    std::optional<Reply> error = check_pair(box, from[i], to[i], taken);
    if (error) {
      if (!result.first_error) {
        result.first_error = std::move(error);
      }
      if (knobs.bad_pair == BadPair::kPartial) {
        continue;
      }
      break;
    }
    taken.insert(*from[i].port);
    taken.insert(*to[i].port);
    result.good.push_back(patch_between(*from[i].port, *to[i].port));
  }
  if (result.first_error && knobs.bad_pair == BadPair::kAtomic) {
    result.good.clear();
  }
  return result;
}

EmulatorEvent patch_event(PortId port, std::string_view condition, std::string text) {
  return EmulatorEvent{"A", "REPT EVT", fmt::format("{}", port.value), std::string(condition),
                       std::move(text)};
}

Reply enter_patch(EmulatorBox& box, EmulatorSession& /*session*/, const ReceivedCommand& received,
                  Instant now) {
  const EmulatorKnobs& knobs = box.options.knobs;
  if (auto refusal = check_groups(received.command.aid)) {
    return *std::move(refusal);
  }
  CheckedPairs pairs = check_pairs(box, received.command.aid);
  Reply reply;
  if (pairs.first_error) {
    reply = *std::move(pairs.first_error);
    if (knobs.bad_pair == BadPair::kPartial && !pairs.good.empty()) {
      reply.completion = Completion::kPartial;
    }
  }
  if (box.faults.partial && pairs.good.size() > 1) {
    pairs.good.resize(std::min(*box.faults.partial, pairs.good.size()));
    reply.completion = Completion::kPartial;
    box.faults.partial.reset();
  }
  if (pairs.good.empty()) {
    return reply;
  }
  if (knobs.delay) {
    const Duration wait =
        draw_switching(knobs.switching, static_cast<int>(pairs.good.size()), box.switching_random);
    box.delayed.push_back(DelayedPatches{now + wait, std::move(pairs.good)});
    reply.completion = Completion::kDelayed;
    return reply;
  }
  const Instant settled = box.make_patches(pairs.good, now);
  if (knobs.completed == CompletedWhen::kAfter) {
    reply.takes = settled - now;
  }
  if (knobs.patch_events) {
    for (const Patch& patch : pairs.good) {
      reply.events.push_back(patch_event(
          patch.ingress, "SWITCH",
          fmt::format("Port {} connected to {}", patch.ingress.value, patch.egress.value)));
    }
  }
  return reply;
}

Reply delete_patch(EmulatorBox& box, EmulatorSession& /*session*/, const ReceivedCommand& received,
                   Instant now) {
  std::optional<Reply> refusal;
  const std::vector<PortId> ports = ports_of(received, box.options.size, refusal);
  if (refusal) {
    return *std::move(refusal);
  }
  Reply reply;
  for (const PortId port : ports) {
    if (box.remove_patch(port, now) && box.options.knobs.patch_events) {
      reply.events.push_back(
          patch_event(port, "SWITCH", fmt::format("Port {} disconnected", port.value)));
    }
  }
  return reply;
}

Reply retrieve_patch(EmulatorBox& box, EmulatorSession& /*session*/,
                     const ReceivedCommand& received, Instant /*now*/) {
  std::optional<Reply> refusal;
  const std::vector<PortId> ports = ports_of(received, box.options.size, refusal);
  if (refusal) {
    return *std::move(refusal);
  }
  const Unconnected unconnected = box.options.knobs.unconnected;
  Reply reply;
  std::set<PortId> listed;
  for (const PortId port : ports) {
    const auto partner = box.state.partner(port);
    if (partner) {
      const Patch patch = patch_between(port, *partner);
      if (listed.insert(patch.ingress).second) {
        reply.lines.push_back(
            quoted(fmt::format("{},{}", patch.ingress.value, patch.egress.value)));
      }
    } else if (unconnected != Unconnected::kOmitted) {
      reply.lines.push_back(
          quoted(fmt::format("{},{}", port.value, unconnected == Unconnected::kZero ? "0" : "")));
    }
  }
  return reply;
}

constexpr EmulatedCommand kPatchCommands[] = {
    {"ENT-PATCH", Right::kWrite, enter_patch},
    {"DLT-PATCH", Right::kWrite, delete_patch},
    {"RTRV-PATCH", Right::kRead, retrieve_patch},
};

}  // namespace

std::span<const EmulatedCommand> patch_commands() { return kPatchCommands; }

}  // namespace mixnet::ocs
