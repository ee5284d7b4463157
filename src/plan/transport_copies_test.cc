#include "plan/transport_copies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/random.h"

namespace mixnet::plan {
namespace {

constexpr Transport kAll[] = {Transport::kDirect, Transport::kNvlink, Transport::kRelay,
                              Transport::kRelayCopies};

// Calls `use` with every set of k of n experts.
void for_every_choice(int n, int k, const std::function<void(const std::vector<int>&)>& use) {
  std::vector<int> choice(static_cast<std::size_t>(k));
  const std::function<void(int, int)> extend = [&](int slot, int first) {
    if (slot == k) {
      use(choice);
      return;
    }
    for (int e = first; e < n; ++e) {
      choice[static_cast<std::size_t>(slot)] = e;
      extend(slot + 1, e + 1);
    }
  };
  extend(0, 0);
}

// Every choice of experts from every rank.
RoutedTokens all_choices(const ExpertSpread& s) {
  RoutedTokens tokens;
  tokens.top_k = s.top_k;
  for (int rank = 0; rank < s.ranks; ++rank) {
    for_every_choice(s.experts, s.top_k, [&](const std::vector<int>& choice) {
      tokens.source.push_back(rank);
      tokens.experts.insert(tokens.experts.end(), choice.begin(), choice.end());
    });
  }
  return tokens;
}

ExpertSpread deepseek(int ranks, int nics) { return {256, 8, ranks, 8, nics}; }

TEST(TransportCopies, FormulasEqualTheCountOverEveryChoiceOfExperts) {
  const ExpertSpread cases[] = {
      {8, 2, 4, 2, 2},  {8, 3, 4, 2, 1}, {9, 3, 4, 2, 2},   // nine experts: uneven ranks
      {6, 6, 6, 3, 3},  {7, 1, 3, 1, 1}, {10, 4, 5, 2, 1},  // the last host has one GPU
      {5, 2, 7, 4, 2},                                      // ranks without experts
      {12, 3, 4, 4, 8}, {4, 0, 4, 2, 2}, {8, 4, 8, 4, 2},
  };
  for (const ExpertSpread& s : cases) {
    const RoutedTokens tokens = all_choices(s);
    const auto n = static_cast<double>(tokens.tokens());
    for (const Transport transport : kAll) {
      const CopyCount count = count_copies(s, contiguous_ranks(s), tokens, transport);
      const CopiesPerToken mean = copies_per_token(s, transport);
      SCOPED_TRACE(::testing::Message() << s.experts << " experts, top " << s.top_k << ", "
                                        << s.ranks << " ranks, " << transport_name(transport));
      EXPECT_NEAR(mean.network, static_cast<double>(count.network) / n, 1e-12);
      EXPECT_NEAR(mean.cross_rail, static_cast<double>(count.cross_rail) / n, 1e-12);
      EXPECT_NEAR(mean.nvlink, static_cast<double>(count.nvlink) / n, 1e-12);
    }
  }
}

TEST(TransportCopies, GroupsAreTheSumOfWhatEachGroupNeeds) {
  // A rank's first experts are group 0. Counted: a network copy per (remote host, group) touched.
  const ExpertSpread s{12, 3, 4, 2, 2};
  for (const int groups : {1, 2, 3}) {
    int64_t copies = 0;
    int64_t tokens = 0;
    for (int source = 0; source < s.ranks; ++source) {
      for_every_choice(s.experts, s.top_k, [&](const std::vector<int>& choice) {
        std::vector<int> touched;
        for (const int e : choice) {
          const int rank = e / 3;
          if (s.host_of(rank) != s.host_of(source)) {
            touched.push_back(s.host_of(rank) * groups + e % 3 * groups / 3);
          }
        }
        std::sort(touched.begin(), touched.end());
        copies += std::unique(touched.begin(), touched.end()) - touched.begin();
        ++tokens;
      });
    }
    const double counted = static_cast<double>(copies) / static_cast<double>(tokens);
    // Three experts in two groups: two and one, whichever is first.
    EXPECT_NEAR(copies_per_token(s, Transport::kRelay, groups).network, counted, 1e-12) << groups;
  }
}

TEST(TransportCopies, PublishedValuesOfDeepSeek) {
  // "Balancing and Beyond", section 3.2 of the digest: c1 = 6 and c2 = 2.7, 55 % fewer bytes.
  const ExpertSpread s = deepseek(32, 4);
  const CopiesPerToken one = copies_per_token(s, Transport::kNvlink);
  const CopiesPerToken relay = copies_per_token(s, Transport::kRelay);
  EXPECT_DOUBLE_EQ(copies_per_token(s, Transport::kDirect).network, 7.75);
  EXPECT_DOUBLE_EQ(one.network, 6);
  EXPECT_NEAR(relay.network, 2.71, 0.005);
  EXPECT_NEAR(1 - relay.network / one.network, 0.55, 0.005);
  // Panel 1: a remote GPU is on the sender's rail with probability (GPUs per NIC) / 8.
  EXPECT_DOUBLE_EQ(one.cross_rail_share(), 0.75);
  EXPECT_DOUBLE_EQ(copies_per_token(deepseek(32, 8), Transport::kNvlink).cross_rail_share(), 0.875);
  EXPECT_DOUBLE_EQ(relay.cross_rail_share(), 0);
  // Panel 1: batch * GPUs per NIC * copies * hidden, one byte per element; H800 halves it.
  EXPECT_DOUBLE_EQ(bytes_per_nic(s, one, 32, 7168), 32.0 * 2 * 6 * 7168);
  EXPECT_NEAR(bytes_per_nic(s, relay, 32, 7168), 1.243e6, 1e3);
  EXPECT_DOUBLE_EQ(bytes_per_nic(deepseek(32, 8), one, 32, 7168), 32.0 * 6 * 7168);
}

// One network copy per remote rank that holds one of the token's experts, as some libraries send.
double copies_per_rank(const ExpertSpread& s) {
  double copies = 0;
  for (int rank = 0; rank < s.ranks; ++rank) {
    const int first = s.host_of(rank) * s.gpus_per_host;
    const int peers = std::min(s.ranks, first + s.gpus_per_host) - first;
    copies += static_cast<double>(s.ranks - peers) / s.ranks *
              hit_probability(s.experts, s.experts_of(rank), s.top_k);
  }
  return copies;
}

TEST(TransportCopies, PerRankAndPerHostOfEveryEpSize) {
  // Rows of the table of wire floors: copies leaving the host per expert, per rank, per host.
  const double rows[][4] = {{16, 4.00, 3.26, 1.00},
                            {32, 6.00, 5.45, 2.71},
                            {64, 7.00, 6.72, 4.63},
                            {128, 7.5, 7.4, 6.12}};
  for (const auto& row : rows) {
    const ExpertSpread s = deepseek(static_cast<int>(row[0]), 8);
    EXPECT_NEAR(copies_per_token(s, Transport::kNvlink).network, row[1], 0.005);
    EXPECT_NEAR(copies_per_rank(s), row[2], 0.006);
    EXPECT_NEAR(copies_per_token(s, Transport::kRelay).network, row[3], 0.006);
  }
}

// Sums over hosts and rails, so that a million ranks are a matter of a moment; pairs of ranks would
// take hours.
TEST(TransportCopies, AMillionRanks) {
  const ExpertSpread s{1 << 20, 8, 1 << 20, 8, 4};
  const double hosts = 1 << 17;
  EXPECT_NEAR(copies_per_token(s, Transport::kNvlink).network, 8 * (hosts - 1) / hosts, 1e-9);
  EXPECT_NEAR(copies_per_token(s, Transport::kDirect).cross_rail_share(), 0.75, 1e-5);
  EXPECT_LE(copies_per_token(s, Transport::kRelay).network, 8);
}

TEST(TransportCopies, OneHostSendsNothingOverTheNetworkButInModeZero) {
  const ExpertSpread s = deepseek(8, 4);
  EXPECT_DOUBLE_EQ(copies_per_token(s, Transport::kNvlink).network, 0);
  EXPECT_DOUBLE_EQ(copies_per_token(s, Transport::kRelay).network, 0);
  EXPECT_DOUBLE_EQ(copies_per_token(s, Transport::kDirect).network, 7);
  EXPECT_DOUBLE_EQ(copies_per_token(s, Transport::kRelay).nvlink, 7);
}

TEST(TransportCopies, GroupsLoseDeduplicationUpToOneCopyPerExpert) {
  for (const int ranks : {16, 32, 64}) {
    const ExpertSpread s = deepseek(ranks, 4);
    double before = 0;
    for (const int groups : {1, 2, 4}) {
      const double copies = copies_per_token(s, Transport::kRelay, groups).network;
      EXPECT_GT(copies, before);
      EXPECT_LE(copies, copies_per_token(s, Transport::kRelayCopies, groups).network);
      before = copies;
    }
  }
}

TEST(TransportCopies, SlotsWithoutExpertSendNothingAndTwiceTheSameIsTwoCopies) {
  const ExpertSpread s{4, 2, 4, 2, 2};
  const RoutedTokens tokens{2, {0, 0, 0}, {-1, 4, 2, 2, 0, -1}};
  const auto network = [&](Transport t) {
    return count_copies(s, contiguous_ranks(s), tokens, t).network;
  };
  EXPECT_EQ(network(Transport::kNvlink), 2);
  EXPECT_EQ(network(Transport::kRelay), 1);
  const CopyCount count = count_copies(s, contiguous_ranks(s), tokens, Transport::kNvlink);
  EXPECT_EQ(count.gpu_load, (std::vector<int64_t>{1, 0, 2, 0}));
  EXPECT_EQ(count.nic_send, (std::vector<int64_t>{2, 0, 0, 0}));
  EXPECT_EQ(count.nic_receive, (std::vector<int64_t>{0, 0, 2, 0}));
}

TEST(TransportCopies, HotExpertSkewIsThatOfSampledTokens) {
  const ExpertSpread s{32, 4, 8, 4, 2};
  RandomStream random(7, "tokens");
  RoutedTokens tokens;
  tokens.top_k = s.top_k;
  constexpr double kImbalance = 5;
  for (int token = 0; token < 40'000; ++token) {
    tokens.source.push_back(token % s.ranks);
    std::vector<int> others;
    for (int e = 1; e < s.experts; ++e) {
      others.push_back(e);
    }
    const bool hot = random.uniform() < kImbalance * s.top_k / s.experts;
    for (int slot = 0; slot < s.top_k; ++slot) {
      if (hot && slot == 0) {
        tokens.experts.push_back(0);
        continue;
      }
      const std::size_t at = random.below(others.size());
      tokens.experts.push_back(others[at]);
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  const LoadSkew expected = hot_expert_skew(s, kImbalance);
  const LoadSkew counted = counted_skew(s, contiguous_ranks(s), tokens);
  EXPECT_NEAR(counted.gpu, expected.gpu, 0.02);
  EXPECT_NEAR(counted.nic, expected.nic, 0.02);
  // Counted is the worst of four NICs, so sampling noise only adds.
  EXPECT_NEAR(counted.host, expected.host, 0.03);
  EXPECT_NEAR(counted.host_copies, expected.host_copies, 0.03);
  EXPECT_GT(expected.gpu, expected.nic);
  EXPECT_GT(expected.nic, expected.host);
}

TEST(TransportCopies, SkewOfExtremeShapesIsFinite) {
  for (const ExpertSpread& s : {ExpertSpread{4, 4, 4, 2, 2}, ExpertSpread{1, 1, 1, 8, 8},
                                ExpertSpread{160, 6, 16, 8, 4}, ExpertSpread{8, 1, 8, 2, 1}}) {
    const LoadSkew most = hot_expert_skew(s, static_cast<double>(s.experts) / s.top_k);
    for (const double ratio : {most.gpu, most.nic, most.host, most.host_copies}) {
      EXPECT_GE(ratio, 1 - 1e-9);
      EXPECT_LE(ratio, s.experts);
    }
  }
}

TEST(TransportCopies, NoHotExpertIsNoSkew) {
  const LoadSkew even = hot_expert_skew(deepseek(32, 4), 1);
  EXPECT_NEAR(even.gpu, 1, 1e-12);
  EXPECT_NEAR(even.nic, 1, 1e-12);
  EXPECT_NEAR(even.host, 1, 1e-12);
}

}  // namespace
}  // namespace mixnet::plan
