// The program as systemd runs it: arguments and signals in, notifications, log and exit code out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <future>
#include <nlohmann/json.hpp>
#include <sstream>

#include "daemon/mixnetd_process.h"
#include "daemon/region_bench.h"

namespace mixnet::daemon {
namespace {

namespace v1 = region::v1;
using mixnet::test_support::Mixnetd;
using mixnet::test_support::RegionBench;
using ::testing::HasSubstr;

// What sd_notify() says.
class NotifySocket {
 public:
  explicit NotifySocket(std::string path) : path_(std::move(path)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const timeval limit{30, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }
  ~NotifySocket() { ::close(fd_); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;
  NotifySocket(NotifySocket&&) = delete;
  NotifySocket& operator=(NotifySocket&&) = delete;

  const std::string& path() const { return path_; }
  std::string next() const {
    char buffer[256];
    const ssize_t got = ::recv(fd_, buffer, sizeof(buffer), 0);
    return got < 0 ? "" : std::string(buffer, static_cast<std::size_t>(got));
  }

 private:
  std::string path_;
  int fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

class MixnetdTest : public ::testing::Test {
 protected:
  std::string output() const { return mixnet::test_support::read_all(output_); }
  Mixnetd run(const std::vector<std::string>& arguments) {
    return {arguments, notify_.path(), output_};
  }

  RegionBench bench_;
  NotifySocket notify_{bench_.folder.file("notify.sock")};
  std::string output_ = bench_.folder.write("output", "");
};

TEST_F(MixnetdTest, ItTellsSystemdAndStopsCleanly) {
  Mixnetd mixnetd = run({"--config", bench_.config});
  EXPECT_EQ(notify_.next(), "READY=1");
  bench_.await_session();
  EXPECT_THAT(bench_.emulator.control("status"), HasSubstr(" admin"));
  mixnetd.signal(SIGTERM);
  EXPECT_EQ(notify_.next(), "STOPPING=1");
  EXPECT_EQ(mixnetd.wait(), 0) << output();
  // The switch may still be hearing of it.
  bool gone = false;
  for (int tries = 0; tries < 1000 && !gone; ++tries) {
    gone = bench_.emulator.control("status").find(" admin") == std::string::npos;
    std::this_thread::sleep_for(std::chrono::milliseconds(gone ? 0 : 10));
  }
  EXPECT_TRUE(gone);
  struct stat found {};
  EXPECT_NE(::stat(bench_.folder.file("r1.sock").c_str(), &found), 0);

  std::istringstream lines(output());
  std::vector<std::string> events;
  for (std::string line; std::getline(lines, line);) {
    const auto object = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(object.is_object()) << line;
    ASSERT_TRUE(object.contains("time") && object.contains("level")) << line;
    events.push_back(object["event"]);
  }
  EXPECT_THAT(events, ::testing::Contains("started"));
  EXPECT_EQ(events.back(), "stopped");
  EXPECT_THAT(output(), ::testing::Not(HasSubstr("root")));
}

TEST_F(MixnetdTest, ATransactionUnderWayEndsBeforeTheDaemonDoes) {
  Mixnetd mixnetd = run({"--config", bench_.config});
  ASSERT_EQ(notify_.next(), "READY=1");
  bench_.await_session();
  auto reply = std::async(std::launch::async,
                          [&] { return bench_.client().report_demand(DemandMatrix(3, 3, 1.0)); });
  // Its intent is in the topology from when it began.
  bench_.await([](const v1::Topology& topology) { return topology.intent() != 0; });
  mixnetd.signal(SIGTERM);
  const auto got = reply.get();
  ASSERT_TRUE(got.ok()) << got.error().text();
  for (const v1::CircuitResult& circuit : got->circuits()) {
    EXPECT_EQ(circuit.outcome(), v1::VERIFIED) << circuit.message();
  }
  EXPECT_EQ(mixnetd.wait(), 0) << output();
}

TEST_F(MixnetdTest, ExitCodes) {
  EXPECT_EQ(run({"--help"}).wait(), 0);
  EXPECT_THAT(output(), HasSubstr("Exit codes: 0"));
  EXPECT_EQ(run({}).wait(), 2);
  EXPECT_EQ(run({"--config", bench_.config, "--log-level", "loud"}).wait(), 2);
  EXPECT_EQ(run({"--config", bench_.config, "--check"}).wait(), 0);
  EXPECT_THAT(output(), HasSubstr("r1.toml: good"));
  const std::string bad = bench_.folder.write("bad.toml", "nam = \"r1\"\n");
  EXPECT_EQ(run({"--config", bad, "--check"}).wait(), 2);
  EXPECT_THAT(output(), HasSubstr("bad.toml:1: unknown key `nam`"));
  EXPECT_EQ(run({"--config", bad}).wait(), 2);
  EXPECT_THAT(output(), HasSubstr("\"event\":\"bad-region-file\""));
  ASSERT_EQ(::unlink(bench_.folder.file("switch.credentials").c_str()), 0);
  EXPECT_EQ(run({"--config", bench_.config}).wait(), 1);
  EXPECT_THAT(output(), HasSubstr("\"event\":\"cannot-start\""));
}

}  // namespace
}  // namespace mixnet::daemon
