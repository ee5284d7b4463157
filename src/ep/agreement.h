#pragma once

#include <optional>
#include <vector>

#include "ep/rank_set.h"

// Problem. Ranks work together on one attempt of a collective, and some may fall silent. At its end
// all survivors have to hold the same set of lost ranks, whichever of them noticed which loss, and
// a rank that noticed nothing must not take a result that the others throw away.
//
// Method. Everyone votes for the set that it believes lost: for the set that the attempt began with
// when its own part is complete, for a larger one as soon as it suspects somebody or hears a
// larger vote. Votes only grow. A rank decides on its vote when everyone outside the voted set
// voted for exactly the same, and tells the decision; whoever hears a decision takes it over.
//
// Two survivors never decide differently: to decide V, a rank needs the vote V of every rank
// outside V, and one that voted for a larger set, or decided, never votes V again. Only a rank that
// others count as lost can have decided something else, and it learns that from their votes.
// A decision takes one round of votes when nobody fails, and at most one more per further loss.
namespace mixnet::ep {

class Agreement {
 public:
  // `lost`: agreed on before this attempt.
  Agreement(RankSet lost, int ranks, int self);

  void complete();         // this rank's part of the attempt is done
  void suspect(int rank);  // not self
  void hear_vote(int rank, const RankSet& lost);
  void hear_decision(const RankSet& lost);

  // What to tell everyone now; once per change.
  std::optional<RankSet> take_vote();
  // The set that all survivors hold; no change afterwards.
  const std::optional<RankSet>& decision() const { return decision_; }
  // Somebody is suspected or was voted lost: the attempt cannot succeed.
  bool broken() const { return !(believed_ == start_); }
  // Others count this rank as lost.
  bool expelled() const { return believed_.has(self_) || (decision_ && decision_->has(self_)); }
  // Ranks whose vote is missing for a decision; a loss of the others does not matter.
  bool awaits(int rank) const;
  const RankSet& believed() const { return believed_; }

 private:
  void try_to_decide();
  bool voted() const { return complete_ || broken(); }

  RankSet start_;
  RankSet believed_;
  std::optional<RankSet> told_;
  std::vector<std::optional<RankSet>> votes_;
  std::optional<RankSet> decision_;
  int self_;
  bool complete_ = false;
};

}  // namespace mixnet::ep
