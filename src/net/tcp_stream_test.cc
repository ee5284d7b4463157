#include "net/tcp_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>

#include "core/random.h"
#include "net/loop_test_support.h"
#include "net/stream_errors.h"
#include "net/stream_test_support.h"
#include "net/unique_fd.h"

namespace mixnet::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A dialer and a listener on loopback.
struct TcpWorld {
  TcpWorld() {
    listener = *TcpListener::listen(loop, {"127.0.0.1", 0}, acceptor);
    acceptor.on_accept = [this](RecordingEnd& end) { end.changed = [this] { until.changed(); }; };
    here.changed = [this] { until.changed(); };
  }
  void dial() {
    TcpDialer dialer(loop, {"127.0.0.1", listener->port()});
    here.stream = dialer.dial(here, seconds(5));
  }
  void connect() {
    dial();
    ASSERT_TRUE(until.run([this] {
      return here.opened == 1 && !acceptor.ends.empty() && acceptor.ends[0]->opened == 1;
    }));
  }
  RecordingEnd& there() { return *acceptor.ends.at(0); }
  std::string peer() const { return HostPort{"127.0.0.1", listener->port()}.text(); }

  AsioLoop loop;
  Until until{loop};
  RecordingAcceptor acceptor;
  std::unique_ptr<TcpListener> listener;
  RecordingEnd here;
};

std::string noise(std::size_t bytes) {
  RandomStream random(1, "noise");
  std::string text(bytes, ' ');
  std::ranges::generate(text, [&] { return static_cast<char>(random.next()); });
  return text;
}

TEST(TcpStream, CarriesBytesBothWays) {
  TcpWorld world;
  world.connect();
  EXPECT_EQ(world.acceptor.peers.at(0).rfind("127.0.0.1:", 0), 0U);
  world.here.stream->send("hel");
  world.here.stream->send("lo");
  ASSERT_TRUE(world.until.run([&] { return world.there().received == "hello"; }));
  world.there().stream->send("world");
  ASSERT_TRUE(world.until.run([&] { return world.here.received == "world"; }));
  EXPECT_EQ(world.here.closed + world.there().closed, 0);
}

TEST(TcpStream, WritesThatTheSocketDoesNotTakeAtOnceArriveWhole) {
  TcpWorld world;
  world.connect();
  const std::string up = noise(15U << 20);
  const std::string down = noise(9U << 20);
  world.here.stream->send(up);
  for (std::size_t at = 0; at < down.size(); at += 1U << 20) {
    world.there().stream->send(std::string_view(down).substr(at, 1U << 20));
  }
  ASSERT_TRUE(world.until.run([&] {
    return world.there().received.size() == up.size() && world.here.received.size() == down.size();
  }));
  EXPECT_TRUE(world.there().received == up);
  EXPECT_TRUE(world.here.received == down);
}

TEST(TcpStream, CloseSendsWhatIsQueuedAlsoWhenTheStreamIsDestroyed) {
  TcpWorld world;
  world.connect();
  const std::string text = noise(8U << 20);  // more than the buffers of the system hold
  world.here.stream->send(text);
  world.here.stream->close();
  world.here.stream.reset();
  ASSERT_TRUE(world.until.run([&] { return world.there().closed == 1; }));
  EXPECT_TRUE(world.there().received == text);
  EXPECT_EQ(world.there().error, world.acceptor.peers.at(0) + ": closed by the peer");
  EXPECT_EQ(world.here.closed, 0);
}

TEST(TcpStream, DestroyingAStreamClosesIt) {
  TcpWorld world;
  world.connect();
  world.there().stream.reset();
  ASSERT_TRUE(world.until.run([&] { return world.here.closed == 1; }));
  EXPECT_EQ(world.here.error, world.peer() + ": closed by the peer");
  world.here.stream->send("to nobody");
  world.here.stream->close();
}

TEST(TcpStream, NobodyListeningIsRefused) {
  TcpWorld world;
  const std::string peer = world.peer();
  TcpDialer dialer(world.loop, {"127.0.0.1", world.listener->port()});
  world.listener.reset();
  world.here.stream = dialer.dial(world.here, seconds(5));
  EXPECT_EQ(world.here.closed, 0) << "within the call";
  ASSERT_TRUE(world.until.run([&] { return world.here.closed == 1; }));
  EXPECT_EQ(world.here.error, peer + ": connection refused");
  EXPECT_EQ(world.here.opened, 0);
}

TEST(TcpStream, SilenceEndsAtTheDeadline) {
  // A socket that listens and whose queue is full takes no connection and refuses none.
  TcpWorld world;
  const UniqueFd full(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress any = numeric_addresses({"127.0.0.1", 0}).at(0);
  ASSERT_EQ(::bind(full.get(), any.get(), any.size), 0);
  ASSERT_EQ(::listen(full.get(), 0), 0);
  SocketAddress bound;
  bound.size = sizeof bound.storage;
  ASSERT_EQ(::getsockname(full.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.size), 0);
  TcpDialer dialer(world.loop, bound.host_port());
  std::vector<std::unique_ptr<RecordingEnd>> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(std::make_unique<RecordingEnd>());
    waiting.back()->changed = [&] { world.until.changed(); };
    waiting.back()->stream = dialer.dial(*waiting.back(), milliseconds(50));
  }
  ASSERT_TRUE(world.until.run([&] { return waiting.back()->closed == 1; }));
  EXPECT_EQ(waiting.back()->error, dialer.peer() + ": no connection within 50 ms");
}

TEST(TcpStream, ANameWithoutAddressIsNamed) {
  TcpWorld world;
  TcpDialer dialer(world.loop, {"no such name", 3082});
  world.here.stream = dialer.dial(world.here, seconds(9));
  ASSERT_TRUE(world.until.run([&] { return world.here.closed == 1; }));
  EXPECT_EQ(world.here.error.rfind("no such name:3082: the name has no address", 0), 0U)
      << world.here.error;
}

TEST(TcpStream, TriesEveryAddressOfAName) {
  // "localhost" may be ::1 first, where nobody listens.
  TcpWorld world;
  TcpDialer dialer(world.loop, {"localhost", world.listener->port()});
  world.here.stream = dialer.dial(world.here, seconds(5));
  ASSERT_TRUE(world.until.run([&] { return world.here.opened + world.here.closed > 0; }));
  EXPECT_EQ(world.here.opened, 1) << world.here.error;
}

TEST(TcpStream, SpeaksIpv6) {
  TcpWorld world;
  auto listener = TcpListener::listen(world.loop, {"::1", 0}, world.acceptor);
  if (!listener) {
    GTEST_SKIP() << "no IPv6 here: " << listener.error().text();
  }
  TcpDialer dialer(world.loop, {"::1", (*listener)->port()});
  EXPECT_EQ(dialer.peer().rfind("[::1]:", 0), 0U);
  world.here.stream = dialer.dial(world.here, seconds(5));
  ASSERT_TRUE(world.until.run([&] { return world.here.opened + world.here.closed > 0; }));
  EXPECT_EQ(world.here.opened, 1) << world.here.error;
}

TEST(TcpStream, AnOwnerMayDestroyTheStreamInAnyCall) {
  for (const int when : {0, 1, 2}) {
    TcpWorld world;
    int calls = 0;
    bool other_closed = false;
    world.here.changed = [&] {
      if (calls++ == when) {
        world.here.stream.reset();
      }
      world.until.changed();
    };
    world.acceptor.on_accept = [&](RecordingEnd& end) {
      end.stream->send("x");
      if (when == 2) {
        end.stream->close();
        other_closed = true;
      }
      end.changed = [&] {
        other_closed = other_closed || end.closed == 1;
        world.until.changed();
      };
    };
    world.dial();
    ASSERT_TRUE(world.until.run([&] { return calls == when + 1 && other_closed; }));
  }
}

TEST(TcpStream, AFullQueueClosesTheStream) {
  TcpWorld world;
  // A peer that reads nothing: a plain socket.
  const UniqueFd peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress to = numeric_addresses({"127.0.0.1", world.listener->port()}).at(0);
  ASSERT_EQ(::connect(peer.get(), to.get(), to.size), 0);
  ASSERT_TRUE(
      world.until.run([&] { return !world.acceptor.ends.empty() && world.there().opened == 1; }));
  const std::string piece(1U << 20, 'x');
  for (int i = 0; i < 64; ++i) {
    world.there().stream->send(piece);
  }
  EXPECT_EQ(world.there().closed, 0) << "within the call";
  ASSERT_TRUE(world.until.run([&] { return world.there().closed == 1; }));
  EXPECT_NE(world.there().error.find("more than 16 MiB were waiting"), std::string::npos);
}

TEST(TcpStream, APeerThatResetsIsReported) {
  TcpWorld world;
  UniqueFd peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress to = numeric_addresses({"127.0.0.1", world.listener->port()}).at(0);
  ASSERT_EQ(::connect(peer.get(), to.get(), to.size), 0);
  ASSERT_TRUE(
      world.until.run([&] { return !world.acceptor.ends.empty() && world.there().opened == 1; }));
  const linger reset{1, 0};
  ::setsockopt(peer.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  peer.reset();
  ASSERT_TRUE(world.until.run([&] { return world.there().closed == 1; }));
  EXPECT_NE(world.there().error.find(": connection reset"), std::string::npos);
}

TEST(TcpListener, AnAcceptorMayTurnAStreamAway) {
  TcpWorld world;
  world.acceptor.on_accept = [](RecordingEnd& end) { end.stream.reset(); };
  world.dial();
  ASSERT_TRUE(world.until.run([&] { return world.here.closed == 1; }));
  EXPECT_EQ(world.there().opened, 0);
}

TEST(TcpListener, AnAddressInUseIsNamed) {
  TcpWorld world;
  const auto second =
      TcpListener::listen(world.loop, {"127.0.0.1", world.listener->port()}, world.acceptor);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().text(), world.peer() + ": cannot listen here: Address already in use");
}

TEST(HostPort, ParsesAndPrints) {
  for (const std::string text :
       {"10.0.0.5:3082", "switch.lab:1", "[::1]:0", "[fe80::1%eth0]:65535"}) {
    const Result<HostPort> parsed = parse_host_port(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(parsed->text(), text);
  }
  for (const std::string text : {"", "host", ":3082", "host:", "host:x", "host:65536", "host:-1",
                                 "::1:3082", "[::1]", "[]:1", "a b:1", "host:1 "}) {
    const Result<HostPort> parsed = parse_host_port(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().text().find("write HOST:PORT"), std::string::npos);
  }
}

}  // namespace
}  // namespace mixnet::net
