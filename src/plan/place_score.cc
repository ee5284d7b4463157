#include <algorithm>
#include <numeric>
#include <utility>

#include "plan/place.h"
#include "plan/place_bound.h"
#include "plan/place_model.h"

namespace mixnet::plan {
namespace {

Matrix<int> held(const PlaceCluster& cluster, const std::vector<int>& phy2log) {
  const int experts = *std::max_element(phy2log.begin(), phy2log.end()) + 1;
  const std::vector<std::size_t> start = cluster.slot_starts();
  Matrix<int> on(cluster.gpus(), static_cast<std::size_t>(experts), 0);
  for (std::size_t g = 0; g < cluster.gpus(); ++g) {
    for (std::size_t p = start[g]; p < start[g + 1]; ++p) {
      ++on(g, static_cast<std::size_t>(phy2log[p]));
    }
  }
  return on;
}

// Experts of the slots [from, to), ascending, each with its number of slots.
std::vector<std::pair<int, int>> counted(const std::vector<int>& phy2log, std::size_t from,
                                         std::size_t to) {
  std::vector<int> own(phy2log.begin() + static_cast<std::ptrdiff_t>(from),
                       phy2log.begin() + static_cast<std::ptrdiff_t>(to));
  std::sort(own.begin(), own.end());
  std::vector<std::pair<int, int>> counts;
  for (const int e : own) {
    if (counts.empty() || counts.back().first != e) {
      counts.push_back({e, 0});
    }
    ++counts.back().second;
  }
  return counts;
}

double worst_ratio(const std::vector<double>& amounts, const std::vector<double>& fair) {
  double worst = 0;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    worst = std::max(worst, fair[i] > 0 ? amounts[i] / fair[i] : 0.0);
  }
  return worst;
}

}  // namespace

PlacementScore score_placement(const PlaceCluster& cluster, const PlaceProblem& problem,
                               const std::vector<int>& phy2log) {
  const std::vector<std::size_t> start = cluster.slot_starts();
  const TokenOrigins origins(cluster, problem);
  const std::vector<int> repeats = repeats_of(cluster, problem.loads.size());
  PlacementScore score;
  score.gpu_load.assign(cluster.gpus(), 0);
  score.nic_sent.assign(cluster.nics(), 0);
  score.nic_received.assign(cluster.nics(), 0);
  std::vector<int> copies(problem.loads.size(), 0);
  for (const int e : phy2log) {
    ++copies[static_cast<std::size_t>(e)];
  }
  Matrix<double> on_host(cluster.hosts(), problem.loads.size());  // part of an expert's slots
  double total = 0;
  for (std::size_t g = 0; g < cluster.gpus(); ++g) {
    const auto host = static_cast<std::size_t>(cluster.gpu_host[g]);
    for (const auto& [expert, on] : counted(phy2log, start[g], start[g + 1])) {
      const auto e = static_cast<std::size_t>(expert);
      const auto load = static_cast<double>(problem.loads[e]);
      const double part = static_cast<double>(on) / copies[e];
      score.duplicates += std::max(0, on - repeats[g] - 1);
      score.gpu_load[g] += load * part;
      score.nic_received[static_cast<std::size_t>(cluster.gpu_nic[g])] +=
          (load - origins.from_host(host, e)) * part;
      on_host(host, e) += part;
    }
    total += score.gpu_load[g];
  }
  for (std::size_t m = 0; m < cluster.nics(); ++m) {
    for (std::size_t e = 0; e < copies.size(); ++e) {
      score.nic_sent[m] +=
          origins.from_nic(m, e) * (1 - on_host(static_cast<std::size_t>(cluster.nic_host[m]), e));
    }
  }
  const double mean = total / static_cast<double>(working_gpus(cluster));
  if (mean > 0) {
    score.gpu = *std::max_element(score.gpu_load.begin(), score.gpu_load.end()) / mean;
  }
  std::vector<int> order(problem.loads.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<double> fair = fair_nic_tokens(cluster, host_tokens(origins, order));
  score.nic_send = worst_ratio(score.nic_sent, fair);
  score.nic_receive = worst_ratio(score.nic_received, fair);
  return score;
}

double any_placement_bound(const PlaceCluster& cluster, const std::vector<int64_t>& loads) {
  BoundInput input;
  input.loads.assign(loads.begin(), loads.end());
  std::sort(input.loads.rbegin(), input.loads.rend());
  input.slots = cluster.slots();
  input.gpus = working_gpus(cluster);
  input.duplicates = true;
  const double total = std::accumulate(input.loads.begin(), input.loads.end(), 0.0);
  return total > 0 ? gpu_load_bound(input) * static_cast<double>(input.gpus) / total : 1;
}

int moved_experts(const PlaceCluster& cluster, const std::vector<int>& from,
                  const std::vector<int>& to) {
  const Matrix<int> before = held(cluster, from);
  const Matrix<int> after = held(cluster, to);
  int moved = 0;
  for (std::size_t g = 0; g < cluster.gpus(); ++g) {
    for (std::size_t e = 0; e < after.cols(); ++e) {
      const int had = e < before.cols() ? before(g, e) : 0;
      moved += std::max(0, after(g, e) - had);
    }
  }
  return moved;
}

}  // namespace mixnet::plan
