#pragma once

#include <functional>
#include <vector>

#include "core/result.h"
#include "ep/communicator.h"

namespace mixnet::cli {

// Wall time of every round, from a barrier to the end of the slowest rank, and the processor time
// of all ranks.
struct EpBenchTimes {
  std::vector<double> seconds;
  double cpu_s_per_round = 0;
  double median() const;
  double best() const;
};

// One round of what is measured, on one rank; built once per rank.
using EpBenchWork = std::function<Status()>;
using EpBenchSetup = std::function<EpBenchWork(ep::Communicator&)>;

// Forks one process per rank, which meet over loopback; each opens a communicator and runs the work
// `warm_up` + `rounds` times. Within `deadline` in all.
Result<EpBenchTimes> run_ep_ranks(const ep::RankMap& ranks, int warm_up, int rounds,
                                  const EpBenchSetup& setup);

}  // namespace mixnet::cli
