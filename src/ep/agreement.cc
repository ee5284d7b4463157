#include "ep/agreement.h"

#include <algorithm>
#include <tuple>

#include "core/check.h"

namespace mixnet::ep {

RankSet verdict(Accusations accusations, int ranks) {
  RankSet condemned(ranks);
  while (!accusations.empty()) {
    std::vector<std::tuple<int, int, int>> standing(at(ranks));  // accusers, accused, rank
    for (int rank = 0; rank < ranks; ++rank) {
      std::get<2>(standing[at(rank)]) = rank;
    }
    for (const auto& [accuser, accused] : accusations) {
      ++std::get<0>(standing[at(accused)]);
      ++std::get<1>(standing[at(accuser)]);
    }
    const int worst = std::get<2>(*std::max_element(standing.begin(), standing.end()));
    condemned.add(worst);
    for (auto edge = accusations.begin(); edge != accusations.end();) {
      const bool settled = edge->first == worst || edge->second == worst;
      edge = settled ? accusations.erase(edge) : std::next(edge);
    }
  }
  return condemned;
}

Agreement::Agreement(RankSet lost, int ranks, int self)
    : start_(std::move(lost)),
      condemned_(start_),
      unheard_(ranks),
      gone_(ranks),
      votes_(at(ranks)),
      self_(self) {}

void Agreement::complete() {
  complete_ = true;
  try_to_decide();
}

bool Agreement::accuse(int rank) {
  CHECK(rank != self_ && !start_.has(rank), "another rank that takes part is accused");
  return grow({{self_, rank}});
}

void Agreement::unheard(int rank, bool gone) {
  const bool news = !unheard_.has(rank) || (gone && !gone_.has(rank));
  unheard_.add(rank);
  if (gone) {
    gone_.add(rank);
  }
  if (news) {
    try_to_decide();
  }
}

void Agreement::hear_vote(int rank, const Accusations& accusations) {
  if (!decision_ && !start_.has(rank)) {
    votes_[at(rank)] = accusations;
    grow(accusations);
  }
}

void Agreement::hear_decision(int rank, const RankSet& lost, const Accusations& grounds) {
  if (start_.has(rank)) {
    return;
  }
  const bool expels = lost.has(self_);
  if (decision_ && !expels) {
    return;
  }
  if (expels || may_follow(rank, grounds)) {
    accusations_ = grounds;
    condemned_ = lost;
    decision_ = lost;
  } else if (!condemned_.has(
                 rank)) {  // later accusations cleared it, but it will not vote any more
    accuse(rank);
  }
}

// No vote of this rank with more accusations condemns `rank`.
bool Agreement::may_follow(int rank, const Accusations& grounds) const {
  return std::none_of(told_.begin(), told_.end(), [&](const Accusations& vote) {
    return vote.size() > grounds.size() && verdict(vote, static_cast<int>(votes_.size())).has(rank);
  });
}

std::optional<Accusations> Agreement::take_vote() {
  if (!voted() || decision_ || (!told_.empty() && told_.back() == accusations_)) {
    return std::nullopt;
  }
  told_.push_back(accusations_);
  return accusations_;
}

bool Agreement::stuck() const {
  int left = 0;
  int may_run = 0;
  for (int rank = 0; rank < static_cast<int>(votes_.size()); ++rank) {
    const bool condemned = condemned_.has(rank);
    left += condemned ? 0 : 1;
    may_run += condemned && !start_.has(rank) && !gone_.has(rank) ? 1 : 0;
  }
  return condemned_.has(self_) || left < may_run;
}

bool Agreement::agrees(int rank) const {
  return votes_[at(rank)] && *votes_[at(rank)] == accusations_;
}

bool Agreement::awaits(int rank) const {
  return !decision_ && rank != self_ && !condemned_.has(rank) && !agrees(rank);
}

// True: there was something new.
bool Agreement::grow(const Accusations& accusations) {
  if (decision_) {
    return false;
  }
  const std::size_t before = accusations_.size();
  accusations_.insert(accusations.begin(), accusations.end());
  const bool news = accusations_.size() > before;
  if (news) {
    condemned_ = verdict(accusations_, static_cast<int>(votes_.size()));
    condemned_.add(start_);
  }
  try_to_decide();
  return news;
}

void Agreement::try_to_decide() {
  if (!voted() || decision_ || stuck()) {
    return;
  }
  for (int rank = 0; rank < static_cast<int>(votes_.size()); ++rank) {
    const bool objects =
        condemned_.has(rank) && !start_.has(rank) && !unheard_.has(rank) && !agrees(rank);
    if (awaits(rank) || objects) {
      return;
    }
  }
  decision_ = condemned_;
}

}  // namespace mixnet::ep
