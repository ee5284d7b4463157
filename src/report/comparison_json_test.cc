#include "report/comparison_json.h"

#include <gtest/gtest.h>

#include "report/comparison_test_support.h"
#include "report/format.h"

namespace mixnet::report {
namespace {

using nlohmann::ordered_json;

TEST(ComparisonJson, GoldenOfOneFabric) {
  Comparison comparison = bare_comparison();
  comparison.bound = SimTime::from_ms(200);
  FabricResult& fabric = comparison.fabrics.front();
  fabric.all_to_all = SimTime::from_ms(50);
  fabric.cost_usd = 1250.5;
  fabric.iteration_p50 = SimTime::from_ms(250);
  fabric.iteration_p99 = SimTime::from_ms(300);
  fabric.iterations = {{SimTime::from_ms(200), SimTime::from_ms(40), SimTime(), 0, 0},
                       {SimTime::from_ms(300), SimTime::from_ms(60), SimTime::from_ms(10), 1, 12}};
  comparison.bound_iterations = {SimTime::from_ms(100), SimTime::from_ms(300)};
  fabric.region_demand = DemandMatrix(2, 2);
  fabric.region_demand(0, 1) = 7;
  fabric.region_circuits = Matrix<int>(2, 2, 1);
  comparison.notes = {"a note"};
  EXPECT_EQ(
      json_text(comparison_json(comparison, {{"seed", 1}}, "0.1.0")),
      R"({"fabrics":[{"name":"fat-tree","kind":"fat-tree","iteration_s":0.25,"all_to_all_s":0.05,)"
      R"("all_to_all_share":0.2,"mean_all_to_all_s":0.0,"exposed_switching_s":0.0,)"
      R"("exposed_per_all_to_all":0.0,)"
      R"("switching_total_s":0.0,"switches":0,"exposed_by_cause_s":{"ocs":0.0,"nic":0.0,)"
      R"("control":0.0,"detour":0.0},"iterations":2,"iteration_p50_s":0.25,"iteration_p99_s":0.3,)"
      R"("switches_per_iteration":0.0,"series":{"iteration_s":[0.2,0.3],)"
      R"("all_to_all_s":[0.04,0.06],"exposed_switching_s":[0.0,0.01],"switches":[0,1],)"
      R"("changed_circuits":[0,12]},"cadence_explanation":null,)"
      R"("placement":{"policy":"fixed","imbalance":1.0,"plans":0,"moved_experts":0,)"
      R"("moved_bytes":0,"moving_s":0.0},)"
      R"("bound_s":0.2,"bound_ratio":1.25,"cost_usd":1250.5,)"
      R"("perf_per_dollar":null,"critical_path_s":{"attention":0.0,"gate":0.0,"expert":0.0,)"
      R"("add-norm":0.0,"dense":0.25,"tensor-parallel":0.0,"all-to-all":0.0,"switching":0.0,)"
      R"("pipeline":0.0,"gradient":0.0},"traffic_bytes":{"tensor":0,"expert":0,)"
      R"("expert_network":0,"pipeline":0,"gradient":0},"region_demand_tokens":[[0.0,7.0],)"
      R"([0.0,0.0]],"region_circuits":[[1,1],[1,1]]}],"bound_s":0.2,)"
      R"("bound_series_s":[0.1,0.3],"bound_critical_path_s":{)"
      R"("attention":0.0,"gate":0.0,"expert":0.0,"add-norm":0.0,"dense":0.0,)"
      R"("tensor-parallel":0.0,"all-to-all":0.0,"switching":0.0,"pipeline":0.0,"gradient":0.0},)"
      R"("notes":["a note"],"config":{"seed":1},"version":"0.1.0"})");
}

TEST(ComparisonJson, ReadsBackEveryDouble) {
  const Comparison comparison = sample_comparison();
  const auto json = ordered_json::parse(json_text(comparison_json(comparison, {}, "0")));
  ASSERT_EQ(json["fabrics"].size(), comparison.fabrics.size());
  for (std::size_t f = 0; f < comparison.fabrics.size(); ++f) {
    const FabricResult& fabric = comparison.fabrics[f];
    EXPECT_EQ(json["fabrics"][f]["iteration_s"].get<double>(), exact_seconds(fabric.iteration));
    EXPECT_EQ(json["fabrics"][f]["perf_per_dollar"].get<double>(), fabric.perf_per_dollar);
    EXPECT_EQ(json["fabrics"][f]["traffic_bytes"]["expert"].get<int64_t>(),
              fabric.traffic.expert.count());
  }
}

TEST(ComparisonJson, BreakdownSumsToTheIteration) {
  const ordered_json json = comparison_json(sample_comparison(), {}, "0");
  for (const ordered_json& fabric : json["fabrics"]) {
    double sum = 0;
    for (const auto& [activity, seconds] : fabric["critical_path_s"].items()) {
      sum += seconds.get<double>();
    }
    EXPECT_NEAR(sum, fabric["iteration_s"].get<double>(), 1e-9);
  }
}

TEST(ComparisonJson, SaysNothingAboutTheRun) {
  Comparison comparison = sample_comparison();
  const std::string text = json_text(comparison_json(comparison, {}, "0"));
  EXPECT_EQ(json_text(comparison_json(comparison, {}, "0")), text);
  EXPECT_EQ(text.find("cpu"), std::string::npos);
}

TEST(ComparisonJson, ReplacesBytesThatAreNotText) {
  Comparison comparison = bare_comparison();
  comparison.fabrics.front().name = "fat\xFFtree";
  const std::string text = json_text(comparison_json(comparison, {}, "0"));
  EXPECT_NE(text.find("fat\xEF\xBF\xBDtree"), std::string::npos);
}

}  // namespace
}  // namespace mixnet::report
