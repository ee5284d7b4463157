#include "scenario/trace_stats.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <tuple>

#include "core/check.h"

namespace mixnet::scenario {
namespace {

using Loads = std::vector<int64_t>;

int64_t sum_of(std::span<const int64_t> loads) {
  return std::accumulate(loads.begin(), loads.end(), int64_t{0});
}

// Mean and maximum of the values added so far.
class Collector {
 public:
  void add(double value) {
    sum_ += value;
    max_ = count_ == 0 ? value : std::max(max_, value);
    ++count_;
  }
  Spread spread() const {
    return count_ == 0 ? Spread{} : Spread{sum_ / static_cast<double>(count_), max_};
  }

 private:
  double sum_ = 0;
  double max_ = 0;
  int64_t count_ = 0;
};

Loads rank_loads(const Loads& experts, int64_t ep) {
  Loads ranks(static_cast<std::size_t>(ep));
  const std::size_t per_rank = experts.size() / ranks.size();
  for (std::size_t e = 0; e < experts.size(); ++e) {
    ranks[e / per_rank] += experts[e];
  }
  return ranks;
}

// Everything about one layer, fed one iteration after the other.
class LayerCollector {
 public:
  void add_step(const RoutingView& trace, int64_t iteration, int64_t layer, int64_t ep) {
    Loads loads(static_cast<std::size_t>(trace.experts));
    for (int64_t source = 0; source < trace.sources; ++source) {
      const auto row = trace.row(iteration, layer, source);
      for (std::size_t e = 0; e < row.size(); ++e) {
        loads[e] += row[e];
      }
    }
    const int64_t total = sum_of(loads);
    count_cold_cells(trace, iteration, layer, total);
    expert_imbalance_.add(imbalance_ratio(loads));
    rank_imbalance_.add(imbalance_ratio(rank_loads(loads, ep)));
    if (iteration > 0) {
      drift_.add(load_drift(last_, loads));
    }
    empty_steps_ += total == 0 ? 1 : 0;
    summed_.resize(loads.size());
    std::transform(loads.begin(), loads.end(), summed_.begin(), summed_.begin(), std::plus<>());
    last_ = std::move(loads);
  }

  LayerStats stats() const {
    const auto cells = static_cast<double>(cells_);
    return {.expert_imbalance = expert_imbalance_.spread(),
            .rank_imbalance = rank_imbalance_.spread(),
            .drift = drift_.spread(),
            .zero_share = static_cast<double>(zero_cells_) / cells,
            .cold_share = static_cast<double>(cold_cells_) / cells};
  }
  const Loads& summed() const { return summed_; }
  int64_t empty_steps() const { return empty_steps_; }

 private:
  void count_cold_cells(const RoutingView& trace, int64_t iteration, int64_t layer, int64_t total) {
    const double tenth =
        static_cast<double>(total) / static_cast<double>(trace.sources * trace.experts) / 10.0;
    for (int64_t source = 0; source < trace.sources; ++source) {
      for (const uint32_t count : trace.row(iteration, layer, source)) {
        zero_cells_ += count == 0 ? 1 : 0;
        cold_cells_ += count == 0 || static_cast<double>(count) < tenth ? 1 : 0;
      }
    }
    cells_ += trace.sources * trace.experts;
  }

  Collector expert_imbalance_;
  Collector rank_imbalance_;
  Collector drift_;
  int64_t cells_ = 0;
  int64_t zero_cells_ = 0;
  int64_t cold_cells_ = 0;
  int64_t empty_steps_ = 0;
  Loads last_;
  Loads summed_;  // over the iterations
};

void add_layer(Spread& overall, const Spread& layer, double layers) {
  overall.mean += layer.mean / layers;
  overall.max = std::max(overall.max, layer.max);
}

LayerStats overall_of(const std::vector<LayerStats>& layers) {
  LayerStats overall;
  const auto n = static_cast<double>(layers.size());
  for (const LayerStats& layer : layers) {
    add_layer(overall.expert_imbalance, layer.expert_imbalance, n);
    add_layer(overall.rank_imbalance, layer.rank_imbalance, n);
    add_layer(overall.drift, layer.drift, n);
    overall.zero_share += layer.zero_share / n;
    overall.cold_share += layer.cold_share / n;
  }
  return overall;
}

// Keeps the `wanted` hottest of `found`.
void keep_hottest(std::vector<HotExpert>& found, std::size_t wanted) {
  std::sort(found.begin(), found.end(), [](const HotExpert& a, const HotExpert& b) {
    return std::tuple(-a.load_ratio, a.layer, a.expert) <
           std::tuple(-b.load_ratio, b.layer, b.expert);
  });
  found.resize(std::min(found.size(), wanted));
}

}  // namespace

double imbalance_ratio(std::span<const int64_t> loads) {
  CHECK(!loads.empty(), "no loads");
  const int64_t total = sum_of(loads);
  if (total == 0) {
    return 1.0;
  }
  const int64_t largest = *std::max_element(loads.begin(), loads.end());
  return static_cast<double>(largest) * static_cast<double>(loads.size()) /
         static_cast<double>(total);
}

double load_drift(std::span<const int64_t> a, std::span<const int64_t> b) {
  CHECK(a.size() == b.size(), "loads of different experts");
  const auto sum_a = static_cast<double>(sum_of(a));
  const auto sum_b = static_cast<double>(sum_of(b));
  if (sum_a == 0 || sum_b == 0) {
    return 0;
  }
  double distance = 0;
  for (std::size_t e = 0; e < a.size(); ++e) {
    distance += std::abs(static_cast<double>(a[e]) / sum_a - static_cast<double>(b[e]) / sum_b);
  }
  return distance / 2;
}

TraceStats trace_stats(const RoutingView& trace, int64_t ep, std::size_t hottest) {
  CHECK(ep >= 1 && trace.experts % ep == 0, "the EP degree must divide the experts");
  std::vector<LayerCollector> collectors(static_cast<std::size_t>(trace.layers));
  for (int64_t iteration = 0; iteration < trace.iterations; ++iteration) {
    for (int64_t layer = 0; layer < trace.layers; ++layer) {
      collectors[static_cast<std::size_t>(layer)].add_step(trace, iteration, layer, ep);
    }
  }
  TraceStats stats;
  for (int64_t layer = 0; layer < trace.layers; ++layer) {
    const LayerCollector& collector = collectors[static_cast<std::size_t>(layer)];
    stats.layers.push_back(collector.stats());
    stats.empty_steps += collector.empty_steps();
    const int64_t total = sum_of(collector.summed());
    stats.assignments += total;
    for (int64_t expert = 0; expert < trace.experts && total > 0; ++expert) {
      const auto load = static_cast<double>(collector.summed()[static_cast<std::size_t>(expert)]);
      stats.hottest.push_back(HotExpert{
          layer, expert, load * static_cast<double>(trace.experts) / static_cast<double>(total)});
    }
    keep_hottest(stats.hottest, hottest);
  }
  stats.overall = overall_of(stats.layers);
  return stats;
}

}  // namespace mixnet::scenario
