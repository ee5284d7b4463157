#include "net/unix_stream.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "net/loop_test_support.h"
#include "net/stream_test_support.h"
#include "support/temporary_directory.h"

namespace mixnet::net {
namespace {

using std::chrono::seconds;

struct UnixWorld {
  UnixWorld() {
    acceptor.on_accept = [this](RecordingEnd& end) { end.changed = [this] { until.changed(); }; };
    here.changed = [this] { until.changed(); };
  }
  auto listen() { return UnixListener::listen(loop, path, acceptor); }
  void dial() {
    UnixDialer dialer(loop, path);
    here.stream = dialer.dial(here, seconds(5));
  }

  test_support::TemporaryDirectory directory;
  std::string path = directory.file("control.sock");
  AsioLoop loop;
  Until until{loop};
  RecordingAcceptor acceptor;
  RecordingEnd here;
};

TEST(UnixStream, CarriesBytesAndTellsWhoCalls) {
  UnixWorld world;
  const auto listener = world.listen();
  ASSERT_TRUE(listener.ok());
  struct stat made {};
  ASSERT_EQ(::lstat(world.path.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777U, 0600U);
  world.dial();
  EXPECT_EQ(world.here.opened, 0) << "within the call";
  ASSERT_TRUE(world.until.run([&] { return world.here.opened == 1; }));
  world.here.stream->send("status");
  ASSERT_TRUE(world.until.run([&] {
    return !world.acceptor.ends.empty() && world.acceptor.ends[0]->received == "status";
  }));
  EXPECT_EQ(world.acceptor.peers.at(0),
            "pid " + std::to_string(::getpid()) + " of user " + std::to_string(::getuid()));
  world.acceptor.ends[0]->stream->send("fine");
  world.acceptor.ends[0]->stream->close();
  ASSERT_TRUE(world.until.run([&] { return world.here.closed == 1; }));
  EXPECT_EQ(world.here.received, "fine");
  EXPECT_EQ(world.here.error, world.path + ": closed by the peer");
}

TEST(UnixStream, NobodyListeningIsNamed) {
  UnixWorld world;
  world.dial();
  ASSERT_TRUE(world.until.run([&] { return world.here.closed == 1; }));
  EXPECT_EQ(world.here.error, world.path + ": No such file or directory");
}

TEST(UnixListener, ReplacesADeadSocketOnly) {
  UnixWorld world;
  {
    auto first = world.listen();
    ASSERT_TRUE(first.ok());
    const auto second = world.listen();
    ASSERT_FALSE(second.ok());
    EXPECT_NE(second.error().text().find("another program listens there"), std::string::npos);
    // As after a kill: the socket is there and nobody listens.
    std::filesystem::rename(world.path, world.path + ".kept");
    first = world.listen();
    ASSERT_TRUE(first.ok());
  }
  EXPECT_FALSE(std::filesystem::exists(world.path)) << "removed with its listener";
  std::filesystem::rename(world.path + ".kept", world.path);
  const auto again = world.listen();
  EXPECT_TRUE(again.ok()) << again.error().text();
}

TEST(UnixListener, RefusesWhatIsNoSocket) {
  UnixWorld world;
  std::ofstream(world.path) << "precious";
  const auto listener = world.listen();
  ASSERT_FALSE(listener.ok());
  EXPECT_NE(listener.error().text().find("no socket"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(world.path));
}

TEST(UnixListener, RefusesPathsThatDoNotFit) {
  UnixWorld world;
  world.path += std::string(200, 'x');
  const auto listener = world.listen();
  ASSERT_FALSE(listener.ok());
  EXPECT_NE(listener.error().text().find("1 to 107 bytes"), std::string::npos);
}

}  // namespace
}  // namespace mixnet::net
