#include "sim/run_totals.h"

#include <algorithm>
#include <span>

#include "core/check.h"

namespace mixnet::sim {
namespace {

constexpr int64_t kPsPerSecond = 1'000'000'000'000;

// Rounding down loses some picoseconds of the whole; the largest part gets them back.
void complete_to(SimTime whole, std::span<SimTime> parts) {
  SimTime sum;
  for (const SimTime part : parts) {
    sum += part;
  }
  *std::max_element(parts.begin(), parts.end()) += whole - sum;
}

SimTime quantile(std::vector<SimTime> sorted, double q) {
  const auto at = static_cast<std::size_t>(q * static_cast<double>(sorted.size()));
  return sorted[std::min(at, sorted.size() - 1)];
}

}  // namespace

void RunTotals::Sum::add(SimTime time) {
  seconds += time.ps() / kPsPerSecond;
  ps += time.ps() % kPsPerSecond;
  seconds += ps / kPsPerSecond;
  ps %= kPsPerSecond;
}

SimTime RunTotals::Sum::mean(int64_t count) const {
  // The rest is below `count` seconds: in range up to 9 million iterations.
  return SimTime::from_ps(seconds / count * kPsPerSecond +
                          (seconds % count * kPsPerSecond + ps) / count);
}

void RunTotals::add(const IterationSample& sample, const CriticalPath& path, SimTime dark) {
  samples_.push_back(sample);
  iteration_.add(sample.iteration);
  dark_.add(dark);
  for (std::size_t a = 0; a < activities_.size(); ++a) {
    activities_[a].add(path.activities[a]);
  }
  for (std::size_t c = 0; c < causes_.size(); ++c) {
    causes_[c].add(path.causes[c]);
  }
}

void RunTotals::add_traffic(const TrafficBytes& traffic) {
  traffic_.tensor += traffic.tensor;
  traffic_.expert += traffic.expert;
  traffic_.expert_network += traffic.expert_network;
  traffic_.pipeline += traffic.pipeline;
  traffic_.gradient += traffic.gradient;
}

void RunTotals::add_all_to_alls(double seconds, int64_t count) {
  all_to_all_seconds_ += seconds;
  all_to_alls_ += count;
}

void RunTotals::fill(FabricResult& result) const {
  CHECK(!samples_.empty(), "a run has an iteration");
  const auto n = static_cast<int64_t>(samples_.size());
  result.iteration = iteration_.mean(n);
  for (std::size_t a = 0; a < activities_.size(); ++a) {
    result.critical_path[a] = activities_[a].mean(n);
  }
  complete_to(result.iteration, result.critical_path);
  result.all_to_all = result.critical_path[static_cast<std::size_t>(Activity::kAllToAll)];
  result.exposed_switching = result.critical_path[static_cast<std::size_t>(Activity::kSwitching)];
  for (std::size_t c = 0; c < causes_.size(); ++c) {
    result.exposed_by_cause[c] = causes_[c].mean(n);
  }
  complete_to(result.exposed_switching, result.exposed_by_cause);
  result.switching_total = dark_.mean(n);
  std::vector<SimTime> sorted;
  for (const IterationSample& s : samples_) {
    result.switches += s.switches;
    sorted.push_back(s.iteration);
  }
  std::sort(sorted.begin(), sorted.end());
  result.iteration_p50 = quantile(sorted, 0.5);
  result.iteration_p99 = quantile(sorted, 0.99);
  result.iterations = samples_;
  result.traffic = {Bytes(traffic_.tensor.count() / n), Bytes(traffic_.expert.count() / n),
                    Bytes(traffic_.expert_network.count() / n),
                    Bytes(traffic_.pipeline.count() / n), Bytes(traffic_.gradient.count() / n)};
  if (all_to_alls_ > 0) {
    result.mean_all_to_all =
        SimTime::from_seconds(all_to_all_seconds_ / static_cast<double>(all_to_alls_));
  }
}

}  // namespace mixnet::sim
