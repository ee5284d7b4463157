#pragma once

#include "cli/ep_bench_ranks.h"
#include "core/transport.h"
#include "ep/bench_load.h"

namespace mixnet::cli {

// All-to-all of `average` bytes per pair, see bench_parcel_bytes().
EpBenchSetup parcel_work(int64_t average);
// Dispatch and combine; what is dispatched is handed back as it is.
EpBenchSetup token_work(const ep::BenchTokens& shape, Transport mode);
// The same bytes as the all-to-all of parcels, moved by memcpy alone, within each rank: what the
// machine can do.
EpBenchSetup memcpy_work(int64_t average);

}  // namespace mixnet::cli
