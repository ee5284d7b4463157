#include "plan/place_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
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

TokenOrigins token_origins(const PlaceCluster& cluster, const PlaceProblem& problem) {
  const std::size_t n = problem.loads.size();
  TokenOrigins origins{Matrix<double>(cluster.hosts(), n), Matrix<double>(cluster.nics(), n)};
  if (problem.sources.empty()) {
    std::vector<double> host_part(cluster.hosts(), 0);
    std::vector<double> nic_part(cluster.nics(), 0);
    for (std::size_t g = 0; g < cluster.gpus(); ++g) {
      host_part[static_cast<std::size_t>(cluster.gpu_host[g])] += 1;
      nic_part[static_cast<std::size_t>(cluster.gpu_nic[g])] += 1;
    }
    const auto fill = [&](Matrix<double>& amounts, const std::vector<double>& gpus) {
      for (std::size_t i = 0; i < gpus.size(); ++i) {
        const double part = gpus[i] / static_cast<double>(cluster.gpus());
        for (std::size_t e = 0; e < n; ++e) {
          amounts(i, e) = static_cast<double>(problem.loads[e]) * part;
        }
      }
    };
    fill(origins.host, host_part);
    fill(origins.nic, nic_part);
    return origins;
  }
  for (std::size_t g = 0; g < cluster.gpus(); ++g) {
    for (std::size_t e = 0; e < n; ++e) {
      origins.host(static_cast<std::size_t>(cluster.gpu_host[g]), e) += problem.sources(g, e);
      origins.nic(static_cast<std::size_t>(cluster.gpu_nic[g]), e) += problem.sources(g, e);
    }
  }
  return origins;
}

std::vector<double> fair_nic_tokens(const PlaceCluster& cluster, const TokenOrigins& origins) {
  std::vector<double> fair(cluster.nics(), 0);
  if (cluster.hosts() < 2) {
    return fair;
  }
  std::vector<double> here(cluster.hosts(), 0);  // part of the working GPUs
  for (std::size_t g = 0; g < cluster.gpus(); ++g) {
    here[static_cast<std::size_t>(cluster.gpu_host[g])] += cluster.gpu_slots[g] > 0 ? 1 : 0;
  }
  double crossing = 0;
  for (std::size_t h = 0; h < cluster.hosts(); ++h) {
    const auto row = origins.host.row(h);
    const double away = 1 - here[h] / static_cast<double>(working_gpus(cluster));
    crossing += std::accumulate(row.begin(), row.end(), 0.0) * away;
  }
  const double rates = std::accumulate(cluster.nic_rate.begin(), cluster.nic_rate.end(), 0.0);
  for (std::size_t m = 0; m < fair.size(); ++m) {
    fair[m] = crossing * cluster.nic_rate[m] / rates;
  }
  return fair;
}

namespace {

// Sums over experts in the new order are equal however experts were numbered.
TokenOrigins renumbered(const TokenOrigins& origins, const std::vector<int>& original) {
  TokenOrigins result = origins;
  for (std::size_t e = 0; e < original.size(); ++e) {
    const auto old = static_cast<std::size_t>(original[e]);
    for (std::size_t h = 0; h < origins.host.rows(); ++h) {
      result.host(h, e) = origins.host(h, old);
    }
    for (std::size_t m = 0; m < origins.nic.rows(); ++m) {
      result.nic(m, e) = origins.nic(m, old);
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
  const TokenOrigins origins = renumbered(token_origins(cluster, problem), scaled.original);
  m.nic_factor = fair_nic_tokens(cluster, origins);
  for (double& factor : m.nic_factor) {
    factor = factor > 0 ? nic_weight * scaled.unit / factor : 0;
  }
  if (!m.networked()) {
    m.nic_factor.assign(cluster.nics(), 0);
    return scaled;
  }
  m.from_host = origins.host;
  m.from_nic = origins.nic;
  for (Matrix<double>* amounts : {&m.from_host, &m.from_nic}) {
    for (double& amount : amounts->cells()) {
      amount /= scaled.unit;
    }
  }
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
