#include "net/memory_network.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "net/simulated_loop.h"
#include "net/stream_test_support.h"

namespace mixnet::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = StreamFault::Kind;

std::string text_of(std::size_t bytes, uint64_t seed) {
  RandomStream random(seed, "text");
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    text += static_cast<char>('a' + random.below(26));
  }
  return text;
}

// A dialer and a listener of "switch" under a simulated clock.
struct MemoryWorld {
  explicit MemoryWorld(MemoryNetworkOptions options = {})
      : network(loop, options), dialer(network.dialer("switch")) {
    network.listen("switch", acceptor);
  }

  void dial() { here.stream = dialer->dial(here, seconds(2)); }
  void run(Duration duration) { loop.run_until(loop.now() + duration); }
  RecordingEnd& there() { return *acceptor.ends.at(0); }
  // Everything that both ends saw, and when the loop fell idle.
  std::string trace() {
    while (loop.run_one()) {
    }
    std::string text =
        fmt::format("{} {} {} ", loop.now().time_since_epoch().count(), here.received, here.error);
    for (const auto& end : acceptor.ends) {
      text += fmt::format("{} {} ", end->received, end->error);
      for (const std::size_t piece : end->pieces) {
        text += fmt::format("{},", piece);
      }
    }
    return text;
  }

  SimulatedLoop loop;
  MemoryNetwork network;
  RecordingAcceptor acceptor;
  std::unique_ptr<Dialer> dialer;
  RecordingEnd here;
};

TEST(MemoryNetwork, CarriesBytesInOrderWithLatencyAndInPieces) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    MemoryWorld world({milliseconds(1), milliseconds(5), 7, seed});
    const std::string up = text_of(300, seed);
    const std::string down = text_of(500, seed + 100);
    world.acceptor.on_accept = [&](RecordingEnd& end) { end.stream->send(down); };
    world.dial();
    EXPECT_EQ(world.here.opened, 0) << "within the call";
    world.run(milliseconds(10));
    EXPECT_EQ(world.here.opened, 1);
    EXPECT_EQ(world.there().opened, 1);
    world.here.stream->send(up.substr(0, 100));
    world.here.stream->send(up.substr(100));
    EXPECT_EQ(world.there().received, "");
    world.run(milliseconds(20));
    EXPECT_EQ(world.there().received, up);
    EXPECT_EQ(world.here.received, down);
    EXPECT_LE(*std::ranges::max_element(world.there().pieces), 7U);
    EXPECT_GT(world.there().pieces.size(), 300U / 7);
    EXPECT_EQ(world.here.closed + world.there().closed, 0);
  }
}

TEST(MemoryNetwork, EqualSeedsGiveEqualRuns) {
  const auto run = [](uint64_t seed) {
    MemoryWorld world({milliseconds(1), milliseconds(5), 9, seed});
    world.network.plan_next({ConnectionPlan::Connect::kAccept,
                             {{Kind::kStall, Direction::kToListener, 50, milliseconds(30)},
                              {Kind::kReset, Direction::kToListener, 120, {}}}});
    world.dial();
    world.run(milliseconds(10));
    world.here.stream->send(text_of(200, 3));
    return world.trace();
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(MemoryNetwork, NobodyListeningAndRefusalsAreRefused) {
  MemoryWorld world;
  world.network.plan_next({ConnectionPlan::Connect::kRefuse, {}});
  world.dial();
  EXPECT_EQ(world.here.closed, 0) << "within the call";
  world.run(milliseconds(1));
  EXPECT_EQ(world.here.error, "switch: connection refused");
  EXPECT_TRUE(world.acceptor.ends.empty());

  world.network.unlisten("switch");
  world.dial();
  world.run(seconds(3));
  EXPECT_EQ(world.here.closed, 2);
  EXPECT_EQ(world.here.opened, 0);
}

TEST(MemoryNetwork, SilenceEndsAtTheDeadline) {
  MemoryWorld world;
  world.network.set_default({ConnectionPlan::Connect::kSilence, {}});
  world.dial();
  world.run(seconds(2) - milliseconds(1));
  EXPECT_EQ(world.here.closed, 0);
  world.run(milliseconds(1));
  EXPECT_EQ(world.here.error, "switch: no connection within 2 s");
  world.run(seconds(10));
  EXPECT_EQ(world.here.closed, 1);
}

TEST(MemoryNetwork, CutsAfterExactlySoManyBytesInEitherDirection) {
  const std::string text = text_of(40, 5);
  for (const Direction direction : {Direction::kToListener, Direction::kToDialer}) {
    for (const Kind kind : {Kind::kReset, Kind::kFin}) {
      for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        MemoryWorld world({milliseconds(1), milliseconds(3), 6, cut + 1});
        world.network.plan_next({ConnectionPlan::Connect::kAccept, {{kind, direction, cut, {}}}});
        world.dial();
        world.run(milliseconds(6));
        const bool up = direction == Direction::kToListener;
        (up ? world.here : world.there()).stream->send(text);
        world.run(seconds(1));
        const RecordingEnd& receiver = up ? world.there() : world.here;
        const RecordingEnd& sender = up ? world.here : world.there();
        EXPECT_EQ(receiver.received, text.substr(0, cut));
        EXPECT_EQ(receiver.closed, 1);
        EXPECT_EQ(sender.closed, 1);
        const std::string of_receiver =
            kind == Kind::kReset ? "connection reset" : "closed by the peer";
        EXPECT_NE(receiver.error.find(of_receiver), std::string::npos) << receiver.error;
        EXPECT_NE(sender.error.find("connection reset"), std::string::npos) << sender.error;
      }
    }
  }
}

TEST(MemoryNetwork, HalfOpenTellsNobody) {
  MemoryWorld world;
  world.network.plan_next(
      {ConnectionPlan::Connect::kAccept, {{Kind::kVanish, Direction::kToDialer, 3, {}}}});
  world.dial();
  world.run(milliseconds(1));
  world.there().stream->send("abcdef");
  world.run(milliseconds(1));
  world.here.stream->send("lost");
  world.there().stream->close();
  world.run(seconds(100));
  EXPECT_EQ(world.here.received, "abc");
  EXPECT_EQ(world.there().received, "");
  EXPECT_EQ(world.here.closed + world.there().closed, 0);
}

TEST(MemoryNetwork, AStallDelaysAndLosesNothing) {
  MemoryWorld world({Duration(0), Duration(0), 2, 1});
  world.network.plan_next({ConnectionPlan::Connect::kAccept,
                           {{Kind::kStall, Direction::kToListener, 5, milliseconds(500)}}});
  world.dial();
  world.run(milliseconds(1));
  world.here.stream->send("0123456789");
  world.here.stream->close();
  world.run(milliseconds(499));
  EXPECT_EQ(world.there().received, "01234");
  world.run(milliseconds(2));
  EXPECT_EQ(world.there().received, "0123456789");
  EXPECT_EQ(world.there().error, "client 1: closed by the peer");
}

TEST(MemoryNetwork, StrikesOpenConnections) {
  MemoryWorld world;
  world.dial();
  world.run(milliseconds(1));
  world.network.strike({Kind::kReset, Direction::kToDialer, 0, {}});
  EXPECT_EQ(world.here.error, "switch: connection reset");
  EXPECT_EQ(world.there().error, "client 1: connection reset");
}

TEST(MemoryNetwork, DestroyingAnEndClosesTheOther) {
  MemoryWorld world;
  world.dial();
  world.run(milliseconds(1));
  world.there().stream->send("bye");
  world.there().stream.reset();
  world.here.stream->send("too late");
  world.run(milliseconds(1));
  EXPECT_EQ(world.here.received, "bye");
  EXPECT_EQ(world.here.error, "switch: closed by the peer");
  EXPECT_EQ(world.there().received, "");
  EXPECT_EQ(world.there().closed, 0);
}

TEST(MemoryNetwork, AnOwnerMayDestroyTheStreamInAnyCall) {
  for (const std::size_t when : {0U, 1U, 2U}) {
    MemoryWorld world;
    std::size_t calls = 0;
    world.here.changed = [&] {
      if (calls++ == when) {
        world.here.stream.reset();
      }
    };
    world.acceptor.on_accept = [](RecordingEnd& end) {
      end.stream->send("x");
      end.stream->close();
    };
    world.dial();
    world.run(seconds(3));
    EXPECT_EQ(calls, when + 1);
  }
}

TEST(MemoryNetwork, AnAcceptorMayTurnAStreamAway) {
  MemoryWorld world;
  world.acceptor.on_accept = [](RecordingEnd& end) { end.stream.reset(); };
  world.dial();
  world.run(milliseconds(1));
  EXPECT_EQ(world.there().opened, 0);
  EXPECT_EQ(world.here.error, "switch: closed by the peer");
}

TEST(MemoryNetwork, AFullQueueClosesTheStream) {
  MemoryWorld world;
  world.network.plan_next(
      {ConnectionPlan::Connect::kAccept, {{Kind::kStall, Direction::kToListener, 0, seconds(10)}}});
  world.dial();
  world.run(milliseconds(1));
  world.here.stream->send(std::string(kMaxQueuedBytes, 'x'));
  world.run(milliseconds(1));
  EXPECT_EQ(world.here.closed, 0);
  world.here.stream->send("y");
  EXPECT_EQ(world.here.closed, 0) << "within the call";
  world.run(milliseconds(1));
  EXPECT_EQ(world.here.error, "switch: more than 16 MiB were waiting to be sent");
}

}  // namespace
}  // namespace mixnet::net
