#include <gtest/gtest.h>

#include <string>

#include "cli/compare.h"

namespace mixnet::cli {
namespace {

// The examples that take a while under sanitizers run to their end and respect the bound.
class LargeExample : public ::testing::TestWithParam<const char*> {};

TEST_P(LargeExample, NoFabricBeatsTheBound) {
  const auto scenario =
      scenario::read_scenario(std::string(MIXNET_SOURCE_DIR) + "/examples/" + GetParam() + ".toml");
  ASSERT_TRUE(scenario.ok()) << scenario.error().text();
  const auto routing = scenario::load_routing(*scenario);
  ASSERT_TRUE(routing.ok()) << routing.error().text();
  const Result<Comparison> comparison = compare(*scenario, routing->view(), nullptr);
  ASSERT_TRUE(comparison.ok()) << comparison.error().text();
  for (const FabricResult& f : comparison->fabrics) {
    EXPECT_GE(f.iteration, comparison->bound) << f.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Slow, LargeExample,
                         ::testing::Values("mixtral-8x22b-1024gpu", "mixtral-8x7b-drift-256gpu"));

}  // namespace
}  // namespace mixnet::cli
