#include "ep/places.h"

#include <algorithm>

#include "core/check.h"

namespace mixnet::ep {

void Places::offer(std::vector<int64_t>& numbers) {
  const auto put = [&](uint64_t number) { numbers.push_back(static_cast<int64_t>(number)); };
  for (const uint64_t size : {sizes_.receive, sizes_.relay}) {
    // Without room for it, an empty block of its own: that is enough for who receives nothing.
    const std::optional<uint64_t> block = attempt_.lend(size);
    put(block ? *block : attempt_.lend(0).value_or(0));
    put(block ? size : 0);
  }
  put(attempt_.endpoint().memory->largest_free());
}

std::string Places::lacking_room(const char* call, const std::vector<RoomNeed>& needs) const {
  for (std::size_t rank = 0; rank < needs.size(); ++rank) {
    const int number = static_cast<int>(rank);
    if (!attempt_.takes_part(number)) {
      continue;
    }
    constexpr uint64_t kRounding = 4 * WindowAllocator::kGrain;
    uint64_t needed = needs[rank].stage + kRounding;
    if (exceeds(number, needs[rank])) {
      needed += needs[rank].receive + needs[rank].relay;
    }
    const uint64_t free = offered(number, kFree);
    if (needed > free) {
      return std::string(call) + ": rank " + std::to_string(rank) + " needs " +
             std::to_string(needed) + " bytes of its window but " + std::to_string(free) +
             " are free: open the communicator with a larger window, or give results back earlier";
    }
  }
  return {};
}

Attempt::Progress Places::agree(const std::vector<RoomNeed>& needs) {
  const int self = attempt_.transport().rank();
  std::vector<bool> open(needs.size(), false);
  receive_at_.assign(needs.size(), 0);
  relay_at_.assign(needs.size(), 0);
  for (std::size_t rank = 0; rank < needs.size(); ++rank) {
    const int number = static_cast<int>(rank);
    if (!attempt_.takes_part(number)) {
      continue;
    }
    receive_at_[rank] = offered(number, kReceiveAt);
    relay_at_[rank] = offered(number, kRelayAt);
    open[rank] = number != self && exceeds(number, needs[rank]);
  }
  if (exceeds(self, needs[at(self)])) {
    replace(needs[at(self)]);
  }
  return attempt_.wait(
      [&] {
        for (std::size_t rank = 0; rank < open.size(); ++rank) {
          if (!open[rank]) {
            continue;
          }
          const auto places = attempt_.told(static_cast<int>(rank));
          if (!places || places->size() != 2) {
            return false;
          }
          receive_at_[rank] = static_cast<uint64_t>((*places)[0]);
          relay_at_[rank] = static_cast<uint64_t>((*places)[1]);
          open[rank] = false;
        }
        return true;
      },
      [&](int rank) { return static_cast<bool>(open[at(rank)]); });
}

uint64_t Places::offered(int rank, Offer what) const {
  return static_cast<uint64_t>(attempt_.declarations()[at(rank)].numbers[first_ + what]);
}

bool Places::exceeds(int rank, const RoomNeed& need) const {
  return need.receive > offered(rank, kReceiveBytes) || need.relay > offered(rank, kRelayBytes);
}

void Places::replace(const RoomNeed& need) {
  const int self = attempt_.transport().rank();
  const std::optional<uint64_t> receive = attempt_.lend(need.receive);
  const std::optional<uint64_t> relay = attempt_.lend(need.relay);
  CHECK(receive && relay, "that there is room was made sure of");
  receive_at_[at(self)] = *receive;
  relay_at_[at(self)] = *relay;
  sizes_ = {std::max(sizes_.receive, need.receive), std::max(sizes_.relay, need.relay)};
  const int64_t places[] = {static_cast<int64_t>(*receive), static_cast<int64_t>(*relay)};
  for (int rank = 0; rank < attempt_.endpoint().ranks(); ++rank) {
    if (rank != self && attempt_.takes_part(rank)) {
      attempt_.tell(rank, places);
    }
  }
}

}  // namespace mixnet::ep
