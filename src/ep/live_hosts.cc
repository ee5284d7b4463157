#include "ep/live_hosts.h"

#include <algorithm>

namespace mixnet::ep {

LiveHosts::LiveHosts(const RankMap& ranks, const RankSet& lost)
    : position_(at(ranks.ranks()), -1), index_(at(ranks.ranks()), -1) {
  for (int host = 0; host < ranks.hosts(); ++host) {
    std::vector<int> living;
    for (int rank = ranks.first_of(host); rank < ranks.first_of(host) + ranks.size_of(host);
         ++rank) {
      if (!lost.has(rank)) {
        position_[at(rank)] = hosts();
        index_[at(rank)] = static_cast<int>(living.size());
        living.push_back(rank);
      }
    }
    if (!living.empty()) {
      living_.push_back(std::move(living));
    }
  }
}

int LiveHosts::smallest() const {
  std::size_t smallest = living_.front().size();
  for (const auto& host : living_) {
    smallest = std::min(smallest, host.size());
  }
  return static_cast<int>(smallest);
}

int LiveHosts::gateway_of(int rank, int position) const {
  const std::vector<int>& host = of(position);
  return host[at(index_[at(rank)]) % host.size()];
}

Passage passage_of(const LiveHosts& hosts, int position, const std::vector<uint64_t>& bytes) {
  Passage passage{std::vector<int>(bytes.size(), -1), std::vector<uint64_t>(bytes.size()),
                  std::vector<uint64_t>(bytes.size())};
  for (std::size_t rank = 0; rank < bytes.size(); ++rank) {
    if (hosts.position_of(static_cast<int>(rank)) < 0) {
      continue;
    }
    const int gateway = hosts.gateway_of(static_cast<int>(rank), position);
    passage.gateway[rank] = gateway;
    passage.place[rank] = passage.bytes[at(gateway)];
    passage.bytes[at(gateway)] += bytes[rank];
  }
  return passage;
}

}  // namespace mixnet::ep
