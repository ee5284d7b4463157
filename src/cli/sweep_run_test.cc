#include "cli/sweep_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cli/sweep_results.h"
#include "core/random.h"
#include "support/temporary_directory.h"

namespace mixnet::cli {
namespace {

using mixnet::test_support::TemporaryDirectory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<SweepPoint> random_points(RandomStream& random, std::size_t count) {
  std::vector<SweepPoint> points(count);
  for (std::size_t i = 0; i < count; ++i) {
    points[i].index = i;
    points[i].id = std::to_string(i);
    points[i].cost_s = random.below(3) == 0 ? 0 : random.log_normal(0, 2);
  }
  return points;
}

TEST(SweepShard, ShardsArePartsOfTheWhole) {
  RandomStream random(1, "shards");
  for (int round = 0; round < 200; ++round) {
    const auto points = random_points(random, random.below(60));
    const int count = 1 + static_cast<int>(random.below(20));
    std::multiset<std::size_t> covered;
    for (int number = 1; number <= count; ++number) {
      const auto shard = sweep_shard(points, number, count);
      std::vector<std::size_t> indices;
      for (const SweepPoint& point : shard) {
        indices.push_back(point.index);
      }
      EXPECT_TRUE(std::is_sorted(indices.begin(), indices.end()));
      covered.insert(indices.begin(), indices.end());
    }
    ASSERT_EQ(covered.size(), points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_EQ(covered.count(i), 1U);
    }
  }
}

// No shard costs more than a fair part and one point.
TEST(SweepShard, CostsAreSpread) {
  RandomStream random(2, "shards");
  for (int round = 0; round < 100; ++round) {
    const auto points = random_points(random, 40);
    double total = 0;
    double largest = 0;
    for (const SweepPoint& point : points) {
      total += point.cost_s + 1e-3;
      largest = std::max(largest, point.cost_s + 1e-3);
    }
    for (int number = 1; number <= 8; ++number) {
      double cost = 0;
      for (const SweepPoint& point : sweep_shard(points, number, 8)) {
        cost += point.cost_s + 1e-3;
      }
      EXPECT_LE(cost, total / 8 + largest + 1e-9);
    }
  }
}

std::string sweep_text(const std::string& values, const std::string& more = "") {
  return "scenario = '" MIXNET_SOURCE_DIR "/examples/prototype-32gpu.toml'\n" + more +
         "[[axis]]\nkey = 'mixnet.alpha'\nvalues = " + values + "\n";
}

std::vector<SweepPoint> points_of(const TemporaryDirectory& directory, const std::string& text) {
  const auto sweep = scenario::read_sweep(directory.write("s.toml", text));
  EXPECT_TRUE(sweep.ok()) << sweep.error().text();
  const auto points = sweep_points(*sweep);
  EXPECT_TRUE(points.ok()) << points.error().text();
  return points.ok() ? *points : std::vector<SweepPoint>();
}

TEST(SweepPoints, IdsFollowTheConfigurationNotThePlaceInTheSweep) {
  const TemporaryDirectory directory;
  const auto points = points_of(directory, sweep_text("[1, 2, 3]"));
  const auto others = points_of(directory, sweep_text("[3, 1]"));
  EXPECT_EQ(others[0].id, points[2].id);
  EXPECT_EQ(others[1].id, points[0].id);
  EXPECT_NE(points[0].id, points[1].id);
  const auto slower =
      points_of(directory, sweep_text("[1]", "set = ['cluster.nic_rate=25Gbps']\n"));
  EXPECT_NE(slower[0].id, points[0].id);
  EXPECT_EQ(points[0].id.size(), 16U);
}

TEST(SweepPoints, ARoutingFileOfOtherContentGivesAnotherId) {
  const TemporaryDirectory directory;
  const std::string text =
      sweep_text("[1]", "set = [\"routing={matrix='" + directory.file("m.txt") +
                            "',counts='weights',repeat_layers=true}\"]\n");
  directory.write("m.txt", "1 2\n3 4\n");
  const auto before = points_of(directory, text);
  directory.write("m.txt", "1 2\n3 5\n");
  EXPECT_NE(points_of(directory, text)[0].id, before[0].id);
  directory.write("m.txt", "1 2\n3 4\n");
  EXPECT_EQ(points_of(directory, text)[0].id, before[0].id);
}

TEST(SweepPoints, SomeMayFailButNotAll) {
  const TemporaryDirectory directory;
  const auto points = points_of(directory, sweep_text("[1, 99]"));
  EXPECT_FALSE(points[0].error.has_value());
  ASSERT_TRUE(points[1].error.has_value());
  EXPECT_THAT(points[1].error->where, ::testing::EndsWith("s.toml:3"));
  const auto sweep = scenario::read_sweep(directory.write("s.toml", sweep_text("[98, 99]")));
  ASSERT_FALSE(sweep_points(*sweep).ok());
}

// A line of results as a sweep writes it; `id` is that of the point.
SweepLine line_of(const std::string& id, const std::string& outcome, int number) {
  const std::string start =
      R"({"id":")" + id + R"(","point":{"mixnet.alpha":)" + std::to_string(id[0] - 'a') + "},";
  return {id, start + outcome + "}", number, outcome.starts_with(R"("error")")};
}
SweepLine result_line(const std::string& id, int number, const std::string& seconds = "1.5") {
  return line_of(id, R"("fabrics":[{"name":"eps","iteration_s":)" + seconds + "}]", number);
}

std::vector<SweepPoint> points_c_b_a() {
  std::vector<SweepPoint> points(3);
  for (std::size_t i = 0; i < 3; ++i) {
    points[i].id = std::string(1, static_cast<char>('c' - i));
    points[i].point = {{"mixnet.alpha", 2 - static_cast<int>(i)}};
  }
  return points;
}

TEST(SweepCollector, SortsAndTellsWhatIsMissing) {
  SweepCollector collector(points_c_b_a());
  const SweepLine a = result_line("a", 1);
  const SweepLine b = result_line("b", 2);
  const SweepLine c = result_line("c", 2);
  const SweepLine failed = line_of("c", R"("error":"why")", 2);
  ASSERT_TRUE(collector.add({a, failed, result_line("x", 3)}, "one").ok());
  EXPECT_THAT(collector.results().lines, ElementsAre(failed.text, "", a.text));
  EXPECT_THAT(collector.results().missing, ElementsAre(1));
  EXPECT_THAT(collector.results().failed, ElementsAre(0));
  EXPECT_EQ(collector.results().foreign, 1);

  ASSERT_TRUE(collector.add({a, c}, "two").ok());
  ASSERT_TRUE(collector.add({failed, b}, "three").ok());
  EXPECT_THAT(collector.results().lines, ElementsAre(c.text, b.text, a.text));
  EXPECT_THAT(collector.results().missing, IsEmpty());
  EXPECT_THAT(collector.results().failed, IsEmpty());

  const Status changed = collector.add({result_line("a", 7, "2.5")}, "four");
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().where, "four:7");
  EXPECT_THAT(changed.error().message, HasSubstr("one:1"));
}

TEST(SweepCollector, DamagedLinesAreNamed) {
  for (const char* const outcome :
       {R"("fabrics":5)", R"("fabrics":[])", R"("fabrics":[{}])",
        R"("fabrics":[{"name":"eps","iteration_s":"x"}])",
        R"("fabrics":[{"name":"eps","iteration_s":-1}])", R"("point":{},"error":"why")"}) {
    SweepCollector collector(points_c_b_a());
    const Status status = collector.add({line_of("b", outcome, 4)}, "file");
    ASSERT_FALSE(status.ok()) << outcome;
    EXPECT_EQ(status.error().where, "file:4");
  }
}

}  // namespace
}  // namespace mixnet::cli
