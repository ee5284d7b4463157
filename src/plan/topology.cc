#include "plan/topology.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "core/check.h"

namespace mixnet::plan {
namespace {

using ServerPair = std::pair<int, int>;  // first < second

class Wirer {
 public:
  Wirer(int servers, int degree)
      : servers_(servers), free_(static_cast<std::size_t>(servers), degree) {}

  bool has_port(int server) const { return free_[static_cast<std::size_t>(server)] > 0; }

  void join(int a, int b) {
    free_[static_cast<std::size_t>(a)] -= 1;
    free_[static_cast<std::size_t>(b)] -= 1;
    links_[std::minmax(a, b)] += 1;
  }

  int count(const ServerPair& pair) const {
    const auto it = links_.find(pair);
    return it == links_.end() ? 0 : it->second;
  }

  // i - i + stride for all i; one cycle, as stride and servers are coprime.
  void lay_ring(int stride) {
    const int edges = servers_ == 2 ? 1 : servers_;
    for (int i = 0; i < edges; ++i) {
      join(i, (i + stride) % servers_);
    }
  }

  // Ports that no demand claimed shorten paths: each free server is joined to the one half-way
  // round the list of free servers.
  void join_rest() {
    for (;;) {
      std::vector<int> open;
      for (int s = 0; s < servers_; ++s) {
        if (has_port(s)) {
          open.push_back(s);
        }
      }
      const std::size_t half = open.size() / 2;
      if (half == 0) {
        return;
      }
      for (std::size_t k = 0; k < half; ++k) {
        join(open[k], open[k + half]);
      }
    }
  }

  std::vector<DirectLink> links() const {
    std::vector<DirectLink> list;
    list.reserve(links_.size());
    for (const auto& [pair, count] : links_) {
      list.push_back(DirectLink{pair.first, pair.second, count});
    }
    return list;
  }

 private:
  int servers_;
  std::vector<int> free_;
  std::map<ServerPair, int> links_;
};

// Strides 1, n^(1/r), n^(2/r), ..., each moved up to the next stride that is coprime to n and new
// (a stride and its complement are the same ring). Fewer than r if n has no more.
std::vector<int> ring_strides(int servers, int rings) {
  std::vector<int> strides;
  for (int r = 0; r < rings; ++r) {
    int stride = static_cast<int>(std::lround(std::pow(servers, static_cast<double>(r) / rings)));
    const auto unusable = [&](int s) {
      return std::gcd(s, servers) != 1 ||
             std::find(strides.begin(), strides.end(), s) != strides.end();
    };
    while (2 * stride <= servers && unusable(stride)) {
      ++stride;
    }
    if (2 * stride <= servers) {
      strides.push_back(stride);
    }
  }
  return strides;
}

// A pair that wants one more link; `urgency` is demand / (links + 1).
struct Wish {
  double urgency = 0;
  double demand = 0;
  ServerPair pair;
  bool operator<(const Wish& o) const {
    return std::tie(urgency, demand, o.pair) < std::tie(o.urgency, o.demand, pair);
  }
};

void join_by_demand(const std::vector<PairDemand>& demand, bool cover_first, Wirer& wirer) {
  std::map<ServerPair, double> sum;
  for (const PairDemand& d : demand) {
    if (d.src != d.dst && d.bytes > 0) {
      sum[std::minmax(d.src, d.dst)] += d.bytes;
    }
  }
  std::priority_queue<Wish> queue;
  const auto wish = [&](const ServerPair& pair, double bytes) {
    queue.push(Wish{bytes / (wirer.count(pair) + 1), bytes, pair});
  };
  for (const auto& [pair, bytes] : sum) {
    if (!cover_first) {
      wish(pair, bytes);
    } else if (wirer.count(pair) == 0) {
      queue.push(Wish{bytes, bytes, pair});
    }
  }
  if (cover_first) {
    while (!queue.empty()) {
      const ServerPair pair = queue.top().pair;
      queue.pop();
      if (wirer.has_port(pair.first) && wirer.has_port(pair.second)) {
        wirer.join(pair.first, pair.second);
      }
    }
    for (const auto& [pair, bytes] : sum) {
      wish(pair, bytes);
    }
  }
  while (!queue.empty()) {
    const Wish top = queue.top();
    queue.pop();
    if (wirer.has_port(top.pair.first) && wirer.has_port(top.pair.second)) {
      wirer.join(top.pair.first, top.pair.second);
      wish(top.pair, top.demand);
    }
  }
}

}  // namespace

DirectTopology::DirectTopology(int servers, std::vector<DirectLink> links)
    : links_(std::move(links)), first_(static_cast<std::size_t>(servers) + 1, 0) {
  std::vector<std::vector<Edge>> by_owner(static_cast<std::size_t>(servers));
  for (std::size_t k = 0; k < links_.size(); ++k) {
    const DirectLink& link = links_[k];
    CHECK(0 <= link.i && link.i < link.j && link.j < servers && link.count > 0, "not a link");
    const int forward = static_cast<int>(2 * k);
    by_owner[static_cast<std::size_t>(link.i)].push_back(Edge{link.j, link.count, forward});
    by_owner[static_cast<std::size_t>(link.j)].push_back(Edge{link.i, link.count, forward + 1});
  }
  for (std::size_t s = 0; s < by_owner.size(); ++s) {
    edges_.insert(edges_.end(), by_owner[s].begin(), by_owner[s].end());
    first_[s + 1] = static_cast<int>(edges_.size());
  }
}

std::vector<RouteShare> DirectTopology::route(int src, int dst) const {
  return routes_from(src, std::span<const int>(&dst, 1)).front();
}

std::vector<std::vector<RouteShare>> DirectTopology::routes_from(int src,
                                                                 std::span<const int> dsts) const {
  const auto n = static_cast<std::size_t>(servers());
  const auto at = [](int server) { return static_cast<std::size_t>(server); };
  std::vector<int> distance(n, -1);
  std::vector<double> paths(n, 0.0);  // number of shortest paths from src
  std::vector<int> order{src};        // by distance
  std::vector<bool> wanted(n, false);
  std::size_t missing = 0;
  for (const int dst : dsts) {
    missing += dst != src && !wanted[at(dst)] ? 1 : 0;
    wanted[at(dst)] = true;
  }
  distance[at(src)] = 0;
  paths[at(src)] = 1;
  int farthest = servers();  // of the destinations, once all are reached
  for (std::size_t head = 0; head < order.size() && distance[at(order[head])] < farthest; ++head) {
    const int u = order[head];
    for (int e = first_[at(u)]; e < first_[at(u) + 1]; ++e) {
      const Edge& edge = edges_[at(e)];
      if (distance[at(edge.to)] < 0) {
        distance[at(edge.to)] = distance[at(u)] + 1;
        order.push_back(edge.to);
        missing -= wanted[at(edge.to)] ? 1 : 0;
        farthest = missing == 0 ? std::min(farthest, distance[at(edge.to)]) : farthest;
      }
      if (distance[at(edge.to)] == distance[at(u)] + 1) {
        paths[at(edge.to)] += paths[at(u)] * edge.count;
      }
    }
  }

  std::vector<std::vector<RouteShare>> routes(dsts.size());
  std::vector<double> arriving(n, 0.0);  // part of the traffic that passes a server
  for (std::size_t d = 0; d < dsts.size(); ++d) {
    if (dsts[d] == src || distance[at(dsts[d])] < 0) {
      continue;
    }
    // Backwards from the destination, one level of distance after the other.
    std::vector<int> pending{dsts[d]};
    arriving[at(dsts[d])] = 1;
    for (std::size_t head = 0; head < pending.size(); ++head) {
      const int v = pending[head];
      const double share = std::exchange(arriving[at(v)], 0.0);
      for (int e = first_[at(v)]; e < first_[at(v) + 1]; ++e) {
        const Edge& edge = edges_[at(e)];
        if (distance[at(edge.to)] != distance[at(v)] - 1) {
          continue;
        }
        const double part = share * paths[at(edge.to)] * edge.count / paths[at(v)];
        routes[d].push_back(RouteShare{edge.directed_link ^ 1, part});
        if (edge.to != src) {
          if (arriving[at(edge.to)] == 0) {
            pending.push_back(edge.to);
          }
          arriving[at(edge.to)] += part;
        }
      }
    }
    std::sort(routes[d].begin(), routes[d].end(), [](const RouteShare& a, const RouteShare& b) {
      return a.directed_link < b.directed_link;
    });
  }
  return routes;
}

DirectTopology one_shot_topology(const TopologyProblem& problem) {
  CHECK(problem.servers >= 1 && problem.degree >= 0 && problem.rings >= 0,
        "not a topology problem");
  for (const PairDemand& d : problem.demand) {
    CHECK(0 <= d.src && d.src < problem.servers && 0 <= d.dst && d.dst < problem.servers,
          "demand of a server that does not exist");
  }
  Wirer wirer(problem.servers, problem.degree);
  if (problem.servers >= 2) {
    for (const int stride :
         ring_strides(problem.servers, std::min(problem.rings, problem.degree / 2))) {
      wirer.lay_ring(stride);
    }
    join_by_demand(problem.demand, problem.cover_first, wirer);
    wirer.join_rest();
  }
  return DirectTopology(problem.servers, wirer.links());
}

double busiest_links(const DirectTopology& topology, const std::vector<PairDemand>& demand) {
  std::map<int, std::vector<PairDemand>> by_source;
  int phases = 0;
  for (const PairDemand& d : demand) {
    if (d.src != d.dst && d.bytes > 0) {
      by_source[d.src].push_back(d);
      phases = std::max(phases, d.phase + 1);
    }
  }
  const std::size_t directed = 2 * topology.links().size();
  std::vector<double> load(static_cast<std::size_t>(phases) * directed, 0.0);
  for (const auto& [src, peers] : by_source) {
    std::vector<int> dsts;
    for (const PairDemand& d : peers) {
      dsts.push_back(d.dst);
    }
    const auto routes = topology.routes_from(src, dsts);
    for (std::size_t k = 0; k < peers.size(); ++k) {
      if (routes[k].empty()) {
        return std::numeric_limits<double>::infinity();
      }
      const std::size_t base = static_cast<std::size_t>(peers[k].phase) * directed;
      for (const RouteShare& share : routes[k]) {
        load[base + static_cast<std::size_t>(share.directed_link)] +=
            share.fraction * peers[k].bytes;
      }
    }
  }
  double sum = 0;
  for (std::size_t base = 0; base < load.size(); base += directed) {
    double busiest = 0;
    for (std::size_t link = 0; link < directed; ++link) {
      busiest = std::max(busiest, load[base + link] / topology.links()[link / 2].count);
    }
    sum += busiest;
  }
  return sum;
}

DirectTopology best_one_shot_topology(int servers, int degree,
                                      const std::vector<PairDemand>& demand) {
  constexpr int kMostRings = 3;
  DirectTopology best = one_shot_topology({servers, degree, 1, demand, false});
  double least = busiest_links(best, demand);
  for (int rings = 0; rings <= std::min(kMostRings, degree / 2); ++rings) {
    for (const bool cover_first : {false, true}) {
      DirectTopology candidate = one_shot_topology({servers, degree, rings, demand, cover_first});
      const double busiest = busiest_links(candidate, demand);
      if (busiest < least) {
        least = busiest;
        best = std::move(candidate);
      }
    }
  }
  return best;
}

}  // namespace mixnet::plan
