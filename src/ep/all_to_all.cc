#include "ep/all_to_all.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace mixnet::ep {
namespace {

constexpr uint32_t kParcels = 0;  // the subject of its signals
constexpr uint64_t kParcelAlignment = 64;

uint64_t parcel_room(uint64_t bytes) {
  return (bytes + kParcelAlignment - 1) / kParcelAlignment * kParcelAlignment;
}

class AllToAllCall {
 public:
  AllToAllCall(ExchangeState& state, const std::vector<Parcel>& parcels)
      : state_(state),
        parcels_(parcels),
        ranks_(state.endpoint.transport.ranks()),
        self_(state.endpoint.self()) {}

  Result<Received> run();

 private:
  Attempt::Progress once(Attempt& attempt);
  void read_sizes(const Attempt& attempt);
  std::vector<RoomNeed> needs() const;
  uint64_t place_of(int source, int rank) const;
  void send(Attempt& attempt, int rank, uint64_t to, uint64_t stage);
  void send_by_nic(Attempt& attempt, int rank, uint64_t to, uint64_t stage);
  bool by_nic(int rank) const { return !ranks_.same_host(rank, self_); }

  ExchangeState& state_;
  const std::vector<Parcel>& parcels_;
  const RankMap& ranks_;
  int self_;
  Matrix<uint64_t> bytes_;  // [source, rank]
  uint64_t block_ = 0;
  std::string refusal_;
};

Result<Received> AllToAllCall::run() {
  const Status status =
      run_call(state_.endpoint, state_.patience, [&](Attempt& attempt) { return once(attempt); });
  if (!status) {
    return status.error();
  }
  if (!refusal_.empty()) {
    return Error{refusal_, {}};
  }
  Received received;
  received.block = WindowBlock(state_.endpoint.memory, block_);
  const Address window = state_.endpoint.transport.window().base;
  for (int source = 0; source < ranks_.ranks(); ++source) {
    received.parcels.push_back(
        Parcel{window + block_ + place_of(source, self_), bytes_(at(source), at(self_))});
  }
  return received;
}

Attempt::Progress AllToAllCall::once(Attempt& attempt) {
  using Progress = Attempt::Progress;
  Places places(attempt, state_.all_to_all_sizes, 0);
  Declaration own;
  own.kind = CallKind::kAllToAll;
  places.offer(own.numbers);
  for (const Parcel& parcel : parcels_) {
    own.numbers.push_back(static_cast<int64_t>(parcel.bytes));
  }
  if (attempt.announce(own) == Progress::kBroken) {
    return Progress::kBroken;
  }
  refusal_ = contradiction(own, attempt.declarations(), attempt.lost()).value_or("");
  if (!refusal_.empty()) {
    return Progress::kDone;
  }
  read_sizes(attempt);
  const std::vector<RoomNeed> rooms = needs();
  refusal_ = places.lacking_room("all-to-all", rooms);
  if (!refusal_.empty()) {
    return Progress::kDone;
  }
  if (places.agree(rooms) == Progress::kBroken) {
    return Progress::kBroken;
  }
  uint64_t stage = 0;
  if (const uint64_t staged = rooms[at(self_)].stage; staged > 0) {
    const std::optional<uint64_t> block = attempt.lend(staged);
    CHECK(block.has_value(), "that there is room to stage parcels was made sure of");
    stage = *block;
  }
  for (int step = 0; step < ranks_.ranks(); ++step) {
    const int rank = (self_ + step) % ranks_.ranks();
    if (attempt.takes_part(rank)) {
      send(attempt, rank, places.receive_at()[at(rank)] + place_of(self_, rank), stage);
      stage += by_nic(rank) ? parcel_room(parcels_[at(rank)].bytes) : 0;
    }
  }
  const auto missing = [&](int rank) {
    const int parts = by_nic(rank) ? attempt.transport().rails() : 1;
    return rank != self_ && attempt.takes_part(rank) && attempt.signals(rank, kParcels) < parts;
  };
  block_ = places.receive_at()[at(self_)];
  attempt.keep(block_);
  return attempt.wait(
      [&] {
        for (int rank = 0; rank < ranks_.ranks(); ++rank) {
          if (missing(rank)) {
            return false;
          }
        }
        return attempt.transport().drained();
      },
      missing);
}

void AllToAllCall::read_sizes(const Attempt& attempt) {
  bytes_ = Matrix<uint64_t>(at(ranks_.ranks()), at(ranks_.ranks()));
  for (int source = 0; source < ranks_.ranks(); ++source) {
    for (int rank = 0; rank < ranks_.ranks() && attempt.takes_part(source); ++rank) {
      const auto& numbers = attempt.declarations()[at(source)].numbers;
      bytes_(at(source), at(rank)) = static_cast<uint64_t>(numbers[Places::kNumbers + at(rank)]);
    }
  }
}

std::vector<RoomNeed> AllToAllCall::needs() const {
  std::vector<RoomNeed> rooms;
  for (int rank = 0; rank < ranks_.ranks(); ++rank) {
    RoomNeed room;
    room.receive = place_of(ranks_.ranks(), rank);
    for (int to = 0; to < ranks_.ranks(); ++to) {
      room.stage += ranks_.same_host(rank, to) ? 0 : parcel_room(bytes_(at(rank), at(to)));
    }
    rooms.push_back(room);
  }
  return rooms;
}

uint64_t AllToAllCall::place_of(int source, int rank) const {
  uint64_t place = 0;
  for (int before = 0; before < source; ++before) {
    place += parcel_room(bytes_(at(before), at(rank)));
  }
  return place;
}

void AllToAllCall::send(Attempt& attempt, int rank, uint64_t to, uint64_t stage) {
  if (by_nic(rank)) {
    send_by_nic(attempt, rank, to, stage);
    return;
  }
  const Parcel& parcel = parcels_[at(rank)];
  state_.copies.copy(attempt.transport().mapped(rank) + to, parcel.data, parcel.bytes);
  if (rank != self_) {
    attempt.signal(rank, kInsideHost, kParcels);
  }
}

// Through the window, since NICs read registered memory; a parcel that is there is sent from where
// it is.
void AllToAllCall::send_by_nic(Attempt& attempt, int rank, uint64_t to, uint64_t stage) {
  const Parcel& parcel = parcels_[at(rank)];
  const Window window = attempt.transport().window();
  ConstAddress from = parcel.data;
  const bool inside =
      from.data >= window.base.data && from.data + parcel.bytes <= window.base.data + window.bytes;
  if (!inside) {
    state_.copies.copy(window.base + stage, parcel.data, parcel.bytes);
    from = window.base + stage;
  }
  const int rails = attempt.transport().rails();
  for (int rail = 0; rail < rails; ++rail) {
    const RowRange part = part_of(static_cast<int64_t>(parcel.bytes), rail, rails);
    const auto first = static_cast<uint64_t>(part.first);
    if (part.rows > 0) {
      attempt.transport().write(
          RemoteWrite{rank, rail, from + first, static_cast<uint64_t>(part.rows), to + first});
    }
    attempt.signal(rank, rail, kParcels);
    state_.traffic.nic_bytes[at(rail)] += part.rows;
  }
}

}  // namespace

Result<Received> all_to_all(ExchangeState& state, const std::vector<Parcel>& parcels) {
  CHECK(static_cast<int>(parcels.size()) == state.endpoint.ranks(), "a parcel for every rank");
  return AllToAllCall(state, parcels).run();
}

}  // namespace mixnet::ep
