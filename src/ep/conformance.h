#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "ep/combine.h"
#include "ep/dispatch.h"
#include "ep/transport.h"

// What every implementation of Transport has to make true of dispatch and combine. Every rank makes
// up the inputs of all ranks from a seed, so that it knows what it has to receive without asking.
namespace mixnet::ep::conformance {

struct Shape {
  std::vector<int> host_sizes;
  int rails = 1;
};

// Runs `body` once per rank of the shape, each with a transport of its own, and returns what each
// found wrong; empty texts: nothing.
using Body = std::function<std::string(Transport&)>;
using Runner = std::function<std::vector<std::string>(const Shape&, const Body&)>;

enum class Pattern : uint8_t {
  kUniform,     // distinct experts, some slots -1
  kSame,        // all tokens pick the same experts
  kDuplicates,  // slots repeat experts
  kOneRank,     // only rank 0 has tokens
  kNext,        // tokens of a rank go to the next rank only
  kNobody,      // all slots -1
};

struct Load {
  int experts = 8;
  int top_k = 2;
  int64_t hidden = 16;
  int64_t tokens = 13;  // rank r has tokens + r, unless the pattern says otherwise
  DataType type = DataType::kFp32;
  Pattern pattern = Pattern::kUniform;
  TransportMode mode = TransportMode::kRelay;
  uint64_t seed = 1;
};

// The inputs of one rank.
struct RankLoad {
  int64_t tokens = 0;
  std::vector<int64_t> experts;
  std::vector<float> weights;
  std::vector<std::byte> x;
};
RankLoad load_of(const Load& load, int rank, int ranks);
// The same with other choices, whose number gives the tokens.
RankLoad load_with(const Load& load, int rank, std::vector<int64_t> experts);

// Layout, provenance, local experts, weights, counts, sums with two biases, repeated dispatch: of
// one dispatch and its way back.
std::string round_trip(ExchangeState& state, const Load& load);
// With inputs of the caller's, [rank]; the pattern of the load and its tokens do not count.
std::string round_trip(ExchangeState& state, const Load& load, const std::vector<RankLoad>& all);

DispatchInput input_of(const Load& load, const RankLoad& own);
DispatchOptions options_of(const Load& load);

// The same dispatch and combine give the same bits, whatever runs in between.
std::string repeats_bit_for_bit(ExchangeState& state, const Load& load);

// All of the above for many shapes of loads.
std::string token_major(Transport& transport);
// For every third of them, in every mode and pattern: for many ranks.
std::string token_major_in_part(Transport& transport);

}  // namespace mixnet::ep::conformance
