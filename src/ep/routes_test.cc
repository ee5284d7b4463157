#include "ep/routes.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace mixnet::ep {
namespace {

// Hosts {0, 1}, {2, 3}, {4}, each rank with two NICs.
const RankMap& three_hosts() {
  static const RankMap ranks({2, 2, 1});
  return ranks;
}

std::string check_of(int source, int host, const std::vector<Carrier>& carriers) {
  RouteTable routes;
  routes.set(source, host, carriers);
  const Status status = routes.check(three_hosts(), 2);
  return status ? "" : status.error().text();
}

void expect_refused(const std::vector<Carrier>& carriers, const std::string& why) {
  EXPECT_EQ(check_of(0, 1, carriers), "route from rank 0 to host 1: " + why);
}

TEST(Routes, TakesOneHopARelayAndTheOtherRanksNic) {
  EXPECT_EQ(check_of(0, 1, {{{{0, 0, 2}}, 1}}), "");
  EXPECT_EQ(check_of(0, 1, {{{{1, 1, 3}}, 0.5}, {{{0, 0, 4}, {4, 1, 2}}, 0.5}}), "");
  EXPECT_EQ(check_of(4, 1, {{{{4, 0, 0}, {0, kInsideHost, 1}, {1, 1, 3}}, 1}}), "");
  EXPECT_TRUE(RouteTable().check(three_hosts(), 0).ok());
}

TEST(Routes, NamesWhatIsWrong) {
  expect_refused({{{}, 1}}, "a carrier has at least one hop");
  expect_refused({{{{0, 0, 5}}, 1}}, "ranks are 0 to 4");
  expect_refused({{{{-1, 0, 2}}, 1}}, "ranks are 0 to 4");
  expect_refused({{{{0, 2, 2}}, 1}}, "rank 0 has no NIC 2");
  expect_refused({{{{0, -2, 2}}, 1}}, "rank 0 has no NIC -2");
  expect_refused({{{{0, 0, 1}}, 1}}, "ranks 0 and 1 are on one host, where no NIC is needed");
  expect_refused({{{{0, 0, 4}, {3, 0, 4}}, 1}},
                 "a relay sends on from the rank at which it received");
  const std::string inside = "only between two ranks of a relay does a hop stay inside its host";
  expect_refused({{{{0, kInsideHost, 2}}, 1}}, inside);
  expect_refused({{{{0, kInsideHost, 1}, {1, 0, 2}}, 1}}, inside);
  expect_refused({{{{0, 0, 2}, {2, kInsideHost, 3}}, 1}}, inside);
  expect_refused({{{{0, 0, 4}, {4, kInsideHost, 4}, {4, 0, 2}}, 1}}, inside);
  expect_refused({{{{4, 0, 2}}, 1}}, "the first hop leaves from the host of the source");
  expect_refused({{{{0, 0, 4}}, 1}}, "the last hop ends in the host");
  expect_refused({{{{0, 0, 2}}, 1.5}}, "shares are between 0 and 1");
  expect_refused({{{{0, 0, 2}}, -0.5}, {{{0, 1, 2}}, 1.5}}, "shares are between 0 and 1");
  expect_refused({{{{0, 0, 2}}, std::numeric_limits<double>::quiet_NaN()}},
                 "shares are between 0 and 1");
}

TEST(Routes, SharesSumToOne) {
  expect_refused({{{{0, 0, 2}}, 0.5}}, "the shares sum to 0.500000, not 1");
  expect_refused({{{{0, 0, 2}}, 0.75}, {{{0, 1, 2}}, 0.75}}, "the shares sum to 1.500000, not 1");
  expect_refused({}, "the shares sum to 0.000000, not 1");
  const double third = 1.0 / 3;
  EXPECT_EQ(check_of(0, 1, {{{{0, 0, 2}}, third}, {{{0, 1, 2}}, third}, {{{1, 0, 3}}, third}}), "");
}

TEST(Routes, LeadFromARankToAnotherHost) {
  const std::vector<Carrier> any = {{{{0, 0, 2}}, 1}};
  const std::string why = "routes lead from a rank to another host";
  EXPECT_EQ(check_of(0, 0, any), "route from rank 0 to host 0: " + why);
  EXPECT_EQ(check_of(0, 3, any), "route from rank 0 to host 3: " + why);
  EXPECT_EQ(check_of(-1, 1, any), "route from rank -1 to host 1: " + why);
  EXPECT_EQ(check_of(5, 1, any), "route from rank 5 to host 1: " + why);
}

TEST(Routes, WithoutANameTheRankOfTheSameIndexOverAllNics) {
  const std::vector<Carrier> plain = RouteTable().usable(three_hosts(), 2, RankSet(5), 1, 1);
  EXPECT_EQ(plain, (std::vector<Carrier>{{{{1, 0, 3}}, 0.5}, {{{1, 1, 3}}, 0.5}}));
  EXPECT_EQ(RouteTable().usable(three_hosts(), 1, RankSet(5), 1, 2),
            (std::vector<Carrier>{{{{1, 0, 4}}, 1}}));
}

RankSet lost_of(const std::vector<int>& ranks) {
  RankSet lost(5);
  for (const int rank : ranks) {
    lost.add(rank);
  }
  return lost;
}

TEST(Routes, LostRanksAreGoneAround) {
  RouteTable routes;
  const Carrier straight{{{0, 0, 2}}, 0.25};
  const Carrier relayed{{{0, 0, 4}, {4, 0, 3}}, 0.75};
  routes.set(0, 1, {straight, relayed});
  const auto usable = [&](const std::vector<int>& lost) {
    return routes.usable(three_hosts(), 1, lost_of(lost), 0, 1);
  };
  EXPECT_EQ(usable({}), (std::vector<Carrier>{straight, relayed}));
  EXPECT_EQ(usable({4}), (std::vector<Carrier>{{straight.hops, 1}}));
  EXPECT_EQ(usable({2}), (std::vector<Carrier>{{relayed.hops, 1}}));
  EXPECT_EQ(usable({2, 4}), (std::vector<Carrier>{{{{0, 0, 3}}, 1}})) << "the next one alive";
  EXPECT_TRUE(usable({2, 3}).empty());
}

TEST(Routes, CarriersWithoutAShareAreNotUsed) {
  RouteTable routes;
  routes.set(0, 1, {{{{0, 0, 2}}, 0}, {{{1, 1, 3}}, 1}});
  EXPECT_EQ(routes.usable(three_hosts(), 2, RankSet(5), 0, 1),
            (std::vector<Carrier>{{{{1, 1, 3}}, 1}}));
}

TEST(Routes, FingerprintsTellTablesApart) {
  RouteTable one;
  one.set(0, 1, {{{{0, 0, 2}}, 1}});
  RouteTable same = one;
  EXPECT_EQ(one.fingerprint(), same.fingerprint());
  std::vector<RouteTable> others(6);
  others[1].set(0, 2, {{{{0, 0, 2}}, 1}});
  others[2].set(1, 1, {{{{0, 0, 2}}, 1}});
  others[3].set(0, 1, {{{{0, 1, 2}}, 1}});
  others[4].set(0, 1, {{{{0, 0, 3}}, 1}});
  others[5].set(0, 1, {{{{0, 0, 2}}, 0.5}, {{{0, 1, 2}}, 0.5}});
  for (const RouteTable& other : others) {
    EXPECT_NE(one.fingerprint(), other.fingerprint());
  }
}

}  // namespace
}  // namespace mixnet::ep
