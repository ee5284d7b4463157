#include "report/table.h"

#include <gtest/gtest.h>

namespace mixnet::report {
namespace {

TEST(Table, AlignsByCodePointsAndLeavesNoTrailingSpaces) {
  Table table({{"name", Align::kLeft}, {"time (µs)"}, {"note", Align::kLeft}});
  table.add_row({"α = 6", "12.5", "x"});
  table.add_row({"a longer name", "3", ""});
  EXPECT_EQ(table.text(),
            "name           time (µs)  note\n"
            "-------------  ---------  ----\n"
            "α = 6               12.5  x\n"
            "a longer name          3\n");
}

TEST(Table, WidensForHeadings) {
  Table table({{"a heading"}});
  EXPECT_EQ(table.text(), "a heading\n---------\n");
}

TEST(Table, RejectsRowsOfTheWrongLength) {
  Table table({{"a"}, {"b"}});
  EXPECT_DEATH(table.add_row({"1"}), "one cell per column");
}

TEST(DisplayWidth, CountsCodePoints) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("µα×÷"), 4u);
}

TEST(Wrapped, BreaksAtSpacesAndIndents) {
  EXPECT_EQ(wrapped("one two three four", 9, 2), "one two\n  three\n  four\n");
  EXPECT_EQ(wrapped("unbreakable words", 5, 0), "unbreakable\nwords\n");
  EXPECT_EQ(wrapped("", 5, 0), "\n");
}

TEST(Wrapped, FillsLinesToTheWidth) { EXPECT_EQ(wrapped("aaa bbb ccc", 7, 0), "aaa bbb\nccc\n"); }

}  // namespace
}  // namespace mixnet::report
