#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plan/wire.h"
#include "plan/wire_test_support.h"

namespace mixnet::plan {
namespace {

WireProblem uniform(std::size_t n, int alpha, int eps) {
  return WireProblem{DemandMatrix(n, n, 1.0 / static_cast<double>(n - 1)), alpha, eps};
}

TEST(WireBound, PortBoundOfThePublicMatrix) {
  EXPECT_DOUBLE_EQ(port_bound(WireProblem{test_support::public_matrix(), 6, 2}), 67893.0 / 8);
  EXPECT_DOUBLE_EQ(any_wiring_bound(WireProblem{test_support::public_matrix(), 6, 2}), 67893.0 / 8);
}

TEST(WireBound, UniformDemandNeedsTwoHopsBeyondAlphaPeers) {
  // Each of 15 peers gets 1/15 within T, six of them directly: 6/15 + 2 (9/15 - 2T) = 6T.
  EXPECT_NEAR(any_wiring_bound(uniform(16, 6, 2)), 1.6 / 10, 1e-9);
  // Without relays, the nine others must fit two electrical NICs.
  EXPECT_NEAR(no_relay_bound(uniform(16, 6, 2)), 9.0 / 15 / 2, 1e-9);
}

TEST(WireBound, NoElectricalNics) {
  EXPECT_EQ(no_relay_bound(uniform(8, 6, 0)), std::numeric_limits<double>::infinity());
  EXPECT_NEAR(no_relay_bound(uniform(8, 7, 0)), 1.0 / 7, 1e-9);
  EXPECT_TRUE(std::isfinite(any_wiring_bound(uniform(8, 6, 0))));
}

TEST(WireBound, NoOpticalNicsIsThePortBound) {
  const WireProblem problem{test_support::log_normal_demand(9, 1, 4), 0, 2};
  EXPECT_EQ(any_wiring_bound(problem), port_bound(problem));
  EXPECT_EQ(no_relay_bound(problem), port_bound(problem));
}

TEST(WireBound, ZeroWithoutDemand) {
  const WireProblem one{DemandMatrix(1, 1, 5.0), 6, 2};
  EXPECT_EQ(any_wiring_bound(one), 0);
  EXPECT_EQ(no_relay_bound(WireProblem{DemandMatrix(4, 4, 0.0), 6, 0}), 0);
}

TEST(WireBound, NoSplitOfAnyWiringIsFaster) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const int alpha = 1 + static_cast<int>(seed % 3);
    const int eps = static_cast<int>(seed % 2);
    const WireProblem problem{seed % 5 == 0 ? test_support::sparse_demand(4, 2, seed)
                                            : test_support::log_normal_demand(4, 1.2, seed),
                              alpha, eps};
    const double bound = no_relay_bound(problem);
    EXPECT_GE(bound, any_wiring_bound(problem));
    EXPECT_GE(any_wiring_bound(problem), port_bound(problem));
    double best = std::numeric_limits<double>::infinity();
    test_support::every_wiring(4, alpha, [&](const Matrix<int>& circuits) {
      if (best == std::numeric_limits<double>::infinity() ||
          test_support::split_fits(problem, circuits, best * (1 - 1e-12))) {
        best = test_support::split_time_by_bisection(problem, circuits);
      }
    });
    EXPECT_LE(bound, best * (1 + 1e-9)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace mixnet::plan
