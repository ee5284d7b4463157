#include "cli/expert_moves.h"

#include <gtest/gtest.h>

namespace mixnet::cli {
namespace {

TEST(ExpertMoves, CountsWhatLeavesRanksAndServers) {
  // Four ranks of two slots, two ranks to a server.
  const std::vector<int> ordered = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(moves_between(ordered, {1, 0, 2, 3, 4, 5, 6, 7}, 4, 2).moved, 0);
  const ExpertMoves inside = moves_between(ordered, {2, 1, 0, 3, 4, 5, 6, 7}, 4, 2);
  EXPECT_EQ(inside.moved, 2);
  EXPECT_EQ(inside.busiest_rank, 1);
  EXPECT_EQ(inside.busiest_server, 0);
  const ExpertMoves across = moves_between(ordered, {4, 6, 2, 3, 0, 5, 1, 7}, 4, 2);
  EXPECT_EQ(across.moved, 4);
  EXPECT_EQ(across.busiest_rank, 2);
  EXPECT_EQ(across.busiest_server, 2);
}

TEST(ExpertMoves, TimeIsThatOfTheBusierLink) {
  Study study;
  study.cluster.nic_rate = BitRate::from_gbps(400);
  study.cluster.nics_per_server = 8;
  study.cluster.gpu.nvlink_gbytes_per_s = 450;
  study.parallelism.tp = 1;
  const Bytes expert(450'000'000);
  ExpertMoves moves;
  EXPECT_EQ(moving_time(moves, expert, study), SimTime());
  moves.busiest_rank = 3;
  EXPECT_EQ(moving_time(moves, expert, study), SimTime::from_ms(3));
  moves.busiest_server = 8;  // 3.6 GB over 400 GB/s
  EXPECT_EQ(moving_time(moves, expert, study), SimTime::from_ms(9));
}

}  // namespace
}  // namespace mixnet::cli
