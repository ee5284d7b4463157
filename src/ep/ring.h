#pragma once

#include <cstdint>
#include <vector>

#include "ep/chunk_mover.h"
#include "ep/exchange_plan.h"
#include "ep/live_hosts.h"

// The rings of an all-reduce. Segment j of a part begins at host j, grows by the sums of the hosts
// j + 1, j + 2, ... and is complete at host j - 1; from there the result goes around once more.
namespace mixnet::ep {

// Which elements are where: slice `lane` is with the living rank of that index on every host (its
// gateway there), parts of the slice with its rails, segments of the part with the hosts.
struct RingCut {
  int64_t elements = 0;
  DataType type = DataType::kFp32;
  int lanes = 1;
  int rails = 1;
  int hosts = 1;

  RowRange slice(int lane) const { return part_of(elements, lane, lanes); }
  RowRange segment(int lane, int rail, int host) const;
  uint64_t bytes(int64_t count) const { return static_cast<uint64_t>(count * bytes_of(type)); }
  // The subjects of a segment's partial sums and of its result.
  uint32_t partial_of(int lane, int rail, int host) const {
    return static_cast<uint32_t>(2 * ((lane * rails + rail) * hosts + host));
  }
  uint32_t result_of(int lane, int rail, int host) const {
    return partial_of(lane, rail, host) + 1;
  }
};
RingCut ring_cut(const LiveHosts& hosts, int64_t elements, DataType type, int rails);

// Offsets in the windows.
struct RingPlaces {
  std::vector<uint64_t> input;     // [rank] all elements
  std::vector<uint64_t> partials;  // [rank] what comes in for the rank's slice, if it has one
  std::vector<uint64_t> results;   // [rank] what goes out of it, results at last
};

// What one rank does: for its own slice as a gateway, for others pulling.
class RingLegs {
 public:
  RingLegs(ExchangeState& state, const LiveHosts& hosts, const RingCut& cut,
           const RingPlaces& places, Address data);

  std::vector<Leg> all();

 private:
  // A segment at this host, `steps` after the one where it began.
  struct Segment {
    int lane = 0;
    int rail = 0;
    int host = 0;
    int steps = 0;
    uint64_t at = 0;  // first byte of all
    uint64_t in_slice = 0;
    uint64_t bytes = 0;
  };

  Segment segment(int lane, int rail, int host) const;
  Leg summing(const Segment& segment) const;
  Leg passing(const Segment& segment) const;
  Leg pulling(const Segment& segment) const;
  void add_to(const Segment& segment, uint64_t first, uint64_t bytes) const;
  void hand_on_result(const Segment& segment, Leg& leg) const;
  Address window_of(int rank, uint64_t offset) const {
    return state_.endpoint.transport.mapped(rank) + offset;
  }

  ExchangeState& state_;
  const LiveHosts& hosts_;
  RingCut cut_;
  const RingPlaces& places_;
  Address data_;
  int self_;
  int here_;
};

}  // namespace mixnet::ep
