#pragma once

#include <cstdint>
#include <string>

#include "ep/collectives.h"
#include "ep/transport.h"

// What every implementation of Transport has to make true of the collectives without routing, and
// of transfers between two ranks. Every rank knows the inputs of all ranks, so that it knows the
// results without asking. Ranks that are lost are left out of them.
namespace mixnet::ep::conformance {

struct Amount {
  int64_t elements = 0;
  DataType type = DataType::kFp32;
  uint64_t seed = 1;
};

// Each compares its result with what it has to be; empty: equal.
std::string check_all_reduce(ExchangeState& state, const Amount& amount);
std::string check_reduce_scatter(ExchangeState& state, const Amount& amount);
std::string check_all_gather(ExchangeState& state, const Amount& amount);
std::string check_all_gather_v(ExchangeState& state, const Amount& amount);
std::string check_broadcast(ExchangeState& state, const Amount& amount, int root);
// Every rank with every other one: both at once, and one after the other.
std::string check_transfers(ExchangeState& state, const Amount& amount);

// Sums of random numbers are the same bits every time, on all ranks.
std::string sums_repeat(ExchangeState& state, const Amount& amount);
// Sums of random numbers are taken in the documented order, to the last bit.
std::string sums_in_order(ExchangeState& state, const Amount& amount);

// All of the above and barriers, for many sizes, both types and all roots.
std::string collectives(Transport& transport);
// For a small and a middling size: for many ranks.
std::string collectives_in_part(Transport& transport);

}  // namespace mixnet::ep::conformance
