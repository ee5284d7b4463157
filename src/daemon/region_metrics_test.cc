#include "daemon/region_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "daemon/json_log.h"
#include "support/temporary_directory.h"

namespace mixnet::daemon {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

std::string scraped(const RegionMetrics& metrics) {
  return prometheus::TextSerializer().Serialize(metrics.registry()->Collect());
}

ocs::CircuitReport reported(ocs::PairOutcome outcome) {
  ocs::CircuitReport report;
  report.outcome = outcome;
  return report;
}

TEST(RegionMetrics, EverythingIsThereFromTheStart) {
  const std::string text = scraped(RegionMetrics("r1"));
  EXPECT_THAT(text, HasSubstr("mixnet_circuit_outcomes_total{region=\"r1\",outcome=\"DARK\"} 0"));
  EXPECT_THAT(text, HasSubstr("mixnet_alarms{region=\"r1\",kind=\"foreign-patch\"} 0"));
  EXPECT_THAT(text, HasSubstr("mixnet_connected{region=\"r1\"} 0"));
}

TEST(RegionMetrics, ReportsAreCounted) {
  RegionMetrics metrics("r1");
  ocs::ApplyReport report;
  report.circuits = {reported(ocs::PairOutcome::kVerified), reported(ocs::PairOutcome::kVerified),
                     reported(ocs::PairOutcome::kDark)};
  report.switching = milliseconds(47);
  metrics.count(report);
  report.switching = Duration(0);  // nothing had to be switched: not a time of 0
  metrics.count(report);
  const std::string text = scraped(metrics);
  EXPECT_THAT(text, HasSubstr("region=\"r1\",outcome=\"VERIFIED\"} 4"));
  EXPECT_THAT(text, HasSubstr("region=\"r1\",outcome=\"DARK\"} 2"));
  EXPECT_THAT(text, HasSubstr("mixnet_transactions_total{region=\"r1\"} 2"));
  EXPECT_THAT(text, HasSubstr("mixnet_switch_seconds_count{region=\"r1\"} 1"));
  EXPECT_THAT(text, HasSubstr("mixnet_switch_seconds_bucket{region=\"r1\",le=\"0.045\"} 0"));
  EXPECT_THAT(text, HasSubstr("mixnet_switch_seconds_bucket{region=\"r1\",le=\"0.05\"} 1"));
}

TEST(RegionMetrics, TheTopologyIsShown) {
  RegionMetrics metrics("r1");
  ocs::Topology topology;
  topology.connected = true;
  topology.circuits.resize(2);
  topology.circuits[0].intended = true;
  topology.ports = {ocs::PortState{ocs::PortId(3), -4.5, true},
                    ocs::PortState{ocs::PortId(4), std::nullopt, true}};
  topology.alarms.resize(2);
  topology.alarms[0].kind = topology.alarms[1].kind = ocs::AlarmKind::kDark;
  metrics.show(topology);
  std::string text = scraped(metrics);
  EXPECT_THAT(text, HasSubstr("mixnet_port_power_dbm{region=\"r1\",port=\"3\"} -4.5"));
  EXPECT_THAT(text, Not(HasSubstr("port=\"4\"")));
  EXPECT_THAT(text, HasSubstr("mixnet_alarms{region=\"r1\",kind=\"dark\"} 2"));
  EXPECT_THAT(text, HasSubstr("mixnet_circuits{region=\"r1\",state=\"intended\"} 1"));
  EXPECT_THAT(text, HasSubstr("mixnet_sessions_total{region=\"r1\"} 1"));

  topology.connected = false;
  topology.alarms.clear();
  topology.ports[0].dbm.reset();  // no reading any more: no sample, and not the old one
  metrics.show(topology);
  topology.connected = true;
  metrics.show(topology);
  text = scraped(metrics);
  EXPECT_THAT(text, Not(HasSubstr("port=\"3\"")));
  EXPECT_THAT(text, HasSubstr("mixnet_alarms{region=\"r1\",kind=\"dark\"} 0"));
  EXPECT_THAT(text, HasSubstr("mixnet_sessions_total{region=\"r1\"} 2"));
}

TEST(RegionMetrics, SessionCountersOnlyGrow) {
  RegionMetrics metrics("r1");
  ocs::SessionCounters session;
  session.late_answers = 3;
  metrics.count(session);
  metrics.count(session);
  session.late_answers = 1;  // counted anew
  metrics.count(session);
  EXPECT_THAT(scraped(metrics), HasSubstr("mixnet_late_answers_total{region=\"r1\"} 4"));
}

TEST(JsonLog, OneObjectALineAndOnlyFromItsLevel) {
  const mixnet::test_support::TemporaryDirectory folder;
  const std::string path = folder.write("log", "");
  std::FILE* file = std::fopen(path.c_str(), "a");
  ASSERT_NE(file, nullptr);
  const JsonLog log(::fileno(file), LogLevel::kInfo);
  log.write(LogLevel::kDebug, "quiet");
  log.write(LogLevel::kError, "loud", {{"port", 3}, {"text", "a\n\"b\"\xff"}});
  std::fclose(file);
  const std::string text = mixnet::test_support::read_all(path);
  ASSERT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  const auto line = nlohmann::json::parse(text);
  EXPECT_EQ(line["level"], "error");
  EXPECT_EQ(line["event"], "loud");
  EXPECT_EQ(line["port"], 3);
  EXPECT_EQ(line["text"], "a\n\"b\"\xEF\xBF\xBD");
  const std::string time = line["time"];
  ASSERT_EQ(time.size(), 24U);
  EXPECT_EQ(time[10], 'T');
  EXPECT_EQ(time.back(), 'Z');
}

TEST(JsonLog, LevelsHaveNames) {
  EXPECT_EQ(parse_log_level("warning"), LogLevel::kWarning);
  EXPECT_EQ(parse_log_level("loud"), std::nullopt);
  EXPECT_EQ(name_of(LogLevel::kDebug), "debug");
}

}  // namespace
}  // namespace mixnet::daemon
