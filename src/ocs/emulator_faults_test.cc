#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ocs/emulator_test_support.h"

namespace mixnet::ocs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(EmulatorFaults, SaysWhatMayBeTyped) {
  Bench bench;
  EXPECT_THAT(bench.control("fibre"),
              HasSubstr("refused: \"fibre\" is no fault: write fibre pull"));
  EXPECT_THAT(bench.control(""), HasSubstr("refused"));
  EXPECT_THAT(bench.control("fibre pull 17"), HasSubstr("\"17\" is no port: write 1 to 16"));
  EXPECT_THAT(bench.control("fibre pull 0"), HasSubstr("no port"));
  EXPECT_THAT(bench.control("fibre pull x"), HasSubstr("no port"));
  EXPECT_THAT(bench.control("foreign 3"), HasSubstr("write IN,OUT"));
  EXPECT_THAT(bench.control("foreign 3,4"), HasSubstr("cannot be joined"));
  EXPECT_THAT(bench.control("busy -1"), HasSubstr("no count"));
  EXPECT_THAT(bench.control("deny no such"), HasSubstr("four letters"));
  EXPECT_THAT(bench.control("power 1 much"), HasSubstr("write dBm"));
  EXPECT_THAT(bench.control("clock jump far"), HasSubstr("seconds"));
  EXPECT_THAT(bench.control("knob busy_port=x"), HasSubstr("overwrite|deny"));
  EXPECT_EQ(bench.control("help"), describe_faults());
  EXPECT_THAT(describe_faults(), HasSubstr("  fibre pull PORT "));
}

TEST(EmulatorFaults, DarkFibresAndShuttersLeaveThePatch) {
  Bench bench;
  Client client(bench, "admin", "root");
  client.raw("ENT-PATCH::1,9:5:;");
  const auto light = [&] { return bench.emulated.light_at(PortId(9), bench.now); };
  EXPECT_TRUE(light());
  EXPECT_EQ(bench.control("fibre pull 1"), "port 1: fibre pulled");
  EXPECT_FALSE(light());
  bench.control("fibre restore 1");
  EXPECT_TRUE(light());
  bench.control("shutter close 9");
  EXPECT_FALSE(light());
  EXPECT_EQ(client.one("RTRV-PORT-SHUTTER::9:5:;"), "COMPLD 9:CLOSED");
  EXPECT_EQ(client.one("RTRV-PATCH:::5:;"), "COMPLD 1,9");
  bench.control("shutter open 9");
  EXPECT_TRUE(light());
  // The receiving fibre: light leaves the switch, the NIC does not see it.
  bench.control("fibre pull 9");
  EXPECT_TRUE(light());
  EXPECT_FALSE(bench.emulated.carrier(PortId(9), bench.now));
}

TEST(EmulatorFaults, StuckMirrorsSayCompletedAndStay) {
  Bench bench;
  Client client(bench, "admin", "root");
  client.raw("ENT-PATCH::1,9:5:;");
  bench.control("mirror stick 9");
  EXPECT_EQ(client.one("ENT-PATCH::2,9:5:;"), "COMPLD");
  EXPECT_EQ(client.one("ENT-PATCH::1,10:5:;"), "COMPLD");
  EXPECT_EQ(client.one("DLT-PATCH::1:5:;"), "COMPLD");
  EXPECT_EQ(client.one("RTRV-PATCH:::5:;"), "COMPLD 1,9");
  bench.control("mirror free 9");
  EXPECT_EQ(client.one("ENT-PATCH::2,9:5:;"), "COMPLD");
  EXPECT_EQ(client.one("RTRV-PATCH:::5:;"), "COMPLD 2,9");
}

TEST(EmulatorFaults, OthersPatchToo) {
  Bench bench;
  Client client(bench, "admin", "root");
  EXPECT_EQ(bench.control("foreign 9,1"), "patched 1,9");
  EXPECT_EQ(client.one("RTRV-PATCH:::5:;"), "COMPLD 1,9");
  bench.control("foreign remove 1");
  EXPECT_EQ(client.one("RTRV-PATCH:::5:;"), "COMPLD");
}

TEST(EmulatorFaults, StopsInTheMiddleOfAList) {
  Bench bench;
  Client client(bench, "admin", "root");
  bench.control("partial 2");
  EXPECT_EQ(client.one("ENT-PATCH::4,12:5:;"), "COMPLD");
  EXPECT_EQ(client.one("ENT-PATCH::1&2&3,9&10&11:5:;"), "PRTL");
  EXPECT_EQ(client.one("RTRV-PATCH:::5:;"), "COMPLD 1,9 2,10 4,12");
  EXPECT_EQ(client.one("ENT-PATCH::1&2&3,9&10&11:5:;"), "COMPLD");
  bench.control("partial 0");
  EXPECT_EQ(client.one("ENT-PATCH::5&6,13&14:5:;"), "PRTL");
  EXPECT_EQ(client.one("RTRV-PATCH::5&6:5:;"), "COMPLD");
}

TEST(EmulatorFaults, CutsConnectionsAtAByte) {
  Bench bench;
  Client client(bench, "admin", "root");
  const std::string whole = client.raw("RTRV-HDR:::5:;");
  bench.control("drop after 70");
  std::string got = client.raw("RTRV-HDR:::5:;");
  EXPECT_FALSE(client.wants_close());
  got += client.raw("RTRV-HDR:::5:;");
  EXPECT_TRUE(client.wants_close());
  EXPECT_EQ(got, (whole + whole).substr(0, 70));
  client.close();
  bench.control("drop after 10");
  Client next(bench);
  EXPECT_EQ(next.raw("RTRV-HDR:::5:;").size(), 10U);
  EXPECT_TRUE(next.wants_close());
  Client last(bench);
  EXPECT_EQ(last.one("RTRV-HDR:::5:;"), "DENY PLNA Not logged in");
}

TEST(EmulatorFaults, LosesACommandOrItsAnswer) {
  for (const bool effect : {false, true}) {
    Bench bench;
    Client client(bench, "admin", "root");
    bench.control(effect ? "drop command after" : "drop command before");
    EXPECT_EQ(client.one("RTRV-PATCH:::5:;"), "COMPLD");
    EXPECT_EQ(client.raw("ENT-PATCH::1,9:5:;"), "");
    EXPECT_TRUE(client.wants_close());
    EXPECT_EQ(bench.emulated.patches().size(), effect ? 1U : 0U);
    Client again(bench, "admin", "root");
    EXPECT_EQ(again.one("ENT-PATCH::2,10:5:;"), "COMPLD");
  }
}

TEST(EmulatorFaults, FallsSilent) {
  Bench bench(Bench::with({"switch_time=40"}));
  Client client(bench, "admin", "root");
  client.raw("ENT-PATCH::1,9:5:;");
  EXPECT_EQ(bench.control("half-open"), "1 connections answer no more");
  bench.wait(seconds(1));
  EXPECT_EQ(client.raw("RTRV-HDR:::5:;"), "");
  EXPECT_FALSE(client.wants_close());
  Client other(bench, "admin", "root");
  EXPECT_EQ(other.one("RTRV-PATCH:::5:;"), "COMPLD 1,9");
}

TEST(EmulatorFaults, Reboots) {
  Bench bench;
  Client client(bench, "admin", "root");
  EXPECT_EQ(bench.control("reboot"), "rebooting, 60 s");
  EXPECT_TRUE(client.wants_close());
  client.close();
  bench.wait(seconds(59));
  EXPECT_TRUE(Client(bench).wants_close());
  bench.wait(seconds(1));
  EXPECT_FALSE(Client(bench).wants_close());
}

TEST(EmulatorFaults, JumpsItsClock) {
  Bench bench;
  Client client(bench, "admin", "root");
  bench.control("clock jump -3600");
  EXPECT_EQ(client.one("RTRV-TOD:::5:;"), "COMPLD 2025,12,31,23,00,00");
}

TEST(EmulatorFaults, SendsEventsAndAlarmsInSequence) {
  Bench bench;
  Client client(bench, "admin", "root");
  Client stranger(bench);
  bench.control("event fan 2 is slow");
  bench.control("alarm power supply 1 failed");
  const std::vector<Message> messages = client.messages("");
  ASSERT_EQ(messages.size(), 2U);
  const auto& event = std::get<Autonomous>(messages[0]);
  const auto& alarm = std::get<Autonomous>(messages[1]);
  EXPECT_EQ(event.verb, "REPT EVT");
  EXPECT_EQ(event.lines.at(0).text, "SYSTEM:TC,EVENT,NSA,26-01-01,00-00-00,,:\"fan 2 is slow\"");
  EXPECT_EQ(alarm.verb, "REPT ALM");
  EXPECT_EQ(alarm.alarm_code, "*");
  EXPECT_EQ(alarm.atag, event.atag + 1);
  EXPECT_EQ(stranger.raw(""), "");
  EXPECT_THAT(client.one("RTRV-ALM-ALL::ALL:5:;"), HasSubstr("power supply 1 failed"));
  EXPECT_EQ(client.one("INIT-SYS::ALARM:5::1;"), "COMPLD");
  EXPECT_EQ(client.one("RTRV-ALM-ALL::ALL:5:;"), "COMPLD");
}

TEST(EmulatorFaults, RefusesForAWhile) {
  Bench bench;
  Client client(bench, "admin", "root");
  bench.control("busy 2");
  EXPECT_EQ(client.raw("RTRV-HDR:::5:;"), "RL 5\r\n<");
  EXPECT_EQ(client.raw("ENT-PATCH::1,9:6:;"), "RL 6\r\n<");
  EXPECT_EQ(client.one("RTRV-PATCH:::7:;"), "COMPLD");
  bench.control("deny SROF no mirror board");
  EXPECT_EQ(client.one("RTRV-PATCH:::7:;"), "COMPLD");
  EXPECT_EQ(client.one("ENT-PATCH::1,9:8:;"), "DENY SROF no mirror board");
  EXPECT_EQ(client.one("ENT-PATCH::1,9:9:;"), "COMPLD");
}

TEST(EmulatorFaults, ForcesPowerUntilNormal) {
  Bench bench;
  Client client(bench, "admin", "root");
  bench.control("power 9 -25");
  EXPECT_THAT(client.one("RTRV-PORT-POWER::9:5:;"), HasSubstr("9:-2"));
  bench.control("power 9 normal");
  EXPECT_EQ(client.one("RTRV-PORT-POWER::9:5:;"), "COMPLD 9:-60.00");
}

TEST(EmulatorFaults, TurnsKnobsAndShowsWhatIs) {
  Bench bench;
  Client client(bench, "admin", "root");
  client.raw("ENT-PATCH::1,9:5:;");
  EXPECT_EQ(bench.control("knob busy_port=deny"), "set");
  EXPECT_EQ(client.one("ENT-PATCH::2,9:5:;"), "DENY SNVS Port 9 is in use");
  bench.control("fibre pull 3");
  bench.control("busy 4");
  EXPECT_EQ(bench.control("status"),
            "8x8 switch, 1 patches\n  1,9 carrier\nfaults\n  port 3: fibre pulled\n"
            "  busy for 4 commands\n1 sessions\n  1 admin\n"
            "3 commands, 1 denied, 1 patches made, 0 removed, 0 events");
}

}  // namespace
}  // namespace mixnet::ocs
