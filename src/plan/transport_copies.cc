#include "plan/transport_copies.h"

#include <algorithm>

#include "core/check.h"

namespace mixnet::plan {
namespace {

void check_spread(const ExpertSpread& spread) {
  CHECK(spread.ranks > 0 && spread.gpus_per_host > 0 && spread.nics_per_host > 0,
        "a spread needs ranks, GPUs and NICs");
  CHECK(spread.top_k >= 0 && spread.top_k <= spread.experts, "top_k beyond the experts");
  CHECK(spread.gpus_per_host % spread.nics_per_host == 0 ||
            spread.nics_per_host % spread.gpus_per_host == 0,
        "NICs and GPUs of a host must divide each other");
}

bool is_relayed(Transport transport) {
  return transport == Transport::kRelay || transport == Transport::kRelayCopies;
}

// Experts by where they are, as seen by one source rank.
struct SeenExperts {
  double own = 0;        // on the source's GPU
  double host = 0;       // in its host, its GPU included
  double rail = 0;       // on GPUs of its rail, anywhere
  double host_rail = 0;  // of these, in its host
  double relay = 0;      // on the GPUs that relay for it in other hosts
};

// What is seen from any source is a difference of sums over hosts and rails, made once.
class ExpertSums {
 public:
  explicit ExpertSums(const ExpertSpread& s)
      : s_(s),
        host_(static_cast<std::size_t>(s.hosts()), 0),
        rail_(static_cast<std::size_t>(s.rails()), 0),
        host_rail_(host_.size() * rail_.size(), 0),
        relay_(static_cast<std::size_t>(s.gpus_per_host), 0) {
    for (int rank = 0; rank < s.ranks; ++rank) {
      const double held = s.experts_of(rank);
      host_[host(rank)] += held;
      rail_[rail(rank)] += held;
      host_rail_[host(rank) * rail_.size() + rail(rank)] += held;
    }
    for (int index = 0; index < std::min(s.gpus_per_host, s.ranks); ++index) {
      for (int host = 0; host < s.hosts(); ++host) {
        relay_[static_cast<std::size_t>(index)] += s.experts_of(s.relay_of(index, host));
      }
    }
  }

  SeenExperts seen_by(int source) const {
    SeenExperts seen;
    seen.own = s_.experts_of(source);
    seen.host = host_[host(source)];
    seen.rail = rail_[rail(source)];
    seen.host_rail = host_rail_[host(source) * rail_.size() + rail(source)];
    // In its own host the GPU of the source's index is the source.
    seen.relay = relay_[static_cast<std::size_t>(s_.index_of(source))] - seen.own;
    return seen;
  }

 private:
  std::size_t host(int rank) const { return static_cast<std::size_t>(s_.host_of(rank)); }
  std::size_t rail(int rank) const { return static_cast<std::size_t>(s_.rail_of(rank)); }

  const ExpertSpread& s_;
  std::vector<double> host_;       // [h]: experts in a host
  std::vector<double> rail_;       // [rails]: on GPUs of a rail
  std::vector<double> host_rail_;  // [h * rails]
  std::vector<double> relay_;      // [g]: on what relays for a GPU index, over all hosts
};

// Network copies of mode 2: over remote hosts and groups, the chance that the host is needed.
double relayed_copies(const ExpertSpread& s, int groups) {
  double copies = 0;
  for (int host = 0; host < s.hosts(); ++host) {
    const int first = host * s.gpus_per_host;
    const int last = std::min(s.ranks, first + s.gpus_per_host);
    const double away = static_cast<double>(s.ranks - (last - first)) / s.ranks;
    for (int group = 0; group < groups; ++group) {
      int held = 0;
      for (int rank = first; rank < last; ++rank) {
        held += s.experts_of(rank, group, groups);
      }
      copies += away * hit_probability(s.experts, held, s.top_k);
    }
  }
  return copies;
}

double max_over_mean(const std::vector<int64_t>& loads) {
  int64_t sum = 0;
  int64_t most = 0;
  for (const int64_t load : loads) {
    sum += load;
    most = std::max(most, load);
  }
  return sum == 0 ? 1.0
                  : static_cast<double>(most) * static_cast<double>(loads.size()) /
                        static_cast<double>(sum);
}

// Copies of one token, counted into `count`.
class TokenCounter {
 public:
  TokenCounter(const ExpertSpread& spread, CopyCount& count) : s_(spread), count_(count) {}

  void over_network(int from, int to) {
    ++count_.network;
    count_.cross_rail += s_.rail_of(from) == s_.rail_of(to) ? 0 : 1;
    ++count_.nic_send[nic(from)];
    ++count_.nic_receive[nic(to)];
  }
  void over_nvlink() { ++count_.nvlink; }

  void copy(Transport transport, int from, int to) {
    ++count_.gpu_load[static_cast<std::size_t>(to)];
    if (from == to) {
      return;
    }
    const bool remote = s_.host_of(from) != s_.host_of(to);
    if (!remote) {
      if (transport == Transport::kDirect) {
        over_network(from, to);
      } else {
        over_nvlink();
      }
      return;
    }
    if (!is_relayed(transport)) {
      over_network(from, to);
      return;
    }
    const int relay = s_.relay_of(from, s_.host_of(to));
    if (transport == Transport::kRelayCopies) {
      over_network(from, relay);
    }
    if (relay != to) {
      over_nvlink();
    }
  }

 private:
  std::size_t nic(int rank) const {
    return static_cast<std::size_t>(s_.host_of(rank)) * static_cast<std::size_t>(s_.rails()) +
           static_cast<std::size_t>(s_.rail_of(rank));
  }

  const ExpertSpread& s_;
  CopyCount& count_;
};

}  // namespace

ExpertSpread expert_spread(const Deployment& d) {
  return {d.model.experts, d.model.top_k, d.ep, d.gpus_per_host, d.nics_per_host};
}

double hit_probability(int experts, int held, int k) {
  double missed = 1;
  for (int i = 0; i < std::min(k, experts); ++i) {
    missed *=
        std::max(0.0, static_cast<double>(experts - held - i)) / static_cast<double>(experts - i);
  }
  return 1 - missed;
}

CopiesPerToken copies_per_token(const ExpertSpread& s, Transport transport, int groups) {
  check_spread(s);
  CHECK(groups >= 1, "at least one group");
  CopiesPerToken mean;
  if (s.experts == 0) {
    return mean;
  }
  const ExpertSums sums(s);
  for (int source = 0; source < s.ranks; ++source) {
    const SeenExperts seen = sums.seen_by(source);
    // A token has k / E copies for every expert, wherever it is.
    const double per_expert = static_cast<double>(s.top_k) / s.experts / s.ranks;
    const double all = s.experts;
    const double local = seen.host - seen.own;
    if (transport == Transport::kDirect) {
      mean.network += per_expert * (all - seen.own);
      mean.cross_rail += per_expert * (all - seen.rail);
      continue;
    }
    mean.nvlink += per_expert * local;
    if (!is_relayed(transport)) {
      mean.network += per_expert * (all - seen.host);
      mean.cross_rail += per_expert * (all - seen.host - (seen.rail - seen.host_rail));
      continue;
    }
    mean.network += per_expert * (all - seen.host);
    mean.nvlink += per_expert * (all - seen.host - seen.relay);
  }
  if (transport == Transport::kRelay) {
    mean.network = relayed_copies(s, groups);
  }
  return mean;
}

double bytes_per_nic(const ExpertSpread& s, const CopiesPerToken& copies, int64_t tokens,
                     double bytes_per_copy) {
  const double nics_per_gpu =
      s.nics_per_host > s.gpus_per_host
          ? static_cast<double>(s.nics_per_host) / static_cast<double>(s.gpus_per_host)
          : 1.0;
  return static_cast<double>(tokens) * s.gpus_per_nic() * copies.network * bytes_per_copy /
         nics_per_gpu;
}

std::vector<int> contiguous_ranks(const ExpertSpread& s) {
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(s.experts));
  for (int rank = 0; rank < s.ranks; ++rank) {
    ranks.insert(ranks.end(), static_cast<std::size_t>(s.experts_of(rank)), rank);
  }
  return ranks;
}

CopyCount count_copies(const ExpertSpread& s, std::span<const int> rank_of,
                       const RoutedTokens& tokens, Transport transport) {
  check_spread(s);
  CHECK(rank_of.size() == static_cast<std::size_t>(s.experts), "one rank per expert");
  const auto top_k = static_cast<std::size_t>(tokens.top_k);
  CHECK(tokens.experts.size() == tokens.tokens() * top_k, "top_k experts per token");
  CopyCount count;
  const std::size_t nics =
      static_cast<std::size_t>(s.hosts()) * static_cast<std::size_t>(s.rails());
  count.nic_send.resize(nics);
  count.nic_receive.resize(nics);
  count.gpu_load.resize(static_cast<std::size_t>(s.ranks));
  TokenCounter counter(s, count);
  std::vector<int> hosts;
  for (std::size_t token = 0; token < tokens.tokens(); ++token) {
    const int from = tokens.source[token];
    CHECK(from >= 0 && from < s.ranks, "a token on no rank");
    hosts.clear();
    for (std::size_t slot = 0; slot < top_k; ++slot) {
      const int expert = tokens.experts[token * top_k + slot];
      if (expert < 0 || expert >= s.experts) {
        continue;
      }
      const int to = rank_of[static_cast<std::size_t>(expert)];
      CHECK(to >= 0 && to < s.ranks, "an expert on no rank");
      counter.copy(transport, from, to);
      if (s.host_of(to) != s.host_of(from)) {
        hosts.push_back(s.host_of(to));
      }
    }
    if (transport == Transport::kRelay) {
      std::sort(hosts.begin(), hosts.end());
      hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
      for (const int host : hosts) {
        counter.over_network(from, s.relay_of(from, host));
      }
    }
  }
  return count;
}

LoadSkew hot_expert_skew(const ExpertSpread& s, double imbalance) {
  check_spread(s);
  // An imbalance of exactly E / k may be a rounding above it.
  CHECK(imbalance >= 1 && imbalance * s.top_k <= s.experts * (1 + 1e-9),
        "an expert is picked at least as often as the mean and at most once per token");
  if (s.experts < 2) {
    return {};
  }
  // The hot expert is on rank 0; loads in units of the mean expert's.
  const double other = (s.experts - imbalance) / (s.experts - 1);
  const auto ratio = [&](double held) { return (imbalance + (held - 1) * other) / held; };
  double nic = 0;
  double host = 0;
  for (int rank = 0; rank < std::min(s.ranks, s.gpus_per_host); ++rank) {
    host += s.experts_of(rank);
    nic += s.rail_of(rank) == 0 ? s.experts_of(rank) : 0;
  }
  LoadSkew skew;
  skew.gpu = ratio(std::max(1, s.experts_of(0)));
  skew.nic = ratio(std::max(1.0, nic));
  // A token picks the hot expert with chance p; otherwise its k experts, or else the k - 1 others,
  // are uniform over the rest.
  const double p = imbalance * s.top_k / s.experts;
  const auto hit = [&](int held) {
    return p * hit_probability(s.experts - 1, held, s.top_k - 1) +
           (1 - p) * hit_probability(s.experts - 1, held, s.top_k);
  };
  const int held = static_cast<int>(host);
  const double hot = p + (1 - p) * hit_probability(s.experts - 1, held - 1, s.top_k);
  const int hosts = s.hosts();
  const double mean =
      (hot + (hosts - 1) * hit((s.experts - held) / std::max(1, hosts - 1))) / hosts;
  skew.host = hosts > 1 ? hot / mean : 1;
  skew.host_copies = hosts > 1 ? ratio(host) : 1;
  return skew;
}

LoadSkew counted_skew(const ExpertSpread& s, std::span<const int> rank_of,
                      const RoutedTokens& tokens) {
  const CopyCount copies = count_copies(s, rank_of, tokens, Transport::kNvlink);
  const CopyCount relayed = count_copies(s, rank_of, tokens, Transport::kRelay);
  const CopyCount all = count_copies(s, rank_of, tokens, Transport::kRelayCopies);
  return {max_over_mean(copies.gpu_load), max_over_mean(copies.nic_receive),
          max_over_mean(relayed.nic_receive), max_over_mean(all.nic_receive)};
}

}  // namespace mixnet::plan
