#include "ep/point_to_point.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "ep/collectives.h"
#include "ep/simulated_fabric.h"

namespace mixnet::ep {
namespace {

using namespace std::chrono_literals;

struct TransferScene {
  std::vector<int> host_sizes = {1, 1};
  uint64_t window_bytes = 1 << 20;
  std::vector<SimulatedFault> faults = {};
};

std::vector<std::string> run_transfers(const TransferScene& scene,
                                       const std::function<std::string(ExchangeState&)>& body) {
  SimulationOptions options;
  options.ranks = RankMap(scene.host_sizes);
  options.window_bytes = scene.window_bytes;
  std::vector<std::string> texts(at(options.ranks.ranks()));
  run_simulated(options, scene.faults, [&](Transport& transport) {
    HostCopyEngine copies;
    ExchangeState state(transport, copies, Patience{40ms, 2s});
    texts[at(transport.rank())] = body(state);
  });
  return texts;
}

std::string outcome(const Status& status) { return status ? "ok" : status.error().text(); }

struct Buffer {
  std::vector<float> values;
  uint64_t size() const { return values.size() * sizeof(float); }
  Address address() { return host_address(values.data()); }
};

// The others are in a barrier meanwhile, and what they say of it is not lost.
TEST(PointToPoint, GoesOnBesideACollective) {
  for (const std::vector<int>& hosts : {std::vector<int>{4}, {2, 2}, {1, 3}}) {
    const auto texts = run_transfers({hosts}, [](ExchangeState& state) {
      const int self = state.endpoint.self();
      Buffer data{std::vector<float>(70'000, static_cast<float>(self))};
      for (int round = 0; round < 3; ++round) {
        if (self == 1) {
          EXPECT_EQ(outcome(send(state, {2, data.address(), data.size()})), "ok");
        } else if (self == 2) {
          EXPECT_EQ(outcome(receive(state, {1, data.address(), data.size()})), "ok");
          EXPECT_EQ(data.values, std::vector<float>(70'000, 1.0F));
        }
        EXPECT_EQ(outcome(barrier(state)), "ok");
      }
      EXPECT_EQ(state.endpoint.memory->used(), 0U);
      EXPECT_TRUE(state.endpoint.direct.empty());
      return state.endpoint.lost.text();
    });
    EXPECT_EQ(texts, std::vector<std::string>(4, "none"));
  }
}

TEST(PointToPoint, CountsBytesOfNics) {
  const auto texts = run_transfers({}, [](ExchangeState& state) {
    Buffer data{std::vector<float>(1000)};
    const int other = 1 - state.endpoint.self();
    Buffer got{std::vector<float>(1000)};
    EXPECT_EQ(outcome(send_receive(state, {other, data.address(), data.size()},
                                   {other, got.address(), got.size()})),
              "ok");
    return std::to_string(state.traffic.nic_bytes[0]);
  });
  EXPECT_EQ(texts, std::vector<std::string>(2, "4000"));
}

TEST(PointToPoint, DifferentSizesAreAnErrorOnBothSides) {
  const auto texts = run_transfers({}, [](ExchangeState& state) {
    Buffer data{std::vector<float>(10)};
    std::string text =
        outcome(state.endpoint.self() == 0 ? send(state, {1, data.address(), 40})
                                           : receive(state, {0, data.address(), 36}));
    EXPECT_EQ(state.endpoint.memory->used(), 0U);
    EXPECT_EQ(outcome(state.endpoint.self() == 0 ? send(state, {1, data.address(), 40})
                                                 : receive(state, {0, data.address(), 40})),
              "ok");
    return text;
  });
  EXPECT_EQ(texts[0], "send: rank 1 receives 36 bytes, not 40");
  EXPECT_EQ(texts[1], "receive: rank 0 sends 40 bytes, not 36");
}

TEST(PointToPoint, AWindowThatIsTooSmallIsAnErrorOnBothSides) {
  const auto texts = run_transfers({{1, 1}, 8192}, [](ExchangeState& state) {
    Buffer data{std::vector<float>(10'000)};
    return outcome(state.endpoint.self() == 0 ? send(state, {1, data.address(), data.size()})
                                              : receive(state, {0, data.address(), data.size()}));
  });
  const std::string lacking = "needs a block of 40000 bytes of its window but 8192 are free";
  EXPECT_EQ(texts[0].rfind("send to rank 1 " + lacking, 0), 0U) << texts[0];
  EXPECT_EQ(texts[1].rfind("receive: rank 0 " + lacking, 0), 0U) << texts[1];
}

TEST(PointToPoint, APeerThatEndsOrStandsStillOrDoesNotComeIsNamed) {
  const auto receives = [](ExchangeState& state) {
    Buffer data{std::vector<float>(10)};
    if (state.endpoint.self() != 0) {
      state.endpoint.transport.wait(state.endpoint.transport.now() + 10s);
      return std::string();
    }
    const Instant start = state.endpoint.transport.now();
    std::string text = outcome(receive(state, {1, data.address(), data.size()}));
    EXPECT_TRUE(state.endpoint.lost.empty());
    return text + (state.endpoint.transport.now() < start + 60ms ? " soon" : "");
  };
  SimulatedFault fault;
  fault.rank = 1;
  fault.after = 1ms;
  EXPECT_EQ(run_transfers({{1, 1}, 1 << 20, {fault}}, receives)[0],
            "rank 1 ended before the transfer did soon");
  fault.kind = SimulatedFault::Kind::kStop;
  EXPECT_EQ(run_transfers({{1, 1}, 1 << 20, {fault}}, receives)[0],
            "rank 1 has given no sign of life for longer than the patience soon");
  EXPECT_EQ(run_transfers({{1, 1}}, receives)[0],
            "rank 1 lives but did not come to this transfer within the patience for a call");
}

// A send that was given up is not received later.
TEST(PointToPoint, AWithdrawnSendIsForgotten) {
  const auto texts = run_transfers({{2}}, [](ExchangeState& state) {
    Buffer data{std::vector<float>(10, 1.0F)};
    if (state.endpoint.self() == 0) {
      std::string text = outcome(send(state, {1, data.address(), data.size()}));
      data.values.assign(10, 2.0F);
      EXPECT_EQ(outcome(send(state, {1, data.address(), data.size()})), "ok");
      return text;
    }
    state.endpoint.transport.wait(state.endpoint.transport.now() + 10ms);
    for (const Instant until = state.endpoint.transport.now() + 3s;
         state.endpoint.transport.now() < until;) {
      state.endpoint.transport.wait(until);
      Event event = state.endpoint.transport.poll();
      if (event.kind == Event::Kind::kMessage) {
        state.endpoint.direct.push_back(std::move(event));
      }
    }
    std::string text = outcome(receive(state, {0, data.address(), data.size()}));
    return text + " " + std::to_string(data.values[0]);
  });
  EXPECT_EQ(texts[0],
            "rank 1 lives but did not come to this transfer within the patience for a "
            "call");
  EXPECT_EQ(texts[1], "ok 2.000000");
}

TEST(PointToPoint, BadPeers) {
  const auto texts = run_transfers({}, [](ExchangeState& state) {
    Buffer data{std::vector<float>(10)};
    return outcome(send(state, {state.endpoint.self(), data.address(), 40})) + "; " +
           outcome(receive(state, {2, data.address(), 40}));
  });
  EXPECT_EQ(texts[0], "there is no peer of rank 0; there is no peer of rank 2");
}

}  // namespace
}  // namespace mixnet::ep
