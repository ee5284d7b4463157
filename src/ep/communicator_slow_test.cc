#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "ep/communicator_test_support.h"
#include "ep/process_test_support.h"

// Communicators of real processes.
namespace mixnet::ep {
namespace {

using namespace std::chrono_literals;

conformance::Load process_load(uint64_t round) {
  conformance::Load load{16, 3};
  load.seed = round;
  load.mode = kTransports[round % 4];
  return load;
}

// Calls until rank 1 dies in the middle of one, then some among the survivors.
std::string outlive_one(Transport& transport) {
  if (transport.rank() == 1) {
    std::thread([] {
      std::this_thread::sleep_for(20ms);
      kill(getpid(), SIGKILL);
    }).detach();
  }
  const auto first = communicator_over(transport, Patience{2s, 20s});
  std::string wrong;
  for (uint64_t round = 0; first->lost().empty() && wrong.empty(); ++round) {
    const std::string called = roll_call(*first);
    if (called != "0 1 2 3 4 " && called != "0 - 2 3 4 ") {
      wrong = called;
    } else if (first->lost().empty()) {
      wrong = echo(*first, process_load(round));
    }
  }
  const auto survivors = first->shrink();
  wrong += roll_call(*survivors);
  for (uint64_t round = 0; round < 8; ++round) {
    wrong += echo(*survivors, process_load(round));
  }
  return wrong;
}

TEST(CommunicatorProcesses, SurvivorsOfAKillShrinkAndGoOn) {
  for (const std::vector<int>& host_sizes : std::vector<std::vector<int>>{{5}, {2, 2, 1}}) {
    ProcessRanks processes(RankMap(host_sizes), 2, outlive_one);
    for (const int rank : {0, 2, 3, 4}) {
      EXPECT_EQ(processes.result(rank), "0 1 2 3 ") << "rank " << rank;
    }
  }
}

// Everything that can be started at once, with several NICs.
std::string start_all(Transport& transport) {
  const auto communicator = communicator_over(transport, Patience{2s, 20s});
  std::vector<conformance::Load> loads;
  std::vector<conformance::RankLoad> own;
  for (uint64_t round = 0; round < 6; ++round) {
    loads.push_back(process_load(round));
    own.push_back(
        conformance::load_of(loads.back(), communicator->rank(), communicator->ranks().ranks()));
  }
  std::vector<std::future<Result<Dispatched>>> started;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    started.push_back(communicator->start_dispatch(conformance::input_of(loads[i], own[i]),
                                                   conformance::options_of(loads[i])));
  }
  std::string text;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const Result<Dispatched> got = started[i].get();
    if (!got) {
      return got.error().text();
    }
    std::vector<float> sums(own[i].x.size() / sizeof(float));
    const CombineInput back{got->x, loads[i].hidden, loads[i].type, false, {}, {}};
    const Result<Combined> combined =
        communicator->start_combine(back, got->handle, host_address(sums.data())).get();
    text += combined ? wrong_echo(*communicator, loads[i], own[i], sums) : combined.error().text();
  }
  return text + roll_call(*communicator);
}

TEST(CommunicatorProcesses, CallsThatWereStartedKeepTheirOrder) {
  ProcessRanks processes(RankMap({2, 1}), 2, start_all);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(processes.result(rank), "0 1 2 ") << "rank " << rank;
  }
}

}  // namespace
}  // namespace mixnet::ep
