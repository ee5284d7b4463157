#include "ep/agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"

namespace mixnet::ep {
namespace {

std::string text_of_pairs(const Accusations& accusations) {
  std::string text;
  for (const auto& [accuser, accused] : accusations) {
    text += std::to_string(accuser) + std::to_string(accused) + " ";
  }
  return text;
}

// Ranks that exchange what Agreement wants told, over a queue from each to each. Between two steps
// anything may be under way.
class Voters {
 public:
  explicit Voters(int ranks)
      : ranks_(ranks), alive_(at(ranks), true), told_(at(ranks), false), known_(at(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      voters_.emplace_back(RankSet(ranks), ranks, rank);
    }
  }

  int ranks() const { return ranks_; }
  bool alive(int rank) const { return alive_[at(rank)]; }
  Agreement& operator[](int rank) { return voters_[at(rank)]; }
  const Agreement& operator[](int rank) const { return voters_[at(rank)]; }

  bool completed(int rank) const { return known_[at(rank)].marks.count("c") > 0; }

  void complete(int rank) {
    act(rank, [&](Agreement& voter) {
      known_[at(rank)].marks.insert("c");
      voter.complete();
    });
  }
  void accuse(int rank, int accused) {
    act(rank, [&](Agreement& voter) {
      known_[at(rank)].accusations.emplace(rank, accused);
      voter.accuse(accused);
    });
  }
  void unheard(int rank, int other, bool gone) {
    act(rank, [&](Agreement& voter) {
      known_[at(rank)].marks.insert((gone ? "g" : "u") + std::to_string(other));
      voter.unheard(other, gone);
    });
  }
  // What `rank` has sent but is still under way arrives in part: of every queue `left` at most.
  void kill(int rank, const std::vector<std::size_t>& left) {
    alive_[at(rank)] = false;
    for (int to = 0; to < ranks_; ++to) {
      auto& queue = queues_[{rank, to}];
      queue.resize(std::min(queue.size(), left[at(to)]));
    }
  }
  bool under_way(int from, int to) const {
    const auto queue = queues_.find({from, to});
    return queue != queues_.end() && !queue->second.empty();
  }
  void deliver(int from, int to) {
    auto& queue = queues_[{from, to}];
    if (queue.empty()) {
      return;
    }
    const Message message = std::move(queue.front());
    queue.pop_front();
    act(to, [&](Agreement& voter) {
      if (message.decision) {
        voter.hear_decision(from, *message.decision, message.vote);
      } else {
        known_[at(to)].votes[from] = message.vote;
        known_[at(to)].accusations.insert(message.vote.begin(), message.vote.end());
        voter.hear_vote(from, message.vote);
      }
    });
  }

  // Decided, not against itself.
  bool survives(int rank) const {
    const auto& decision = voters_[at(rank)].decision();
    return decision && !decision->has(rank);
  }
  // The claim of the header.
  std::string contradiction() const {
    for (int a = 0; a < ranks_; ++a) {
      for (int b = 0; b < a; ++b) {
        if (!survives(a) || !survives(b)) {
          continue;
        }
        const RankSet& of_a = *voters_[at(a)].decision();
        const RankSet& of_b = *voters_[at(b)].decision();
        if (of_a != of_b && !of_a.has(b) && !of_b.has(a)) {
          return "rank " + std::to_string(a) + " lost {" + of_a.text() + "}, rank " +
                 std::to_string(b) + " lost {" + of_b.text() + "}";
        }
      }
    }
    return {};
  }
  // Equal for states from which the same can follow.
  std::string state() const {
    std::string text;
    for (int rank = 0; rank < ranks_; ++rank) {
      text += (alive_[at(rank)] ? "\n" : "\n+") + text_of(rank);
    }
    for (const auto& [pair, queue] : queues_) {
      text += "\n" + std::to_string(pair.first) + std::to_string(pair.second);
      for (const Message& message : queue) {
        text += (message.decision ? ":decided " : ":") + text_of_pairs(message.vote);
      }
    }
    return text;
  }

 private:
  struct Message {
    Accusations vote;  // or grounds of the decision
    std::optional<RankSet> decision;
  };
  // What a rank was told, as far as it counts.
  struct Known {
    std::set<std::string> marks;
    Accusations accusations;
    std::map<int, Accusations> votes;
    std::vector<Accusations> told;
  };

  std::string text_of(int rank) const {
    if (const auto& decision = voters_[at(rank)].decision()) {
      return "decided " + decision->text() + " on " + text_of_pairs(voters_[at(rank)].grounds());
    }
    std::string text;
    for (const std::string& mark : known_[at(rank)].marks) {
      text += mark;
    }
    text += "," + text_of_pairs(known_[at(rank)].accusations);
    for (const auto& [other, vote] : known_[at(rank)].votes) {
      text += ",v" + std::to_string(other) + " " + text_of_pairs(vote);
    }
    for (const Accusations& vote : known_[at(rank)].told) {
      text += ",t" + text_of_pairs(vote);
    }
    return text;
  }

  template <typename Act>
  void act(int rank, const Act& action) {
    if (!alive_[at(rank)] || told_[at(rank)]) {
      return;
    }
    Agreement& voter = voters_[at(rank)];
    action(voter);
    if (const auto vote = voter.take_vote()) {
      known_[at(rank)].told.push_back(*vote);
      send(rank, Message{*vote, {}});
    }
    if (voter.decision()) {
      told_[at(rank)] = true;
      for (int from = 0; from < ranks_; ++from) {
        queues_[{from, rank}].clear();  // it does not listen any more
      }
      send(rank, Message{voter.grounds(), voter.decision()});
    }
  }
  void send(int from, const Message& message) {
    for (int to = 0; to < ranks_; ++to) {
      if (to != from && alive_[at(to)] && !told_[at(to)]) {
        queues_[{from, to}].push_back(message);
      }
    }
  }

  int ranks_;
  std::vector<Agreement> voters_;
  std::vector<bool> alive_;
  std::vector<bool> told_;  // its decision
  std::vector<Known> known_;
  std::map<std::pair<int, int>, std::deque<Message>> queues_;
};

// Everything that is under way arrives, and everybody notices who ended and who is waited for in
// vain, until nothing changes.
void come_to_rest(Voters& voters, RandomStream& random) {
  for (int turn = 0; turn < 100; ++turn) {
    std::vector<std::pair<int, int>> busy;
    for (int from = 0; from < voters.ranks(); ++from) {
      for (int to = 0; to < voters.ranks(); ++to) {
        if (voters.under_way(from, to)) {
          busy.emplace_back(from, to);
        }
      }
    }
    while (!busy.empty()) {
      const std::size_t one = random.below(busy.size());
      voters.deliver(busy[one].first, busy[one].second);
      if (!voters.under_way(busy[one].first, busy[one].second)) {
        busy.erase(busy.begin() + static_cast<std::ptrdiff_t>(one));
      }
    }
    for (int rank = 0; rank < voters.ranks(); ++rank) {
      voters.complete(rank);
      for (int other = 0; other < voters.ranks(); ++other) {
        if (other != rank && !voters.alive(other)) {
          voters.unheard(rank, other, true);
        } else if (other != rank && voters[rank].condemned().has(other)) {
          voters.unheard(rank, other, false);
        }
        if (voters.alive(rank) && voters[rank].awaits(other) &&
            (!voters.alive(other) || (turn > 20 && !voters.under_way(other, rank)))) {
          voters.accuse(rank, other);
        }
      }
    }
  }
}

std::vector<std::size_t> random_rests(RandomStream& random, int ranks) {
  std::vector<std::size_t> left;
  for (int rank = 0; rank < ranks; ++rank) {
    left.push_back(random.below(4));
  }
  return left;
}

// A random step: something arrives, or a rank completes, ends, or loses patience with another.
void random_step(Voters& voters, RandomStream& random, uint64_t& deaths, bool false_alarms) {
  const auto ranks = static_cast<uint64_t>(voters.ranks());
  const int rank = static_cast<int>(random.below(ranks));
  const int other = static_cast<int>(random.below(ranks));
  const uint64_t kind = random.below(40);
  if (rank == other) {
    return;
  }
  if (kind == 0 && deaths > 0 && voters.alive(rank)) {
    voters.kill(rank, random_rests(random, voters.ranks()));
    --deaths;
  } else if (kind == 1 && false_alarms) {
    voters.accuse(rank, other);
  } else if (kind == 2 && false_alarms) {
    voters.unheard(rank, other, false);
  } else if (kind < 8) {
    voters.complete(rank);
  } else if (kind < 18 && !voters.alive(other) && !voters.under_way(other, rank)) {
    voters.unheard(rank, other, true);
    if (voters[rank].awaits(other)) {
      voters.accuse(rank, other);
    }
  } else if (voters.under_way(rank, other)) {
    voters.deliver(rank, other);
  }
}

TEST(Agreement, NobodyDecidesDifferentlyInRandomOrders) {
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    RandomStream random(seed, "voters");
    Voters voters(static_cast<int>(2 + random.below(5)));
    const bool false_alarms = random.below(2) == 0;
    const uint64_t most = random.below(static_cast<uint64_t>(voters.ranks() + 1) / 2);
    uint64_t deaths = most;
    const uint64_t steps = random.below(200);
    for (uint64_t step = 0; step < steps; ++step) {
      random_step(voters, random, deaths, false_alarms);
    }
    ASSERT_EQ(voters.contradiction(), "") << "seed " << seed;
    come_to_rest(voters, random);
    ASSERT_EQ(voters.contradiction(), "") << "seed " << seed << ", at rest";
    for (int rank = 0; rank < voters.ranks(); ++rank) {
      if (!voters.alive(rank)) {
        continue;
      }
      ASSERT_TRUE(voters[rank].decision() || voters[rank].stuck())
          << "seed " << seed << ": rank " << rank << " waits for ever";
      if (!false_alarms) {
        ASSERT_TRUE(voters.survives(rank)) << "seed " << seed << ", rank " << rank;
        for (const int lost : voters[rank].decision()->ranks()) {
          ASSERT_FALSE(voters.alive(lost)) << "seed " << seed << ", rank " << rank;
        }
      }
    }
  }
}

// It stood still between its decision and its vote.
TEST(Agreement, WhoDecidedAndWasLostByTheOthersLearnsIt) {
  Agreement late(RankSet(3), 3, 0);
  late.hear_vote(1, {});
  late.hear_vote(2, {});
  late.complete();
  ASSERT_TRUE(late.decision() && late.decision()->empty());
  EXPECT_EQ(late.take_vote(), std::nullopt);
  RankSet lost(3);
  lost.add(2);
  late.hear_decision(1, lost, {{1, 2}});
  EXPECT_TRUE(late.decision()->empty());
  lost.add(0);
  late.hear_decision(1, lost, {{1, 2}, {1, 0}});
  EXPECT_EQ(late.decision(), lost);
}

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
