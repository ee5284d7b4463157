#include "ep/conformance.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/random.h"

namespace mixnet::ep::conformance {
namespace {

// Small integers, so that sums of a few are exact in either type.
float value_of(const Load& load, int rank, int64_t token, int64_t column) {
  return static_cast<float>((rank * 7 + token * 3 + column + static_cast<int64_t>(load.seed)) % 5 -
                            2);
}

void put(std::vector<std::byte>& to, DataType type, std::size_t index, float value) {
  if (type == DataType::kBf16) {
    const Bf16 half = to_bf16(value);
    std::memcpy(to.data() + index * sizeof half, &half, sizeof half);
  } else {
    std::memcpy(to.data() + index * sizeof value, &value, sizeof value);
  }
}

float get(const std::byte* from, DataType type, std::size_t index) {
  if (type == DataType::kBf16) {
    Bf16 half = 0;
    std::memcpy(&half, from + index * sizeof half, sizeof half);
    return to_fp32(half);
  }
  float value = 0;
  std::memcpy(&value, from + index * sizeof value, sizeof value);
  return value;
}

int64_t pick(const Load& load, RandomStream& random, int rank, int ranks, int slot) {
  const auto experts = static_cast<uint64_t>(load.experts);
  switch (load.pattern) {
    case Pattern::kSame:
      return slot % load.experts;
    case Pattern::kNobody:
      return -1;
    case Pattern::kNext: {
      const ExpertMap map(load.experts, ranks);
      const int next = (rank + 1) % ranks;
      return map.experts_of(next) > 0 ? map.first_of(next) + slot % map.experts_of(next) : -1;
    }
    default:
      return random.below(8) == 0 ? -1 : static_cast<int64_t>(random.below(experts));
  }
}

bool allows_repeats(Pattern pattern) { return pattern != Pattern::kUniform; }

std::string at_place(const char* what, int64_t row, double got, double wanted) {
  return std::string(what) + " of row " + std::to_string(row) + " is " + std::to_string(got) +
         ", not " + std::to_string(wanted);
}

struct Arrival {
  int source = 0;
  int64_t token = 0;
};

// The rows that `rank` has to receive from those that are not lost.
std::vector<Arrival> arrivals(const Load& load, const std::vector<RankLoad>& all, int rank,
                              const RankSet& lost) {
  const int ranks = static_cast<int>(all.size());
  const ExpertMap map(load.experts, ranks);
  std::vector<Arrival> rows;
  for (int source = 0; source < ranks; ++source) {
    for (int64_t token = 0; !lost.has(source) && token < all[at(source)].tokens; ++token) {
      for (int slot = 0; slot < load.top_k; ++slot) {
        const int64_t expert =
            all[at(source)].experts[static_cast<std::size_t>(token * load.top_k + slot)];
        if (expert >= 0 && map.owner_of(expert) == rank) {
          rows.push_back(Arrival{source, token});
          break;
        }
      }
    }
  }
  return rows;
}

std::string check_rows(const Load& load, const std::vector<Arrival>& rows, const Dispatched& got) {
  if (got.rows != static_cast<int64_t>(rows.size())) {
    return "received " + std::to_string(got.rows) + " rows, not " + std::to_string(rows.size());
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (int64_t column = 0; column < load.hidden; ++column) {
      const float wanted = value_of(load, rows[row].source, rows[row].token, column);
      const float value =
          get(got.x.data, load.type,
              row * static_cast<std::size_t>(load.hidden) + static_cast<std::size_t>(column));
      if (value != wanted) {
        return at_place("an element", static_cast<int64_t>(row), value, wanted);
      }
    }
  }
  return {};
}

std::string check_slots(const Load& load, const std::vector<RankLoad>& all,
                        const std::vector<Arrival>& rows, int rank, const Dispatched& got) {
  const ExpertMap map(load.experts, static_cast<int>(all.size()));
  std::vector<int64_t> counts(at(map.experts_of(rank)));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (int slot = 0; slot < load.top_k; ++slot) {
      const auto there = static_cast<std::size_t>(rows[row].token * load.top_k + slot);
      const auto here = row * at(load.top_k) + at(slot);
      const RankLoad& source = all[at(rows[row].source)];
      const int64_t expert = source.experts[there];
      const bool own = expert >= 0 && map.owner_of(expert) == rank;
      const int64_t local = own ? expert - map.first_of(rank) : -1;
      if (got.experts[here] != local) {
        return at_place("an expert", static_cast<int64_t>(row),
                        static_cast<double>(got.experts[here]), static_cast<double>(local));
      }
      const float weight = own ? source.weights[there] : 0.0F;
      if (got.weights[here] != weight) {
        return at_place("a weight", static_cast<int64_t>(row), got.weights[here], weight);
      }
      if (own) {
        ++counts[static_cast<std::size_t>(local)];
      }
    }
  }
  return counts == got.tokens_per_expert ? "" : "tokens_per_expert differs from a count of them";
}

// Rank d hands in (d + 1) times what it received: the sums tell who took part.
std::vector<std::byte> expert_output(const Load& load, const Dispatched& got, int rank) {
  const auto elements = static_cast<std::size_t>(got.rows * load.hidden);
  std::vector<std::byte> out(elements * static_cast<std::size_t>(bytes_of(load.type)));
  for (std::size_t i = 0; i < elements; ++i) {
    put(out, load.type, i, get(got.x.data, load.type, i) * static_cast<float>(rank % 4 + 1));
  }
  return out;
}

std::set<int> ranks_of(const Load& load, const RankLoad& own, int64_t token, int ranks) {
  const ExpertMap map(load.experts, ranks);
  std::set<int> reached;
  for (int slot = 0; slot < load.top_k; ++slot) {
    const int64_t expert = own.experts[static_cast<std::size_t>(token * load.top_k + slot)];
    if (expert >= 0) {
      reached.insert(map.owner_of(expert));
    }
  }
  return reached;
}

std::string check_sums(const Load& load, const RankLoad& own, const ExchangeState& state,
                       const std::vector<std::byte>& out) {
  const int rank = state.endpoint.self();
  for (int64_t token = 0; token < own.tokens; ++token) {
    float factor = 0;
    for (const int reached : ranks_of(load, own, token, state.endpoint.ranks())) {
      factor += state.endpoint.lost.has(reached) ? 0.0F : static_cast<float>(reached % 4 + 1);
    }
    for (int64_t column = 0; column < load.hidden; ++column) {
      // The biases are x itself, twice.
      const float wanted = value_of(load, rank, token, column) * (factor + 2);
      const float value =
          get(out.data(), load.type, static_cast<std::size_t>(token * load.hidden + column));
      if (value != wanted) {
        return at_place("a sum", token, value, wanted);
      }
    }
  }
  return {};
}

std::string check_weights(const Load& load, const RankLoad& own, const ExchangeState& state,
                          const std::vector<float>& combined) {
  const ExpertMap map(load.experts, state.endpoint.ranks());
  for (std::size_t slot = 0; slot < own.experts.size(); ++slot) {
    const int64_t expert = own.experts[slot];
    const bool alive = expert >= 0 && !state.endpoint.lost.has(map.owner_of(expert));
    const float wanted = alive ? own.weights[slot] : 0.0F;
    if (combined[slot] != wanted) {
      return at_place("a combined weight", static_cast<int64_t>(slot), combined[slot], wanted);
    }
  }
  return {};
}

// The rows of lost sources are zeros.
std::vector<std::byte> bytes_of_rows(const Load& load, const Dispatched& got,
                                     const std::vector<Arrival>& rows, const RankSet& lost) {
  const auto row_bytes = static_cast<std::size_t>(load.hidden * bytes_of(load.type));
  std::vector<std::byte> bytes(got.x.data,
                               got.x.data + static_cast<std::size_t>(got.rows) * row_bytes);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (lost.has(rows[row].source)) {
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(row * row_bytes), row_bytes,
                  std::byte{0});
    }
  }
  return bytes;
}

// Weights where there are none yet, and rows.
void fill(const Load& load, int rank, RankLoad& own, RandomStream& random) {
  while (own.weights.size() < own.experts.size()) {
    own.weights.push_back(static_cast<float>(random.uniform()));
  }
  own.x.resize(static_cast<std::size_t>(own.tokens * load.hidden * bytes_of(load.type)));
  for (int64_t token = 0; token < own.tokens; ++token) {
    for (int64_t column = 0; column < load.hidden; ++column) {
      put(own.x, load.type, static_cast<std::size_t>(token * load.hidden + column),
          value_of(load, rank, token, column));
    }
  }
}

}  // namespace

RankLoad load_of(const Load& load, int rank, int ranks) {
  RandomStream random(load.seed * 1000 + static_cast<uint64_t>(rank), "conformance");
  RankLoad own;
  own.tokens = load.tokens == 0 ? 0 : load.tokens + rank;
  if (load.pattern == Pattern::kOneRank && rank != 0) {
    own.tokens = 0;
  }
  for (int64_t token = 0; token < own.tokens; ++token) {
    std::set<int64_t> used;
    for (int slot = 0; slot < load.top_k; ++slot) {
      int64_t expert = pick(load, random, rank, ranks, slot);
      if (!allows_repeats(load.pattern) && !used.insert(expert).second) {
        expert = -1;
      }
      own.experts.push_back(expert);
      own.weights.push_back(static_cast<float>(random.uniform()));
    }
  }
  fill(load, rank, own, random);
  return own;
}

RankLoad load_with(const Load& load, int rank, std::vector<int64_t> experts) {
  RandomStream random(load.seed * 1000 + static_cast<uint64_t>(rank), "conformance");
  RankLoad own;
  own.tokens = static_cast<int64_t>(experts.size()) / load.top_k;
  own.experts = std::move(experts);
  fill(load, rank, own, random);
  return own;
}

DispatchInput input_of(const Load& load, const RankLoad& own) {
  return DispatchInput{host_address(own.x.data()),    own.tokens, load.hidden, load.type,
                       TopK{own.experts, load.top_k}, own.weights};
}

DispatchOptions options_of(const Load& load) {
  DispatchOptions options;
  options.experts = load.experts;
  options.mode = load.mode;
  return options;
}

std::string round_trip(ExchangeState& state, const Load& load) {
  const int ranks = state.endpoint.ranks();
  std::vector<RankLoad> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(load_of(load, rank, ranks));
  }
  return round_trip(state, load, all);
}

std::string round_trip(ExchangeState& state, const Load& load, const std::vector<RankLoad>& all) {
  const int ranks = state.endpoint.ranks();
  const int self = state.endpoint.self();
  const RankLoad& own = all[at(self)];
  const DispatchInput input = input_of(load, own);
  const Result<Dispatched> got = dispatch(state, input, options_of(load));
  if (!got) {
    return got.error().text();
  }
  const std::vector<Arrival> rows = arrivals(load, all, self, state.endpoint.lost);
  std::string wrong = check_rows(load, rows, *got);
  if (wrong.empty()) {
    wrong = check_slots(load, all, rows, self, *got);
  }
  const std::vector<std::byte> outputs = expert_output(load, *got, self);
  std::vector<std::byte> out(own.x.size());
  CombineInput back;
  back.x = host_address(outputs.data());
  back.hidden = load.hidden;
  back.type = load.type;
  back.weighted = true;
  back.weights = got->weights;
  back.biases = {input.x, input.x};
  const Result<Combined> combined = combine(state, back, got->handle, host_address(out.data()));
  if (!combined) {
    return combined.error().text();
  }
  if (wrong.empty()) {
    wrong = check_sums(load, own, state, out);
  }
  if (wrong.empty()) {
    wrong = check_weights(load, own, state, combined->weights);
  }
  const Result<Dispatched> again = dispatch_again(state, input, got->handle);
  if (!again) {
    return again.error().text();
  }
  const RankSet& lost = state.endpoint.lost;
  if (wrong.empty() &&
      bytes_of_rows(load, *again, rows, RankSet(ranks)) != bytes_of_rows(load, *got, rows, lost)) {
    wrong = "a repeated dispatch gave other rows";
  }
  return wrong;
}

std::string repeats_bit_for_bit(ExchangeState& state, const Load& load) {
  std::vector<std::byte> first;
  for (int round = 0; round < 6; ++round) {
    Load current = load;
    current.seed = round % 2 == 0 ? load.seed : load.seed + static_cast<uint64_t>(round);
    RankLoad own = load_of(current, state.endpoint.self(), state.endpoint.ranks());
    RandomStream random(current.seed, "values");
    for (std::size_t i = 0; i < own.x.size() / static_cast<std::size_t>(bytes_of(load.type)); ++i) {
      put(own.x, load.type, i, static_cast<float>(random.normal()));
    }
    const Result<Dispatched> got = dispatch(state, input_of(current, own), options_of(current));
    if (!got) {
      return got.error().text();
    }
    std::vector<std::byte> out(own.x.size());
    CombineInput back;
    back.x = got->x;
    back.hidden = load.hidden;
    back.type = load.type;
    const Result<Combined> combined = combine(state, back, got->handle, host_address(out.data()));
    if (!combined) {
      return combined.error().text();
    }
    if (round == 0) {
      first = out;
    } else if (current.seed == load.seed && out != first) {
      return "the same exchange gave other bits";
    }
  }
  return {};
}

namespace {

std::string every_so_many_loads(Transport& transport, uint64_t every) {
  HostCopyEngine copies;
  ExchangeState state(transport, copies, Patience{});
  uint64_t seed = 1;
  for (const TransportMode mode : kTransports) {
    for (const Pattern pattern : {Pattern::kUniform, Pattern::kSame, Pattern::kDuplicates,
                                  Pattern::kOneRank, Pattern::kNext, Pattern::kNobody}) {
      for (const auto& [experts, top_k, hidden, tokens] :
           {std::tuple{8, 2, 16, 13}, {7, 3, 5, 1}, {64, 8, 40, 6}, {3, 3, 1, 4}, {5, 1, 9, 0}}) {
        const DataType type = seed % 2 == 0 ? DataType::kFp32 : DataType::kBf16;
        const Load load{experts, top_k, hidden, tokens, type, pattern, mode, seed++};
        if (seed % every != 0) {
          continue;
        }
        std::string wrong = round_trip(state, load);
        if (!wrong.empty()) {
          return std::string(transport_name(mode)) + ", pattern " +
                 std::to_string(static_cast<int>(pattern)) + ", " + std::to_string(experts) +
                 " experts, top-" + std::to_string(top_k) + ", hidden " + std::to_string(hidden) +
                 ": " + wrong;
        }
      }
    }
    std::string wrong = repeats_bit_for_bit(
        state, Load{16, 4, 24, 9, DataType::kBf16, Pattern::kUniform, mode, seed});
    if (!wrong.empty()) {
      return wrong;
    }
  }
  return {};
}

}  // namespace

std::string token_major(Transport& transport) { return every_so_many_loads(transport, 1); }

std::string token_major_in_part(Transport& transport) { return every_so_many_loads(transport, 3); }

}  // namespace mixnet::ep::conformance
