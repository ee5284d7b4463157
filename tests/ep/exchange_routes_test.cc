#include "cli/exchange_routes.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/index.h"
#include "core/random.h"
#include "ep/simulation_test_support.h"
#include "plan/wire.h"

// Ways that the planner found, carried out by dispatch and combine.
namespace mixnet::cli {
namespace {

using ep::conformance::Load;
using ep::conformance::RankLoad;

struct Region {
  int servers = 4;
  int gpus = 2;
  int nics = 4;
  int alpha = 2;  // optical ones
  Allocator allocator = Allocator::kRelay;

  plan::ServerLayout layout() const { return plan::even_layout(gpus, nics, alpha, 1); }
  ep::RankMap ranks() const { return ep::RankMap(std::vector<int>(at(servers), gpus)); }
  plan::RouteTable routes(const DemandMatrix& demand) const {
    return plan::route_table(plan::wire(plan::WireProblem{demand, alpha, nics - alpha}, allocator),
                             layout());
  }
};

DemandMatrix skewed_demand(int servers, uint64_t seed) {
  RandomStream random(seed, "demand");
  DemandMatrix demand(at(servers), at(servers));
  for (std::size_t i = 0; i < at(servers); ++i) {
    for (std::size_t j = 0; j < at(servers); ++j) {
      const double amount = random.below(4) == 0 ? 20.0 : 1.0;
      demand(i, j) = i == j ? 0.0 : amount + random.uniform();
    }
  }
  return demand;
}

constexpr int64_t kTokens = 240;  // from every rank to every other host

// Experts are ranks: a token goes to one rank, by turns to all of all other hosts.
std::vector<int64_t> to_everybody(const ep::RankMap& ranks, int rank) {
  std::vector<int64_t> experts;
  for (int host = 0; host < ranks.hosts(); ++host) {
    for (int64_t token = 0; token < kTokens && host != ranks.host_of(rank); ++token) {
      experts.push_back(ranks.first_of(host) + token % ranks.size_of(host));
    }
  }
  return experts;
}

// What the shares ask of a NIC.
struct Asked {
  double rows = 0;
  int flows = 0;  // each is cut to whole rows
};
using AskedByNic = std::map<std::pair<int, int>, Asked>;  // (rank, rail)

AskedByNic asked_for(const Region& region, const plan::RouteTable& table) {
  AskedByNic asked;
  const plan::ServerLayout layout = region.layout();
  const auto add = [&](int server, int nic, double amount) {
    int rail = 0;
    for (int other = 0; other < nic; ++other) {
      rail += layout.nic_gpu[at(other)] == layout.nic_gpu[at(nic)] ? 1 : 0;
    }
    Asked& of = asked[{server * region.gpus + layout.nic_gpu[at(nic)], rail}];
    of.rows += amount;
    ++of.flows;
  };
  for (const plan::PairRoute& pair : table.pairs) {
    for (const plan::GpuShare& fed : pair.gpus) {
      const plan::Carrier& carrier = pair.carriers[at(fed.carrier)];
      add(pair.src, carrier.nic, fed.share * kTokens);
      if (carrier.kind == plan::CarrierKind::kRelay) {
        add(carrier.via, carrier.via_nic, fed.share * kTokens);
      }
    }
  }
  return asked;
}

// Every rank's dispatch and combine over the table; [rank][rail] bytes of the dispatch.
std::vector<std::vector<int64_t>> carry(const Region& region, const ep::RouteTable& routes) {
  const ep::RankMap ranks = region.ranks();
  const int rails = exchange_rails(region.layout());
  ep::SimulatedRanks simulated;
  simulated.host_sizes = std::vector<int>(at(region.servers), region.gpus);
  simulated.rails = rails;
  std::vector<std::vector<int64_t>> bytes(at(ranks.ranks()));
  simulated.expect_right([&](ep::ExchangeState& state) {
    state.routes.hand_in(1, routes);
    Load load{ranks.ranks(), 1, 4};
    std::vector<RankLoad> all;
    for (int rank = 0; rank < ranks.ranks(); ++rank) {
      all.push_back(ep::conformance::load_with(load, rank, to_everybody(ranks, rank)));
    }
    const int self = state.endpoint.self();
    const auto got = ep::dispatch(state, ep::conformance::input_of(load, all[at(self)]),
                                  ep::conformance::options_of(load));
    bytes[at(self)] = state.traffic.nic_bytes;
    return got ? ep::conformance::round_trip(state, load, all) : got.error().text();
  });
  return bytes;
}

TEST(ExchangeRoutes, CarryTokensWithTheSharesAskedFor) {
  int handovers = 0;
  uint64_t seed = 1;
  for (const Region& region : std::vector<Region>{{4, 2, 4, 2, Allocator::kRelay},
                                                  {5, 4, 4, 3, Allocator::kRelay},
                                                  {4, 2, 2, 2, Allocator::kRelay},
                                                  {3, 4, 4, 2, Allocator::kSplit},
                                                  {4, 4, 2, 1, Allocator::kSplit}}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const plan::RouteTable table = region.routes(skewed_demand(region.servers, seed++));
    const ep::RankMap ranks = region.ranks();
    const int rails = exchange_rails(region.layout());
    const Result<ep::RouteTable> routes = exchange_routes(table, region.layout(), ranks);
    ASSERT_TRUE(routes.ok()) << routes.error().text();
    const Status fits = routes->check(ranks, rails);
    ASSERT_TRUE(fits.ok()) << fits.error().text();
    const auto bytes = carry(region, *routes);
    AskedByNic asked = asked_for(region, table);
    for (int rank = 0; rank < ranks.ranks(); ++rank) {
      for (int rail = 0; rail < rails; ++rail) {
        const double rows = static_cast<double>(bytes[at(rank)][at(rail)]) / 16;
        const Asked& of = asked[{rank, rail}];
        EXPECT_NEAR(rows, of.rows, of.flows) << "rank " << rank << ", rail " << rail;
      }
      for (int host = 0; host < ranks.hosts(); ++host) {
        for (const ep::Carrier& carrier :
             routes->usable(ranks, rails, ep::RankSet(ranks.ranks()), rank, host)) {
          handovers += carrier.hops.size() == 3 ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(handovers, 0) << "relays between NICs of two GPUs";
}

TEST(ExchangeRoutes, RailsAreTheNicsOfAGpu) {
  EXPECT_EQ(exchange_rails(plan::even_layout(8, 8, 6, 2)), 1);
  EXPECT_EQ(exchange_rails(plan::even_layout(4, 8, 6, 2)), 2);
  EXPECT_EQ(exchange_rails(plan::even_layout(8, 4, 2, 2)), 1);
}

TEST(ExchangeRoutes, NamesWhatDoesNotFit) {
  const Region region;
  const plan::RouteTable table = region.routes(skewed_demand(4, 1));
  const auto error_of = [&](const std::vector<int>& hosts) {
    const auto routes = exchange_routes(table, region.layout(), ep::RankMap(hosts));
    return routes ? "" : routes.error().message;
  };
  EXPECT_EQ(error_of({2, 2, 2, 2}), "");
  EXPECT_EQ(error_of({2, 2, 3, 2}), "host 2 has 3 ranks, not one for each of 2 GPUs");
  EXPECT_EQ(error_of({2, 2, 2}), "server 3 is none of 3 hosts");
}

}  // namespace
}  // namespace mixnet::cli
