#include "ep/chunk_mover.h"
#include "ep/collective_call.h"
#include "ep/collectives.h"

namespace mixnet::ep {
namespace {

class ReduceScatterCall final : public CollectiveCall {
 public:
  ReduceScatterCall(ExchangeState& state, ConstAddress in, int64_t elements, DataType type,
                    Address out)
      : CollectiveCall(state), in_(in), elements_(elements), type_(type), out_(out) {}

 protected:
  std::string prepare() override;
  Declaration declare() const override;
  void lend(Attempt& attempt, const LiveHosts& hosts, Declaration& own) override;
  Attempt::Progress move(Attempt& attempt, const LiveHosts& hosts) override;

 private:
  enum Number : std::size_t { kInput, kIncoming, kOutgoing };
  // Where this rank is on the ring, and what passes there and at the next host.
  struct Site {
    Attempt& attempt;
    const LiveHosts& hosts;
    int here = 0;
    Passage passage;
    Passage next;
    std::vector<uint64_t> input;  // [rank]
    std::vector<uint64_t> incoming;
    std::vector<uint64_t> outgoing;
  };
  // The part of rank `target` that travels on one rail.
  struct Part {
    int target = 0;
    int rail = 0;
    uint64_t first = 0;  // byte of the target's
    uint64_t bytes = 0;
  };

  uint64_t part_bytes() const { return static_cast<uint64_t>(elements_ * bytes_of(type_)); }
  Passage passage_at(const LiveHosts& hosts, int position) const {
    return passage_of(hosts, position, std::vector<uint64_t>(at(ranks()), part_bytes()));
  }
  Leg leg_of(const Site& site, const Part& part) const;
  void add(const Site& site, const Part& part, uint64_t first, uint64_t bytes) const;

  ConstAddress in_;
  int64_t elements_;
  DataType type_;
  Address out_;
};

std::string ReduceScatterCall::prepare() {
  std::string bad = bad_elements("elements_per_rank", elements_);
  if (bad.empty() && elements_ > 0 && (!in_ || !out_)) {
    bad = "in or out is null although there are elements";
  }
  return bad.empty() ? input().place(in_, part_bytes() * static_cast<uint64_t>(ranks())) : bad;
}

Declaration ReduceScatterCall::declare() const {
  Declaration own;
  own.kind = CallKind::kReduceScatter;
  own.fields = {{"elements_per_rank", elements_}, {"data type", static_cast<int64_t>(type_)}};
  return own;
}

void ReduceScatterCall::lend(Attempt& attempt, const LiveHosts& hosts, Declaration& own) {
  own.numbers = {static_cast<int64_t>(input().offset())};
  uint64_t bytes = 0;
  if (own.refusal.empty() && hosts.hosts() > 1) {
    bytes = passage_at(hosts, hosts.position_of(self())).bytes[at(self())];
  }
  lend_block(attempt, bytes, own);
  lend_block(attempt, bytes, own);
}

Attempt::Progress ReduceScatterCall::move(Attempt& attempt, const LiveHosts& hosts) {
  const int here = hosts.position_of(self());
  const Site site{attempt,
                  hosts,
                  here,
                  passage_at(hosts, here),
                  passage_at(hosts, hosts.after(here)),
                  numbers_of(attempt, kInput),
                  numbers_of(attempt, kIncoming),
                  numbers_of(attempt, kOutgoing)};
  const int rails =
      hosts.hosts() > 1 ? rails_for(part_bytes(), state().endpoint.transport.rails()) : 1;
  std::vector<Leg> begins;
  std::vector<Leg> legs;
  for (int target = 0; target < ranks(); ++target) {
    if (site.passage.gateway[at(target)] != self()) {
      continue;
    }
    for (int rail = 0; rail < rails; ++rail) {
      const RowRange range = part_of(elements_, rail, rails);
      const auto each = static_cast<uint64_t>(bytes_of(type_));
      Leg leg = leg_of(site, Part{target, rail, static_cast<uint64_t>(range.first) * each,
                                  static_cast<uint64_t>(range.rows) * each});
      (leg.from == Leg::kNobody ? begins : legs).push_back(std::move(leg));
    }
  }
  legs.insert(legs.end(), begins.begin(), begins.end());
  return ChunkMover(attempt, state().traffic, legs).run();
}

Leg ReduceScatterCall::leg_of(const Site& site, const Part& part) const {
  const LiveHosts& hosts = site.hosts;
  const int end = hosts.position_of(part.target);
  Leg leg;
  leg.bytes = part.bytes;
  leg.arrives = static_cast<uint32_t>(
      part.target * std::max(1, state().endpoint.transport.rails()) + part.rail);
  leg.leaves = leg.arrives;
  leg.rail = part.rail;
  if (hosts.after(end) != site.here) {
    leg.from = hosts.gateway_of(part.target, hosts.before(site.here));
  }
  leg.work = [this, &site, part](uint64_t first, uint64_t bytes) { add(site, part, first, bytes); };
  if (site.here != end) {
    leg.to = site.next.gateway[at(part.target)];
    leg.source = site.outgoing[at(self())] + site.passage.place[at(part.target)] + part.first;
    leg.target = site.incoming[at(leg.to)] + site.next.place[at(part.target)] + part.first;
  }
  return leg;
}

void ReduceScatterCall::add(const Site& site, const Part& part, uint64_t first,
                            uint64_t bytes) const {
  const uint64_t here = site.passage.place[at(part.target)] + part.first + first;
  const int end = site.hosts.position_of(part.target);
  std::vector<ConstAddress> rows;
  if (site.hosts.hosts() > 1 && site.hosts.after(end) != site.here) {
    rows.emplace_back(in_window(self(), site.incoming[at(self())] + here));
  }
  const uint64_t of_all = static_cast<uint64_t>(part.target) * part_bytes() + part.first + first;
  for (const int rank : site.hosts.of(site.here)) {
    rows.emplace_back(in_window(rank, site.input[at(rank)] + of_all));
  }
  const Address to = site.here == end ? out_ + part.first + first
                                      : in_window(self(), site.outgoing[at(self())] + here);
  state().copies.sum(to, rows, type_, static_cast<int64_t>(bytes) / bytes_of(type_));
}

}  // namespace

Status reduce_scatter(ExchangeState& state, ConstAddress in, int64_t elements_per_rank,
                      DataType type, Address out) {
  return ReduceScatterCall(state, in, elements_per_rank, type, out).run();
}

}  // namespace mixnet::ep
