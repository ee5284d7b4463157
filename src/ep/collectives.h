#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "ep/address.h"
#include "ep/data_type.h"
#include "ep/exchange.h"

// Collectives without routing. All ranks that are not lost call one together. Bytes that leave
// through NICs are counted in state.traffic.
//
// Every wait ends after the patience of `state` (patience.silence without a sign of life,
// patience.call for a rank that lives but does not come): who is waited for is lost then, and the
// survivors do the whole call again among themselves. It succeeds without the lost ranks, who are
// in state.endpoint.lost afterwards.
//
// Errors are the same on all ranks, but the last one, and leave nobody lost:
//   * arguments that differ or are bad: names the call, the rank and the field;
//   * a window that is too small: names the rank, what it needs and what is free;
//   * this rank is lost to the others.
// After an error what is in output memory is unspecified, unless said otherwise.
namespace mixnet::ep {

// Returns when all ranks have called it.
Status barrier(ExchangeState& state);

// `data`: [bytes]; that of rank `root` is copied to all others. Error, besides the above: the root
// is lost.
//
// Hosts form a chain that begins at the root's. It is as wide as the smallest host has ranks, each
// with all its rails: so many parts of the data travel at once, in chunks.
Status broadcast(ExchangeState& state, Address data, uint64_t bytes, int root);

// `in`: [bytes] of this rank; `out`: [ranks, bytes]. The parts of lost ranks are zeros. `in` may be
// its own part of `out`; in the window it is read where it is.
//
// A part crosses to another host once, from its own rank, and is pulled by the ranks there.
Status all_gather(ExchangeState& state, ConstAddress in, uint64_t bytes, Address out);

// The same for parts of different sizes, one after the other in `out`, which has room for
// `capacity` bytes. Returns [ranks] sizes; those of lost ranks are 0. Error, besides the above: the
// parts need more than the capacity of some rank.
struct GatherInput {
  ConstAddress in;
  uint64_t bytes = 0;
};
Result<std::vector<uint64_t>> all_gather_v(ExchangeState& state, const GatherInput& input,
                                           Address out, uint64_t capacity);

// `in`: [ranks, elements_per_rank], unchanged until the call returns; `out`: [elements_per_rank],
// the sum over all ranks of what they have for this one. `out` may be part of `in` where `in` is
// not in the window.
//
// Order of summation: for the part of rank t, hosts beginning with the one after t's and ending
// with t's own (hosts without survivors left out), inside a host the ranks ascending. A host adds
// what came from the one before it and its own ranks in single precision and rounds once to `type`.
// So equal inputs and equal lost ranks give equal bits.
Status reduce_scatter(ExchangeState& state, ConstAddress in, int64_t elements_per_rank,
                      DataType type, Address out);

// `data`: [elements]; becomes the sum over all ranks, the same bits on all. After an error it is
// what it was before.
//
// Order of summation: as in reduce_scatter, where the elements are cut in as many slices as the
// smallest host has ranks, each slice among the rails, and each such part among the hosts: segment
// j is summed along hosts j, j + 1, ... around the ring. (With one host: the ranks ascending.)
// The ranks of equal index on all hosts form a ring on every rail; hosts with more ranks leave some
// out of them. Inside a host a gateway adds the windows of its ranks, and these pull the results.
// Every host sends and receives 2 (hosts - 1) / hosts of the data.
//
// Needs window for the data and 2 / (ranks of the smallest host) of it besides.
Status all_reduce(ExchangeState& state, Address data, int64_t elements, DataType type);

}  // namespace mixnet::ep
