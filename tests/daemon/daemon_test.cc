// The whole daemon in this process, against an emulated switch over TCP.
#include "daemon/daemon.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include "daemon/region_bench.h"

namespace mixnet::daemon {
namespace {

namespace v1 = region::v1;
using mixnet::test_support::has_alarm;
using mixnet::test_support::RegionBench;
using ::testing::HasSubstr;

class DaemonTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Daemon>> start(const std::string& path) {
    const Result<RegionConfig> config = read_region_config(path);
    EXPECT_TRUE(config.ok()) << (config.ok() ? "" : config.error().text());
    return Daemon::start(*config, log_);
  }
  std::unique_ptr<Daemon> start() {
    auto daemon = start(bench_.config);
    EXPECT_TRUE(daemon.ok()) << (daemon.ok() ? "" : daemon.error().text());
    bench_.await_session();
    return std::move(daemon).value();
  }
  std::string start_error(const std::string& path) {
    const auto daemon = start(path);
    EXPECT_FALSE(daemon.ok());
    return daemon.ok() ? "" : daemon.error().text();
  }
  std::string log_text() const { return mixnet::test_support::read_all(log_path_); }

  RegionBench bench_;
  std::string log_path_ = bench_.folder.write("log", "");
  int log_fd_ = ::open(log_path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  JsonLog log_{log_fd_, LogLevel::kDebug};
};

// Best met by one circuit for every pair.
DemandMatrix demand_of_three() { return {3, 3, 10.0}; }

std::string get_metrics(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
  EXPECT_EQ(::send(fd, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return text;
}

TEST_F(DaemonTest, ADemandBecomesCircuitsThatWatchersSee) {
  const auto daemon = start();
  const auto reply = bench_.client().report_demand(demand_of_three());
  ASSERT_TRUE(reply.ok()) << reply.error().text();
  ASSERT_EQ(reply->circuits_size(), 3);
  for (const v1::CircuitResult& circuit : reply->circuits()) {
    EXPECT_EQ(circuit.outcome(), v1::VERIFIED) << circuit.message();
    EXPECT_EQ(circuit.step(), v1::CARRIER);
  }
  EXPECT_EQ(reply->shares().servers(), 3U);
  const auto topology = bench_.client().status();
  ASSERT_TRUE(topology.ok()) << topology.error().text();
  EXPECT_EQ(topology->region(), "r1");
  EXPECT_TRUE(topology->settled());
  EXPECT_EQ(topology->intent(), reply->transaction());
  ASSERT_EQ(topology->circuits_size(), 3);
  for (const v1::CircuitState& circuit : topology->circuits()) {
    EXPECT_TRUE(circuit.intended() && circuit.configured() && circuit.operational());
  }
  // The same demand again switches nothing.
  const auto again = bench_.client().report_demand(demand_of_three());
  ASSERT_TRUE(again.ok()) << again.error().text();
  for (const v1::CircuitResult& circuit : again->circuits()) {
    EXPECT_FALSE(circuit.changed());
  }
  EXPECT_TRUE(daemon->stop());
  EXPECT_THAT(log_text(), HasSubstr("\"event\":\"transaction\""));
  EXPECT_THAT(log_text(), ::testing::Not(HasSubstr("root")));
}

TEST_F(DaemonTest, APulledFibreIsAnAlarmUntilItIsBack) {
  const auto daemon = start();
  ASSERT_TRUE(bench_.client().report_demand(demand_of_three()).ok());
  bench_.emulator.control("fibre pull 1");
  const v1::Topology dark =
      bench_.await([](const v1::Topology& topology) { return has_alarm(topology, "dark"); });
  EXPECT_GT(dark.alarms(0).since(), 1.7e9);  // a date of this century
  EXPECT_FALSE(bench_.client().health()->alarms().empty());
  bench_.emulator.control("fibre restore 1");
  bench_.await([](const v1::Topology& topology) {
    for (const v1::CircuitState& circuit : topology.circuits()) {
      if (!circuit.operational()) {
        return false;
      }
    }
    return !has_alarm(topology, "dark");
  });
  EXPECT_THAT(log_text(), HasSubstr("\"event\":\"alarm-raised\",\"kind\":\"dark\""));
  EXPECT_THAT(log_text(), HasSubstr("\"event\":\"alarm-cleared\",\"kind\":\"dark\""));
}

TEST_F(DaemonTest, CircuitsOutliveTheDaemon) {
  ASSERT_TRUE(start()->stop());
  v1::ApplyCircuitsRequest request;
  request.set_mode(v1::ApplyCircuitsRequest::ADD);
  v1::Circuit& circuit = *request.add_circuits();
  circuit.set_a("s0/ocs1");
  circuit.set_b("s2/ocs5");
  {
    const auto daemon = start();
    const auto reply = bench_.client().apply(request);
    ASSERT_TRUE(reply.ok()) << reply.error().text();
    EXPECT_EQ(reply->circuits(0).outcome(), v1::VERIFIED) << reply->circuits(0).message();
  }
  const auto daemon = start();
  const auto verified = bench_.client().verify();
  ASSERT_TRUE(verified.ok()) << verified.error().text();
  ASSERT_EQ(verified->circuits_size(), 1);
  EXPECT_EQ(verified->circuits(0).outcome(), v1::VERIFIED);
  EXPECT_FALSE(verified->circuits(0).changed());
}

TEST_F(DaemonTest, MetricsAreScraped) {
  const std::string with_metrics =
      bench_.folder.write("m.toml", bench_.text() + "metrics = \"127.0.0.1:1\"\n");
  Result<RegionConfig> config = read_region_config(with_metrics);
  ASSERT_TRUE(config.ok());
  config->listen.metrics = "127.0.0.1:0";
  auto daemon = Daemon::start(*config, log_);
  ASSERT_TRUE(daemon.ok()) << daemon.error().text();
  bench_.await_session();
  ASSERT_TRUE(bench_.client().report_demand(demand_of_three()).ok());
  const std::string text = get_metrics((*daemon)->metrics_port());
  EXPECT_THAT(text, HasSubstr("mixnet_connected{region=\"r1\"} 1"));
  EXPECT_THAT(text,
              HasSubstr("mixnet_circuit_outcomes_total{region=\"r1\",outcome=\"VERIFIED\"} 3"));
  EXPECT_THAT(text, HasSubstr("mixnet_switch_seconds_count{region=\"r1\"} 1"));
  EXPECT_THAT(text, HasSubstr("mixnet_port_power_dbm{region=\"r1\",port=\"1\"}"));

  config->listen.metrics = "127.0.0.1:" + std::to_string((*daemon)->metrics_port());
  config->lock += "2";
  const auto second = Daemon::start(*config, log_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("cannot serve metrics"));
}

TEST_F(DaemonTest, WhatKeepsItFromStartingIsNamed) {
  const auto daemon = start();
  EXPECT_THAT(start_error(bench_.config), HasSubstr("r1.lock"));

  std::string other = bench_.text();
  other.replace(other.find("\"r1\""), 4, "\"r2\"");
  EXPECT_THAT(start_error(bench_.folder.write("r2.toml", other)), HasSubstr("r1.sock"));

  other.replace(other.find("switch.credentials"), 18, "absent.credentials");
  EXPECT_THAT(start_error(bench_.folder.write("r3.toml", other)), HasSubstr("absent.credentials"));
  other.replace(other.find("absent.credentials"), 18, "public.credentials");
  const std::string open_to_all =
      bench_.folder.write("public.credentials", "user = admin\npassword = root\n");
  ASSERT_EQ(::chmod(open_to_all.c_str(), 0644), 0);
  EXPECT_THAT(start_error(bench_.folder.write("r4.toml", other)), HasSubstr("chmod 600"));
}

TEST_F(DaemonTest, ADaemonWithoutASwitchSaysSo) {
  std::string nowhere = bench_.text();
  const std::string address = bench_.emulator.address();
  nowhere.replace(nowhere.find(address), address.size(), "127.0.0.1:1");
  const auto daemon = start(bench_.folder.write("r1.toml", nowhere));
  ASSERT_TRUE(daemon.ok()) << daemon.error().text();
  bench_.await([](const v1::Topology& topology) { return has_alarm(topology, "session"); });
  EXPECT_EQ(bench_.client().health()->state(), v1::HealthReply::DISCONNECTED);
  const auto refused = bench_.client().report_demand(demand_of_three());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("no session with the switch"));
  EXPECT_THAT(refused.error().message, HasSubstr("(UNAVAILABLE)"));
  EXPECT_TRUE((*daemon)->stop());
}

}  // namespace
}  // namespace mixnet::daemon
