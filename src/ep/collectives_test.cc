#include "ep/collectives.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ep/conformance.h"
#include "ep/conformance_collectives.h"
#include "ep/simulated_fabric.h"

namespace mixnet::ep {
namespace {

using Texts = std::vector<std::string>;

struct CollectiveScene {
  std::vector<int> host_sizes;
  int rails = 1;
  uint64_t window_bytes = 4 << 20;
  std::vector<SimulatedFault> faults = {};
};

Texts run_collective(const CollectiveScene& scene,
                     const std::function<std::string(ExchangeState&)>& body) {
  SimulationOptions options;
  options.ranks = RankMap(scene.host_sizes);
  options.rails = scene.rails;
  options.seed = 3;
  options.window_bytes = scene.window_bytes;
  Texts texts(at(options.ranks.ranks()));
  run_simulated(options, scene.faults, [&](Transport& transport) {
    HostCopyEngine copies;
    ExchangeState state(transport, copies, Patience{});
    texts[at(transport.rank())] = body(state);
  });
  return texts;
}

std::string text_of_status(const Status& status) { return status ? "" : status.error().text(); }

TEST(Collectives, ContractInSimulation) {
  for (const conformance::Shape& shape :
       std::vector<conformance::Shape>{{{1}, 1}, {{2, 2}, 2}, {{1, 2}, 3}}) {
    const Texts wrong = run_collective({shape.host_sizes, shape.rails}, [](ExchangeState& state) {
      return conformance::collectives(state.endpoint.transport);
    });
    EXPECT_EQ(wrong, Texts(wrong.size())) << shape.host_sizes.size() << " hosts";
  }
}

TEST(Collectives, DifferentArgumentsAreTheSameErrorEverywhere) {
  const Texts sizes = run_collective({{2, 1}}, [](ExchangeState& state) {
    std::vector<float> data(8);
    return text_of_status(all_reduce(state, host_address(data.data()),
                                     state.endpoint.self() == 1 ? 7 : 8, DataType::kFp32));
  });
  EXPECT_EQ(sizes, Texts(3, "all-reduce: elements differs: 7 on rank 1; 8 on ranks 0, 2"));
  const Texts roots = run_collective({{2, 1}}, [](ExchangeState& state) {
    std::vector<float> data(8);
    return text_of_status(
        broadcast(state, host_address(data.data()), 32, state.endpoint.self() == 2 ? 1 : 0));
  });
  EXPECT_EQ(roots, Texts(3, "broadcast: root differs: 0 on ranks 0-1; 1 on rank 2"));
  const Texts calls = run_collective({{2}}, [](ExchangeState& state) {
    std::vector<float> data(8);
    return text_of_status(state.endpoint.self() == 0
                              ? barrier(state)
                              : broadcast(state, host_address(data.data()), 32, 0));
  });
  EXPECT_EQ(calls, Texts(2,
                         "the ranks are in different calls: rank 1 in broadcast; rank 0 in "
                         "barrier"));
}

TEST(Collectives, BadArgumentsOfOneRankAreToldToAll) {
  const Texts texts = run_collective({{1, 1}}, [](ExchangeState& state) {
    std::vector<float> data(8);
    return text_of_status(
        broadcast(state, host_address(data.data()), 32, state.endpoint.self() == 0 ? 5 : 0));
  });
  EXPECT_EQ(texts, Texts(2, "broadcast: rank 0: root = 5 is not one of 2 ranks"));
  const Texts capacity = run_collective({{1, 1}}, [](ExchangeState& state) {
    std::vector<float> data(8);
    std::vector<float> all(16);
    const auto sizes = all_gather_v(state, GatherInput{host_address(data.data()), 32},
                                    host_address(all.data()), state.endpoint.self() == 0 ? 64 : 63);
    return sizes ? "" : sizes.error().text();
  });
  EXPECT_EQ(capacity, Texts(2, "all-gather: the parts have 64 bytes but rank 1 has capacity = 63"));
}

TEST(Collectives, AWindowThatIsTooSmallIsToldToAllAndChangesNothing) {
  const Texts texts = run_collective({{1, 1}, 1, 64 << 10}, [](ExchangeState& state) {
    std::vector<float> data(8192, 1.0F);
    std::string text =
        text_of_status(all_reduce(state, host_address(data.data()), 8192, DataType::kFp32));
    EXPECT_EQ(data, std::vector<float>(8192, 1.0F));
    EXPECT_EQ(text_of_status(all_reduce(state, host_address(data.data()), 100, DataType::kFp32)),
              "");
    EXPECT_EQ(data[99], 2.0F);
    EXPECT_EQ(state.endpoint.memory->used(), 0U);
    return text;
  });
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(
      texts[0].rfind("all-reduce: rank 0: needs a block of 32768 bytes of its window but 0", 0), 0U)
      << texts[0];
}

// All-reduce sends 2 (hosts - 1) / hosts of the data from each host, spread over all NICs.
TEST(Collectives, BytesPerNic) {
  constexpr int64_t kElements = 48'000;
  const auto nic_bytes = [](ExchangeState& state) {
    std::string text;
    for (const int64_t bytes : state.traffic.nic_bytes) {
      text += std::to_string(bytes) + " ";
    }
    return text;
  };
  const auto body = [&](ExchangeState& state) {
    std::vector<float> data(kElements);
    EXPECT_TRUE(all_reduce(state, host_address(data.data()), kElements, DataType::kFp32));
    return nic_bytes(state);
  };
  EXPECT_EQ(run_collective({{2, 2, 2}, 2}, body), Texts(6, "64000 64000 "));
  EXPECT_EQ(run_collective({{2, 1}, 1}, body), (Texts{"192000 ", "0 ", "192000 "}));
  EXPECT_EQ(run_collective({{4}, 2}, body), Texts(4, "0 0 "));
}

TEST(Collectives, TheRootOfABroadcastMayBeLost) {
  SimulatedFault fault;
  fault.rank = 0;
  const Texts texts = run_collective({{1, 2}, 1, 4 << 20, {fault}}, [](ExchangeState& state) {
    std::vector<float> data(8);
    return text_of_status(broadcast(state, host_address(data.data()), 32, 0));
  });
  EXPECT_EQ(texts[1], "broadcast: its root, rank 0, is lost");
  EXPECT_EQ(texts[2], texts[1]);
}

}  // namespace
}  // namespace mixnet::ep
