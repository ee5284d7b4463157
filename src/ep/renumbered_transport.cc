#include "ep/renumbered_transport.h"

#include <utility>

#include "core/check.h"

namespace mixnet::ep {
namespace {

std::vector<int> survivors(const RankMap& ranks, const RankSet& lost) {
  std::vector<int> old;
  for (int rank = 0; rank < ranks.ranks(); ++rank) {
    if (!lost.has(rank)) {
      old.push_back(rank);
    }
  }
  return old;
}

RankMap hosts_of(const RankMap& ranks, const std::vector<int>& old) {
  std::vector<int> sizes;
  int last = -1;
  for (const int rank : old) {
    if (ranks.host_of(rank) != last) {
      last = ranks.host_of(rank);
      sizes.push_back(0);
    }
    ++sizes.back();
  }
  return RankMap(sizes);
}

std::vector<int> new_numbers(const std::vector<int>& old, int ranks) {
  std::vector<int> renamed(at(ranks), -1);
  for (std::size_t number = 0; number < old.size(); ++number) {
    renamed[at(old[number])] = static_cast<int>(number);
  }
  return renamed;
}

}  // namespace

RenumberedTransport::RenumberedTransport(std::shared_ptr<Transport> inner, const RankSet& lost)
    : inner_(std::move(inner)),
      old_(survivors(inner_->ranks(), lost)),
      renamed_(new_numbers(old_, inner_->ranks().ranks())),
      ranks_(hosts_of(inner_->ranks(), old_)),
      rank_(renamed_[at(inner_->rank())]) {
  CHECK(rank_ >= 0, "a lost rank is not among the survivors");
}

void RenumberedTransport::write(const RemoteWrite& write) {
  RemoteWrite renumbered = write;
  renumbered.peer = old_of(write.peer);
  inner_->write(renumbered);
}

Event RenumberedTransport::poll() {
  while (true) {
    Event event = inner_->poll();
    if (event.kind == Event::Kind::kNothing) {
      return event;
    }
    if (number_of(event.peer) >= 0) {
      event.peer = number_of(event.peer);
      return event;
    }
  }
}

}  // namespace mixnet::ep
