#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ep/agreement_test_support.h"

// Three ranks, and everything that may happen to their agreement in any order.
namespace mixnet::ep {
namespace {

// All states that can follow from a state, each once.
class EveryOrder {
 public:
  // `accusations` may each be made at any time; `dying` may end at any time, or -1.
  EveryOrder(std::vector<std::pair<int, int>> accusations, int dying)
      : accusations_(std::move(accusations)), dying_(dying) {}

  void visit(const Voters& voters) {
    if (!wrong_.empty() || !seen_.insert(voters.state()).second) {
      return;
    }
    wrong_ = voters.contradiction();
    for (int rank = 0; rank < voters.ranks(); ++rank) {
      if (voters.alive(rank)) {
        visit_steps_of(voters, rank);
      }
    }
    for (const auto& pair : accusations_) {
      step(voters, [&](Voters& next) { next.accuse(pair.first, pair.second); });
    }
    if (dying_ >= 0 && voters.alive(dying_)) {
      for (std::size_t rests = 0; rests < 9; ++rests) {
        step(voters, [&](Voters& next) {
          const std::size_t left[] = {rests % 3, rests / 3};
          std::vector<std::size_t> all(at(next.ranks()));
          std::size_t index = 0;
          for (int rank = 0; rank < next.ranks(); ++rank) {
            all[at(rank)] = rank == dying_ ? 0 : left[index++];
          }
          next.kill(dying_, all);
        });
      }
    }
  }

  const std::string& wrong() const { return wrong_; }
  std::size_t states() const { return seen_.size(); }

 private:
  template <typename Act>
  void step(const Voters& voters, const Act& action) {
    Voters next = voters;
    action(next);
    visit(next);
  }

  void visit_steps_of(const Voters& voters, int rank) {
    if (!voters.completed(rank)) {
      step(voters, [&](Voters& next) { next.complete(rank); });
    }
    for (int other = 0; other < voters.ranks(); ++other) {
      if (voters.under_way(other, rank)) {
        step(voters, [&](Voters& next) { next.deliver(other, rank); });
      } else if (other != rank && !voters.alive(other)) {
        step(voters, [&](Voters& next) {
          next.unheard(rank, other, true);
          if (next[rank].awaits(other)) {
            next.accuse(rank, other);
          }
        });
      } else if (other != rank && voters[rank].condemned().has(other)) {
        step(voters, [&](Voters& next) { next.unheard(rank, other, false); });
      }
    }
  }

  std::vector<std::pair<int, int>> accusations_;
  int dying_;
  std::string wrong_;
  std::set<std::string> seen_;
};

TEST(Agreement, NobodyDecidesDifferentlyInAnyOrderWhenOneOfThreeEnds) {
  for (int dying = 0; dying < 3; ++dying) {
    EveryOrder orders({}, dying);
    orders.visit(Voters(3));
    EXPECT_EQ(orders.wrong(), "") << "rank " << dying << " ends";
    EXPECT_GT(orders.states(), 1000u);
  }
}

void expect_one_decision(const std::vector<std::pair<int, int>>& accusations) {
  Voters voters(3);
  for (int rank = 0; rank < voters.ranks(); ++rank) {
    voters.complete(rank);
  }
  EveryOrder orders(accusations, -1);
  orders.visit(voters);
  EXPECT_EQ(orders.wrong(), "") << text_of_pairs({accusations.begin(), accusations.end()});
}

TEST(Agreement, NobodyDecidesDifferentlyInAnyOrderOfFalseAlarms) {
  for (const std::pair<int, int>& pair :
       std::vector<std::pair<int, int>>{{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}}) {
    expect_one_decision({pair});
  }
  expect_one_decision({{1, 2}, {2, 0}});
}

}  // namespace
}  // namespace mixnet::ep
