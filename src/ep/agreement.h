#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ep/rank_set.h"

// Problem. Ranks work together on one attempt of a collective, and some may fall silent. At its end
// all survivors have to hold the same set of lost ranks, whichever of them noticed which loss, and
// a rank that noticed nothing must not take a result that the others throw away.
//
// Method. A rank that waits for a silent one *accuses* it. Everyone votes with the accusations that
// it knows of, at the latest when its own part of the attempt is complete; votes only grow, and who
// hears of an accusation takes it over. Equal accusations give equal verdicts (see verdict()). A
// rank decides when everyone whom the verdict leaves has voted with exactly its accusations, and
// tells the decision. Whoever hears a decision takes it over, unless it has voted since with more
// accusations that condemn who tells it: on that vote others may have decided already.
//
// Two survivors never decide differently: to decide on accusations A, a rank needs the vote A of
// everyone whom A leaves, and one that voted with more of them, or decided, never votes A again.
// Who voted A and takes over a decision on fewer accusations has it from a rank that A leaves,
// which did not vote A before it decided, so that nobody decides on A. Only a rank that the others
// lost can have decided something else. A decision takes one round of votes when nobody fails, and
// about one more per further loss.
//
// Limit: when the ranks fall apart into two halves that do not hear each other, both go on.
namespace mixnet::ep {

// Who accuses whom.
using Accusations = std::set<std::pair<int, int>>;

// The ranks of `ranks` that have to go so that no accusation is left between others: each time the
// one with most accusers, of equals the one that accuses most, then the highest. A rank that is cut
// off accuses everyone, but everyone accuses it.
RankSet verdict(Accusations accusations, int ranks);

class Agreement {
 public:
  // `lost`: agreed on before this attempt.
  Agreement(RankSet lost, int ranks, int self);

  void complete();        // this rank's part of the attempt is done
  bool accuse(int rank);  // not self, not lost before; false: it was accused already
  // This rank does not hear `rank`; `gone`: because its process ended.
  void unheard(int rank, bool gone);
  void hear_vote(int rank, const Accusations& accusations);
  void hear_decision(int rank, const RankSet& lost, const Accusations& grounds);

  // What to tell everyone now; once per change.
  std::optional<Accusations> take_vote();
  // The set that all survivors hold, those of before included. No change afterwards, but when it
  // turns out that others, which did not get the vote of this rank in time, have lost it.
  const std::optional<RankSet>& decision() const { return decision_; }
  // The accusations on which it was decided, here or elsewhere.
  const Accusations& grounds() const { return accusations_; }
  // Somebody is accused: the attempt cannot succeed.
  bool broken() const { return !accusations_.empty(); }
  // By what is known so far, lost or to be lost.
  const RankSet& condemned() const { return condemned_; }
  // The verdict is against this rank, or leaves too few: others may decide, this one cannot.
  bool stuck() const;
  // The vote of `rank`, which is not condemned, is missing for a decision.
  bool awaits(int rank) const;

 private:
  bool grow(const Accusations& accusations);
  void try_to_decide();
  bool agrees(int rank) const;
  bool may_follow(int rank, const Accusations& grounds) const;
  bool voted() const { return complete_ || broken(); }

  RankSet start_;
  Accusations accusations_;
  RankSet condemned_;
  RankSet unheard_;
  RankSet gone_;
  std::vector<Accusations> told_;  // ascending
  std::vector<std::optional<Accusations>> votes_;
  std::optional<RankSet> decision_;
  int self_;
  bool complete_ = false;
};

}  // namespace mixnet::ep
