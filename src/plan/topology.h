#pragma once

#include <span>
#include <vector>

// One-shot direct-connect topology between servers, and routing on it.
//
// What TopoOpt (NSDI'23) does: every server has d NICs on a patch panel that is wired once per job.
// It alternates between a search over parallelisation strategies and one over topologies. For given
// traffic it divides d between an all-reduce part (rings whose strides are coprime to the number of
// servers and roughly geometric, so that the part has a short diameter, with traffic spread over
// the permuted rings) and a model-parallel part (rounds of maximum-weight matching, the demand of
// matched pairs discounted after each), and routes with coin-change and k-shortest paths; servers
// forward for each other.
//
// What is here: the traffic is given (no strategy search); the number of rings is given, at least
// one for connectivity; the other NICs go, heaviest first, to the pair with the largest
// demand / (links + 1), which stands in for the matchings; NICs that are left join far-apart
// servers; traffic takes shortest paths, split equally. Forwarding costs nothing but link capacity.
// Left out: permuted rings, k-shortest detours, forwarding overhead, the NICs' place in a server.
namespace mixnet::plan {

struct PairDemand {
  int src = 0;
  int dst = 0;
  double bytes = 0;  // >= 0
  int phase = 0;     // demands of different phases are never on the way together; >= 0
};

struct TopologyProblem {
  int servers = 0;
  int degree = 0;  // NICs per server
  int rings = 1;   // duplex rings over all servers, two NICs of each server per ring
  std::vector<PairDemand> demand;  // of the whole job, sparse; repeated pairs add up
  // Every pair with demand gets a link before any pair gets a second, instead of links in
  // proportion to demand.
  bool cover_first = false;
};

// `count` parallel duplex links between servers i < j.
struct DirectLink {
  int i = 0;
  int j = 0;
  int count = 0;
};

// A share of a pair's traffic on one direction of a DirectLink: 2 * k for i -> j of links()[k],
// 2 * k + 1 for j -> i. Its capacity is count * the NIC rate.
struct RouteShare {
  int directed_link = 0;
  double fraction = 0;
};

class DirectTopology {
 public:
  // `links` are sorted by (i, j), without repetition.
  DirectTopology(int servers, std::vector<DirectLink> links);

  int servers() const { return static_cast<int>(first_.size()) - 1; }
  const std::vector<DirectLink>& links() const { return links_; }

  // The pair's traffic over all shortest paths, in equal parts (parallel links count as paths), by
  // directed link in ascending order. The fractions sum to the number of hops. Empty if src = dst
  // or dst cannot be reached.
  std::vector<RouteShare> route(int src, int dst) const;

  // The same for many destinations of one source: one breadth-first search, O(links), and per
  // destination only the links that its paths use.
  std::vector<std::vector<RouteShare>> routes_from(int src, std::span<const int> dsts) const;

 private:
  struct Edge {
    int to = 0;
    int count = 0;
    int directed_link = 0;  // from the edge's owner to `to`
  };

  std::vector<DirectLink> links_;
  std::vector<int> first_;   // edges of server s: [first_[s], first_[s + 1])
  std::vector<Edge> edges_;  // by owner, then by `to`
};

// Degree <= problem.degree at every server. Connected if degree >= 2 * rings >= 2; with fewer NICs
// than the rings need, fewer rings are laid. O((demand + servers * degree) log demand).
DirectTopology one_shot_topology(const TopologyProblem& problem);

// Sum over phases of the largest demand per link when `demand` is routed over `topology`, in
// bytes; +infinity if some pair with demand is not connected. Proportional to the time that
// carrying one phase after the other takes.
double busiest_links(const DirectTopology& topology, const std::vector<PairDemand>& demand);

// The one-shot topology with the least busiest_links() among those with 0 to 3 rings, with and
// without cover_first.
DirectTopology best_one_shot_topology(int servers, int degree,
                                      const std::vector<PairDemand>& demand);

}  // namespace mixnet::plan
