#include "cli/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>  // posix_openpt and its kin are POSIX, not C++
#include <unistd.h>

namespace mixnet::cli {
namespace {

TEST(ProgressText, ShowsBarShareAndRest) {
  EXPECT_EQ(progress_text("simulating", 0, 10, 1.0),
            "simulating [--------------------] 0 %, 0 of 10");
  EXPECT_EQ(progress_text("simulating", 3, 10, 6.0),
            "simulating [######--------------] 30 %, 3 of 10, 14 s left");
  EXPECT_EQ(progress_text("simulating", 10, 10, 6.0),
            "simulating [####################] 100 %, 10 of 10");
}

TEST(ProgressText, RejectsMoreThanAll) {
  EXPECT_DEATH(progress_text("x", 2, 1, 0), "progress is a part of the work");
  EXPECT_DEATH(progress_text("x", 0, 0, 0), "progress is a part of the work");
}

TEST(Progress, ShortWorkLeavesALogAlone) {
  std::FILE* log = std::tmpfile();
  ASSERT_NE(log, nullptr);
  {
    Progress progress("working", log);
    progress.update(1, 2);
    progress.update(2, 2);
  }
  EXPECT_EQ(std::ftell(log), 0);
  std::fclose(log);
}

TEST(Progress, DrawsOnATerminalAndErasesAtTheEnd) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(master, 0);
  ASSERT_EQ(grantpt(master), 0);
  ASSERT_EQ(unlockpt(master), 0);
  char name[64];
  ASSERT_EQ(ptsname_r(master, name, sizeof name), 0);
  std::FILE* terminal = std::fopen(name, "w");
  ASSERT_NE(terminal, nullptr);
  {
    Progress progress("working", terminal);
    progress.update(1, 4);
  }
  char text[256];
  const ssize_t length = read(master, text, sizeof text);
  ASSERT_GT(length, 0);
  EXPECT_EQ(
      std::string(text, static_cast<std::size_t>(length)).rfind("\r\x1b[Kworking [#####---", 0),
      0u);
  std::fclose(terminal);
  close(master);
}

}  // namespace
}  // namespace mixnet::cli
