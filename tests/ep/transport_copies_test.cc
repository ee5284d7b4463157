#include "plan/transport_copies.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/index.h"
#include "core/random.h"
#include "core/routed_tokens.h"
#include "ep/simulation_test_support.h"

// What dispatch and combine put on NICs and move inside hosts, counted by the runtime, against what
// plan/transport_copies.h says of the same tokens.
namespace mixnet {
namespace {

using ep::conformance::Load;
using ep::conformance::RankLoad;

struct Cluster {
  int hosts = 1;
  int gpus = 1;   // of a host
  int rails = 1;  // NICs of a GPU
  int experts = 1;
  int top_k = 1;

  int ranks() const { return hosts * gpus; }
  plan::ExpertSpread spread() const { return {experts, top_k, ranks(), gpus, gpus * rails}; }
};

struct Counts {
  std::vector<int64_t> nic;     // [rank] copies through its NICs
  std::vector<int64_t> inside;  // [rank] copies by it inside its host
  bool operator==(const Counts&) const = default;

  static int64_t sum(const std::vector<int64_t>& counts) {
    int64_t sum = 0;
    for (const int64_t count : counts) {
      sum += count;
    }
    return sum;
  }
};

struct Exchanged {
  Counts dispatched;
  Counts combined;
};

// Choices of [rank][token] experts.
using Choices = std::vector<std::vector<int64_t>>;

// Copies since `before`, and the same in bytes.
void count_into(const ep::ExchangeState& state, const Load& load, const ep::Traffic& before,
                Counts& counts) {
  const std::size_t rank = at(state.endpoint.self());
  counts.nic[rank] = state.traffic.nic_copies - before.nic_copies;
  counts.inside[rank] = state.traffic.inside_copies - before.inside_copies;
  int64_t bytes = 0;
  for (std::size_t rail = 0; rail < before.nic_bytes.size(); ++rail) {
    bytes += state.traffic.nic_bytes[rail] - before.nic_bytes[rail];
  }
  EXPECT_EQ(bytes, counts.nic[rank] * load.hidden * bytes_of(load.type)) << "rank " << rank;
}

Exchanged exchange(const Cluster& cluster, Transport mode, const Choices& choices) {
  ep::SimulatedRanks ranks;
  ranks.host_sizes = std::vector<int>(at(cluster.hosts), cluster.gpus);
  ranks.rails = cluster.rails;
  const std::vector<int64_t> zeros(at(cluster.ranks()));
  Exchanged exchanged{{zeros, zeros}, {zeros, zeros}};
  ranks.expect_right([&](ep::ExchangeState& state) -> std::string {
    Load load{cluster.experts, cluster.top_k};
    load.mode = mode;
    const int self = state.endpoint.self();
    const RankLoad own = ep::conformance::load_with(load, self, choices[at(self)]);
    ep::Traffic before = state.traffic;
    const auto got = ep::dispatch(state, ep::conformance::input_of(load, own),
                                  ep::conformance::options_of(load));
    if (!got) {
      return got.error().text();
    }
    count_into(state, load, before, exchanged.dispatched);
    before = state.traffic;
    std::vector<std::byte> out(own.x.size());
    const ep::CombineInput back{got->x, load.hidden, load.type, false, {}, {}};
    const auto combined = ep::combine(state, back, got->handle, ep::host_address(out.data()));
    count_into(state, load, before, exchanged.combined);
    return combined ? "" : combined.error().text();
  });
  return exchanged;
}

RoutedTokens tokens_of(const Cluster& cluster, const Choices& choices) {
  RoutedTokens tokens{cluster.top_k, {}, {}};
  for (std::size_t rank = 0; rank < choices.size(); ++rank) {
    for (std::size_t slot = 0; slot < choices[rank].size(); ++slot) {
      tokens.experts.push_back(static_cast<int>(choices[rank][slot]));
      if (slot % at(cluster.top_k) == 0) {
        tokens.source.push_back(static_cast<int>(rank));
      }
    }
  }
  return tokens;
}

// Distinct pairs of token and rank, by where the ranks are from the token's rank.
struct Reached {
  int64_t self = 0;
  int64_t near = 0;   // others of the host
  int64_t relay = 0;  // where copies to another host come in
  int64_t far = 0;    // the rest of other hosts
};

Reached ranks_reached(const Cluster& cluster, const Choices& choices) {
  const plan::ExpertSpread spread = cluster.spread();
  const std::vector<int> owners = plan::contiguous_ranks(spread);
  const RoutedTokens tokens = tokens_of(cluster, choices);
  Reached reached;
  for (std::size_t token = 0; token < tokens.tokens(); ++token) {
    const int from = tokens.source[token];
    std::vector<bool> hit(at(cluster.ranks()), false);
    for (std::size_t slot = 0; slot < at(cluster.top_k); ++slot) {
      const int expert = tokens.experts[token * at(cluster.top_k) + slot];
      if (expert >= 0) {
        hit[at(owners[at(expert)])] = true;
      }
    }
    for (int to = 0; to < cluster.ranks(); ++to) {
      const int host = spread.host_of(to);
      int64_t& kind = to == from                          ? reached.self
                      : host == spread.host_of(from)      ? reached.near
                      : to == spread.relay_of(from, host) ? reached.relay
                                                          : reached.far;
      kind += hit[at(to)] ? 1 : 0;
    }
  }
  return reached;
}

Choices random_choices(const Cluster& cluster, uint64_t seed, bool distinct) {
  RandomStream random(seed, "choices");
  Choices choices(at(cluster.ranks()));
  for (auto& own : choices) {
    std::vector<int64_t> experts(at(cluster.experts));
    for (std::size_t expert = 0; expert < experts.size(); ++expert) {
      experts[expert] = static_cast<int64_t>(expert);
    }
    const uint64_t tokens = random.below(12);
    for (uint64_t token = 0; token < tokens; ++token) {
      random.shuffle(std::span(experts));
      for (std::size_t slot = 0; slot < at(cluster.top_k); ++slot) {
        const bool nobody = random.below(10) == 0;
        own.push_back(nobody     ? -1
                      : distinct ? experts[slot]
                                 : experts[random.below(experts.size())]);
      }
    }
  }
  return choices;
}

// Copies by rank as plan counts them by NIC: a rank has the NICs of one rail.
void expect_dispatch(const Cluster& cluster, Transport mode, const Choices& choices,
                     const Counts& counted) {
  const plan::ExpertSpread spread = cluster.spread();
  const plan::CopyCount planned =
      plan::count_copies(spread, plan::contiguous_ranks(spread), tokens_of(cluster, choices), mode);
  EXPECT_EQ(counted.nic, planned.nic_send);
  EXPECT_EQ(Counts::sum(counted.nic), planned.network);
  const Reached reached = ranks_reached(cluster, choices);
  const bool relays = mode == Transport::kRelay || mode == Transport::kRelayCopies;
  // Inside a host a token is copied once for every rank.
  const int64_t local = mode == Transport::kDirect ? 0 : reached.near;
  const int64_t scattered = relays ? reached.relay + reached.far : 0;
  EXPECT_EQ(Counts::sum(counted.inside), reached.self + local + scattered);
  // With an expert per rank, that is what NVLink carries, and what stays at a rank.
  if (cluster.experts == cluster.ranks()) {
    const int64_t stays = reached.self + (relays ? reached.relay : 0);
    EXPECT_EQ(Counts::sum(counted.inside) - stays, planned.nvlink);
  }
}

// On the way back a rank, or with relays a host, has added up what it has of a token, but without
// de-redundancy.
void expect_combine(const Cluster& cluster, Transport mode, const Choices& choices,
                    const Counts& counted) {
  const plan::ExpertSpread spread = cluster.spread();
  const plan::CopyCount planned =
      plan::count_copies(spread, plan::contiguous_ranks(spread), tokens_of(cluster, choices), mode);
  const Reached reached = ranks_reached(cluster, choices);
  if (mode == Transport::kRelay || mode == Transport::kRelayCopies) {
    EXPECT_EQ(counted.nic, planned.nic_receive);
  } else {
    EXPECT_EQ(Counts::sum(counted.nic),
              reached.relay + reached.far + (mode == Transport::kDirect ? reached.near : 0));
  }
}

TEST(TransportCopies, RandomLoadsInAllModes) {
  uint64_t seed = 1;
  for (const Cluster& cluster : std::vector<Cluster>{{1, 4, 1, 4, 2},
                                                     {2, 2, 1, 4, 3},
                                                     {2, 3, 2, 12, 4},
                                                     {4, 1, 3, 9, 2},
                                                     {3, 2, 2, 6, 6},
                                                     {4, 4, 1, 64, 8}}) {
    for (const Transport mode : kTransports) {
      for (const bool distinct : {true, false}) {
        SCOPED_TRACE(std::string(transport_name(mode)) + ", seed " + std::to_string(seed));
        // Whoever picks an expert twice has one pair of token and rank, but two copies.
        const bool counted_alike = distinct || cluster.experts > cluster.ranks();
        const Choices choices = random_choices(cluster, seed++, distinct || !counted_alike);
        const Exchanged exchanged = exchange(cluster, mode, choices);
        expect_dispatch(cluster, mode, choices, exchanged.dispatched);
        expect_combine(cluster, mode, choices, exchanged.combined);
      }
    }
  }
}

// Every choice of k different experts once on every rank: then counts over tokens are expectations.
Choices every_choice(const Cluster& cluster) {
  std::vector<int64_t> all;
  for (unsigned set = 0; set < 1u << cluster.experts; ++set) {
    if (__builtin_popcount(set) == cluster.top_k) {
      for (int expert = 0; expert < cluster.experts; ++expert) {
        if ((set >> expert & 1u) != 0) {
          all.push_back(expert);
        }
      }
    }
  }
  return Choices(at(cluster.ranks()), all);
}

TEST(TransportCopies, AllChoicesGiveTheFormulas) {
  for (const Cluster& cluster :
       std::vector<Cluster>{{2, 2, 1, 8, 2}, {2, 2, 2, 8, 3}, {4, 1, 1, 8, 2}, {3, 2, 1, 6, 3}}) {
    const Choices choices = every_choice(cluster);
    const double k = cluster.top_k;
    const double h = cluster.hosts;
    const double ranks = cluster.ranks();
    const double tokens =
        ranks * static_cast<double>(choices.front().size()) / static_cast<double>(cluster.top_k);
    const auto hit = [&](int parts) {
      return plan::hit_probability(cluster.experts, cluster.experts / parts, cluster.top_k);
    };
    const double c0 = k * (1 - 1 / ranks);
    const double c1 = k * (h - 1) / h;
    const double c2 = (h - 1) * hit(cluster.hosts);
    const double per_rank = hit(cluster.ranks());
    struct Expected {
      Transport mode;
      double out;
      double back;
    };
    for (const Expected& expected :
         {Expected{Transport::kDirect, c0, (ranks - 1) * per_rank},
          Expected{Transport::kNvlink, c1, (ranks - cluster.gpus) * per_rank},
          Expected{Transport::kRelay, c2, c2}, Expected{Transport::kRelayCopies, c1, c1}}) {
      SCOPED_TRACE(transport_name(expected.mode));
      const Exchanged exchanged = exchange(cluster, expected.mode, choices);
      EXPECT_DOUBLE_EQ(static_cast<double>(Counts::sum(exchanged.dispatched.nic)) / tokens,
                       expected.out);
      EXPECT_DOUBLE_EQ(static_cast<double>(Counts::sum(exchanged.combined.nic)) / tokens,
                       expected.back);
      const plan::CopiesPerToken planned = plan::copies_per_token(cluster.spread(), expected.mode);
      EXPECT_DOUBLE_EQ(planned.network, expected.out);
    }
  }
}

}  // namespace
}  // namespace mixnet
