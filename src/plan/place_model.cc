#include "plan/place_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include "plan/effort.h"

namespace mixnet::plan {
namespace {

__extension__ using Wide = __int128;

constexpr int64_t kGroupWork = 50'000'000;  // pairs of groups that are looked at

// The host of every group: heaviest group first to the lightest host with room, then swaps that
// lower the heavier of two hosts.
std::vector<int> hosts_of_groups(const std::vector<double>& weight, std::size_t hosts) {
  std::vector<std::size_t> order(weight.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&weight](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });
  const std::size_t room = weight.size() / hosts;
  std::vector<double> load(hosts, 0);
  std::vector<std::size_t> filled(hosts, 0);
  std::vector<int> host_of(weight.size(), 0);
  for (const std::size_t g : order) {
    std::size_t best = hosts;
    for (std::size_t h = 0; h < hosts; ++h) {
      if (filled[h] < room && (best == hosts || load[h] < load[best])) {
        best = h;
      }
    }
    host_of[g] = static_cast<int>(best);
    load[best] += weight[g];
    ++filled[best];
  }
  Effort effort{kGroupWork};
  bool again = true;
  while (again && effort.left > 0) {
    again = false;
    for (const std::size_t a : order) {
      if (!effort.spend(static_cast<int64_t>(order.size()))) {
        break;
      }
      for (const std::size_t b : order) {
        const auto ha = static_cast<std::size_t>(host_of[a]);
        const auto hb = static_cast<std::size_t>(host_of[b]);
        const double shift = weight[a] - weight[b];
        const double peak = std::max(load[ha], load[hb]);
        if (ha != hb && shift > 0 &&
            std::max(load[ha] - shift, load[hb] + shift) < peak * (1 - 1e-12)) {
          std::swap(host_of[a], host_of[b]);
          load[ha] -= shift;
          load[hb] += shift;
          again = true;
        }
      }
    }
  }
  return host_of;
}

void set_homes(const PlaceCluster& cluster, const PlaceProblem& problem, ScaledProblem& scaled) {
  PlaceModel& m = scaled.model;
  m.home.assign(m.experts(), -1);
  const std::size_t hosts = cluster.hosts();
  const auto groups = static_cast<std::size_t>(problem.groups);
  if (groups <= 1 || hosts == 1) {
    return;
  }
  const auto skip = [&](const std::string& why) {
    scaled.note = fmt::format("experts of a group are not kept on one host: {}", why);
  };
  if (m.experts() % groups != 0) {
    return skip(fmt::format("{} experts do not divide into {} groups", m.experts(), groups));
  }
  if (groups % hosts != 0) {
    return skip(fmt::format("{} groups cannot be divided over {} hosts", groups, hosts));
  }
  std::vector<std::size_t> slots(hosts, 0);
  for (std::size_t g = 0; g < cluster.gpus(); ++g) {
    slots[static_cast<std::size_t>(cluster.gpu_host[g])] +=
        static_cast<std::size_t>(cluster.gpu_slots[g]);
  }
  if (*std::min_element(slots.begin(), slots.end()) < m.experts() / hosts) {
    return skip("a host has too few slots");
  }
  const std::size_t size = m.experts() / groups;
  std::vector<double> weight(groups, 0);
  for (std::size_t e = 0; e < m.experts(); ++e) {
    weight[static_cast<std::size_t>(scaled.original[e]) / size] += m.load[e];
  }
  const std::vector<int> host_of = hosts_of_groups(weight, hosts);
  for (std::size_t e = 0; e < m.experts(); ++e) {
    m.home[e] = host_of[static_cast<std::size_t>(scaled.original[e]) / size];
  }
}

// With groups, "every expert" of a GPU means those of its host.
void set_counts(const PlaceCluster& cluster, PlaceModel& m) {
  const bool homes = m.home[0] >= 0;
  const std::size_t own = homes ? m.experts() / cluster.hosts() : m.experts();
  m.repeats = repeats_of(cluster, own);
  std::vector<int> most(cluster.hosts(), 0);
  for (std::size_t g = 0; g < cluster.gpus(); ++g) {
    const bool more = cluster.gpu_slots[g] > m.repeats[g] * static_cast<int>(own);
    most[homes ? static_cast<std::size_t>(cluster.gpu_host[g]) : 0] +=
        m.repeats[g] + (more ? 1 : 0);
  }
  m.most_copies.resize(m.experts());
  for (std::size_t e = 0; e < m.experts(); ++e) {
    m.most_copies[e] = most[homes ? static_cast<std::size_t>(m.home[e]) : 0];
  }
}

void set_shape(const PlaceCluster& cluster, PlaceModel& m) {
  m.start = cluster.slot_starts();
  m.host_of.assign(cluster.gpu_host.begin(), cluster.gpu_host.end());
  m.nic_of.assign(cluster.gpu_nic.begin(), cluster.gpu_nic.end());
  m.first_nic.assign(cluster.hosts() + 1, 0);
  for (const int host : cluster.nic_host) {
    ++m.first_nic[static_cast<std::size_t>(host) + 1];
  }
  std::partial_sum(m.first_nic.begin(), m.first_nic.end(), m.first_nic.begin());
  m.gpu_cap = std::numeric_limits<double>::infinity();
}

}  // namespace

std::size_t working_gpus(const PlaceCluster& cluster) {
  return static_cast<std::size_t>(std::count_if(cluster.gpu_slots.begin(), cluster.gpu_slots.end(),
                                                [](int slots) { return slots > 0; }));
}

std::vector<int> repeats_of(const PlaceCluster& cluster, std::size_t experts) {
  std::vector<int> repeats;
  repeats.reserve(cluster.gpus());
  for (const int slots : cluster.gpu_slots) {
    repeats.push_back(slots / static_cast<int>(experts));
  }
  return repeats;
}

TokenOrigins::TokenOrigins(const PlaceCluster& cluster, const PlaceProblem& problem)
    : load_(problem.loads.begin(), problem.loads.end()),
      host_part_(cluster.hosts(), 0),
      nic_part_(cluster.nics(), 0) {
  for (std::size_t g = 0; g < cluster.gpus(); ++g) {
    host_part_[static_cast<std::size_t>(cluster.gpu_host[g])] += 1;
    nic_part_[static_cast<std::size_t>(cluster.gpu_nic[g])] += 1;
  }
  for (std::vector<double>* const parts : {&host_part_, &nic_part_}) {
    for (double& part : *parts) {
      part /= static_cast<double>(cluster.gpus());
    }
  }
  if (problem.sources.empty()) {
    return;
  }
  host_ = Matrix<double>(hosts(), load_.size());
  nic_ = Matrix<double>(nics(), load_.size());
  for (std::size_t g = 0; g < cluster.gpus(); ++g) {
    for (std::size_t e = 0; e < load_.size(); ++e) {
      host_(static_cast<std::size_t>(cluster.gpu_host[g]), e) += problem.sources(g, e);
      nic_(static_cast<std::size_t>(cluster.gpu_nic[g]), e) += problem.sources(g, e);
    }
  }
}

std::vector<double> host_tokens(const TokenOrigins& origins, const std::vector<int>& order) {
  std::vector<double> sums(origins.hosts(), 0);
  for (std::size_t h = 0; h < sums.size(); ++h) {
    for (const int e : order) {
      sums[h] += origins.from_host(h, static_cast<std::size_t>(e));
    }
  }
  return sums;
}

std::vector<double> fair_nic_tokens(const PlaceCluster& cluster,
                                    const std::vector<double>& host_tokens) {
  std::vector<double> fair(cluster.nics(), 0);
  if (cluster.hosts() < 2) {
    return fair;
  }
  std::vector<double> here(cluster.hosts(), 0);  // part of the working GPUs
  for (std::size_t g = 0; g < cluster.gpus(); ++g) {
    here[static_cast<std::size_t>(cluster.gpu_host[g])] += cluster.gpu_slots[g] > 0 ? 1 : 0;
  }
  const auto working = static_cast<double>(working_gpus(cluster));
  double crossing = 0;
  for (std::size_t h = 0; h < cluster.hosts(); ++h) {
    crossing += host_tokens[h] * (1 - here[h] / working);
  }
  const double rates = std::accumulate(cluster.nic_rate.begin(), cluster.nic_rate.end(), 0.0);
  for (std::size_t m = 0; m < fair.size(); ++m) {
    fair[m] = crossing * cluster.nic_rate[m] / rates;
  }
  return fair;
}

namespace {

// [E, places] of `amount`(place, expert), experts in the new order, in units of `unit`: a search
// asks for all places of one expert. In blocks, as one side of a large table would miss the cache
// every time.
template <typename Amount>
Matrix<double> by_expert(std::size_t places, const ScaledProblem& scaled, const Amount& amount) {
  constexpr std::size_t kBlock = 16;
  Matrix<double> result(scaled.original.size(), places);
  for (std::size_t first = 0; first < places; first += kBlock) {
    const std::size_t end = std::min(places, first + kBlock);
    for (std::size_t e = 0; e < scaled.original.size(); ++e) {
      const auto old = static_cast<std::size_t>(scaled.original[e]);
      for (std::size_t place = first; place < end; ++place) {
        result(e, place) = amount(place, old) / scaled.unit;
      }
    }
  }
  return result;
}

}  // namespace

ScaledProblem scale_problem(const PlaceCluster& cluster, const PlaceProblem& problem,
                            double nic_weight) {
  const std::size_t n = problem.loads.size();
  ScaledProblem scaled;
  scaled.original.resize(n);
  std::iota(scaled.original.begin(), scaled.original.end(), 0);
  std::stable_sort(scaled.original.begin(), scaled.original.end(), [&problem](int a, int b) {
    return problem.loads[static_cast<std::size_t>(a)] > problem.loads[static_cast<std::size_t>(b)];
  });
  scaled.renumbered.resize(n);
  Wide total = 0;
  for (std::size_t e = 0; e < n; ++e) {
    scaled.renumbered[static_cast<std::size_t>(scaled.original[e])] = static_cast<int>(e);
    total += problem.loads[e];
  }
  if (total > 0) {
    scaled.unit = static_cast<double>(total) / static_cast<double>(working_gpus(cluster));
  }
  PlaceModel& m = scaled.model;
  const auto original = [&scaled](std::size_t e) {
    return static_cast<std::size_t>(scaled.original[e]);
  };
  m.load.resize(n);
  for (std::size_t e = 0; e < n; ++e) {
    m.load[e] = static_cast<double>(problem.loads[original(e)]) / scaled.unit;
  }
  set_shape(cluster, m);
  set_homes(cluster, problem, scaled);
  set_counts(cluster, m);
  scaled.sources_known = !problem.sources.empty();
  const TokenOrigins origins(cluster, problem);
  m.nic_factor = fair_nic_tokens(cluster, host_tokens(origins, scaled.original));
  for (double& factor : m.nic_factor) {
    factor = factor > 0 ? nic_weight * scaled.unit / factor : 0;
  }
  if (!m.networked()) {
    m.nic_factor.assign(cluster.nics(), 0);
    return scaled;
  }
  m.origins = std::make_shared<const LoadOrigins>(
      LoadOrigins{by_expert(origins.hosts(), scaled,
                            [&](std::size_t h, std::size_t e) { return origins.from_host(h, e); }),
                  by_expert(origins.nics(), scaled,
                            [&](std::size_t k, std::size_t e) { return origins.from_nic(k, e); })});
  return scaled;
}

std::vector<int> original_experts(const ScaledProblem& scaled, const std::vector<int>& experts) {
  std::vector<int> result;
  result.reserve(experts.size());
  for (const int e : experts) {
    result.push_back(scaled.original[static_cast<std::size_t>(e)]);
  }
  return result;
}

std::vector<int> renumbered_experts(const ScaledProblem& scaled, const std::vector<int>& experts) {
  std::vector<int> result;
  result.reserve(experts.size());
  for (const int e : experts) {
    result.push_back(scaled.renumbered[static_cast<std::size_t>(e)]);
  }
  return result;
}

}  // namespace mixnet::plan
