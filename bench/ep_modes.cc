// Dispatch and combine between two hosts in every transport mode, each rank with a NIC of its own:
// run by ep_modes.sh, which makes two network namespaces of four slow NICs, n0 to n3 in both.
// Prints one JSON object per mode.
//   mixnet_ep_modes_bench MEETING_ADDRESS NAMESPACE NAMESPACE
#include <cstdio>
#include <string>

#include "cli/ep_bench_work.h"

namespace mixnet::cli {
namespace {

constexpr int kRanksPerHost = 4;
constexpr Rounds kRounds{1, 5};
constexpr ep::BenchTokens kShape{"tokens", 256, 4096, 64, 8};

EpRanks two_hosts(const std::string& meeting, const std::string& first, const std::string& second) {
  EpRanks ranks{ep::RankMap({kRanksPerHost, kRanksPerHost}), meeting, {}, {first, second}};
  for (int rank = 0; rank < ranks.map.ranks(); ++rank) {
    ranks.nics.push_back("n" + std::to_string(ranks.map.index_in_host(rank)));
  }
  return ranks;
}

int run(const EpRanks& ranks) {
  for (const Transport mode : kTransports) {
    const auto times = run_ep_ranks(ranks, kRounds, token_work(kShape, mode));
    if (!times) {
      std::fprintf(stderr, "mixnet_ep_modes_bench: %s\n", times.error().text().c_str());
      return 1;
    }
    std::printf(
        "{\"mode\": \"%s\", \"tokens\": %lld, \"hidden\": %lld, \"experts\": %d, "
        "\"top_k\": %d, \"median_s\": %.5f, \"best_s\": %.5f, \"cpu_s\": %.5f}\n",
        transport_name(mode), static_cast<long long>(kShape.tokens),
        static_cast<long long>(kShape.hidden), kShape.experts, kShape.top_k, times->median(),
        times->best(), times->cpu_s);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace mixnet::cli

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: mixnet_ep_modes_bench MEETING_ADDRESS NAMESPACE NAMESPACE\n");
    return 2;
  }
  return mixnet::cli::run(mixnet::cli::two_hosts(argv[1], argv[2], argv[3]));
}
