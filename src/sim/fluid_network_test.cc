#include "sim/fluid_network.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "core/random.h"

namespace mixnet::sim {
namespace {

using Completions = std::vector<std::pair<int64_t, TransferId>>;

std::vector<BitRate> rates(std::size_t links, int64_t gbps = 100) {
  return std::vector<BitRate>(links, BitRate::from_gbps(gbps));
}

FlowClass flow(std::vector<LinkShare> path, int64_t bytes, int64_t multiplicity = 1) {
  return FlowClass{std::move(path), Bytes(bytes), multiplicity};
}

LinkShare share(int32_t link, double fraction = 1.0) { return LinkShare{LinkId(link), fraction}; }

// Runs to the end and lists what completes when.
Completions drain(FluidNetwork& network) {
  Completions all;
  std::vector<TransferId> done;
  while (const auto next = network.next_completion()) {
    done.clear();
    network.advance(*next, done);
    for (const TransferId id : done) {
      all.push_back({next->ps(), id});
    }
  }
  return all;
}

TEST(FluidNetwork, SharesALinkAndSpeedsUpAfterACompletion) {
  FluidNetwork network(rates(2));
  network.start({flow({share(0)}, 12'500)}, SimTime());
  network.start({flow({share(0), share(1)}, 25'000)}, SimTime());
  // 12,500 B at half rate take 2 us; the other flow has 12,500 B left at full rate.
  EXPECT_EQ(drain(network), (Completions{{2'000'000, 0}, {3'000'000, 1}}));
}

TEST(FluidNetwork, SpraysOverPathsAndCountsMultiplicity) {
  FluidNetwork network(rates(3));
  // Half of the flow on each of links 1 and 2: link 0 is the bottleneck.
  network.start({flow({share(0), share(1, 0.5), share(2, 0.5)}, 12'500)}, SimTime());
  EXPECT_EQ(drain(network), (Completions{{1'000'000, 0}}));
  // Four flows, each crossing link 1 twice.
  const SimTime later = SimTime::from_us(5);
  network.start({flow({share(1, 2.0)}, 12'500, 4)}, later);
  EXPECT_EQ(drain(network), (Completions{{13'000'000, 1}}));
}

TEST(FluidNetwork, RoundsCompletionsUpToThePicosecond) {
  FluidNetwork network({BitRate::from_bps(3)});
  network.start({flow({share(0)}, 1)}, SimTime());
  EXPECT_EQ(network.next_completion()->ps(), 2'666'666'666'667);
}

TEST(FluidNetwork, NothingToSendIsDeliveredAtOnceInStartingOrder) {
  FluidNetwork network(rates(1));
  const SimTime now = SimTime::from_ns(7);
  const TemplateId empty = network.define({});
  network.start({flow({}, 500)}, now);
  network.start(empty, now);
  network.start({flow({share(0)}, 0)}, now);
  network.start(network.define({flow({share(0)}, 0)}), now);
  EXPECT_EQ(network.next_completion(), now);
  EXPECT_EQ(drain(network), (Completions{{7'000, 0}, {7'000, 1}, {7'000, 2}, {7'000, 3}}));
}

TEST(FluidNetwork, ADarkLinkStopsItsFlowsOnly) {
  std::vector<BitRate> capacity = rates(2);
  capacity[1] = BitRate();
  FluidNetwork network(capacity);
  network.start({flow({share(0)}, 12'500), flow({share(1)}, 25'000)}, SimTime());
  std::vector<TransferId> done;
  EXPECT_EQ(network.next_completion(), SimTime::from_us(1));  // the flow on link 0
  network.advance(SimTime::from_us(1), done);
  EXPECT_TRUE(done.empty());
  EXPECT_EQ(network.next_completion(), std::nullopt);
}

TEST(FluidNetwork, ATemplateAloneShowsOnlyItsOwnCompletion) {
  FluidNetwork network(rates(1));
  const TemplateId many = network.define({flow({share(0)}, 100), flow({share(0)}, 12'400)});
  network.start(many, SimTime());
  EXPECT_EQ(network.next_completion(), SimTime::from_us(1));
}

// One random history, played on a network that knows templates and on one that does not.
class Script {
 public:
  explicit Script(uint64_t seed) : seed_(seed), random_(seed, "fluid-network-test") {
    for (uint64_t t = 0; t < 6; ++t) {
      templates_.push_back(random_transfer());
    }
  }

  Completions play(bool with_templates) {
    RandomStream random(seed_, "history");
    FluidNetwork network(rates(kLinks));
    std::vector<TemplateId> ids;
    for (const std::vector<FlowClass>& flows : templates_) {
      ids.push_back(with_templates ? network.define(flows) : -1);
    }
    Completions all;
    SimTime next_action;
    std::size_t started = 0;
    const auto start_some = [&](std::size_t count, SimTime now) {
      for (std::size_t s = 0; s < count; ++s, ++started) {
        const std::size_t which = random.below(templates_.size());
        with_templates ? network.start(ids[which], now) : network.start(templates_[which], now);
      }
    };
    while (started < 80) {
      const auto completion = network.next_completion();
      const SimTime now = completion ? earlier_of(*completion, next_action) : next_action;
      // Draws only at instants that both kinds of network stop at. Something may start before
      // advance() at the instant of a completion, and every transfer is followed by another one.
      const bool action = now == next_action;
      const bool start_first = action && random.below(2) == 0;
      start_some(start_first ? 1 + random.below(2) : 0, now);
      std::vector<TransferId> done;
      network.advance(now, done);
      for (const TransferId id : done) {
        all.push_back({now.ps(), id});
      }
      start_some(done.size() + (action && !start_first ? 1 : 0), now);
      if (action) {
        next_action += SimTime::from_ps(1 + static_cast<int64_t>(random.below(9'000'000)));
      }
    }
    const Completions rest = drain(network);
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }

 private:
  static constexpr std::size_t kLinks = 24;

  // Flows on a window of the links, so that some transfers meet and some do not.
  std::vector<FlowClass> random_transfer() {
    std::vector<FlowClass> flows;
    const uint64_t first = random_.below(kLinks - 6);
    const uint64_t count = 1 + random_.below(12);
    for (uint64_t f = 0; f < count; ++f) {
      std::vector<LinkShare> path;
      for (uint64_t h = 0; h <= random_.below(3); ++h) {
        const double fractions[] = {1, 0.5, 1.0 / 3};
        path.push_back(
            share(static_cast<int32_t>(first + random_.below(6)), fractions[random_.below(3)]));
      }
      flows.push_back(flow(path, static_cast<int64_t>(1 + random_.below(20'000)),
                           static_cast<int64_t>(1 + random_.below(3))));
    }
    return flows;
  }

  uint64_t seed_;
  RandomStream random_;
  std::vector<std::vector<FlowClass>> templates_;
};

TEST(FluidNetwork, ReusedSolutionsNeverChangeACompletion) {
  std::size_t completions = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Script script(seed);
    const Completions with = script.play(true);
    const Completions without = script.play(false);
    ASSERT_EQ(with, without) << "seed " << seed;
    completions += with.size();
  }
  EXPECT_GT(completions, 4'000U);
}

}  // namespace
}  // namespace mixnet::sim
