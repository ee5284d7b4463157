#include "report/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/comparison_test_support.h"

namespace mixnet::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

FabricResult fabric(const char* name, const char* kind, int iteration_ms, double cost_usd) {
  FabricResult result;
  result.name = name;
  result.kind = kind;
  result.iteration = SimTime::from_ms(iteration_ms);
  result.cost_usd = cost_usd;
  return result;
}

FabricResult rewired(const char* name, int iteration_ms) {
  FabricResult result = fabric(name, "mixnet", iteration_ms, 100);
  result.switches = 14;
  result.exposed_switching = SimTime::from_ms(200);
  result.switching_total = SimTime::from_ms(650);
  return result;
}

Comparison of(std::vector<FabricResult> fabrics) {
  Comparison comparison;
  comparison.bound = SimTime::from_ms(1000);
  comparison.fabrics = std::move(fabrics);
  return comparison;
}

TEST(Verdict, NamesTheFastestAndTheBestValue) {
  const auto sentences = verdict(
      of({fabric("fat-tree", "fat-tree", 1000, 200), fabric("topoopt", "topoopt", 1250, 80)}));
  EXPECT_THAT(
      sentences,
      ElementsAre("Which fabric: fat-tree has the shortest iteration of those compared, "
                  "1.000 s (1.000× the bound); topoopt has the best performance per dollar, "
                  "2.000× that of fat-tree (iteration 25.0 % longer than fat-tree, network "
                  "$80 against $200)."));
}

TEST(Verdict, OneFabricCanBeBoth) {
  const auto sentences = verdict(of({fabric("fat-tree", "fat-tree", 1500, 200),
                                     fabric("rail-optimized", "rail-optimized", 1250, 200)}));
  EXPECT_THAT(sentences,
              ElementsAre("Which fabric: rail-optimized has the shortest iteration of those "
                          "compared, 1.250 s (1.250× the bound), and the best performance per "
                          "dollar."));
}

TEST(Verdict, NeverRecommendsTheIdealNetwork) {
  const auto sentences =
      verdict(of({fabric("ideal", "ideal", 1000, 0), fabric("fat-tree", "fat-tree", 1100, 200)}));
  EXPECT_THAT(sentences, ElementsAre(Not(HasSubstr("ideal"))));
  EXPECT_TRUE(verdict(of({fabric("ideal", "ideal", 1000, 0)})).empty());
}

TEST(Verdict, RewiringIsSetAgainstTheBestWiredOnce) {
  const auto sentences =
      verdict(of({fabric("slow", "mixnet", 3000, 100), fabric("once", "mixnet", 2000, 100),
                  rewired("fast", 1500), rewired("same", 1990), rewired("relink", 9000)}));
  ASSERT_EQ(sentences.size(), 4u);
  EXPECT_EQ(sentences[1],
            "Is re-wiring worth it here: yes for fast, its iteration is 25.0 % shorter than once, "
            "which is wired once (200.0 ms of switching on the critical path, which crosses the "
            "regions of all stages; one region switches 14 times, 650.0 ms of its own).");
  EXPECT_THAT(sentences[2], HasSubstr("no difference for same, its iteration is within 1 % of"));
  EXPECT_THAT(sentences[3], HasSubstr(": no for relink, its iteration is 4.5× as long as once"));
}

TEST(Verdict, OverManyIterationsCountsPerIteration) {
  FabricResult every = rewired("every", 1500);
  every.iterations.resize(4);
  every.cadence_explanation = "Held for 3 iterations.";
  const auto sentences = verdict(of({fabric("once", "mixnet", 2000, 100), every}));
  ASSERT_EQ(sentences.size(), 3u);
  EXPECT_THAT(sentences[1], HasSubstr("mean of 4; one region switches 3.50 times in one"));
  EXPECT_EQ(sentences[2], "What every decided: Held for 3 iterations.");
}

TEST(Verdict, SaysWhenNothingHadToMove) {
  const auto sentences =
      verdict(of({fabric("mixnet", "mixnet", 2000, 100), fabric("once", "mixnet", 2000, 100)}));
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_THAT(sentences[1], HasSubstr("nothing to re-wire"));
}

TEST(Verdict, DoesNotAnswerWithoutAPartner) {
  const auto sentences = verdict(of({rewired("mixnet", 2000)}));
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_THAT(sentences[1], HasSubstr("not answered for mixnet"));
  EXPECT_THAT(sentences[1], HasSubstr("exposed: 10.0 % of the iteration"));
}

TEST(Verdict, NoMixnetNoSentenceAboutIt) {
  EXPECT_THAT(verdict(bare_comparison()),
              ElementsAre("Which fabric: fat-tree has the shortest iteration of those compared, "
                          "250.0 ms; no fabric has a cost."));
}

TEST(Verdict, OfNothingIsNothing) { EXPECT_TRUE(verdict(Comparison()).empty()); }

}  // namespace
}  // namespace mixnet::report
