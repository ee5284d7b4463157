#include "ep/route_versions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mixnet::ep {
namespace {

// Tables that differ by `rail`.
RouteTable table_by(int rail) {
  RouteTable routes;
  routes.set(0, 1, {{{{0, rail, 1}}, 1}});
  return routes;
}

std::vector<int64_t> versions_of(const RouteVersions& routes) {
  std::vector<int64_t> versions;
  for (const HeldRoutes& held : routes.held()) {
    versions.push_back(held.version);
    EXPECT_EQ(held.fingerprint, routes.table(held.version).fingerprint());
  }
  return versions;
}

using Versions = std::vector<int64_t>;

TEST(RouteVersions, BeginsWithPlainRoutes) {
  const RouteVersions routes;
  EXPECT_EQ(versions_of(routes), Versions{0});
  EXPECT_EQ(routes.table(0), RouteTable());
}

TEST(RouteVersions, OnlyNewerOnesCount) {
  RouteVersions routes;
  routes.hand_in(5, table_by(0));
  routes.hand_in(5, table_by(1));
  routes.hand_in(3, table_by(2));
  routes.hand_in(-1, table_by(3));
  EXPECT_EQ(versions_of(routes), (Versions{0, 5}));
  EXPECT_EQ(routes.table(5), table_by(0));
}

TEST(RouteVersions, ForgetsWhatCameBefore) {
  RouteVersions routes;
  routes.hand_in(1, table_by(0));
  routes.hand_in(4, table_by(1));
  routes.forget_before(1);
  EXPECT_EQ(versions_of(routes), (Versions{1, 4}));
  routes.forget_before(4);
  EXPECT_EQ(versions_of(routes), Versions{4});
}

TEST(RouteVersions, KeepsTheOneInUseAndTheNewestOnes) {
  RouteVersions routes;
  routes.hand_in(1, table_by(0));
  routes.forget_before(1);
  for (int64_t version = 2; version <= 20; ++version) {
    routes.hand_in(version, table_by(static_cast<int>(version)));
  }
  EXPECT_EQ(versions_of(routes), (Versions{1, 14, 15, 16, 17, 18, 19, 20}));
}

std::vector<HeldRoutes> holding(const std::vector<int64_t>& versions) {
  std::vector<HeldRoutes> routes;
  for (const int64_t version : versions) {
    routes.push_back(HeldRoutes{version, version * 100});
  }
  return routes;
}

TEST(ChooseRoutes, TheNewestThatAllHold) {
  EXPECT_EQ(choose_routes({holding({0})}).version, 0);
  EXPECT_EQ(choose_routes({holding({0, 1}), holding({0})}).version, 0);
  EXPECT_EQ(choose_routes({holding({1, 2}), holding({1, 2, 3})}).version, 2);
  EXPECT_EQ(choose_routes({{}, holding({0, 7}), {}, holding({0, 7})}).version, 7) << "lost ranks";
}

TEST(ChooseRoutes, WhoMissedAVersionHoldsUpNobodyForLong) {
  EXPECT_EQ(choose_routes({holding({0, 1, 2}), holding({0, 2}), holding({0, 1})}).version, 0);
  EXPECT_EQ(choose_routes({holding({0, 1, 2}), holding({0, 2}), holding({0, 1, 2})}).version, 2);
}

TEST(ChooseRoutes, NamesWhoHoldsAnother) {
  const std::vector<HeldRoutes> other = {{0, 0}, {1, 5}};
  EXPECT_EQ(choose_routes({holding({0, 1}), {}, other}).conflict,
            "routes of version 1 on rank 2 are not those on rank 0");
  EXPECT_EQ(choose_routes({holding({0}), holding({0, 1, 2}), {{0, 0}, {1, 5}, {3, 300}}}).conflict,
            "routes of version 1 on rank 2 are not those on rank 1")
      << "also before all hold it";
  EXPECT_EQ(choose_routes({holding({0, 1, 2}), {{0, 0}, {1, 5}, {2, 200}}}).conflict, "")
      << "nobody goes back to it";
}

}  // namespace
}  // namespace mixnet::ep
