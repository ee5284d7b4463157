
#include "ep/collective_call.h"
#include "ep/collectives.h"
#include "ep/ring.h"

namespace mixnet::ep {
namespace {

class AllReduceCall final : public CollectiveCall {
 public:
  AllReduceCall(ExchangeState& state, Address data, int64_t elements, DataType type)
      : CollectiveCall(state), data_(data), elements_(elements), type_(type) {}

  void restore() { input().restore(data_); }

 protected:
  std::string prepare() override;
  Declaration declare() const override;
  void lend(Attempt& attempt, const LiveHosts& hosts, Declaration& own) override;
  Attempt::Progress move(Attempt& attempt, const LiveHosts& hosts) override;

 private:
  enum Number : std::size_t { kInput, kPartials, kResults };

  RingCut cut_of(const LiveHosts& hosts) const {
    return ring_cut(hosts, elements_, type_, state().endpoint.transport.rails());
  }

  Address data_;
  int64_t elements_;
  DataType type_;
};

std::string AllReduceCall::prepare() {
  std::string bad = bad_elements("elements", elements_);
  if (bad.empty() && elements_ > 0 && !data_) {
    bad = "data is null although there are elements";
  }
  return bad.empty() ? input().copy(data_, static_cast<uint64_t>(elements_ * bytes_of(type_)))
                     : bad;
}

Declaration AllReduceCall::declare() const {
  Declaration own;
  own.kind = CallKind::kAllReduce;
  own.fields = {{"elements", elements_}, {"data type", static_cast<int64_t>(type_)}};
  return own;
}

void AllReduceCall::lend(Attempt& attempt, const LiveHosts& hosts, Declaration& own) {
  own.numbers = {static_cast<int64_t>(input().offset())};
  uint64_t slice = 0;
  if (own.refusal.empty()) {
    const RingCut cut = cut_of(hosts);
    const int lane = hosts.index_of(self());
    slice = lane < cut.lanes ? cut.bytes(cut.slice(lane).rows) : 0;
  }
  lend_block(attempt, hosts.hosts() > 1 ? slice : 0, own);
  lend_block(attempt, slice, own);
}

Attempt::Progress AllReduceCall::move(Attempt& attempt, const LiveHosts& hosts) {
  const RingPlaces places{numbers_of(attempt, kInput), numbers_of(attempt, kPartials),
                          numbers_of(attempt, kResults)};
  RingLegs ring(state(), hosts, cut_of(hosts), places, data_);
  const std::vector<Leg> legs = ring.all();
  return ChunkMover(attempt, state().traffic, legs).run();
}

}  // namespace

// An attempt that was not the last one may have written sums.
Status all_reduce(ExchangeState& state, Address data, int64_t elements, DataType type) {
  AllReduceCall call(state, data, elements, type);
  Status status = call.run();
  if (!status) {
    call.restore();
  }
  return status;
}

}  // namespace mixnet::ep
