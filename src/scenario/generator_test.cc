#include "scenario/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/random.h"
#include "scenario/share_rounding.h"
#include "support/temporary_directory.h"

namespace mixnet::scenario {
namespace {

using ::mixnet::test_support::read_all;
using ::mixnet::test_support::TemporaryDirectory;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<uint32_t> counts_of(const RoutingTrace& trace) {
  const TraceShape shape = trace.shape();
  return {trace.view().counts, trace.view().counts + shape[0] * shape[1] * shape[2] * shape[3]};
}

RoutingTrace generated(const GeneratorOptions& options) {
  Result<RoutingTrace> trace = generate_trace(options);
  EXPECT_TRUE(trace) << trace.error().text();
  return *trace;
}

// Assignments that every expert receives in one step.
std::vector<int64_t> loads(const RoutingView& view, int64_t iteration, int64_t layer) {
  std::vector<int64_t> sums(static_cast<std::size_t>(view.experts));
  for (int64_t source = 0; source < view.sources; ++source) {
    const auto row = view.row(iteration, layer, source);
    std::transform(row.begin(), row.end(), sums.begin(), sums.begin(),
                   [](uint32_t count, int64_t sum) { return sum + count; });
  }
  return sums;
}

GeneratorOptions random_options(RandomStream& random) {
  GeneratorOptions o;
  o.shape = static_cast<LoadShape>(random.below(3));
  o.skew = random.uniform() * (random.below(4) == 0 ? 20 : 2);
  o.drift = random.uniform();
  o.iterations = 1 + static_cast<int64_t>(random.below(3));
  o.layers = 1 + static_cast<int64_t>(random.below(3));
  o.sources = 1 + static_cast<int64_t>(random.below(9));
  o.experts = 1 + static_cast<int64_t>(random.below(70));
  o.tokens = 1 + static_cast<int64_t>(random.below(random.below(2) == 0 ? 10 : 100'000));
  o.top_k = 1 + static_cast<int>(random.below(static_cast<uint64_t>(o.experts)));
  if (random.below(2) == 0) {
    o.hot_experts = 1 + static_cast<int>(random.below(static_cast<uint64_t>(o.experts)));
    o.hot_share = std::min(1.0, static_cast<double>(o.hot_experts) / o.top_k) *
                  (random.below(4) == 0 ? 1.0 : 1.0 - random.uniform());
  }
  o.seed = random.next();
  return o;
}

TEST(Generator, SumsAreExactAndTokensPickDistinctExperts) {
  RandomStream random(1, "generator test");
  for (int round = 0; round < 500; ++round) {
    const GeneratorOptions o = random_options(random);
    const RoutingTrace trace = generated(o);
    ASSERT_EQ(trace.shape(), (TraceShape{o.iterations, o.layers, o.sources, o.experts}));
    for (int64_t row = 0; row < o.iterations * o.layers * o.sources; ++row) {
      const auto counts =
          trace.view().row(row / o.sources / o.layers, row / o.sources % o.layers, row % o.sources);
      ASSERT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t{0}), o.tokens * o.top_k)
          << trace.info().origin;
      ASSERT_LE(*std::max_element(counts.begin(), counts.end()), o.tokens) << trace.info().origin;
    }
  }
}

TEST(Generator, HotSourcesGetAtLeastTheirShare) {
  GeneratorOptions o;
  o.sources = 16;
  o.experts = 64;
  o.tokens = 4096;
  o.top_k = 8;
  o.hot_experts = 5;
  o.hot_share = 0.5;
  const RoutingTrace hot = generated(o);
  int distinct_maxima = 0;
  for (int64_t source = 0; source < o.sources; ++source) {
    const auto row = hot.view().row(0, 0, source);
    std::vector<uint32_t> sorted(row.begin(), row.end());
    std::sort(sorted.rbegin(), sorted.rend());
    EXPECT_GE(std::accumulate(sorted.begin(), sorted.begin() + o.hot_experts, 0.0) + o.hot_experts,
              o.hot_share * static_cast<double>(o.tokens * o.top_k));
    const auto first = hot.view().row(0, 0, 0);
    distinct_maxima += std::equal(row.begin(), row.end(), first.begin()) ? 0 : 1;
  }
  EXPECT_EQ(distinct_maxima, o.sources - 1) << "the sources share their hot experts";
}

// The generators that users trusted elsewhere were balanced per token and left ranks empty.
TEST(Generator, UniformIsBalancedPerExpertAndPerRank) {
  RandomStream random(2, "generator test");
  for (int round = 0; round < 200; ++round) {
    GeneratorOptions o = random_options(random);
    o.shape = LoadShape::kUniform;
    o.hot_experts = 0;
    o.hot_share = 0;
    const RoutingTrace trace = generated(o);
    const double even =
        static_cast<double>(o.tokens * o.top_k * o.sources) / static_cast<double>(o.experts);
    const std::vector<int64_t> sums = loads(trace.view(), 0, 0);
    for (int64_t ep = 1; ep <= o.experts; ++ep) {
      if (o.experts % ep != 0) {
        continue;
      }
      const int64_t per_rank = o.experts / ep;
      for (int64_t rank = 0; rank < ep; ++rank) {
        const auto first = sums.begin() + rank * per_rank;
        const auto load = static_cast<double>(std::accumulate(first, first + per_rank, int64_t{0}));
        ASSERT_LT(std::abs(load - even * static_cast<double>(per_rank)), 1.0)
            << trace.info().origin << ", ep " << ep << ", rank " << rank;
      }
    }
  }
}

TEST(Generator, UniformWithFewTokensReachesEveryRank) {
  GeneratorOptions o;
  o.shape = LoadShape::kUniform;
  o.sources = 16;
  o.experts = 256;
  o.tokens = 1;
  o.top_k = 8;
  const RoutingTrace trace = generated(o);
  const std::vector<int64_t> sums = loads(trace.view(), 0, 0);
  for (std::size_t rank = 0; rank < 16; ++rank) {
    EXPECT_EQ(std::accumulate(sums.begin() + static_cast<int64_t>(rank) * 16,
                              sums.begin() + static_cast<int64_t>(rank + 1) * 16, int64_t{0}),
              8);
  }
}

TEST(Generator, MoreIterationsAndLayersKeepTheEarlierOnes) {
  GeneratorOptions o;
  o.iterations = 2;
  o.layers = 2;
  o.sources = 3;
  o.experts = 16;
  o.tokens = 1000;
  o.top_k = 2;
  o.hot_experts = 2;
  o.hot_share = 0.3;
  const RoutingTrace small = generated(o);
  EXPECT_EQ(counts_of(small), counts_of(generated(o)));
  o.iterations = 5;
  o.layers = 4;
  const RoutingTrace large = generated(o);
  for (int64_t iteration = 0; iteration < 2; ++iteration) {
    for (int64_t layer = 0; layer < 2; ++layer) {
      for (int64_t source = 0; source < 3; ++source) {
        const auto a = small.view().row(iteration, layer, source);
        const auto b = large.view().row(iteration, layer, source);
        EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
      }
    }
  }
  o.seed = 2;
  EXPECT_NE(counts_of(large), counts_of(generated(o)));
}

TEST(Generator, MoreDriftMovesMoreLoad) {
  GeneratorOptions o;
  o.iterations = 20;
  o.layers = 4;
  o.experts = 64;
  o.tokens = 100'000;
  o.top_k = 4;
  for (const LoadShape shape : {LoadShape::kZipf, LoadShape::kLogNormal}) {
    o.shape = shape;
    double before = -1;
    for (const double drift : {0.0, 0.01, 0.05, 0.2, 0.5, 1.0}) {
      o.drift = drift;
      const RoutingTrace trace = generated(o);
      double moved = 0;
      for (int64_t iteration = 1; iteration < o.iterations; ++iteration) {
        for (int64_t layer = 0; layer < o.layers; ++layer) {
          const auto last = loads(trace.view(), iteration - 1, layer);
          const auto now = loads(trace.view(), iteration, layer);
          for (std::size_t e = 0; e < now.size(); ++e) {
            moved += static_cast<double>(std::abs(now[e] - last[e]));
          }
        }
      }
      EXPECT_GT(moved, before) << load_shape_name(shape) << ", drift " << drift;
      EXPECT_EQ(moved == 0, drift == 0);
      before = moved;
    }
  }
}

TEST(Generator, ZipfHasTheExactRanks) {
  GeneratorOptions o;
  o.shape = LoadShape::kZipf;
  o.skew = 1.0;
  o.experts = 4;
  o.tokens = 12 * 25;
  const RoutingTrace trace = generated(o);
  std::vector<int64_t> sorted = loads(trace.view(), 0, 0);
  std::sort(sorted.rbegin(), sorted.rend());
  // 1, 1/2, 1/3, 1/4 of 12/25.
  EXPECT_THAT(sorted, ::testing::ElementsAre(144, 72, 48, 36));
}

TEST(Generator, LogNormalHasTheAskedSigma) {
  GeneratorOptions o;
  o.skew = 0.7;
  o.layers = 8;
  o.experts = 256;
  o.tokens = 100'000'000;
  const RoutingTrace trace = generated(o);
  double squares = 0;
  for (int64_t layer = 0; layer < o.layers; ++layer) {
    const std::vector<int64_t> sums = loads(trace.view(), 0, layer);
    double mean = 0;
    for (const int64_t sum : sums) {
      mean += std::log(static_cast<double>(sum)) / static_cast<double>(o.experts);
    }
    for (const int64_t sum : sums) {
      squares += std::pow(std::log(static_cast<double>(sum)) - mean, 2);
    }
  }
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(o.layers * o.experts)), o.skew, 0.03);
}

TEST(Generator, FileHasTheSameCounts) {
  const TemporaryDirectory directory;
  GeneratorOptions o;
  o.iterations = 3;
  o.layers = 2;
  o.sources = 4;
  o.experts = 8;
  o.tokens = 64;
  o.top_k = 2;
  std::vector<int64_t> steps;
  ASSERT_TRUE(generate_to_file(o, directory.file("a.npy"), [&](int64_t done, int64_t total) {
    EXPECT_EQ(total, 6);
    steps.push_back(done);
  }));
  EXPECT_THAT(steps, ::testing::ElementsAre(1, 2, 3, 4, 5, 6));
  ASSERT_TRUE(write_trace(generated(o), directory.file("b.npy")));
  EXPECT_EQ(read_all(directory.file("a.npy")), read_all(directory.file("b.npy")));
  EXPECT_EQ(read_all(directory.file("a.json")), read_all(directory.file("b.json")));
}

TEST(Generator, RefusesOptionsOutOfRange) {
  GeneratorOptions good;
  good.experts = 8;
  good.tokens = 100;
  good.top_k = 2;
  const auto problem = [&](auto change) {
    GeneratorOptions o = good;
    change(o);
    const Result<RoutingTrace> trace = generate_trace(o);
    return trace ? std::string("accepted") : trace.error().message;
  };
  using Options = GeneratorOptions;
  EXPECT_EQ(problem([](Options&) {}), "accepted");
  EXPECT_THAT(problem([](Options& o) { o.iterations = 0; }), HasSubstr("iterations = 0"));
  EXPECT_THAT(problem([](Options& o) { o.layers = -1; }), HasSubstr("layers = -1"));
  EXPECT_THAT(problem([](Options& o) { o.sources = 0; }), HasSubstr("sources = 0"));
  EXPECT_THAT(problem([](Options& o) { o.experts = 0; }), HasSubstr("experts = 0"));
  EXPECT_THAT(problem([](Options& o) { o.tokens = 0; }), HasSubstr("tokens = 0"));
  EXPECT_THAT(problem([](Options& o) { o.tokens = int64_t{1} << 32; }), HasSubstr("tokens"));
  EXPECT_THAT(problem([](Options& o) { o.top_k = 9; }), HasSubstr("distinct"));
  EXPECT_THAT(problem([](Options& o) { o.top_k = 0; }), HasSubstr("top_k = 0"));
  EXPECT_THAT(problem([](Options& o) { o.skew = -0.1; }), HasSubstr("skew"));
  EXPECT_THAT(problem([](Options& o) { o.skew = kNan; }), HasSubstr("skew"));
  EXPECT_THAT(problem([](Options& o) { o.drift = 1.1; }), HasSubstr("drift"));
  EXPECT_THAT(problem([](Options& o) { o.hot_experts = 9; }), HasSubstr("hot_experts"));
  EXPECT_THAT(problem([](Options& o) { o.hot_experts = 1; }), HasSubstr("no effect"));
  EXPECT_THAT(problem([](Options& o) { o.hot_share = 0.5; }), HasSubstr("no effect"));
  EXPECT_THAT(problem([](Options& o) { o.hot_share = kNan; }), HasSubstr("hot_share"));
  EXPECT_THAT(problem([](Options& o) {
                o.hot_experts = 1;
                o.hot_share = 0.6;
              }),
              HasSubstr("at least 2 hot_experts"));
  EXPECT_THAT(problem([](Options& o) { o.iterations = INT64_MAX; }), HasSubstr("too large"));
  EXPECT_THAT(problem([](Options& o) { o.iterations = 1 << 30; }), HasSubstr("limit in memory"));
  EXPECT_THAT(problem([](Options& o) {
                o.layers = 1 << 20;
                o.experts = 1 << 20;
              }),
              HasSubstr("layers * experts"));
}

TEST(Generator, ShapeNamesRoundTrip) {
  for (const LoadShape shape : {LoadShape::kUniform, LoadShape::kZipf, LoadShape::kLogNormal}) {
    EXPECT_EQ(*parse_load_shape(load_shape_name(shape)), shape);
  }
  EXPECT_THAT(parse_load_shape("lognormal").error().message, HasSubstr("log-normal"));
}

// Against the definition, evaluated in exact rational arithmetic on small numbers.
TEST(ShareRounding, RoundsTheRunningSum) {
  RandomStream random(3, "rounding test");
  for (int round = 0; round < 300; ++round) {
    const auto unit = static_cast<int64_t>(1 + random.below(40));
    const auto sources = static_cast<int64_t>(1 + random.below(6));
    std::vector<int64_t> quotas(1 + random.below(12));
    for (int64_t& quota : quotas) {
      quota = static_cast<int64_t>(random.below(200));
    }
    for (int64_t source = 0; source < sources; ++source) {
      std::vector<uint32_t> counts(quotas.size());
      round_quotas(quotas, unit, source, sources, counts);
      int64_t before = unit * source / sources;
      for (std::size_t e = 0; e < quotas.size(); ++e) {
        EXPECT_EQ(counts[e], (before + quotas[e]) / unit - before / unit);
        before += quotas[e];
      }
    }
  }
}

TEST(ShareRounding, QuotasFillTheLimitsFirst) {
  const std::vector<double> weights = {8, 1, 1, 0};
  const RowTotal row{.total = 20, .limit = 10};
  const int64_t unit = quota_unit(row, 4);
  EXPECT_THAT(quotas_of(weights, row), ::testing::ElementsAre(10 * unit, 5 * unit, 5 * unit, 0));
  // The limits force even an expert without weight to take its part.
  const RowTotal full{.total = 40, .limit = 10};
  const int64_t full_unit = quota_unit(full, 4);
  EXPECT_THAT(quotas_of(weights, full), ::testing::Each(10 * full_unit));
}

}  // namespace
}  // namespace mixnet::scenario
