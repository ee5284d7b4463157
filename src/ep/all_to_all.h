#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "ep/exchange.h"

namespace mixnet::ep {

// What this rank sends to one other, or to itself.
struct Parcel {
  ConstAddress data;
  uint64_t bytes = 0;
};

struct Received {
  WindowBlock block;  // owns the memory of `parcels`
  // [rank] what each sent, in memory of the window; empty of those that are lost.
  std::vector<Parcel> parcels;
};

// All-to-all of any sizes: `parcels` has one for every rank. Inside a host the sender copies into
// the receiver's window; between hosts every NIC takes its part. Errors, the same on all ranks: a
// window that is too small. A part of a parcel is never seen: who is lost sends nothing.
Result<Received> all_to_all(ExchangeState& state, const std::vector<Parcel>& parcels);

}  // namespace mixnet::ep
