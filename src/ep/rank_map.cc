#include "ep/rank_map.h"

#include <algorithm>

#include "core/check.h"

namespace mixnet::ep {

RankMap::RankMap(const std::vector<int>& host_sizes) : first_{0} {
  CHECK(!host_sizes.empty(), "a communicator has at least one host");
  for (const int size : host_sizes) {
    CHECK(size >= 1, "every host has at least one rank");
    host_of_.insert(host_of_.end(), at(size), static_cast<int>(first_.size()) - 1);
    first_.push_back(first_.back() + size);
  }
}

RankMap RankMap::even(int ranks, int hosts) {
  CHECK(hosts >= 1 && hosts <= ranks, "1 <= hosts <= ranks");
  std::vector<int> sizes(at(hosts), ranks / hosts);
  for (int host = 0; host < ranks % hosts; ++host) {
    ++sizes[at(host)];
  }
  return RankMap(sizes);
}

Result<RankMap> RankMap::from_hosts(const std::vector<int>& host_of) {
  std::vector<int> sizes;
  for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
    const int host = host_of[rank];
    const int last = static_cast<int>(sizes.size()) - 1;
    if (host == last + 1) {
      sizes.push_back(0);
    } else if (host != last) {
      return Error{"rank " + std::to_string(rank) + " is on host " + std::to_string(host) +
                       ": number the ranks host by host, 0, 0, 1, 1, ...",
                   {}};
    }
    ++sizes.back();
  }
  if (sizes.empty()) {
    return Error{"a communicator needs at least one rank", {}};
  }
  return RankMap(sizes);
}

int RankMap::relay_of(int rank, int host) const {
  return first_of(host) + std::min(index_in_host(rank), size_of(host) - 1);
}

}  // namespace mixnet::ep
