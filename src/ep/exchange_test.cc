#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ep/conformance.h"
#include "ep/process_test_support.h"
#include "ep/simulated_fabric.h"

namespace mixnet::ep {
namespace {

std::vector<std::string> run_in_simulation(const conformance::Shape& shape,
                                           const conformance::Body& body, uint64_t seed) {
  SimulationOptions options;
  options.ranks = RankMap(shape.host_sizes);
  options.rails = shape.rails;
  options.seed = seed;
  options.window_bytes = 4 << 20;
  std::vector<std::string> wrong(at(options.ranks.ranks()));
  run_simulated(options, {},
                [&](Transport& transport) { wrong[at(transport.rank())] = body(transport); });
  return wrong;
}

// With many ranks every load costs much and tells little more.
constexpr int kManyRanks = 9;

conformance::Body contract_for(const std::vector<int>& host_sizes) {
  return RankMap(host_sizes).ranks() < kManyRanks ? conformance::token_major
                                                  : conformance::token_major_in_part;
}

TEST(Exchange, TokenMajorContractInSimulation) {
  for (const conformance::Shape& shape : std::vector<conformance::Shape>{{{1}, 1},
                                                                         {{2}, 1},
                                                                         {{1, 1}, 1},
                                                                         {{2, 2}, 2},
                                                                         {{3, 2, 2}, 1},
                                                                         {{1, 4}, 3},
                                                                         {{4, 4, 4, 4}, 1}}) {
    const std::vector<std::string> wrong =
        run_in_simulation(shape, contract_for(shape.host_sizes), 5);
    for (std::size_t rank = 0; rank < wrong.size(); ++rank) {
      EXPECT_EQ(wrong[rank], "") << "rank " << rank << " of " << wrong.size();
    }
  }
}

void expect_conformance_of_processes(const std::vector<int>& host_sizes, int rails) {
  const RankMap ranks(host_sizes);
  ProcessRanks processes(ranks, rails, contract_for(host_sizes));
  for (int rank = 0; rank < ranks.ranks(); ++rank) {
    EXPECT_EQ(processes.result(rank), "") << "rank " << rank << " of " << ranks.ranks();
  }
}

TEST(Exchange, TokenMajorContractInSharedMemory) {
  for (const int ranks : {1, 2, 5, 16}) {
    expect_conformance_of_processes({ranks}, 1);
  }
}

TEST(Exchange, TokenMajorContractOverTcp) {
  expect_conformance_of_processes({1, 1}, 1);
  expect_conformance_of_processes({2, 2}, 2);
  expect_conformance_of_processes({1, 3, 2}, 1);
  expect_conformance_of_processes({5, 4, 4}, 1);
  expect_conformance_of_processes({4, 4, 4, 4}, 1);
}

}  // namespace
}  // namespace mixnet::ep
