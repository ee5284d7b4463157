// The operator's commands as processes, with the daemon and without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/region_programs.h"

namespace mixnet {
namespace {

using nlohmann::json;
using test_support::Child;
using test_support::RegionPrograms;
using test_support::ToolRun;
using ::testing::HasSubstr;
using ::testing::Not;

class OcsCommands : public ::testing::Test {
 protected:
  // One JSON object and a line end, nothing else.
  static json parse(const ToolRun& run) {
    const json object = json::parse(run.output, nullptr, false);
    EXPECT_TRUE(object.is_object()) << run.output << run.errors;
    return object;
  }

  RegionPrograms programs_;
};

// Every test of it without and with mixnetd.
class OcsCommandsBothWays : public OcsCommands, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) {
      programs_.start_daemon();
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, OcsCommandsBothWays, ::testing::Bool(), [](const auto& tested) {
  return std::string(tested.param ? "Daemon" : "Direct");
});

TEST_P(OcsCommandsBothWays, ConnectAndDisconnect) {
  const ToolRun dry = programs_.run("connect s0/ocs1 s1/ocs3 --dry-run");
  EXPECT_EQ(dry.exit_code, 0) << dry.errors;
  EXPECT_THAT(dry.output, HasSubstr("would add s0/ocs1 - s1/ocs3\n"));
  EXPECT_THAT(dry.output, HasSubstr("would send ENT-PATCH::"));
  const json planned = parse(programs_.run("connect s0/ocs1 s1/ocs3 --dry-run --json"));
  ASSERT_EQ(planned["commands"].size(), 1);
  EXPECT_TRUE(planned["circuits"][0]["outcome"].is_null());
  EXPECT_THAT(programs_.fault("status"), Not(HasSubstr("1,11")));

  const ToolRun connected = programs_.run("connect s0/ocs1 s1/ocs3 s0/ocs2 s2/ocs5");
  EXPECT_EQ(connected.exit_code, 0) << connected.output << connected.errors;
  EXPECT_THAT(connected.output, HasSubstr("VERIFIED"));
  EXPECT_THAT(connected.output, HasSubstr("2 of 2 circuits VERIFIED"));
  EXPECT_THAT(programs_.fault("status"), HasSubstr("1,11"));

  const ToolRun status = programs_.run("status --ports");
  EXPECT_EQ(status.exit_code, 0) << status.output << status.errors;
  EXPECT_THAT(status.output, HasSubstr("2 of 2 circuits operational"));
  EXPECT_THAT(status.output, HasSubstr("no alarms"));
  EXPECT_THAT(status.output, HasSubstr("power (dBm)"));
  EXPECT_THAT(status.output, HasSubstr(GetParam() ? "asked: mixnetd at" : "asked: this program"));
  const ToolRun diff = programs_.run("diff");
  EXPECT_EQ(diff.exit_code, 0) << diff.errors;
  EXPECT_EQ(diff.output, "no differences: 2 circuits\n");
  const ToolRun verify = programs_.run("verify --json");
  EXPECT_EQ(verify.exit_code, 0) << verify.errors;
  EXPECT_EQ(parse(verify)["circuits"][1]["step"], "carrier");

  EXPECT_THAT(programs_.run("disconnect s0/ocs1 s2/ocs5 --dry-run").errors,
              HasSubstr("are not joined"));
  const ToolRun gone = programs_.run("disconnect s1/ocs3 s0/ocs1 --json");
  EXPECT_EQ(gone.exit_code, 0) << gone.errors;
  EXPECT_EQ(parse(gone)["circuits"].size(), 2);
  EXPECT_THAT(programs_.fault("status"), Not(HasSubstr("1,11")));
  EXPECT_EQ(programs_.run("disconnect s2/ocs5").exit_code, 0);
  EXPECT_THAT(programs_.fault("status"), Not(HasSubstr("2,13")));
}

TEST_P(OcsCommandsBothWays, APulledFibreIsSeenAndItsReturnToo) {
  ASSERT_EQ(programs_.run("connect s0/ocs1 s1/ocs3").exit_code, 0);
  programs_.fault("fibre pull 1");
  const json broken = parse(programs_.run_until(3, "status --json"));
  EXPECT_FALSE(broken["well"]);
  EXPECT_FALSE(broken["circuits"][0]["operational"]);
  ASSERT_EQ(broken["alarms"].size(), 1);
  EXPECT_EQ(broken["alarms"][0]["kind"], "dark");
  EXPECT_EQ(broken["dark_ports"][0]["port"], 1);
  const ToolRun verify = programs_.run("verify");
  EXPECT_EQ(verify.exit_code, 3);
  EXPECT_THAT(verify.output, HasSubstr("DARK"));
  const ToolRun diff = programs_.run("diff");
  EXPECT_EQ(diff.exit_code, 3);
  EXPECT_THAT(diff.output, HasSubstr("no, power"));
  EXPECT_EQ(parse(programs_.run("diff --json"))["differences"].size(), 1);

  programs_.fault("fibre restore 1");
  EXPECT_THAT(programs_.run_until(0, "status").output, HasSubstr("no alarms"));
}

TEST_P(OcsCommandsBothWays, ADemandMatrixBecomesCircuits) {
  programs_.folder().write("demand.txt", "0 10 10\n10 0 10\n10 10 0\n");
  const ToolRun applied = programs_.run("apply demand.txt");
  EXPECT_EQ(applied.exit_code, 0) << applied.output << applied.errors;
  EXPECT_THAT(applied.output, HasSubstr("3 of 3 circuits VERIFIED"));
  EXPECT_THAT(applied.output, HasSubstr("shares (split, over VERIFIED circuits): "));
  const json again = parse(programs_.run("apply demand.txt --json"));
  EXPECT_EQ(again["shares"]["circuits"].size(), 9);
  EXPECT_EQ(again["switching_ms"], 0);

  programs_.folder().write("small.txt", "0 1\n1 0\n");
  const ToolRun small = programs_.run("apply small.txt");
  EXPECT_EQ(small.exit_code, 2);
  EXPECT_THAT(small.errors, HasSubstr("region r1 has 3 servers"));
}

TEST_P(OcsCommandsBothWays, WhatCannotBeDoneIsExplained) {
  ASSERT_EQ(programs_.run("connect s0/ocs1 s1/ocs3").exit_code, 0);
  const struct {
    const char* arguments;
    int exit_code;
    const char* says;
  } rows[] = {
      {"connect s0/ocs1 s9/ocs3", 2, "the servers are s0, s1, s2"},
      {"connect s0/ocs7 s1/ocs3", 2, "the server has s0/ocs1, s0/ocs2"},
      {"connect s0/ocs1", 2, "NICs come in pairs"},
      {"connect s0/ocs1 s0/ocs2", 2, "both NICs are in one server"},
      {"connect s0/ocs1 s2/ocs5", 1, "s0/ocs1 is in use: s0/ocs1 - s1/ocs3"},
      {"disconnect s2/ocs5", 1, "s2/ocs5 is in no circuit"},
      {"disconnect s3/ocs5", 2, "the servers are"},
      {"status --timeout soon", 2, "--timeout"},
      {"watch --for 0", 2, "--for"},
      {"status --tls-ca ca.pem", 1, "takes no TLS files"},
      {"status --daemon unix:/nowhere/r1.sock --timeout 100ms", 1, "unix:/nowhere/r1.sock"},
  };
  for (const auto& row : rows) {
    const ToolRun refused = programs_.run(row.arguments);
    EXPECT_EQ(refused.exit_code, row.exit_code) << row.arguments << "\n" << refused.errors;
    EXPECT_THAT(refused.errors, HasSubstr(row.says)) << row.arguments;
    EXPECT_EQ(refused.output, "") << row.arguments;
  }
}

TEST_P(OcsCommandsBothWays, AWatchTellsOfChangesAsTheyCome) {
  ASSERT_EQ(programs_.run("connect s0/ocs1 s1/ocs3").exit_code, 0);
  Child watch = programs_.watch();
  const json first = json::parse(watch.line(), nullptr, false);
  ASSERT_TRUE(first.is_object());
  EXPECT_EQ(first["event"], "session");
  EXPECT_EQ(first["message"], "1 of 1 circuits operational");
  for (const char* fault : {"fibre pull 1", "fibre restore 1"}) {
    programs_.fault(fault);
    const std::string awaited =
        std::string(fault) == "fibre pull 1" ? "alarm-raised" : "alarm-cleared";
    json line;
    do {
      line = json::parse(watch.line(), nullptr, false);
    } while (line.is_object() && line["event"] != awaited);
    ASSERT_TRUE(line.is_object()) << awaited;
    EXPECT_EQ(line["kind"], "dark");
    EXPECT_EQ(line["subject"], "s0/ocs1 - s1/ocs3");
  }
  EXPECT_EQ(watch.end(SIGINT), 0);
}

TEST_P(OcsCommandsBothWays, SomebodyElsesPatchIsShownAndRespected) {
  programs_.fault("foreign 1,16");
  const ToolRun status = programs_.run_until(3, "status");
  EXPECT_THAT(status.output, HasSubstr("foreign patch: 1 to 16\n"));
  EXPECT_THAT(status.output, HasSubstr("foreign-patch"));
  const ToolRun diff = programs_.run("diff");
  EXPECT_EQ(diff.exit_code, 3);
  EXPECT_THAT(diff.output, HasSubstr("foreign patch 1 to 16"));
  const ToolRun dry = programs_.run("connect s0/ocs1 s1/ocs3 --dry-run");
  EXPECT_EQ(dry.exit_code, 3);
  EXPECT_THAT(dry.output, HasSubstr("blocked s0/ocs1 - s1/ocs3: CONFLICT"));
  const json conflict = parse(programs_.run("connect s0/ocs1 s1/ocs3 --json"));
  EXPECT_EQ(conflict["circuits"][0]["outcome"], "CONFLICT");
  EXPECT_FALSE(conflict["all_verified"]);
  EXPECT_THAT(programs_.fault("status"), HasSubstr("1,16"));
}

TEST_P(OcsCommandsBothWays, WithoutTheSwitchItSaysSo) {
  ASSERT_EQ(programs_.run("connect s0/ocs1 s1/ocs3").exit_code, 0);
  programs_.stop_emulator();
  const ToolRun status = programs_.run_until(1, "status");
  EXPECT_THAT(status.errors, HasSubstr(GetParam() ? "no session with the switch"
                                                  : "no mixnetd controls region r1, and the "
                                                    "switch cannot be reached"));
  const ToolRun refused = programs_.run("disconnect s0/ocs1");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.errors, HasSubstr("127.0.0.1:"));
}

TEST_F(OcsCommands, OneAtATimeWithoutTheDaemon) {
  const Child watch = programs_.watch();
  ASSERT_THAT(watch.line(), HasSubstr("session"));
  const ToolRun status = programs_.run("status");
  EXPECT_EQ(status.exit_code, 1);
  EXPECT_THAT(status.errors, HasSubstr("region r1 is controlled by mixnet ocs watch, pid "));
}

TEST_F(OcsCommands, AWatchEndsInTime) {
  const ToolRun watch = programs_.run("watch --for 50ms");
  EXPECT_EQ(watch.exit_code, 0) << watch.errors;
  EXPECT_THAT(watch.output, HasSubstr("session        up             r1  0 of 0 circuits"));
}

TEST_F(OcsCommands, AWrongPasswordIsNotShown) {
  programs_.folder().write("switch.credentials", "user = admin\npassword = guess\n");
  const ToolRun status = programs_.run("status");
  EXPECT_EQ(status.exit_code, 1);
  EXPECT_THAT(status.errors, HasSubstr("login"));
  EXPECT_THAT(status.errors, Not(HasSubstr("guess")));
}

TEST_F(OcsCommands, ADeadlineSaysWhatWasWaitedFor) {
  ASSERT_EQ(programs_.run("connect s0/ocs1 s1/ocs3").exit_code, 0);
  programs_.fault("knob switch_time=3000");
  const ToolRun late = programs_.run("connect s0/ocs2 s2/ocs5 --timeout 1500ms");
  EXPECT_EQ(late.exit_code, 1);
  EXPECT_THAT(late.errors, HasSubstr("waited for the switch to carry it out"));
  EXPECT_EQ(late.output, "");
  // It was not called off.
  EXPECT_EQ(programs_.run("status").exit_code, 0);
  EXPECT_THAT(programs_.fault("status"), HasSubstr("2,13"));
}

}  // namespace
}  // namespace mixnet
