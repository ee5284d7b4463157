#include "cli/expert_moves.h"

#include <algorithm>
#include <cmath>

namespace mixnet::cli {
namespace {

int64_t busiest(const std::vector<int64_t>& sent, const std::vector<int64_t>& received) {
  return std::max(*std::max_element(sent.begin(), sent.end()),
                  *std::max_element(received.begin(), received.end()));
}

}  // namespace

ExpertMoves moves_between(const std::vector<int>& from, const std::vector<int>& to, int ranks,
                          int ranks_per_server) {
  const std::size_t slots = from.size() / static_cast<std::size_t>(ranks);
  std::vector<std::size_t> rank_of(from.size());
  for (std::size_t s = 0; s < from.size(); ++s) {
    rank_of[static_cast<std::size_t>(from[s])] = s / slots;
  }
  const auto each = static_cast<std::size_t>(ranks_per_server);
  const std::size_t servers = (static_cast<std::size_t>(ranks) + each - 1) / each;
  std::vector<int64_t> rank_sent(static_cast<std::size_t>(ranks), 0);
  std::vector<int64_t> rank_received = rank_sent;
  std::vector<int64_t> server_sent(servers, 0);
  std::vector<int64_t> server_received(servers, 0);
  ExpertMoves moves;
  for (std::size_t s = 0; s < to.size(); ++s) {
    const std::size_t source = rank_of[static_cast<std::size_t>(to[s])];
    const std::size_t target = s / slots;
    if (source == target) {
      continue;
    }
    ++moves.moved;
    ++rank_sent[source];
    ++rank_received[target];
    if (source / each != target / each) {
      ++server_sent[source / each];
      ++server_received[target / each];
    }
  }
  moves.busiest_rank = busiest(rank_sent, rank_received);
  moves.busiest_server = busiest(server_sent, server_received);
  return moves;
}

SimTime moving_time(const ExpertMoves& moves, Bytes expert, const Study& study) {
  const auto bytes = static_cast<double>(expert.count());
  const double nics =
      study.cluster.nic_rate.bytes_per_second() * std::max(1, study.cluster.nics_per_server);
  const double nvlink = study.cluster.gpu.nvlink_gbytes_per_s * 1e9 * study.parallelism.tp;
  double seconds = static_cast<double>(moves.busiest_server) * bytes / nics;
  if (nvlink > 0) {
    seconds = std::max(seconds, static_cast<double>(moves.busiest_rank) * bytes / nvlink);
  }
  return SimTime::from_ps(std::llround(seconds * 1e12));
}

}  // namespace mixnet::cli
