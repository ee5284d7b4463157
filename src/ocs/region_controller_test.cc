#include "ocs/region_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ocs/controller_test_support.h"
#include "ocs/tl1_text.h"

namespace mixnet::ocs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

Circuit c(int a, int b) { return test_circuit(a, b); }

PairOutcome outcome_of(const ApplyReport& report, Circuit circuit) {
  for (const CircuitReport& entry : report.circuits) {
    if (entry.circuit == circuit) {
      return entry.outcome;
    }
  }
  ADD_FAILURE() << "no report on this circuit";
  return PairOutcome::kUnknown;
}

std::string message_of(const ApplyReport& report, Circuit circuit) {
  for (const CircuitReport& entry : report.circuits) {
    if (entry.circuit == circuit) {
      return entry.message;
    }
  }
  return "no report";
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++n;
  }
  return n;
}

TEST(RegionController, VerifiesWhatItMade) {
  ControllerBench bench;
  bench.start();
  const ApplyReport report = bench.apply({c(0, 2), c(1, 4)});
  EXPECT_TRUE(report.all_verified());
  EXPECT_EQ(bench.held(), (std::vector<Circuit>{c(0, 2), c(1, 4)}));
  EXPECT_EQ(report.circuits[0].step, CheckStep::kCarrier);
  EXPECT_EQ(count(bench.sent, "ENT-PATCH"), 1u) << "one command for all pairs";
  EXPECT_TRUE(bench.journal.settled);
  EXPECT_TRUE(bench.controller->topology().circuits[0].operational);
}

TEST(RegionController, SwitchesOnlyTheDifference) {
  ControllerBench bench;
  bench.start();
  bench.apply({c(0, 2), c(1, 4)});
  const uint64_t made = bench.emulated.counters().patches_made;
  const ApplyReport report = bench.apply({c(0, 2), c(1, 6)});
  EXPECT_TRUE(report.all_verified());
  EXPECT_EQ(bench.emulated.counters().patches_made, made + 2);
  EXPECT_EQ(bench.emulated.counters().patches_removed, 2u);
  ASSERT_EQ(report.circuits.size(), 3u);
  EXPECT_FALSE(report.circuits[0].changed);
  EXPECT_FALSE(report.circuits[1].wanted) << "the removed one is reported too";

  const std::size_t writes = count(bench.sent, "-PATCH::");
  EXPECT_TRUE(bench.apply({c(0, 2), c(1, 6)}).all_verified());
  EXPECT_EQ(count(bench.sent, "ENT-PATCH"), 2u) << "nothing to do";
  EXPECT_GT(count(bench.sent, "-PATCH::"), writes);
}

TEST(RegionController, SaysDarkAndWhy) {
  ControllerBench bench;
  bench.start();
  bench.control("fibre pull 1");
  const ApplyReport report = bench.apply({c(0, 2)});
  EXPECT_EQ(outcome_of(report, c(0, 2)), PairOutcome::kDark);
  EXPECT_THAT(message_of(report, c(0, 2)), HasSubstr("port 1 (from s0/n0)"));
  EXPECT_TRUE(bench.has_alarm(AlarmKind::kDark));
  bench.control("fibre restore 1");
  bench.run(seconds(20));
  EXPECT_FALSE(bench.has_alarm(AlarmKind::kDark));
  EXPECT_TRUE(bench.controller->topology().circuits[0].operational);
}

TEST(RegionController, SeesAFibreThatIsPulledLater) {
  ControllerBench bench;
  bench.start();
  bench.apply({c(0, 2)});
  bench.run(seconds(12));  // the NICs are up for good
  bench.control("fibre pull 3");
  bench.run(seconds(3));
  EXPECT_TRUE(bench.has_alarm(AlarmKind::kDark));
  EXPECT_FALSE(bench.controller->topology().circuits[0].operational);
}

TEST(RegionController, NamesAClosedShutter) {
  ControllerBench bench;
  bench.start();
  const int rx = bench.region.nic(NicId(2)).rx.value;
  bench.control("shutter close " + std::to_string(rx));
  const ApplyReport report = bench.apply({c(0, 2)});
  EXPECT_EQ(outcome_of(report, c(0, 2)), PairOutcome::kDark);
  EXPECT_EQ(report.circuits[0].step, CheckStep::kShutter);
  EXPECT_TRUE(bench.has_alarm(AlarmKind::kShutter));
}

TEST(RegionController, LeavesForeignPatchesAlone) {
  ControllerBench bench;
  bench.start();
  const int stranger = bench.region.switch_size().ingress;  // the last ingress port is not ours
  const int rx = bench.region.nic(NicId(0)).rx.value;
  bench.control("foreign " + std::to_string(stranger) + "," + std::to_string(rx));
  const ApplyReport report = bench.apply({c(0, 2), c(1, 4)});
  EXPECT_EQ(outcome_of(report, c(0, 2)), PairOutcome::kConflict);
  EXPECT_EQ(outcome_of(report, c(1, 4)), PairOutcome::kVerified);
  EXPECT_TRUE(bench.has_alarm(AlarmKind::kForeignPatch));
  EXPECT_EQ(bench.held(), (std::vector<Circuit>{c(1, 4)}));
  EXPECT_EQ(bench.emulated.patches().size(), 3u);
}

TEST(RegionController, AdoptsWhatItFindsAndAlarmsOnTheRest) {
  ControllerBench bench;
  for (const Patch& patch : bench.region.patches_of(c(0, 2))) {
    bench.control("foreign " + std::to_string(patch.ingress.value) + "," +
                  std::to_string(patch.egress.value));
  }
  bench.control("foreign 2,20");
  bench.start();
  const Topology& topology = bench.controller->topology();
  ASSERT_EQ(topology.circuits.size(), 1u);
  EXPECT_TRUE(topology.circuits[0].intended && topology.circuits[0].configured);
  EXPECT_TRUE(bench.has_alarm(AlarmKind::kForeignPatch));
  EXPECT_EQ(count(bench.sent, "ENT-PATCH") + count(bench.sent, "DLT-PATCH"), 0u);
}

TEST(RegionController, NoticesAnotherWriterBeforeItWrites) {
  ControllerBench bench;
  bench.start();
  bench.apply({c(0, 2)});
  for (const Patch& patch : bench.region.patches_of(c(1, 4))) {
    bench.control("foreign " + std::to_string(patch.ingress.value) + "," +
                  std::to_string(patch.egress.value));
  }
  const ApplyReport report = bench.apply({c(0, 2), c(1, 6)});
  EXPECT_EQ(outcome_of(report, c(0, 2)), PairOutcome::kVerified);
  EXPECT_EQ(outcome_of(report, c(1, 6)), PairOutcome::kConflict);
  EXPECT_EQ(outcome_of(report, c(1, 4)), PairOutcome::kConflict);
  EXPECT_EQ(bench.held(), (std::vector<Circuit>{c(0, 2), c(1, 4)})) << "theirs stays";
  bench.run(seconds(3));
  EXPECT_TRUE(bench.has_alarm(AlarmKind::kOtherWriter));
  // Asked again, the operator has decided.
  EXPECT_TRUE(bench.apply({c(0, 2), c(1, 6)}).all_verified());
  EXPECT_FALSE(bench.has_alarm(AlarmKind::kOtherWriter));
}

TEST(RegionController, AlarmsWhenACircuitIsTakenAway) {
  ControllerBench bench;
  bench.start();
  bench.apply({c(0, 2)});
  bench.control("foreign remove 1");
  bench.run(seconds(3));
  EXPECT_TRUE(bench.has_alarm(AlarmKind::kOtherWriter));
  EXPECT_TRUE(bench.has_alarm(AlarmKind::kHalfCircuit));
  EXPECT_EQ(outcome_of(bench.verify(), c(0, 2)), PairOutcome::kConflict);
  EXPECT_TRUE(bench.apply({c(0, 2)}).all_verified());
  bench.run(seconds(3));
  EXPECT_TRUE(bench.controller->topology().alarms.empty());
}

TEST(RegionController, RefusesWhatAStuckMirrorDoesNotDo) {
  ControllerBench bench;
  bench.start();
  bench.control("mirror stick 1");
  const ApplyReport report = bench.apply({c(0, 2), c(1, 4)});
  EXPECT_EQ(outcome_of(report, c(0, 2)), PairOutcome::kRefused);
  EXPECT_THAT(message_of(report, c(0, 2)), HasSubstr("sent 3 times"));
  EXPECT_EQ(outcome_of(report, c(1, 4)), PairOutcome::kVerified);
}

TEST(RegionController, QuarantinesANicThatFailsAgainAndAgain) {
  ControllerBench bench;
  bench.start();
  bench.control("fibre pull 1");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(outcome_of(bench.apply({c(0, 2)}), c(0, 2)), PairOutcome::kDark);
    bench.apply({});
  }
  EXPECT_TRUE(bench.has_alarm(AlarmKind::kQuarantine));
  const ApplyReport report = bench.apply({c(0, 2), c(1, 4)});
  EXPECT_EQ(outcome_of(report, c(0, 2)), PairOutcome::kRefused);
  EXPECT_EQ(outcome_of(report, c(1, 4)), PairOutcome::kVerified);
  // Only the NIC whose light is missing is to blame.
  EXPECT_EQ(bench.controller->topology().quarantined, (std::vector<NicId>{NicId(0)}));
  bench.control("fibre restore 1");
  bench.run(seconds(5));
  EXPECT_FALSE(bench.has_alarm(AlarmKind::kQuarantine)) << "its light came back";
  EXPECT_TRUE(bench.apply({c(0, 2), c(1, 4)}).all_verified());
}

TEST(RegionController, FinishesAPartialCommand) {
  ControllerBench bench;
  bench.start();
  bench.control("partial 1");
  EXPECT_TRUE(bench.apply({c(0, 2), c(1, 4), c(3, 6)}).all_verified());
  EXPECT_EQ(bench.held().size(), 3u);
}

TEST(RegionController, ComesThroughBusyDenialsAndDrops) {
  for (const char* fault : {"busy 2", "deny SARB Try later", "drop command before",
                            "drop command after", "drop after 40", "half-open"}) {
    SCOPED_TRACE(fault);
    ControllerBench bench;
    bench.start();
    EXPECT_THAT(bench.control(fault), ::testing::Not(HasSubstr("error")));
    EXPECT_TRUE(bench.apply({c(0, 2), c(1, 4)}).all_verified());
    EXPECT_EQ(bench.held().size(), 2u);
  }
}

TEST(RegionController, FindsTheOneBadPair) {
  ControllerBench bench({.servers = 8});
  bench.start();
  bench.control("deny IDNV Invalid OXC port: 3");
  // Denied once as a whole, then in halves.
  EXPECT_TRUE(bench.apply({c(0, 2), c(1, 4), c(3, 6), c(5, 8)}).all_verified());
  EXPECT_EQ(count(bench.sent, "ENT-PATCH"), 3u);
}

// "name=value" of every knob that is a choice.
std::vector<std::string> all_choices() {
  std::vector<std::string> choices;
  for (const Knob& knob : emulator_knobs()) {
    const std::vector<std::string_view> values = split(knob.values, '|');
    for (const std::string_view value : values) {
      if (values.size() > 1 && value != "measured" && value != "milliseconds") {
        choices.push_back(knob.name + "=" + std::string(value));
      }
    }
  }
  return choices;
}

TEST(RegionController, WorksUnderEveryKnob) {
  ASSERT_GT(all_choices().size(), 40u);
  for (const std::string& knob : all_choices()) {
    SCOPED_TRACE(knob);
    ControllerBenchOptions options;
    options.knobs = {knob, "page_lines=2"};
    if (knob == "continuation=repeat") {
      options.controller.session.page_grace = milliseconds(10);
    }
    ControllerBench bench(options);
    bench.start();
    EXPECT_TRUE(bench.apply({c(0, 2), c(1, 4)}).all_verified());
    EXPECT_TRUE(bench.apply({c(0, 4), c(1, 6)}).all_verified());
    EXPECT_EQ(bench.held(), (std::vector<Circuit>{c(0, 4), c(1, 6)}));
  }
}

// Without page_grace the first page of such a switch would pass for the whole table.
TEST(RegionController, WritesNothingWhileItSeesOnePageOfATable) {
  ControllerBench bench({.knobs = {"continuation=repeat", "page_lines=1"}});
  bench.control("foreign 9,19");
  bench.control("foreign 10,20");
  ASSERT_TRUE(bench.controller->apply({c(0, 2)}, bench.now).ok());
  bench.run(seconds(20));
  EXPECT_EQ(count(bench.sent, "ENT-PATCH"), 0u);
  ASSERT_TRUE(bench.has_alarm(AlarmKind::kSession));
  EXPECT_THAT(bench.controller->topology().alarms.front().message, HasSubstr("set page_grace"));
}

TEST(RegionController, SaysWhyAShutterCouldNotBeRead) {
  ControllerBench bench;
  bench.start();
  bench.apply({c(0, 2)});
  bench.control("busy 3");
  EXPECT_TRUE(bench.verify().all_verified()) << "busy is repeated, not taken for a model without";
}

TEST(RegionController, LeavesTheHalfCircuitOfAnotherWriterAlone) {
  ControllerBench bench;
  bench.start();
  bench.apply({c(0, 2)});
  bench.control("foreign 2,15");  // NIC 1 to NIC 4, one direction so far
  const ApplyReport report = bench.apply({c(0, 2), c(1, 6)});
  EXPECT_EQ(outcome_of(report, c(1, 6)), PairOutcome::kConflict);
  EXPECT_EQ(bench.emulated.patches().size(), 3u) << "theirs stays";
}

TEST(RegionController, ResumesAfterACrash) {
  ControllerBench bench;
  bench.start();
  ASSERT_TRUE(bench.controller->apply({c(0, 2), c(1, 4)}, bench.now).ok());
  const bool sent = bench.run(seconds(5), [&] { return count(bench.sent, "ENT-PATCH") > 0; });
  ASSERT_TRUE(sent);
  bench.restart();
  bench.start();
  EXPECT_EQ(bench.held(), (std::vector<Circuit>{c(0, 2), c(1, 4)}));
  EXPECT_TRUE(bench.journal.settled);
  EXPECT_EQ(*bench.controller->topology().intent, 1);
}

TEST(RegionController, OnlyLooksIfItIsNotToResume) {
  ControllerBench bench;
  bench.start();
  bench.journal.intents.push_back(
      {1, {{bench.region.nics()[0].name, bench.region.nics()[2].name}}});
  bench.journal.settled = false;
  bench.settings.resume = false;
  bench.restart();
  EXPECT_FALSE(bench.controller->topology().read);
  bench.run(seconds(20));
  EXPECT_TRUE(bench.controller->topology().read);
  EXPECT_FALSE(bench.controller->topology().settled);
  EXPECT_EQ(count(bench.sent, "ENT-PATCH"), 0u);
  bench.settings.resume = true;
  bench.restart();
  bench.start();
  EXPECT_EQ(bench.held(), (std::vector<Circuit>{c(0, 2)}));
}

TEST(RegionController, SendsNothingWithoutAJournal) {
  ControllerBench bench;
  bench.start();
  bench.journal.fails = true;
  const ApplyReport report = bench.apply({c(0, 2)});
  EXPECT_EQ(outcome_of(report, c(0, 2)), PairOutcome::kRefused);
  EXPECT_THAT(message_of(report, c(0, 2)), HasSubstr("disk full"));
  EXPECT_TRUE(bench.has_alarm(AlarmKind::kJournal));
  EXPECT_EQ(count(bench.sent, "ENT-PATCH"), 0u);
}

TEST(RegionController, EndsAtTheDeadlineAndSaysWhatItWaitedFor) {
  ControllerBench bench({.password = "wrong"});
  const uint64_t request = bench.controller->apply({c(0, 2)}, bench.now).value();
  const ApplyReport report = bench.finish(request);
  EXPECT_EQ(report.total, seconds(30));
  EXPECT_EQ(outcome_of(report, c(0, 2)), PairOutcome::kUnknown);
  EXPECT_THAT(message_of(report, c(0, 2)), HasSubstr("waited 30 s for a session with switch"));
  EXPECT_TRUE(bench.has_alarm(AlarmKind::kLogin));
  EXPECT_THAT(bench.controller->topology().alarms.front().message,
              ::testing::Not(HasSubstr("wrong")));
}

TEST(RegionController, RefusesASwitchOfAnotherSize) {
  ControllerBench bench({.size = SwitchSize{32, 32}});
  bench.start();
  const auto request = bench.controller->apply({c(0, 2)}, bench.now);
  ASSERT_FALSE(request.ok());
  EXPECT_THAT(request.error().message, HasSubstr("32x32"));
}

TEST(RegionController, ResumesNothingOnASwitchOfAnotherSize) {
  ControllerBench bench({.size = SwitchSize{32, 32}});
  ASSERT_TRUE(bench.journal.begin({{"s0/n0", "s1/n0"}}).ok());  // and a crash
  bench.restart();
  bench.run(seconds(30));
  EXPECT_EQ(count(bench.sent, "ENT-PATCH"), 0u);
  EXPECT_FALSE(bench.journal.settled);
}

TEST(RegionController, PreviewsTheExactCommands) {
  ControllerBench bench;
  bench.start();
  bench.apply({c(0, 2)});
  const auto preview = bench.controller->preview({c(0, 4)});
  ASSERT_TRUE(preview.ok());
  EXPECT_EQ(preview->commands,
            (std::vector<std::string>{"DLT-PATCH::1&3:1:;", "ENT-PATCH::1&5,15&11:2:;"}));
  EXPECT_EQ(bench.held(), (std::vector<Circuit>{c(0, 2)}));
}

TEST(RegionController, RefusesWhatMakesNoSense) {
  ControllerBench bench;
  bench.start();
  EXPECT_FALSE(bench.controller->apply({c(0, 2), c(0, 4)}, bench.now).ok());
  EXPECT_FALSE(bench.controller->apply({c(0, 1)}, bench.now).ok()) << "one server";
  ASSERT_TRUE(bench.controller->apply({}, bench.now).ok());
  for (std::size_t i = 0; i < bench.settings.max_waiting; ++i) {
    EXPECT_TRUE(bench.controller->apply({}, bench.now).ok());
  }
  EXPECT_FALSE(bench.controller->apply({}, bench.now).ok());
}

TEST(RegionController, StopsAfterWhatIsUnderWay) {
  ControllerBench bench;
  bench.start();
  ASSERT_TRUE(bench.controller->apply({c(0, 2)}, bench.now).ok());
  bench.controller->stop(bench.now);
  EXPECT_FALSE(bench.controller->apply({}, bench.now).ok());
  EXPECT_FALSE(bench.controller->stopped());
  EXPECT_TRUE(bench.run(seconds(20), [&] { return bench.controller->stopped(); }));
  EXPECT_EQ(bench.held(), (std::vector<Circuit>{c(0, 2)}));
  EXPECT_THAT(bench.sent, HasSubstr("CANC-USER"));
}

TEST(RegionController, ReportsAnAlarmOfTheSwitch) {
  ControllerBench bench;
  bench.start();
  bench.apply({c(0, 2)});
  bench.control("reboot");
  bench.run(seconds(5));
  EXPECT_TRUE(bench.has_alarm(AlarmKind::kSession));
  bench.run(seconds(100));
  EXPECT_FALSE(bench.has_alarm(AlarmKind::kSession));
  EXPECT_EQ(bench.held(), (std::vector<Circuit>{c(0, 2)})) << "the switch restores its patches";
}

}  // namespace
}  // namespace mixnet::ocs
