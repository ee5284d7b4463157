#pragma once

#include <functional>
#include <vector>

#include "core/result.h"

namespace mixnet::cli {

// What rounds took on all ranks together.
struct RoundTimes {
  // Wall time of every round: from the first rank that leaves the barrier before it to the end of
  // the slowest rank.
  std::vector<double> seconds;
  double cpu_s = 0;  // processor time of all ranks per round
  double median() const;
  double best() const;
};

struct Rounds {
  int warm_up = 0;
  int measured = 1;
};

// One round of what is measured, on one rank.
using RoundWork = std::function<Status()>;
// Called once in the process of each rank. What the work uses it must own.
using RankSetup = std::function<Result<RoundWork>(int rank)>;

// Forks one process per rank and runs the rounds in step. When a rank fails, its error is returned
// and the others are ended, as are all after five minutes.
Result<RoundTimes> run_bench_ranks(int ranks, const Rounds& rounds, const RankSetup& setup);

}  // namespace mixnet::cli
