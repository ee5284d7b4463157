#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/result.h"
#include "ep/rank_map.h"
#include "ep/rank_set.h"
#include "ep/transport.h"

// Which way the tokens of a rank take to another host. Inside hosts they are gathered at the rank
// that feeds a NIC (the delegation rank) and scattered from the rank where they come in; between
// them they pass one NIC, or two with an optical relay (MixNet, SIGCOMM 2025, sections 5.2, 5.3).
namespace mixnet::ep {

// From one host to another, leaving by NIC `rail` of `from` and coming in at `to`. With the rail
// kInsideHost: between ranks of a relaying host, where one has the NIC of the first circuit and the
// other that of the second.
struct Hop {
  int from = 0;
  int rail = 0;
  int to = 0;
  bool operator==(const Hop&) const = default;
};

// `share` of what a rank sends to a host. The first hop leaves the rank's own host, each further
// one leaves from the rank at which the one before it came in, the last one ends in the host.
struct Carrier {
  std::vector<Hop> hops;
  double share = 1;
  bool operator==(const Carrier&) const = default;
};

// Ways from ranks to hosts. Who is not named goes by the rank of the same index (plain mode 2),
// split over all its NICs.
class RouteTable {
 public:
  // What is wrong with it for these ranks, each with `rails` NICs; ok: it can be used.
  Status check(const RankMap& ranks, int rails) const;

  void set(int source, int host, std::vector<Carrier> carriers);
  bool names(int source, int host) const { return carriers_.count({source, host}) > 0; }
  // A number that differs for different tables as far as a hash can: ranks compare it.
  int64_t fingerprint() const;

  // Without carriers that need a lost rank; shares sum to 1. Falls back to the rank of the same
  // index, or the next one alive. Empty: the host, or the own one, has nobody left.
  std::vector<Carrier> usable(const RankMap& ranks, int rails, const RankSet& lost, int source,
                              int host) const;

  bool operator==(const RouteTable&) const = default;

 private:
  std::map<std::pair<int, int>, std::vector<Carrier>> carriers_;
};

}  // namespace mixnet::ep
