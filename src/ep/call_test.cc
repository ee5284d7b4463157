#include "ep/call.h"

#include <gtest/gtest.h>

#include <deque>
#include <utility>
#include <vector>

namespace mixnet::ep {
namespace {

using namespace std::chrono_literals;

// Rank 0 of two; what rank 1 says is written by the test.
class ScriptedTransport final : public Transport {
 public:
  const RankMap& ranks() const override { return ranks_; }
  int rank() const override { return 0; }
  int rails() const override { return 0; }
  uint64_t largest_message() const override { return 1 << 16; }
  Window window() override { return {host_address(window_.data()), window_.size()}; }
  Address mapped(int) override { return window().base; }
  void post(int, std::span<const std::byte>) override { ++posted; }
  void write(const RemoteWrite&) override {}
  void signal(int, int, uint32_t) override {}
  bool drained() override { return true; }
  Event poll() override {
    if (inbox_.empty()) {
      return {};
    }
    Event event = std::move(inbox_.front());
    inbox_.pop_front();
    return event;
  }
  void wait(Instant until) override { now_ = until; }
  Instant now() override { return now_; }
  Health health(int) override { return {gone, silent ? Instant() : now_}; }
  void abandon(int peer) override { abandoned.push_back(peer); }

  void say(const MessageWriter& message) {
    inbox_.push_back(Event{Event::Kind::kMessage, 1, kInsideHost, 0,
                           std::vector<std::byte>(message.bytes().begin(), message.bytes().end())});
  }

  bool gone = false;
  bool silent = false;
  int posted = 0;
  std::vector<int> abandoned;

 private:
  RankMap ranks_ = RankMap({2});
  std::vector<std::byte> window_ = std::vector<std::byte>(64 << 10);
  std::deque<Event> inbox_;
  Instant now_;
};

MessageWriter message_of_attempt(uint64_t number, uint8_t kind) {
  MessageWriter message;
  message.put(number);
  message.put(kind);
  return message;
}

MessageWriter vote_of_nobody(uint64_t number) {
  MessageWriter message = message_of_attempt(number, 2);
  message.put_all(std::span<const int32_t>());
  return message;
}

MessageWriter loss_of_rank_zero(uint64_t number) {
  MessageWriter message = message_of_attempt(number, 3);
  message.put_all(std::span<const uint64_t>(std::vector<uint64_t>{1}));
  message.put_all(std::span<const int32_t>(std::vector<int32_t>{1, 0}));
  return message;
}

Status call_once(Endpoint& endpoint) {
  return run_call(endpoint, Patience{100ms, 1s}, [](Attempt& attempt) {
    EXPECT_TRUE(attempt.lend(5000).has_value());
    return Attempt::Progress::kDone;
  });
}

TEST(Call, EndsWhenTheOtherVotes) {
  ScriptedTransport transport;
  Endpoint endpoint(transport);
  transport.say(vote_of_nobody(1));
  EXPECT_TRUE(call_once(endpoint).ok());
  EXPECT_TRUE(endpoint.lost.empty());
  EXPECT_EQ(endpoint.memory->used(), 0u);
}

// The decision against this rank concerns a call that it took for finished: its vote was late.
TEST(Call, ALateDecisionAgainstThisRankHolds) {
  ScriptedTransport transport;
  Endpoint endpoint(transport);
  transport.say(vote_of_nobody(1));
  EXPECT_TRUE(call_once(endpoint).ok());
  transport.say(loss_of_rank_zero(1));
  transport.gone = true;
  EXPECT_FALSE(call_once(endpoint).ok());
}

TEST(Call, VotesOfEarlierAndLaterAttemptsAreTakenApart) {
  ScriptedTransport transport;
  Endpoint endpoint(transport);
  transport.say(vote_of_nobody(2));
  transport.say(vote_of_nobody(1));
  EXPECT_TRUE(call_once(endpoint).ok());
  EXPECT_TRUE(call_once(endpoint).ok());
  transport.say(vote_of_nobody(2));
  transport.silent = true;
  EXPECT_TRUE(call_once(endpoint).ok());
  EXPECT_TRUE(endpoint.lost.has(1));
}

TEST(Call, MessagesThatCannotBeReadAreNoMessages) {
  ScriptedTransport transport;
  Endpoint endpoint(transport);
  for (uint8_t kind = 0; kind < 9; ++kind) {
    MessageWriter message = message_of_attempt(1, kind);
    message.put(uint32_t{0xffffffff});
    transport.say(message);
    MessageWriter nobody = message_of_attempt(1, kind);
    nobody.put_all(std::span<const int32_t>(std::vector<int32_t>{7, -1}));
    transport.say(nobody);
  }
  transport.say(MessageWriter());
  transport.say(vote_of_nobody(1));
  EXPECT_TRUE(call_once(endpoint).ok());
  EXPECT_TRUE(endpoint.lost.empty());
}

// Where a rank that only stands still may yet write, nothing is ever put again.
TEST(Call, BlocksOfAFailedAttemptAreRetiredUnlessTheLostProcessEnded) {
  for (const bool ends : {true, false}) {
    ScriptedTransport transport;
    Endpoint endpoint(transport);
    transport.gone = ends;
    transport.silent = !ends;
    transport.wait(Instant(1s));
    EXPECT_TRUE(call_once(endpoint).ok());
    EXPECT_TRUE(endpoint.lost.has(1));
    EXPECT_EQ(transport.abandoned, std::vector<int>{1});
    EXPECT_EQ(endpoint.memory->used(), ends ? 0u : 2 * WindowAllocator::kGrain);
  }
}

}  // namespace
}  // namespace mixnet::ep
