#pragma once

#include <cstdint>
#include <vector>

#include "ep/rank_map.h"
#include "ep/rank_set.h"

namespace mixnet::ep {

// Hosts that have somebody left, and who that is. Hosts are numbered anew, in their order:
// positions on a ring.
class LiveHosts {
 public:
  LiveHosts(const RankMap& ranks, const RankSet& lost);

  int hosts() const { return static_cast<int>(living_.size()); }
  const std::vector<int>& of(int position) const { return living_[at(position)]; }  // ascending
  int position_of(int rank) const { return position_[at(rank)]; }  // of a living rank
  int index_of(int rank) const { return index_[at(rank)]; }        // among the living of its host
  int after(int position) const { return (position + 1) % hosts(); }
  int before(int position) const { return (position + hosts() - 1) % hosts(); }
  // Hosts from `from` on to `to`, along the ring.
  int steps(int from, int to) const { return (to - from + hosts()) % hosts(); }
  int smallest() const;
  // The rank of the host at `position` that serves `rank` there: of the same index among the
  // living, or around again in a host that has fewer. On its own host, the rank itself.
  int gateway_of(int rank, int position) const;

 private:
  std::vector<std::vector<int>> living_;
  std::vector<int> position_;  // [rank]
  std::vector<int> index_;     // [rank] among the living of its host
};

// What passes one host, `bytes[rank]` for every living rank, each at its gateway: where in the
// gateway's block.
struct Passage {
  std::vector<int> gateway;     // [rank]
  std::vector<uint64_t> place;  // [rank]
  std::vector<uint64_t> bytes;  // [rank] of a rank's block as a gateway
};
Passage passage_of(const LiveHosts& hosts, int position, const std::vector<uint64_t>& bytes);

}  // namespace mixnet::ep
