#include "report/timeline.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "report/comparison_test_support.h"

namespace mixnet::report {
namespace {

using nlohmann::json;
using Thread = std::pair<int, int>;

// What Perfetto needs to draw every event: its fields, a named process and thread, and events of
// a thread apart and in order. Returns the number of bars per named thread, "process / thread".
std::map<std::string, int> validated(const std::string& text) {
  const json trace = json::parse(text);
  std::map<int, std::string> processes;
  std::map<Thread, std::string> threads;
  std::set<int> sorted_processes;
  std::set<Thread> sorted_threads;
  std::map<Thread, double> end_us;
  std::map<std::string, int> bars;
  for (const json& event : trace.at("traceEvents")) {
    const int pid = event.at("pid");
    const Thread thread{pid, event.at("tid")};
    const std::string name = event.at("name");
    if (event.at("ph") == "M") {
      const json& args = event.at("args");
      if (name == "process_name") {
        EXPECT_TRUE(processes.emplace(pid, args.at("name")).second) << "named twice";
      } else if (name == "thread_name") {
        EXPECT_TRUE(threads.emplace(thread, args.at("name")).second) << "named twice";
        bars[processes.at(pid) + " / " + threads[thread]] = 0;
      } else if (name == "process_sort_index") {
        sorted_processes.insert(pid);
      } else {
        EXPECT_EQ(name, "thread_sort_index");
        sorted_threads.insert(thread);
      }
      continue;
    }
    EXPECT_EQ(event.at("ph"), "X");
    EXPECT_FALSE(name.empty());
    EXPECT_FALSE(event.at("cat").get<std::string>().empty());
    EXPECT_TRUE(event.at("args").is_object());
    const double start = event.at("ts");
    const double duration = event.at("dur");
    EXPECT_GE(duration, 0);
    EXPECT_GE(start, end_us[thread] - 1e-6);
    end_us[thread] = start + duration;
    ++bars[processes.at(pid) + " / " + threads.at(thread)];
  }
  EXPECT_EQ(sorted_processes.size(), processes.size());
  EXPECT_EQ(sorted_threads.size(), threads.size());
  return bars;
}

TEST(Timeline, DrawsEverySpanOnANamedLane) {
  const Comparison comparison = sample_comparison();
  const auto bars = validated(timeline_json(comparison));
  int total = 0;
  for (const auto& [lane, count] : bars) {
    total += count;
  }
  std::size_t spans = 0;
  for (const FabricResult& fabric : comparison.fabrics) {
    spans += fabric.spans.size();
    for (const TimelineLane& lane : fabric.lanes) {
      EXPECT_EQ(bars.count(fabric.name + ": " + lane.group + " / " + lane.name), 1u);
    }
  }
  EXPECT_EQ(static_cast<std::size_t>(total), spans);
  EXPECT_EQ(bars.at("mixnet: server 0 / gpu 0"), 2);
}

TEST(Timeline, SpreadsOverlappingSpans) {
  const auto bars = validated(timeline_json(sample_comparison()));
  EXPECT_EQ(bars.at("mixnet: server 1 / eps nic 0"), 1);
  EXPECT_EQ(bars.at("mixnet: server 1 / eps nic 0 (2)"), 1);
  EXPECT_EQ(bars.count("mixnet: server 1 / gpu 0 (2)"), 0u);
}

TEST(Timeline, KeepsEveryPicosecondAndEscapes) {
  Comparison comparison = bare_comparison();
  FabricResult& fabric = comparison.fabrics.front();
  fabric.lanes.push_back({"server 0", "gpu \"0\""});
  fabric.spans.push_back(
      {0, Activity::kExpert, "", SimTime::from_ps(7'000'000'000'001), SimTime::from_ps(1'500'000)});
  EXPECT_EQ(
      timeline_json(comparison),
      R"({"displayTimeUnit":"ms","otherData":{"truncated":false,"spans_total":1,)"
      R"("spans_written":1},"traceEvents":[)"
      "\n"
      R"({"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"fat-tree: server 0"}},)"
      "\n"
      R"({"ph":"M","pid":1,"tid":0,"name":"process_sort_index","args":{"sort_index":1}},)"
      "\n"
      R"({"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"gpu \"0\""}},)"
      "\n"
      R"({"ph":"M","pid":1,"tid":1,"name":"thread_sort_index","args":{"sort_index":1}},)"
      "\n"
      R"({"ph":"X","pid":1,"tid":1,"ts":7000000.000001,"dur":1.500000,"name":"expert",)"
      R"("cat":"expert","args":{"activity":"expert"}})"
      "\n]}\n");
}

TEST(Timeline, KeepsTheEarliestSpansOfEachFabric) {
  const Comparison comparison = sample_comparison();
  const std::string text = timeline_json(comparison, 21);
  const json trace = json::parse(text);
  EXPECT_EQ(trace["otherData"]["truncated"], true);
  EXPECT_EQ(trace["otherData"]["spans_total"], 112);
  EXPECT_EQ(trace["otherData"]["spans_written"], 21);
  const auto bars = validated(text);
  for (const FabricResult& fabric : comparison.fabrics) {
    EXPECT_EQ(bars.at(fabric.name + ": server 0 / gpu 0"), 1);
    EXPECT_EQ(bars.at(fabric.name + ": server 1 / gpu 0"), 1);
    EXPECT_EQ(bars.at(fabric.name + ": server 1 / ocs nic 0"), 0);
  }
}

TEST(Timeline, OfNothingIsAnEmptyTrace) {
  EXPECT_TRUE(validated(timeline_json(Comparison())).empty());
}

TEST(Timeline, RejectsSpansOfNoLane) {
  Comparison comparison = bare_comparison();
  comparison.fabrics.front().spans.push_back({});
  EXPECT_DEATH(timeline_json(comparison), "a span names a lane");
}

}  // namespace
}  // namespace mixnet::report
