#include "cli/sweep_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <string_view>

#include "cli/compare.h"
#include "core/check.h"
#include "core/fnv.h"
#include "report/comparison_json.h"

namespace mixnet::cli {
namespace {

using nlohmann::ordered_json;

// A hash of texts in a row: among a million points two ids are equal with a chance of 3e-8.
class Fnv {
 public:
  void add(std::string_view text) {
    // A byte that is never part of UTF-8 ends each: "ab", "c" is not "a", "bc".
    state_ = fnv1a("\xff", fnv1a(text, state_));
  }
  std::string text() const { return fmt::format("{:016x}", state_); }

 private:
  uint64_t state_ = kFnvStart;
};

// The beginning of a file and its size, hashed; what cannot be read is reported by the simulation.
std::string content_hash(const std::string& path) {
  constexpr int kMostBlocks = 1024;
  std::ifstream file(path, std::ios::binary);
  std::string block(std::size_t{64} << 10, '\0');
  Fnv hash;
  for (int i = 0; i < kMostBlocks && file.good(); ++i) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    hash.add(std::string_view(block.data(), static_cast<std::size_t>(file.gcount())));
  }
  file.clear();
  file.seekg(0, std::ios::end);
  hash.add(std::to_string(static_cast<long long>(file.tellg())));
  return hash.text();
}

// CPU time grows with the servers, the fabrics and the steps of a stage, and is several times
// shorter when all micro-batches send the same. Measured on one core for 128 to 4,096 servers; the
// shape of the demand makes it up to twice more or less.
double rough_cost_s(const scenario::Scenario& scenario) {
  constexpr double kChangingDemand = 2.5e-5;
  constexpr double kFixedDemand = 3e-6;
  const Study& study = scenario.study;
  const int layers = study.model.layers / std::max(1, study.parallelism.pp) + 1;
  const double steps = static_cast<double>(study.cluster.servers) * layers *
                       study.parallelism.micro_batches *
                       static_cast<double>(study.fabrics.size() + 1);
  return steps * (study.routing.per_micro_batch ? kChangingDemand : kFixedDemand);
}

ordered_json head(const SweepPoint& point) {
  ordered_json line;
  line["id"] = point.id;
  line["point"] = point.point;
  return line;
}

Result<ordered_json> result_of(const scenario::Sweep& sweep, std::size_t index) {
  const Result<scenario::Scenario> scenario = scenario::read_sweep_point(sweep, index);
  if (!scenario.ok()) {
    return scenario.error();
  }
  const Result<scenario::RoutingTrace> routing = scenario::load_routing(*scenario);
  if (!routing.ok()) {
    return routing.error();
  }
  const Result<Comparison> comparison = compare(*scenario, routing->view(), nullptr);
  if (!comparison.ok()) {
    return comparison.error();
  }
  return report::comparison_json(*comparison, scenario::effective_config(*scenario),
                                 MIXNET_VERSION);
}

}  // namespace

Result<std::vector<SweepPoint>> sweep_points(const scenario::Sweep& sweep) {
  std::vector<SweepPoint> points(sweep.points());
  std::map<std::string, std::string> contents;
  for (std::size_t i = 0; i < points.size(); ++i) {
    SweepPoint& point = points[i];
    point.index = i;
    point.point = scenario::sweep_point(sweep, i);
    Fnv id;
    id.add(MIXNET_VERSION);
    id.add(report::json_text(point.point));
    const Result<scenario::Scenario> scenario = scenario::read_sweep_point(sweep, i);
    if (scenario.ok()) {
      id.add(report::json_text(scenario::effective_config(*scenario)));
      for (const std::string& path : {scenario->routing.trace, scenario->routing.matrix}) {
        if (!path.empty() && contents.count(path) == 0) {
          contents[path] = content_hash(path);
        }
        id.add(path.empty() ? "" : contents[path]);
      }
      point.cost_s = rough_cost_s(*scenario);
    } else {
      point.error = scenario.error();
    }
    point.id = id.text();
  }
  const auto bad = [](const SweepPoint& point) { return point.error.has_value(); };
  if (std::all_of(points.begin(), points.end(), bad)) {
    return *points.front().error;
  }
  return points;
}

std::vector<SweepPoint> sweep_shard(const std::vector<SweepPoint>& points, int number, int count) {
  CHECK(1 <= number && number <= count, "a shard of the sweep");
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return points[a].cost_s > points[b].cost_s;
  });
  // The costliest first, each to the shard with the least so far.
  std::vector<double> load(static_cast<std::size_t>(count), 0);
  std::vector<std::size_t> mine;
  for (const std::size_t i : order) {
    const auto least = std::min_element(load.begin(), load.end());
    constexpr double kPointAlone_s = 1e-3;  // so that points of no cost are spread too
    *least += points[i].cost_s + kPointAlone_s;
    if (least - load.begin() == number - 1) {
      mine.push_back(i);
    }
  }
  std::sort(mine.begin(), mine.end());
  std::vector<SweepPoint> shard;
  for (const std::size_t i : mine) {
    shard.push_back(points[i]);
  }
  return shard;
}

std::string sweep_line(const scenario::Sweep& sweep, const SweepPoint& point) {
  const Result<ordered_json> result = result_of(sweep, point.index);
  if (!result.ok()) {
    return failed_sweep_line(point, result.error());
  }
  ordered_json line = head(point);
  for (const char* key : {"fabrics", "config", "version"}) {
    line[key] = result->at(key);
  }
  return report::json_text(line);
}

std::string failed_sweep_line(const SweepPoint& point, const Error& error) {
  ordered_json line = head(point);
  line["error"] = error.text();
  line["version"] = MIXNET_VERSION;
  return report::json_text(line);
}

}  // namespace mixnet::cli
