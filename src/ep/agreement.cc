#include "ep/agreement.h"

#include <utility>

#include "core/check.h"

namespace mixnet::ep {

Agreement::Agreement(RankSet lost, int ranks, int self)
    : start_(std::move(lost)), believed_(start_), votes_(at(ranks)), self_(self) {}

void Agreement::complete() {
  complete_ = true;
  try_to_decide();
}

void Agreement::suspect(int rank) {
  CHECK(rank != self_, "a rank does not suspect itself");
  if (!decision_) {
    believed_.add(rank);
    try_to_decide();
  }
}

void Agreement::hear_vote(int rank, const RankSet& lost) {
  if (decision_ || start_.has(rank)) {
    return;
  }
  votes_[at(rank)] = lost;
  believed_.add(lost);
  try_to_decide();
}

void Agreement::hear_decision(const RankSet& lost) {
  if (!decision_) {
    decision_ = lost;
  }
}

std::optional<RankSet> Agreement::take_vote() {
  if (!voted() || decision_ || (told_ && *told_ == believed_)) {
    return std::nullopt;
  }
  told_ = believed_;
  return told_;
}

bool Agreement::awaits(int rank) const {
  return !decision_ && rank != self_ && !believed_.has(rank) &&
         !(votes_[at(rank)] && *votes_[at(rank)] == believed_);
}

void Agreement::try_to_decide() {
  if (!voted() || decision_ || expelled()) {
    return;
  }
  for (int rank = 0; rank < static_cast<int>(votes_.size()); ++rank) {
    if (awaits(rank)) {
      return;
    }
  }
  decision_ = believed_;
}

}  // namespace mixnet::ep
