#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ep/rank_set.h"

// What every rank says of itself at the start of a collective. All ranks see all declarations, so
// that a contradiction gives the same error on all of them.
namespace mixnet::ep {

enum class CallKind : uint8_t {
  kDispatch,
  kCachedDispatch,
  kCombine,
  kAllToAll,
  kAllGather,
  kReduceScatter,
  kAllReduce,
  kBroadcast,
  kBarrier,
  kRoutes,
};
const char* call_name(CallKind kind);

// Has to be equal on all ranks.
struct AgreedField {
  const char* name;
  int64_t value;
};

struct Declaration {
  CallKind kind = CallKind::kBarrier;
  std::vector<AgreedField> fields;  // of the same names for equal kinds
  std::string refusal;              // why this rank cannot take part; empty: it can
  std::vector<int64_t> numbers;     // what else the kind needs, equally many on all ranks
};

// A declaration as a peer's message carries it: without the names.
struct PeerDeclaration {
  CallKind kind = CallKind::kBarrier;
  std::vector<int64_t> fields;
  std::string refusal;
  std::vector<int64_t> numbers;
};
PeerDeclaration without_names(const Declaration& own);

// The error that all ranks give, or nothing. `peers` by rank; of the ranks in `lost` nothing is
// read. Names the rank and the field: "dispatch: hidden differs: 128 on rank 0; 64 on ranks 1-7".
std::optional<std::string> contradiction(const Declaration& own,
                                         std::span<const PeerDeclaration> peers,
                                         const RankSet& lost);

}  // namespace mixnet::ep
