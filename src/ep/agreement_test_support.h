#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ep/agreement.h"

namespace mixnet::ep {

inline std::string text_of_pairs(const Accusations& accusations) {
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

}  // namespace mixnet::ep
