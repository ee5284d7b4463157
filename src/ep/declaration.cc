#include "ep/declaration.h"

#include <map>

#include "core/check.h"

namespace mixnet::ep {
namespace {

using RanksByValue = std::map<int64_t, RankSet>;

std::string ranks_text(const RankSet& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + ranks.text();
}

template <typename Value>
RanksByValue ranks_by_value(std::span<const PeerDeclaration> peers, const RankSet& lost,
                            const Value& value) {
  RanksByValue ranks;
  for (std::size_t rank = 0; rank < peers.size(); ++rank) {
    if (!lost.has(static_cast<int>(rank))) {
      const auto entry = ranks.emplace(value(peers[rank]), RankSet(static_cast<int>(peers.size())));
      entry.first->second.add(static_cast<int>(rank));
    }
  }
  return ranks;
}

std::optional<std::string> refusals(const char* call, std::span<const PeerDeclaration> peers,
                                    const RankSet& lost) {
  std::string text;
  for (std::size_t rank = 0; rank < peers.size(); ++rank) {
    if (!lost.has(static_cast<int>(rank)) && !peers[rank].refusal.empty()) {
      text += (text.empty() ? std::string(call) + ": " : "; ") + "rank " + std::to_string(rank) +
              ": " + peers[rank].refusal;
    }
  }
  return text.empty() ? std::nullopt : std::optional(text);
}

std::optional<std::string> different_calls(std::span<const PeerDeclaration> peers,
                                           const RankSet& lost) {
  const RanksByValue kinds = ranks_by_value(
      peers, lost, [](const PeerDeclaration& peer) { return static_cast<int64_t>(peer.kind); });
  if (kinds.size() <= 1) {
    return std::nullopt;
  }
  std::string text = "the ranks are in different calls: ";
  const char* separator = "";
  for (const auto& [kind, ranks] : kinds) {
    text += separator + ranks_text(ranks) + " in " + call_name(static_cast<CallKind>(kind));
    separator = "; ";
  }
  return text;
}

std::optional<std::string> other_forms(const Declaration& own,
                                       std::span<const PeerDeclaration> peers,
                                       const RankSet& lost) {
  for (std::size_t rank = 0; rank < peers.size(); ++rank) {
    if (!lost.has(static_cast<int>(rank)) && (peers[rank].fields.size() != own.fields.size() ||
                                              peers[rank].numbers.size() != own.numbers.size())) {
      return std::string(call_name(own.kind)) + ": rank " + std::to_string(rank) +
             " declares it in another form: run the same version everywhere";
    }
  }
  return std::nullopt;
}

std::optional<std::string> different_values(const Declaration& own, std::size_t field,
                                            std::span<const PeerDeclaration> peers,
                                            const RankSet& lost) {
  const RanksByValue values =
      ranks_by_value(peers, lost, [&](const PeerDeclaration& peer) { return peer.fields[field]; });
  if (values.size() <= 1) {
    return std::nullopt;
  }
  std::string text =
      std::string(call_name(own.kind)) + ": " + own.fields[field].name + " differs: ";
  const char* separator = "";
  for (const auto& [value, ranks] : values) {
    text += separator + std::to_string(value) + " on " + ranks_text(ranks);
    separator = "; ";
  }
  return text;
}

}  // namespace

const char* call_name(CallKind kind) {
  switch (kind) {
    case CallKind::kDispatch:
      return "dispatch";
    case CallKind::kCachedDispatch:
      return "cached dispatch";
    case CallKind::kCombine:
      return "combine";
    case CallKind::kAllToAll:
      return "all-to-all";
    case CallKind::kAllGather:
      return "all-gather";
    case CallKind::kReduceScatter:
      return "reduce-scatter";
    case CallKind::kAllReduce:
      return "all-reduce";
    case CallKind::kBroadcast:
      return "broadcast";
    case CallKind::kBarrier:
      return "barrier";
    case CallKind::kRoutes:
      return "change of routes";
  }
  return "an unknown call";
}

PeerDeclaration without_names(const Declaration& own) {
  PeerDeclaration plain{own.kind, {}, own.refusal, own.numbers};
  for (const AgreedField& field : own.fields) {
    plain.fields.push_back(field.value);
  }
  return plain;
}

std::optional<std::string> contradiction(const Declaration& own,
                                         std::span<const PeerDeclaration> peers,
                                         const RankSet& lost) {
  if (auto different = different_calls(peers, lost)) {
    return different;
  }
  if (auto refused = refusals(call_name(own.kind), peers, lost)) {
    return refused;
  }
  if (auto other = other_forms(own, peers, lost)) {
    return other;
  }
  for (std::size_t field = 0; field < own.fields.size(); ++field) {
    if (auto different = different_values(own, field, peers, lost)) {
      return different;
    }
  }
  return std::nullopt;
}

}  // namespace mixnet::ep
