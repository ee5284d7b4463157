#include "ep/declaration.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace mixnet::ep {
namespace {

Declaration dispatch_of(int64_t hidden, int64_t experts) {
  return Declaration{
      CallKind::kDispatch, {{"hidden", hidden}, {"experts", experts}}, "", {1, 2, 3}};
}

// What every rank that is not lost says; all the same, or the test fails.
std::string said_by_all(const std::vector<Declaration>& all, const RankSet& lost) {
  std::vector<PeerDeclaration> peers;
  for (const Declaration& one : all) {
    peers.push_back(without_names(one));
  }
  std::set<std::string> texts;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!lost.has(static_cast<int>(rank))) {
      texts.insert(contradiction(all[rank], peers, lost).value_or(""));
    }
  }
  EXPECT_EQ(texts.size(), 1u);
  return *texts.begin();
}

std::string said_by_all(const std::vector<Declaration>& all) {
  return said_by_all(all, RankSet(static_cast<int>(all.size())));
}

TEST(Declaration, EqualOnesContradictNothing) {
  EXPECT_EQ(said_by_all({dispatch_of(8, 4)}), "");
  EXPECT_EQ(said_by_all(std::vector<Declaration>(5, dispatch_of(8, 4))), "");
}

TEST(Declaration, NumbersMayDiffer) {
  Declaration other = dispatch_of(8, 4);
  other.numbers = {7, 7, 7};
  EXPECT_EQ(said_by_all({dispatch_of(8, 4), other}), "");
}

TEST(Declaration, NamesTheFieldAndTheRanksOfEveryValue) {
  EXPECT_EQ(said_by_all({dispatch_of(128, 4), dispatch_of(64, 4), dispatch_of(64, 4)}),
            "dispatch: hidden differs: 64 on ranks 1-2; 128 on rank 0");
  EXPECT_EQ(said_by_all({dispatch_of(8, 4), dispatch_of(8, 5), dispatch_of(8, 6)}),
            "dispatch: experts differs: 4 on rank 0; 5 on rank 1; 6 on rank 2");
}

TEST(Declaration, TheFirstFieldThatDiffersIsNamed) {
  EXPECT_EQ(said_by_all({dispatch_of(8, 4), dispatch_of(9, 5)}),
            "dispatch: hidden differs: 8 on rank 0; 9 on rank 1");
}

TEST(Declaration, NamesTheCallsBeforeAnythingElse) {
  Declaration combine{CallKind::kCombine, {{"hidden", 8}}, "x is null", {}};
  EXPECT_EQ(said_by_all({dispatch_of(8, 4), combine, dispatch_of(8, 4)}),
            "the ranks are in different calls: ranks 0, 2 in dispatch; rank 1 in combine");
}

TEST(Declaration, GivesTheReasonsOfAllThatRefuse) {
  Declaration one = dispatch_of(8, 4);
  one.refusal = "x is null";
  Declaration other = dispatch_of(9, 4);
  other.refusal = "hidden is odd";
  EXPECT_EQ(said_by_all({dispatch_of(8, 4), one, other}),
            "dispatch: rank 1: x is null; rank 2: hidden is odd");
}

TEST(Declaration, LostRanksAreNotRead) {
  RankSet lost(3);
  lost.add(1);
  EXPECT_EQ(said_by_all({dispatch_of(8, 4), Declaration{}, dispatch_of(8, 4)}, lost), "");
  EXPECT_EQ(said_by_all({dispatch_of(8, 4), Declaration{}, dispatch_of(7, 4)}, lost),
            "dispatch: hidden differs: 7 on rank 2; 8 on rank 0");
}

TEST(Declaration, AnotherFormIsAnotherVersion) {
  Declaration longer = dispatch_of(8, 4);
  longer.numbers.push_back(1);
  const Declaration own = dispatch_of(8, 4);
  const std::vector<PeerDeclaration> peers = {without_names(own), without_names(longer)};
  EXPECT_EQ(contradiction(own, peers, RankSet(2)),
            "dispatch: rank 1 declares it in another form: run the same version everywhere");
}

TEST(Declaration, EveryCallHasAName) {
  std::set<std::string> names;
  for (int kind = 0; kind <= static_cast<int>(CallKind::kRoutes); ++kind) {
    names.insert(call_name(static_cast<CallKind>(kind)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(CallKind::kRoutes) + 1);
  EXPECT_EQ(names.count("an unknown call"), 0u);
}

}  // namespace
}  // namespace mixnet::ep
