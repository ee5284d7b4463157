// Requests against the real controller and an emulated switch, joined without streams, on a clock
// that jumps.
#include "daemon/region_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "net/simulated_loop.h"
#include "ocs/emulated_switch.h"
#include "ocs/sqlite_journal.h"
#include "support/temporary_directory.h"

namespace mixnet::daemon {
namespace {

using mixnet::test_support::TemporaryDirectory;
using ocs::PairOutcome;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// NIC i has tx = i + 1 and rx = i + 9; three servers of two NICs, on an 8x8 switch.
ocs::Region three_by_two() {
  std::vector<ocs::Nic> nics;
  for (int i = 0; i < 6; ++i) {
    const std::string interface = "n" + std::to_string(i % 2);
    nics.push_back(ocs::Nic{"s" + std::to_string(i / 2) + "/" + interface, i / 2, interface,
                            ocs::PortId(i + 1), ocs::PortId(i + 9)});
  }
  return ocs::Region::make({8, 8}, {"s0", "s1", "s2"}, nics).value();
}

ocs::Circuit circuit_of(int a, int b) { return ocs::circuit_between(ocs::NicId(a), ocs::NicId(b)); }

ocs::ControllerOptions options_of_test() {
  ocs::ControllerOptions options;
  options.session.peer = "emulator";
  options.session.login = ocs::Login{"", "admin", ocs::Secret("root")};
  options.max_waiting = 2;
  options.carrier_deadline = Duration(0);
  return options;
}

ocs::EmulatorOptions small_switch() {
  ocs::EmulatorOptions options;
  options.size = ocs::SwitchSize{8, 8};
  options.knobs.relink.fixed = Duration(0);
  return options;
}

class RegionHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    journal_ = ocs::SqliteJournal::open(folder_.file("r1.sqlite")).value();
    controller_ = std::make_unique<ocs::RegionController>(three_by_two(), options_of_test(),
                                                          *journal_, probe_);
    HostHooks hooks;
    hooks.post = [this](std::function<void()> call) { loop_.call_at(loop_.now(), call); };
    hooks.apply = [this](std::vector<ocs::Circuit> circuits) {
      auto ticket = controller_->apply(std::move(circuits), loop_.now());
      loop_.call_at(loop_.now(), [this] { pump(); });
      return ticket;
    };
    hooks.verify = [this] {
      auto ticket = controller_->verify(loop_.now());
      loop_.call_at(loop_.now(), [this] { pump(); });
      return ticket;
    };
    host_ = std::make_unique<RegionHost>(*controller_, 2, loop_, std::move(hooks));
  }

  // The switch is reachable from now on.
  void plug_in() {
    reachable_ = true;
    pump();
    wait(seconds(1));
  }
  void wait(Duration duration) { loop_.run_until(loop_.now() + duration); }

  // Carries bytes both ways until there are none, and sets the next timer.
  void pump() {
    const Instant now = loop_.now();
    if (reachable_ && controller_->wants_connection(now)) {
      controller_->connecting();
      connection_ = switch_.open(now);
      controller_->connected(now);
    }
    controller_->tick(now);
    switch_.tick(now);
    while (connection_.has_value() && exchange(now)) {
    }
    if (connection_.has_value() && controller_->wants_close()) {
      connection_.reset();
      controller_->disconnected("logged out", now);
    }
    for (const ocs::ControllerEvent& event : controller_->take_events()) {
      if (const auto* done = std::get_if<ocs::ApplyDone>(&event)) {
        host_->handle(*done);
      }
    }
    loop_.cancel(timer_);
    timer_ = loop_.call_at(std::min(next_deadline(), now + milliseconds(10)), [this] { pump(); });
  }

  bool exchange(Instant now) {
    const std::string out = controller_->take_output();
    if (!out.empty()) {
      switch_.feed(*connection_, out, now);
    }
    const std::string in = switch_.take_output(*connection_);
    if (!in.empty()) {
      controller_->feed(in, now);
    }
    return !out.empty() || !in.empty();
  }

  Instant next_deadline() const {
    const Instant later = loop_.now() + seconds(1);
    return std::min(controller_->next_deadline().value_or(later),
                    switch_.next_deadline().value_or(later));
  }

  // The place of the answer, filled when it comes; later requests leave it where it is.
  std::shared_ptr<std::optional<RegionAnswer>> ask(RegionRequest request) {
    auto answer = std::make_shared<std::optional<RegionAnswer>>();
    host_->submit(std::move(request), [answer](const RegionAnswer& got) {
      EXPECT_FALSE(answer->has_value()) << "answered twice";
      *answer = got;
    });
    return answer;
  }
  RegionAnswer answer_to(RegionRequest request) {
    const auto answer = ask(std::move(request));
    wait(seconds(5));
    EXPECT_TRUE(answer->has_value());
    return answer->value_or(RegionAnswer{});
  }

  TemporaryDirectory folder_;
  net::SimulatedLoop loop_{Instant(seconds(100))};
  std::unique_ptr<ocs::SqliteJournal> journal_;
  ocs::NoLinkProbe probe_;
  ocs::EmulatedSwitch switch_{small_switch()};
  std::unique_ptr<ocs::RegionController> controller_;
  std::unique_ptr<RegionHost> host_;
  std::optional<ocs::EmulatedSwitch::Connection> connection_;
  net::TimerId timer_ = 0;
  bool reachable_ = false;
};

template <typename What>
RegionRequest request_of(What what, bool dry_run = false) {
  RegionRequest request;
  request.what = std::move(what);
  request.dry_run = dry_run;
  return request;
}

std::vector<ocs::Circuit> verified(const RegionAnswer& answer) {
  std::vector<ocs::Circuit> circuits;
  if (answer.report.has_value()) {
    for (const ocs::CircuitReport& report : answer.report->circuits) {
      if (report.wanted && report.outcome == PairOutcome::kVerified) {
        circuits.push_back(report.circuit);
      }
    }
  }
  return circuits;
}

TEST_F(RegionHostTest, CircuitsAreReplacedAddedAndRemoved) {
  plug_in();
  EXPECT_THAT(verified(answer_to(request_of(ReplaceAll{{circuit_of(0, 2), circuit_of(1, 4)}}))),
              ElementsAre(circuit_of(0, 2), circuit_of(1, 4)));
  EXPECT_EQ(switch_.patches().size(), 4U);
  EXPECT_THAT(verified(answer_to(request_of(AddCircuits{{circuit_of(3, 5)}}))),
              ElementsAre(circuit_of(0, 2), circuit_of(1, 4), circuit_of(3, 5)));
  EXPECT_THAT(verified(answer_to(request_of(RemoveCircuits{{circuit_of(1, 4)}}))),
              ElementsAre(circuit_of(0, 2), circuit_of(3, 5)));
  EXPECT_EQ(switch_.patches().size(), 4U);
  EXPECT_THAT(verified(answer_to(request_of(ReadBack{}))),
              ElementsAre(circuit_of(0, 2), circuit_of(3, 5)));
  answer_to(request_of(ReplaceAll{}));
  EXPECT_TRUE(switch_.patches().empty());
}

// Both are accepted before the first is carried out: the second counts from what the first wants.
TEST_F(RegionHostTest, RequestsThatWaitBuildOnOneAnother) {
  plug_in();
  const auto first = ask(request_of(ReplaceAll{{circuit_of(0, 2)}}));
  const auto second = ask(request_of(AddCircuits{{circuit_of(1, 4)}}));
  const auto third = ask(request_of(RemoveCircuits{{circuit_of(0, 2)}}));
  wait(seconds(5));
  ASSERT_TRUE(first->has_value() && second->has_value() && third->has_value());
  EXPECT_THAT(verified(**second), ElementsAre(circuit_of(0, 2), circuit_of(1, 4)));
  EXPECT_THAT(verified(**third), ElementsAre(circuit_of(1, 4)));
}

TEST_F(RegionHostTest, WhatCannotBeWantedIsRefused) {
  plug_in();
  answer_to(request_of(ReplaceAll{{circuit_of(0, 2)}}));
  const RegionAnswer busy = answer_to(request_of(AddCircuits{{circuit_of(0, 4)}}));
  ASSERT_TRUE(busy.failure.has_value());
  EXPECT_EQ(busy.failure->kind, FailureKind::kInvalid);
  EXPECT_THAT(busy.failure->message, HasSubstr("s0/n0 is in use: s0/n0 - "));
  const RegionAnswer absent = answer_to(request_of(RemoveCircuits{{circuit_of(1, 4)}}));
  ASSERT_TRUE(absent.failure.has_value());
  EXPECT_THAT(absent.failure->message, HasSubstr("s0/n1 - s2/n0 is not wanted now"));
}

TEST_F(RegionHostTest, ADryRunChangesNothing) {
  plug_in();
  answer_to(request_of(ReplaceAll{{circuit_of(0, 2)}}));
  const RegionAnswer answer = answer_to(request_of(ReplaceAll{{circuit_of(1, 4)}}, true));
  ASSERT_TRUE(answer.preview.has_value());
  EXPECT_THAT(answer.preview->remove, ElementsAre(circuit_of(0, 2)));
  EXPECT_THAT(answer.preview->add, ElementsAre(circuit_of(1, 4)));
  EXPECT_FALSE(answer.preview->commands.empty());
  EXPECT_THAT(verified(answer_to(request_of(ReadBack{}))), ElementsAre(circuit_of(0, 2)));
}

TEST_F(RegionHostTest, APlanKeepsWhatIsThereAndTakesFreeNics) {
  plug_in();
  answer_to(request_of(ReplaceAll{{circuit_of(1, 3)}}));
  CarryOutPlan plan{{Matrix<int>(3, 3), DemandMatrix(3, 3, 1.0), {}}};
  plan.problem.wanted(0, 1) = plan.problem.wanted(1, 0) = 1;
  plan.problem.wanted(0, 2) = plan.problem.wanted(2, 0) = 1;
  const RegionAnswer answer = answer_to(request_of(plan));
  EXPECT_THAT(verified(answer), ElementsAre(circuit_of(0, 4), circuit_of(1, 3)));
  ASSERT_TRUE(answer.report.has_value());
  for (const ocs::CircuitReport& report : answer.report->circuits) {
    EXPECT_EQ(report.changed, report.circuit != circuit_of(1, 3));
  }
}

TEST_F(RegionHostTest, WithoutASessionRequestsAreRefused) {
  const RegionAnswer answer = answer_to(request_of(ReadBack{}));
  ASSERT_TRUE(answer.failure.has_value());
  EXPECT_EQ(answer.failure->kind, FailureKind::kUnavailable);
  EXPECT_THAT(answer.failure->message, HasSubstr("no session with the switch"));
}

TEST_F(RegionHostTest, AFullQueueIsAnError) {
  plug_in();
  std::vector<std::shared_ptr<std::optional<RegionAnswer>>> answers;
  for (int i = 0; i < 6; ++i) {
    answers.push_back(ask(request_of(ReplaceAll{{circuit_of(i % 2, 2 + i % 4)}})));
  }
  wait(seconds(10));
  int exhausted = 0;
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer->has_value());
    if ((*answer)->failure.has_value()) {
      EXPECT_EQ((*answer)->failure->kind, FailureKind::kExhausted);
      ++exhausted;
    }
  }
  EXPECT_GE(exhausted, 3);  // one under way, two waiting
  EXPECT_LT(exhausted, 6);
}

TEST_F(RegionHostTest, ADeadlineEndsTheWaitButNotTheTransaction) {
  plug_in();
  RegionRequest request = request_of(ReplaceAll{{circuit_of(0, 2)}});
  request.deadline = milliseconds(5);  // a switch takes 41 ms
  const auto answer = ask(request);
  wait(milliseconds(10));
  ASSERT_TRUE(answer->has_value());
  ASSERT_TRUE((*answer)->failure.has_value());
  EXPECT_EQ((*answer)->failure->kind, FailureKind::kDeadline);
  EXPECT_THAT((*answer)->failure->message,
              HasSubstr("no report within 5 ms: waited for the switch"));
  wait(seconds(2));
  EXPECT_THAT(verified(answer_to(request_of(ReadBack{}))), ElementsAre(circuit_of(0, 2)));
}

TEST_F(RegionHostTest, StoppingFinishesWhatIsUnderWayAndRefusesTheRest) {
  plug_in();
  const auto under_way = ask(request_of(ReplaceAll{{circuit_of(0, 2)}}));
  wait(milliseconds(1));
  host_->refuse_new();
  controller_->stop(loop_.now());
  const auto refused = ask(request_of(ReplaceAll{}));
  wait(seconds(2));
  ASSERT_TRUE(under_way->has_value());
  EXPECT_THAT(verified(**under_way), ElementsAre(circuit_of(0, 2)));
  ASSERT_TRUE(refused->has_value());
  EXPECT_EQ((*refused)->failure->kind, FailureKind::kUnavailable);
  EXPECT_TRUE(controller_->stopped());
}

TEST_F(RegionHostTest, WhoStillWaitsIsToldThatTheDaemonEnds) {
  plug_in();
  const auto waiting = ask(request_of(ReplaceAll{{circuit_of(0, 2)}}));
  wait(milliseconds(1));
  host_->abandon();
  ASSERT_TRUE(waiting->has_value());
  EXPECT_THAT((*waiting)->failure->message, HasSubstr("outcome is unknown"));
}

}  // namespace
}  // namespace mixnet::daemon
