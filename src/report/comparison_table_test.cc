#include "report/comparison_table.h"

#include <gtest/gtest.h>

#include "report/comparison_test_support.h"

namespace mixnet::report {
namespace {

TEST(ComparisonTable, GoldenText) {
  Comparison comparison = sample_comparison();
  comparison.fabrics.erase(comparison.fabrics.begin() + 1, comparison.fabrics.begin() + 4);
  // The line break in front keeps the raw string aligned.
  EXPECT_EQ("\n" + comparison_text(comparison, true), R"(
fabric         iteration (s)  all-to-all (%)  exposed switching (s)  ÷ bound  network cost  perf/$
-------------  -------------  --------------  ---------------------  -------  ------------  ------
fat-tree               10.19            12.7                      0    1.009    $2,906,250   1.000
mixnet                 11.16            13.1                 0.8000    1.105    $1,269,500   2.090
mixnet-never           11.11            19.9                      0    1.100    $1,269,500   2.100
mixnet-relink          40.76            3.58                  30.40    4.035    $1,269,500   0.572

÷ bound: iteration over that of the ideal network (10.10 s). perf/$: iterations per second and
dollar of network, relative to fat-tree.

critical path (s)  fat-tree   mixnet  mixnet-never  mixnet-relink  (bound)
-----------------  --------  -------  ------------  -------------  -------
attention             2.496    2.496         2.496          2.496    2.496
gate                0.01200  0.01200       0.01200        0.01200  0.01200
expert                4.736    4.736         4.736          4.736    4.736
add-norm            0.06400  0.06400       0.06400        0.06400  0.06400
dense                0.1800   0.1800        0.1800         0.1800   0.1800
tensor-parallel      0.4100   0.4100        0.4100         0.4100   0.4100
all-to-all            1.290    1.460         2.210          1.460    1.200
switching                 0   0.8000             0          30.40        0
pipeline             0.8550   0.8550        0.8550         0.8550   0.8550
gradient             0.1500   0.1500        0.1500         0.1500   0.1500

Which fabric: fat-tree has the shortest iteration of those compared, 10.19 s (1.009× the bound);
mixnet-never has the best performance per dollar, 2.100× that of fat-tree (iteration 9.0 % longer
than fat-tree, network $1.270M against $2.906M).
Is re-wiring worth it here: no difference for mixnet, its iteration is within 1 % of mixnet-never,
which is wired once (800.0 ms of switching on the critical path, which crosses the regions of all
stages; one region switches 64 times, 1.600 s of its own).
Is re-wiring worth it here: no for mixnet-relink, its iteration is 3.7× as long as mixnet-never,
which is wired once (30.40 s of switching on the critical path, which crosses the regions of all
stages; one region switches 64 times, 364.5 s of its own).

What the figures leave out:
- Congestion control, packet loss and retransmission are not modelled by the fluid network.
- Prices are list prices of 2024 & exclude power, racks and installation.
)");
}

TEST(ComparisonTable, WithoutDetailsThereIsNoBreakdown) {
  EXPECT_EQ(comparison_text(sample_comparison(), false).find("critical path (s)"),
            std::string::npos);
}

// Two iterations of one fabric: the second waited for the switch.
TEST(ComparisonTable, SwitchingIsShownPerIteration) {
  Comparison comparison = bare_comparison();
  EXPECT_FALSE(has_switching(comparison));
  FabricResult& fabric = comparison.fabrics.front();
  fabric.switches = 1;
  fabric.iteration_p50 = fabric.iteration_p99 = SimTime::from_ms(300);
  fabric.iterations = {{SimTime::from_ms(200), {}, {}, 0, 0},
                       {SimTime::from_ms(300), {}, SimTime::from_ms(20), 1, 12}};
  fabric.exposed_by_cause[static_cast<int>(SwitchCause::kOcs)] = SimTime::from_ms(10);
  EXPECT_EQ(switching_table(comparison).rows(),
            (std::vector<std::vector<std::string>>{
                {"fat-tree", "2", "0.3000", "0.3000", "0.500", "6.00", "0.01000", "0", "0", "0"}}));
  EXPECT_NE(comparison_text(comparison, false).find("control (s)"), std::string::npos);
}

TEST(ComparisonTable, MarksWhatIsUnknown) {
  EXPECT_EQ(headline_table(bare_comparison()).rows().front(),
            (std::vector<std::string>{"fat-tree", "0.2500", "0", "0", "-", "-", "-"}));
  EXPECT_EQ(bound_text(bare_comparison()), "not computed");
}

TEST(ComparisonTable, BreakdownLeavesOutWhatTakesNoTime) {
  const Table table = breakdown_table(bare_comparison());
  EXPECT_EQ(table.rows(), (std::vector<std::vector<std::string>>{{"dense", "0.2500", "0"}}));
}

TEST(ComparisonTable, OfNoFabricsIsAHeading) {
  EXPECT_TRUE(headline_table(Comparison()).rows().empty());
  EXPECT_FALSE(comparison_text(Comparison(), true).empty());
}

}  // namespace
}  // namespace mixnet::report
