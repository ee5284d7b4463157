#include <algorithm>
#include <numeric>
#include <optional>

#include "ep/chunk_mover.h"
#include "ep/collective_call.h"
#include "ep/collectives.h"
#include "ep/exchange_plan.h"

namespace mixnet::ep {
namespace {

class GatherCall final : public CollectiveCall {
 public:
  // Without a capacity all parts have the same size.
  GatherCall(ExchangeState& state, const GatherInput& in, Address out,
             std::optional<uint64_t> capacity)
      : CollectiveCall(state), in_(in), out_(out), capacity_(capacity) {}

  const std::vector<uint64_t>& sizes() const { return sizes_; }

 protected:
  std::string prepare() override;
  Declaration declare() const override;
  void lend(Attempt& attempt, const LiveHosts& hosts, Declaration& own) override;
  Attempt::Progress move(Attempt& attempt, const LiveHosts& hosts) override;

 private:
  // Then the offer of a place.
  enum Number : std::size_t { kInput, kBytes, kCapacity, kOffer };
  struct Site {
    const LiveHosts& hosts;
    int here = 0;
    std::vector<Passage> passages;     // [position]
    std::vector<uint64_t> input;       // [rank]
    std::vector<uint64_t> receive_at;  // [rank]
  };

  uint64_t begin_of(int rank) const {
    return std::accumulate(sizes_.begin(), sizes_.begin() + rank, uint64_t{0});
  }
  std::string exceeded(const Attempt& attempt) const;
  Passage passage_at(const LiveHosts& hosts, int position) const;
  int rails_of(int rank) const {
    return rails_for(sizes_[at(rank)], state().endpoint.transport.rails());
  }
  uint32_t subject_of(int rank, int rail) const {
    return static_cast<uint32_t>(rank * std::max(1, state().endpoint.transport.rails()) + rail);
  }
  void add_sending(const Site& site, std::vector<Leg>& legs) const;
  void add_receiving(const Site& site, int source, std::vector<Leg>& legs) const;
  Leg copying(int source, const RowRange& range, Address from) const;
  void clear_lost(const Attempt& attempt) const;

  GatherInput in_;
  Address out_;
  std::optional<uint64_t> capacity_;
  std::vector<uint64_t> sizes_;  // [rank] of parts in `out`
};

std::string GatherCall::prepare() {
  std::string bad = bad_elements("bytes", static_cast<int64_t>(in_.bytes));
  const uint64_t all = capacity_.value_or(in_.bytes * static_cast<uint64_t>(ranks()));
  if (bad.empty() && ((in_.bytes > 0 && !in_.in) || (all > 0 && !out_))) {
    bad = "in or out is null although there are bytes";
  }
  return bad.empty() ? input().place(in_.in, in_.bytes) : bad;
}

Declaration GatherCall::declare() const {
  Declaration own;
  own.kind = CallKind::kAllGather;
  own.fields = {{"different sizes", capacity_ ? 1 : 0},
                {"bytes", capacity_ ? 0 : static_cast<int64_t>(in_.bytes)}};
  return own;
}

// Where sizes are the same, the offer is what is needed.
void GatherCall::lend(Attempt& attempt, const LiveHosts& hosts, Declaration& own) {
  own.numbers = {static_cast<int64_t>(input().offset()), static_cast<int64_t>(in_.bytes),
                 static_cast<int64_t>(capacity_.value_or(0))};
  Places::Sizes sizes = state().gather_sizes;
  if (!capacity_ && own.refusal.empty()) {
    sizes_.assign(at(ranks()), in_.bytes);
    sizes = {passage_at(hosts, hosts.position_of(self())).bytes[at(self())], 0};
  }
  Places(attempt, sizes, kOffer).offer(own.numbers);
}

Attempt::Progress GatherCall::move(Attempt& attempt, const LiveHosts& hosts) {
  sizes_ = numbers_of(attempt, kBytes);
  if (capacity_) {
    refuse(exceeded(attempt));
  }
  Site site{hosts, hosts.position_of(self()), {}, numbers_of(attempt, kInput), {}};
  std::vector<RoomNeed> needs(at(ranks()));
  for (int position = 0; position < hosts.hosts(); ++position) {
    site.passages.push_back(passage_at(hosts, position));
    for (const int rank : hosts.of(position)) {
      needs[at(rank)].receive = site.passages.back().bytes[at(rank)];
    }
  }
  Places places(attempt, state().gather_sizes, kOffer);
  if (!refused()) {
    refuse(places.lacking_room("all-gather", needs));
  }
  if (refused()) {
    return Attempt::Progress::kDone;
  }
  if (places.agree(needs) == Attempt::Progress::kBroken) {
    return Attempt::Progress::kBroken;
  }
  site.receive_at = places.receive_at();
  if (!capacity_) {
    sizes_.assign(at(ranks()), in_.bytes);
  }
  std::vector<Leg> legs;
  for (int source = 0; source < ranks(); ++source) {
    if (attempt.takes_part(source)) {
      add_receiving(site, source, legs);
    }
  }
  add_sending(site, legs);
  clear_lost(attempt);
  return ChunkMover(attempt, state().traffic, legs).run();
}

std::string GatherCall::exceeded(const Attempt& attempt) const {
  const uint64_t all = begin_of(ranks());
  for (int rank = 0; rank < ranks(); ++rank) {
    if (attempt.takes_part(rank)) {
      const uint64_t room = numbers_of(attempt, kCapacity)[at(rank)];
      if (all > room) {
        return "all-gather: the parts have " + std::to_string(all) + " bytes but rank " +
               std::to_string(rank) + " has capacity = " + std::to_string(room);
      }
    }
  }
  return {};
}

// What comes from other hosts.
Passage GatherCall::passage_at(const LiveHosts& hosts, int position) const {
  std::vector<uint64_t> bytes = sizes_;
  for (const int rank : hosts.of(position)) {
    bytes[at(rank)] = 0;
  }
  return passage_of(hosts, position, bytes);
}

// To all other hosts, the next one first, so that not all send to the same one.
void GatherCall::add_sending(const Site& site, std::vector<Leg>& legs) const {
  const int rails = rails_of(self());
  for (int position = site.hosts.after(site.here); position != site.here;
       position = site.hosts.after(position)) {
    const Passage& passage = site.passages[at(position)];
    for (int rail = 0; rail < rails; ++rail) {
      const RowRange range = part_of(static_cast<int64_t>(in_.bytes), rail, rails);
      Leg leg;
      leg.bytes = static_cast<uint64_t>(range.rows);
      leg.to = passage.gateway[at(self())];
      leg.rail = rail;
      leg.source = site.input[at(self())] + static_cast<uint64_t>(range.first);
      leg.target = site.receive_at[at(leg.to)] + passage.place[at(self())] +
                   static_cast<uint64_t>(range.first);
      leg.leaves = subject_of(self(), rail);
      legs.push_back(std::move(leg));
    }
  }
}

void GatherCall::add_receiving(const Site& site, int source, std::vector<Leg>& legs) const {
  const auto all = static_cast<int64_t>(sizes_[at(source)]);
  if (site.hosts.position_of(source) == site.here) {
    legs.push_back(copying(source, RowRange{0, all}, in_window(source, site.input[at(source)])));
    return;
  }
  const Passage& passage = site.passages[at(site.here)];
  const int gateway = passage.gateway[at(source)];
  const Address from = in_window(gateway, site.receive_at[at(gateway)] + passage.place[at(source)]);
  const int rails = rails_of(source);
  for (int rail = 0; rail < rails; ++rail) {
    const RowRange range = part_of(all, rail, rails);
    Leg leg = copying(source, range, from + static_cast<uint64_t>(range.first));
    leg.from = gateway == self() ? source : gateway;
    leg.arrives = subject_of(source, rail);
    leg.leaves = leg.arrives;
    if (gateway == self()) {
      leg.listeners = all_but(site.hosts.of(site.here), self());
    }
    legs.push_back(std::move(leg));
  }
}

// `in` may be where it goes.
Leg GatherCall::copying(int source, const RowRange& range, Address from) const {
  Leg leg;
  leg.bytes = static_cast<uint64_t>(range.rows);
  const Address to = out_ + begin_of(source) + static_cast<uint64_t>(range.first);
  if (to.data != from.data) {
    leg.work = [this, to, from](uint64_t first, uint64_t bytes) {
      state().copies.copy(to + first, from + first, bytes);
    };
  }
  return leg;
}

void GatherCall::clear_lost(const Attempt& attempt) const {
  if (attempt.lost().empty()) {
    return;
  }
  const std::vector<std::byte> zeros(in_.bytes);
  for (const int lost : attempt.lost().ranks()) {
    state().copies.copy(out_ + begin_of(lost), host_address(zeros.data()), sizes_[at(lost)]);
  }
}

}  // namespace

Status all_gather(ExchangeState& state, ConstAddress in, uint64_t bytes, Address out) {
  return GatherCall(state, GatherInput{in, bytes}, out, std::nullopt).run();
}

Result<std::vector<uint64_t>> all_gather_v(ExchangeState& state, const GatherInput& input,
                                           Address out, uint64_t capacity) {
  GatherCall call(state, input, out, capacity);
  const Status status = call.run();
  if (!status) {
    return status.error();
  }
  return call.sizes();
}

}  // namespace mixnet::ep
