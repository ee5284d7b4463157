
#include "ep/chunk_mover.h"
#include "ep/collective_call.h"
#include "ep/collectives.h"
#include "ep/exchange_plan.h"

namespace mixnet::ep {
namespace {

class BarrierCall final : public CollectiveCall {
 public:
  using CollectiveCall::CollectiveCall;

 protected:
  std::string prepare() override { return {}; }
  Declaration declare() const override { return {}; }
  void lend(Attempt&, const LiveHosts&, Declaration&) override {}
  // All have declared: all are here.
  Attempt::Progress move(Attempt&, const LiveHosts&) override { return Attempt::Progress::kDone; }
};

class BroadcastCall final : public CollectiveCall {
 public:
  BroadcastCall(ExchangeState& state, Address data, uint64_t bytes, int root)
      : CollectiveCall(state), data_(data), bytes_(bytes), root_(root) {}

 protected:
  std::string prepare() override;
  Declaration declare() const override;
  void lend(Attempt& attempt, const LiveHosts& hosts, Declaration& own) override;
  Attempt::Progress move(Attempt& attempt, const LiveHosts& hosts) override;

 private:
  enum Number : std::size_t { kInput, kPassing };
  struct Site {
    const LiveHosts& hosts;
    int here = 0;
    int steps = 0;  // hosts between the root's and this one
    int lanes = 1;
    std::vector<uint64_t> input;    // [rank]
    std::vector<uint64_t> passing;  // [rank] where its slice comes in
  };
  // What travels in one lane on one rail.
  struct Part {
    int lane = 0;
    int rail = 0;
    uint32_t subject = 0;
    uint64_t at = 0;  // first byte
    uint64_t in_slice = 0;
    uint64_t bytes = 0;
  };

  RowRange slice(int lane, int lanes) const {
    return part_of(static_cast<int64_t>(bytes_), lane, lanes);
  }
  Part part(const Site& site, int lane, int rail, int rails) const;
  void add_legs(const Site& site, const Part& part, std::vector<Leg>& legs) const;
  Leg carrying(const Site& site, const Part& part) const;
  void pull(Address to, int rank, uint64_t offset, Leg& leg) const;

  Address data_;
  uint64_t bytes_;
  int root_;
};

std::string BroadcastCall::prepare() {
  if (root_ < 0 || root_ >= ranks()) {
    return "root = " + std::to_string(root_) + " is not one of " + std::to_string(ranks()) +
           " ranks";
  }
  std::string bad = bad_elements("bytes", static_cast<int64_t>(bytes_));
  if (bad.empty() && bytes_ > 0 && !data_) {
    bad = "data is null although there are bytes";
  }
  return bad.empty() && self() == root_ ? input().place(data_, bytes_) : bad;
}

Declaration BroadcastCall::declare() const {
  Declaration own;
  own.kind = CallKind::kBroadcast;
  own.fields = {{"root", root_}, {"bytes", static_cast<int64_t>(bytes_)}};
  return own;
}

void BroadcastCall::lend(Attempt& attempt, const LiveHosts& hosts, Declaration& own) {
  own.numbers = {static_cast<int64_t>(input().offset())};
  uint64_t bytes = 0;
  if (own.refusal.empty() && hosts.hosts() > 1 && self() != root_) {
    const int lane = hosts.index_of(self());
    const int lanes = hosts.smallest();
    bytes = lane < lanes ? static_cast<uint64_t>(slice(lane, lanes).rows) : 0;
  }
  lend_block(attempt, bytes, own);
}

Attempt::Progress BroadcastCall::move(Attempt& attempt, const LiveHosts& hosts) {
  if (!attempt.takes_part(root_)) {
    refuse("broadcast: its root, rank " + std::to_string(root_) + ", is lost");
    return Attempt::Progress::kDone;
  }
  const int here = hosts.position_of(self());
  const Site site{hosts,
                  here,
                  hosts.steps(hosts.position_of(root_), here),
                  hosts.smallest(),
                  numbers_of(attempt, kInput),
                  numbers_of(attempt, kPassing)};
  const int rails = hosts.hosts() > 1 ? rails_for(bytes_ / static_cast<uint64_t>(site.lanes),
                                                  state().endpoint.transport.rails())
                                      : 1;
  std::vector<Leg> legs;
  for (int lane = 0; lane < site.lanes; ++lane) {
    for (int rail = 0; rail < rails; ++rail) {
      add_legs(site, part(site, lane, rail, rails), legs);
    }
  }
  if (site.steps == 0 && self() != root_) {
    Leg leg;
    leg.bytes = bytes_;
    pull(data_, root_, site.input[at(root_)], leg);
    legs.push_back(std::move(leg));
  }
  return ChunkMover(attempt, state().traffic, legs).run();
}

BroadcastCall::Part BroadcastCall::part(const Site& site, int lane, int rail, int rails) const {
  const RowRange whole = slice(lane, site.lanes);
  const RowRange range = part_of(whole.rows, rail, rails);
  return Part{lane,
              rail,
              static_cast<uint32_t>(lane * rails + rail),
              static_cast<uint64_t>(whole.first + range.first),
              static_cast<uint64_t>(range.first),
              static_cast<uint64_t>(range.rows)};
}

void BroadcastCall::add_legs(const Site& site, const Part& part, std::vector<Leg>& legs) const {
  const int gateway = site.hosts.of(site.here)[at(part.lane)];
  const bool last = site.steps + 1 == site.hosts.hosts();
  if (gateway == self()) {
    if (site.steps > 0 || !last) {
      legs.push_back(carrying(site, part));
    }
  } else if (site.steps > 0) {
    Leg leg;
    leg.bytes = part.bytes;
    leg.from = gateway;
    leg.arrives = part.subject;
    pull(data_ + part.at, gateway, site.passing[at(gateway)] + part.in_slice, leg);
    legs.push_back(std::move(leg));
  }
}

// On the host of the root its gateways fetch what they send from the root's window.
Leg BroadcastCall::carrying(const Site& site, const Part& part) const {
  Leg leg;
  leg.bytes = part.bytes;
  leg.rail = part.rail;
  leg.leaves = part.subject;
  leg.source =
      self() == root_ ? site.input[at(root_)] + part.at : site.passing[at(self())] + part.in_slice;
  if (site.steps > 0) {
    leg.from = site.hosts.of(site.hosts.before(site.here))[at(part.lane)];
    leg.arrives = part.subject;
    leg.listeners = all_but(site.hosts.of(site.here), self());
    pull(data_ + part.at, self(), leg.source, leg);
  } else if (self() != root_) {
    pull(in_window(self(), leg.source), root_, site.input[at(root_)] + part.at, leg);
  }
  if (site.steps + 1 < site.hosts.hosts()) {
    leg.to = site.hosts.of(site.hosts.after(site.here))[at(part.lane)];
    leg.target = site.passing[at(leg.to)] + part.in_slice;
  }
  return leg;
}

void BroadcastCall::pull(Address to, int rank, uint64_t offset, Leg& leg) const {
  leg.work = [this, to, from = in_window(rank, offset)](uint64_t first, uint64_t bytes) {
    state().copies.copy(to + first, from + first, bytes);
  };
}

}  // namespace

Status barrier(ExchangeState& state) { return BarrierCall(state).run(); }

Status broadcast(ExchangeState& state, Address data, uint64_t bytes, int root) {
  return BroadcastCall(state, data, bytes, root).run();
}

}  // namespace mixnet::ep
