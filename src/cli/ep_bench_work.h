#pragma once

#include <string>
#include <vector>

#include "cli/bench_ranks.h"
#include "core/transport.h"
#include "ep/bench_load.h"
#include "ep/communicator.h"

// What `mixnet bench ep` measures, as work of ranks.
namespace mixnet::cli {

// One round with a communicator; built once per rank.
using EpSetup = std::function<RoundWork(ep::Communicator&)>;

struct EpRanks {
  ep::RankMap map;
  std::string meeting = "127.0.0.1";  // an address of this process that all ranks reach
  // [rank] its NIC.
  std::vector<std::string> nics;
  // [host] network namespaces that ranks enter, by the name that `ip netns` knows. May be empty.
  std::vector<std::string> namespaces;
};
// Hosts that all are this one and meet on its loopback.
EpRanks ranks_on_loopback(int ranks, int hosts);

Result<RoundTimes> run_ep_ranks(const EpRanks& ranks, const Rounds& rounds, const EpSetup& setup);

// All-to-all of `average` bytes per pair, see bench_parcel_bytes().
EpSetup parcel_work(int64_t average);
// Dispatch and combine; what is dispatched is handed back as it is.
EpSetup token_work(const ep::BenchTokens& shape, Transport mode);

// As many bytes as ranks send in that all-to-all, moved within each rank by memcpy: what the
// machine can do.
Result<RoundTimes> run_memcpy(int ranks, const Rounds& rounds, int64_t average);

}  // namespace mixnet::cli
