#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/index.h"
#include "core/result.h"

namespace mixnet::ep {

// Which ranks share a host. A host is what shares fast memory (NVLink, or POSIX shared memory on
// one machine); on one machine it is whatever the caller says. Hosts are contiguous runs of ranks,
// of any sizes.
class RankMap {
 public:
  // `host_sizes`: ranks of every host, each >= 1.
  explicit RankMap(const std::vector<int>& host_sizes);
  // `ranks` spread over `hosts` as evenly as can be, the first hosts have one more.
  // 1 <= hosts <= ranks.
  static RankMap even(int ranks, int hosts);
  // host_of[r] for every rank: 0, 0, 1, 1, 1, ... An error when it is not ascending without gaps.
  static Result<RankMap> from_hosts(const std::vector<int>& host_of);

  int ranks() const { return static_cast<int>(host_of_.size()); }
  int hosts() const { return static_cast<int>(first_.size()) - 1; }
  int host_of(int rank) const { return host_of_[at(rank)]; }
  int first_of(int host) const { return first_[at(host)]; }
  int size_of(int host) const { return first_[at(host) + 1] - first_[at(host)]; }
  int index_in_host(int rank) const { return rank - first_of(host_of(rank)); }
  bool same_host(int a, int b) const { return host_of(a) == host_of(b); }
  // Where a copy from `rank` enters `host`: at the rank of the same index, or at the last one of a
  // host that has fewer.
  int relay_of(int rank, int host) const;

  bool operator==(const RankMap&) const = default;

 private:
  std::vector<int> host_of_;
  std::vector<int> first_;  // hosts + 1 entries
};

}  // namespace mixnet::ep
