#include "ep/ring.h"

#include <algorithm>

#include "ep/collective_call.h"

namespace mixnet::ep {

RowRange RingCut::segment(int lane, int rail, int host) const {
  const RowRange whole = slice(lane);
  const RowRange part = part_of(whole.rows, rail, rails);
  const RowRange segment = part_of(part.rows, host, hosts);
  return RowRange{whole.first + part.first + segment.first, segment.rows};
}

RingCut ring_cut(const LiveHosts& hosts, int64_t elements, DataType type, int rails) {
  RingCut cut{elements, type, hosts.smallest(), 1, hosts.hosts()};
  if (cut.hosts > 1) {
    const auto segments = static_cast<uint64_t>(cut.lanes) * static_cast<uint64_t>(cut.hosts);
    cut.rails = rails_for(cut.bytes(elements) / segments, rails);
  }
  return cut;
}

RingLegs::RingLegs(ExchangeState& state, const LiveHosts& hosts, const RingCut& cut,
                   const RingPlaces& places, Address data)
    : state_(state),
      hosts_(hosts),
      cut_(cut),
      places_(places),
      data_(data),
      self_(state.endpoint.self()),
      here_(hosts.position_of(self_)) {}

// What came in goes first, so that others wait as little as can be.
std::vector<Leg> RingLegs::all() {
  std::vector<Leg> later;
  std::vector<Leg> begins;
  std::vector<Leg> legs;
  for (int lane = 0; lane < cut_.lanes; ++lane) {
    const bool own = hosts_.of(here_)[at(lane)] == self_;
    for (int rail = 0; rail < cut_.rails; ++rail) {
      for (int host = 0; host < cut_.hosts; ++host) {
        const Segment of = segment(lane, rail, host);
        if (!own) {
          later.push_back(pulling(of));
          continue;
        }
        (of.steps == 0 ? begins : legs).push_back(summing(of));
        if (of.steps + 1 < cut_.hosts) {
          legs.push_back(passing(of));
        }
      }
    }
  }
  legs.insert(legs.end(), begins.begin(), begins.end());
  legs.insert(legs.end(), later.begin(), later.end());
  return legs;
}

RingLegs::Segment RingLegs::segment(int lane, int rail, int host) const {
  const RowRange range = cut_.segment(lane, rail, host);
  return Segment{lane,
                 rail,
                 host,
                 hosts_.steps(host, here_),
                 cut_.bytes(range.first),
                 cut_.bytes(range.first - cut_.slice(lane).first),
                 cut_.bytes(range.rows)};
}

Leg RingLegs::summing(const Segment& segment) const {
  Leg leg;
  leg.bytes = segment.bytes;
  if (segment.steps > 0) {
    leg.from = hosts_.of(hosts_.before(here_))[at(segment.lane)];
    leg.arrives = cut_.partial_of(segment.lane, segment.rail, segment.host);
  }
  const bool complete = segment.steps + 1 == cut_.hosts;
  leg.work = [this, segment, complete](uint64_t first, uint64_t bytes) {
    add_to(segment, first, bytes);
    if (complete) {
      state_.copies.copy(data_ + segment.at + first,
                         window_of(self_, places_.results[at(self_)] + segment.in_slice + first),
                         bytes);
    }
  };
  if (complete) {
    hand_on_result(segment, leg);
    return leg;
  }
  leg.to = hosts_.of(hosts_.after(here_))[at(segment.lane)];
  leg.rail = segment.rail;
  leg.source = places_.results[at(self_)] + segment.in_slice;
  leg.target = places_.partials[at(leg.to)] + segment.in_slice;
  leg.leaves = cut_.partial_of(segment.lane, segment.rail, segment.host);
  return leg;
}

void RingLegs::add_to(const Segment& segment, uint64_t first, uint64_t bytes) const {
  std::vector<ConstAddress> rows;
  if (segment.steps > 0) {
    rows.emplace_back(window_of(self_, places_.partials[at(self_)] + segment.in_slice + first));
  }
  for (const int rank : hosts_.of(here_)) {
    rows.emplace_back(window_of(rank, places_.input[at(rank)] + segment.at + first));
  }
  state_.copies.sum(window_of(self_, places_.results[at(self_)] + segment.in_slice + first), rows,
                    cut_.type, static_cast<int64_t>(bytes) / bytes_of(cut_.type));
}

// A result that comes in. It takes the place of the partial sum that this rank sent on, which has
// long left: the result grew out of it.
Leg RingLegs::passing(const Segment& segment) const {
  Leg leg;
  leg.bytes = segment.bytes;
  leg.from = hosts_.of(hosts_.before(here_))[at(segment.lane)];
  leg.arrives = cut_.result_of(segment.lane, segment.rail, segment.host);
  leg.work = [this, segment](uint64_t first, uint64_t bytes) {
    state_.copies.copy(data_ + segment.at + first,
                       window_of(self_, places_.results[at(self_)] + segment.in_slice + first),
                       bytes);
  };
  hand_on_result(segment, leg);
  return leg;
}

void RingLegs::hand_on_result(const Segment& segment, Leg& leg) const {
  leg.listeners = all_but(hosts_.of(here_), self_);
  leg.leaves = cut_.result_of(segment.lane, segment.rail, segment.host);
  const bool last = hosts_.steps(here_, hosts_.before(segment.host)) == 1;
  if (cut_.hosts > 1 && !last) {
    leg.to = hosts_.of(hosts_.after(here_))[at(segment.lane)];
    leg.rail = segment.rail;
    leg.source = places_.results[at(self_)] + segment.in_slice;
    leg.target = places_.results[at(leg.to)] + segment.in_slice;
  }
}

Leg RingLegs::pulling(const Segment& segment) const {
  Leg leg;
  leg.bytes = segment.bytes;
  leg.from = hosts_.of(here_)[at(segment.lane)];
  leg.arrives = cut_.result_of(segment.lane, segment.rail, segment.host);
  leg.work = [this, segment, gateway = leg.from](uint64_t first, uint64_t bytes) {
    state_.copies.copy(data_ + segment.at + first,
                       window_of(gateway, places_.results[at(gateway)] + segment.in_slice + first),
                       bytes);
  };
  return leg;
}

}  // namespace mixnet::ep
