#include "scenario/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mixnet::scenario {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Names, EditDistanceCountsInsertionsDeletionsAndSubstitutions) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("server", "servers"), 1U);
  EXPECT_EQ(edit_distance("nic_rate", "nicrate"), 1U);
}

TEST(Names, NearestComeFirstAndFarOnesNotAtAll) {
  const std::vector<std::string> known = {"servers", "gpu", "nic_rate", "nics_per_server"};
  EXPECT_THAT(nearest_names("server", known), ElementsAre("servers", "nics_per_server"));
  EXPECT_THAT(nearest_names("nic_rat", known), ElementsAre("nic_rate"));
  EXPECT_THAT(nearest_names("temperature", known), IsEmpty());
}

TEST(Names, UnknownNameListsEverythingIfNothingIsNear) {
  EXPECT_EQ(unknown_name("GPU", "h10", {"h100", "b200"}),
            "unknown GPU `h10`: did you mean `h100`?");
  EXPECT_EQ(unknown_name("GPU", "voodoo", {"h100", "b200"}),
            "unknown GPU `voodoo`: known are `h100` and `b200`");
}

}  // namespace
}  // namespace mixnet::scenario
