#include "ep/routes.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/random.h"

namespace mixnet::ep {
namespace {

constexpr double kShareTolerance = 1e-6;

Error bad_route(int source, int host, const std::string& what) {
  return Error{"route from rank " + std::to_string(source) + " to host " + std::to_string(host) +
                   ": " + what,
               {}};
}

// From the rank of a relay where rows come in to the one where they go out.
bool is_handover(const std::vector<Hop>& hops, std::size_t i, const RankMap& ranks) {
  return i > 0 && i + 1 < hops.size() && hops[i].from != hops[i].to &&
         ranks.same_host(hops[i].from, hops[i].to) && hops[i - 1].rail != kInsideHost;
}

std::string bad_hops(const Carrier& carrier, const RankMap& ranks, int rails) {
  for (const Hop& hop : carrier.hops) {
    if (hop.from < 0 || hop.from >= ranks.ranks() || hop.to < 0 || hop.to >= ranks.ranks()) {
      return "ranks are 0 to " + std::to_string(ranks.ranks() - 1);
    }
    if (hop.rail == kInsideHost) {
      continue;
    }
    if (hop.rail < 0 || hop.rail >= rails) {
      return "rank " + std::to_string(hop.from) + " has no NIC " + std::to_string(hop.rail);
    }
    if (ranks.same_host(hop.from, hop.to)) {
      return "ranks " + std::to_string(hop.from) + " and " + std::to_string(hop.to) +
             " are on one host, where no NIC is needed";
    }
  }
  for (std::size_t i = 0; i < carrier.hops.size(); ++i) {
    if (i > 0 && carrier.hops[i].from != carrier.hops[i - 1].to) {
      return "a relay sends on from the rank at which it received";
    }
    if (carrier.hops[i].rail == kInsideHost && !is_handover(carrier.hops, i, ranks)) {
      return "only between two ranks of a relay does a hop stay inside its host";
    }
  }
  return {};
}

std::string bad_carrier(const Carrier& carrier, const RankMap& ranks, int rails, int source,
                        int host) {
  if (carrier.hops.empty()) {
    return "a carrier has at least one hop";
  }
  std::string wrong = bad_hops(carrier, ranks, rails);
  if (wrong.empty() && !ranks.same_host(carrier.hops.front().from, source)) {
    wrong = "the first hop leaves from the host of the source";
  }
  if (wrong.empty() && ranks.host_of(carrier.hops.back().to) != host) {
    wrong = "the last hop ends in the host";
  }
  if (wrong.empty() && !(carrier.share >= 0 && carrier.share <= 1)) {
    wrong = "shares are between 0 and 1";
  }
  return wrong;
}

bool needs(const Carrier& carrier, const RankSet& lost) {
  return std::any_of(carrier.hops.begin(), carrier.hops.end(),
                     [&](const Hop& hop) { return lost.has(hop.from) || lost.has(hop.to); });
}

// `rank` or the next one of its host that is alive; -1: none.
int alive(const RankMap& ranks, const RankSet& lost, int rank) {
  const int host = ranks.host_of(rank);
  for (int step = 0; step < ranks.size_of(host); ++step) {
    const int index = (ranks.index_in_host(rank) + step) % ranks.size_of(host);
    if (!lost.has(ranks.first_of(host) + index)) {
      return ranks.first_of(host) + index;
    }
  }
  return -1;
}

}  // namespace

Status RouteTable::check(const RankMap& ranks, int rails) const {
  for (const auto& [pair, carriers] : carriers_) {
    const auto [source, host] = pair;
    if (source < 0 || source >= ranks.ranks() || host < 0 || host >= ranks.hosts() ||
        ranks.host_of(source) == host) {
      return bad_route(source, host, "routes lead from a rank to another host");
    }
    double total = 0;
    for (const Carrier& carrier : carriers) {
      const std::string wrong = bad_carrier(carrier, ranks, rails, source, host);
      if (!wrong.empty()) {
        return bad_route(source, host, wrong);
      }
      total += carrier.share;
    }
    if (std::abs(total - 1) > kShareTolerance) {
      return bad_route(source, host, "the shares sum to " + std::to_string(total) + ", not 1");
    }
  }
  return {};
}

void RouteTable::set(int source, int host, std::vector<Carrier> carriers) {
  carriers_[{source, host}] = std::move(carriers);
}

int64_t RouteTable::fingerprint() const {
  uint64_t hash = carriers_.size();
  const auto mix = [&](uint64_t value) { hash = RandomStream(hash ^ value, "routes").next(); };
  for (const auto& [pair, carriers] : carriers_) {
    mix(static_cast<uint64_t>(pair.first) << 32 | static_cast<uint32_t>(pair.second));
    for (const Carrier& carrier : carriers) {
      mix(std::bit_cast<uint64_t>(carrier.share));
      for (const Hop& hop : carrier.hops) {
        mix(static_cast<uint64_t>(hop.from) << 40 | static_cast<uint64_t>(hop.to) << 8 |
            static_cast<uint8_t>(hop.rail));
      }
    }
  }
  return static_cast<int64_t>(hash);
}

std::vector<Carrier> RouteTable::usable(const RankMap& ranks, int rails, const RankSet& lost,
                                        int source, int host) const {
  std::vector<Carrier> usable;
  double total = 0;
  if (const auto named = carriers_.find({source, host}); named != carriers_.end()) {
    for (const Carrier& carrier : named->second) {
      if (carrier.share > 0 && !needs(carrier, lost)) {
        usable.push_back(carrier);
        total += carrier.share;
      }
    }
  }
  const int from = alive(ranks, lost, source);
  const int to = alive(ranks, lost, ranks.relay_of(source, host));
  if (usable.empty() && from >= 0 && to >= 0) {
    for (int rail = 0; rail < rails; ++rail) {
      usable.push_back(Carrier{{Hop{from, rail, to}}, 1});
    }
    total = rails;
  }
  for (Carrier& carrier : usable) {
    carrier.share /= total;
  }
  return usable;
}

}  // namespace mixnet::ep
