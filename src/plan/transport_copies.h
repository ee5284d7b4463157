#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/deployment.h"
#include "core/routed_tokens.h"
#include "core/transport.h"

// Problem: how many copies of a token does expert-parallel dispatch put on the network, and where?
//
// Definitions. E experts are spread over R ranks (one GPU each), g ranks to a host, h hosts; a
// token on one rank picks k different experts. Combine sends the same number of copies back. A copy
// is a *network* copy if it passes a NIC; it *crosses rails* if the NIC that it leaves through and
// the NIC that it enters through have different indices in their hosts. GPUs are pinned to NICs,
// neighbours sharing one.
//
// With every choice of k experts equally likely, R and h dividing E:
//   mode 0          c0 = k (1 - 1/R)                        per expert outside the GPU
//   mode 1          c1 = k (h - 1) / h                      per expert outside the host
//   per rank        (R - g) [1 - C(E - E/R, k) / C(E, k)]   per remote rank with one of the experts
//   mode 2          c2 = (h - 1) [1 - C(E - E/h, k) / C(E, k)]   per remote host with one of them
//   mode 2, copies  c1
// The functions here also take E, R and g that do not divide each other. Expert groups (per-expert
// overlap) are dispatched one after another, so a host needs a copy for every group that holds one
// of the experts: the de-duplication of mode 2 is lost in part.
//
// Source: "Balancing and Beyond" (SIGCOMM 2026), section 5.1; the formulas are hypergeometric.
namespace mixnet::plan {

struct ExpertSpread {
  int experts = 0;
  int top_k = 0;          // <= experts
  int ranks = 0;          // rank r is GPU r % gpus_per_host of host r / gpus_per_host
  int gpus_per_host = 8;  // the last host may have fewer
  int nics_per_host = 8;  // one of the two is a multiple of the other

  int hosts() const { return (ranks + gpus_per_host - 1) / gpus_per_host; }
  int host_of(int rank) const { return rank / gpus_per_host; }
  int index_of(int rank) const { return rank % gpus_per_host; }
  int gpus_per_nic() const {
    return gpus_per_host > nics_per_host ? gpus_per_host / nics_per_host : 1;
  }
  // The rail of a GPU: the index of its NIC, or of its group of NICs if it has several.
  int rail_of(int rank) const { return index_of(rank) / gpus_per_nic(); }
  // NICs of a host that differ in who uses them.
  int rails() const { return gpus_per_host < nics_per_host ? gpus_per_host : nics_per_host; }
  // Where a copy of mode 2 from `rank` enters `host`: at the GPU of the same index, or at the last
  // one of a host that has fewer.
  int relay_of(int rank, int host) const {
    const int first = host * gpus_per_host;
    const int last = (first + gpus_per_host < ranks ? first + gpus_per_host : ranks) - 1;
    return first + index_of(rank) < last ? first + index_of(rank) : last;
  }
  // Experts of a rank: as even as can be, contiguous, the first ranks have one more.
  int experts_of(int rank) const { return experts / ranks + (rank < experts % ranks ? 1 : 0); }
  // Of `groups` groups of these, the experts of group `group`.
  int experts_of(int rank, int group, int groups) const {
    const int own = experts_of(rank);
    return own / groups + (group < own % groups ? 1 : 0);
  }
};

// The spread of a deployment's experts over its ranks.
ExpertSpread expert_spread(const Deployment& deployment);

// 1 - C(experts - held, k) / C(experts, k): the probability that at least one of k different
// experts is among `held` ones. O(k).
double hit_probability(int experts, int held, int k);

// Expected copies of one token, averaged over the ranks that it may be on. Never negative.
struct CopiesPerToken {
  double network = 0;     // through a NIC
  double cross_rail = 0;  // of these, to another rail
  double nvlink = 0;      // over NVLink: inside the source host and from relays to experts

  double cross_rail_share() const { return network > 0 ? cross_rail / network : 0; }
};

// For experts in `groups` >= 1 groups dispatched apart, summed over the groups. O(R * groups + h *
// groups * k).
CopiesPerToken copies_per_token(const ExpertSpread& spread, Transport transport, int groups = 1);

// Bytes that the GPUs of one NIC send through it in one dispatch of `tokens` tokens per GPU.
double bytes_per_nic(const ExpertSpread& spread, const CopiesPerToken& copies, int64_t tokens,
                     double bytes_per_copy);

// Counted, in copies; a token that picks an expert twice sends two copies in modes without
// de-redundancy.
struct CopyCount {
  int64_t network = 0;
  int64_t cross_rail = 0;
  int64_t nvlink = 0;
  std::vector<int64_t> nic_send;     // [host * rails() + rail]
  std::vector<int64_t> nic_receive;  // [host * rails() + rail]
  std::vector<int64_t> gpu_load;     // [rank]: (token, slot) pairs that its experts compute
};

// rank_of[expert]: the contiguous spread of ExpertSpread::experts_of.
std::vector<int> contiguous_ranks(const ExpertSpread& spread);

// Counts the copies of `tokens`, with every expert on its rank. rank_of: [E], ranks below R. Source
// ranks are below R; an expert outside 0 .. E-1 sends nothing. O(tokens * k * (1 + log k)).
CopyCount count_copies(const ExpertSpread& spread, std::span<const int> rank_of,
                       const RoutedTokens& tokens, Transport transport);

// Skew when one expert receives `imbalance` times the mean of all experts and the others share the
// rest evenly (imbalance in [1, E / k], spread even): the hot GPU's load, the hot NIC's copies and
// the copies into the hot host, each over their means.
LoadSkew hot_expert_skew(const ExpertSpread& spread, double imbalance);

// The same ratios of counted tokens: GPU loads, NIC receives of mode 1, of mode 2 and of
// mode 2 without de-redundancy.
// Ratios without any copy are 1.
LoadSkew counted_skew(const ExpertSpread& spread, std::span<const int> rank_of,
                      const RoutedTokens& tokens);

}  // namespace mixnet::plan
