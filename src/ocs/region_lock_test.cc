#include "ocs/region_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "support/temporary_directory.h"

namespace mixnet::ocs {
namespace {

TEST(RegionLock, KeepsASecondControllerAwayAndNamesTheFirst) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.file("r1.lock");
  std::optional<RegionLock> held;
  {
    auto first = RegionLock::acquire(path, "r1", "mixnetd");
    ASSERT_TRUE(first.ok()) << first.error().text();
    held.emplace(*std::move(first));
  }
  const auto second = RegionLock::acquire(path, "r1", "mixnet ocs connect");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().text(), "region r1 is controlled by mixnetd, pid " +
                                       std::to_string(::getpid()) + ": stop it first (lock file " +
                                       path + ")");
  EXPECT_EQ(RegionLock::holder(path), "mixnetd, pid " + std::to_string(::getpid()));
  held.reset();
  EXPECT_EQ(RegionLock::holder(path), std::nullopt) << "the text stays in the file";
  EXPECT_EQ(RegionLock::holder(directory.file("none")), std::nullopt);
  const auto third = RegionLock::acquire(path, "r1", "x");
  EXPECT_TRUE(third.ok()) << "released with its owner";
  EXPECT_EQ(test_support::read_all(path), "x, pid " + std::to_string(::getpid()) + "\n")
      << "nothing is left of the longer name before";
}

TEST(RegionLock, IsReleasedWhenItsHolderIsKilled) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.file("r1.lock");
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = RegionLock::acquire(path, "r1", "mixnetd");
    const char state = lock.ok() ? 'y' : 'n';
    if (::write(ready[1], &state, 1) == 1) {
      ::pause();
    }
    ::raise(SIGKILL);
  }
  char state = 0;
  ASSERT_EQ(::read(ready[0], &state, 1), 1);
  EXPECT_EQ(state, 'y');
  const auto meanwhile = RegionLock::acquire(path, "r1", "x");
  ASSERT_FALSE(meanwhile.ok());
  EXPECT_NE(meanwhile.error().text().find("pid " + std::to_string(child)), std::string::npos);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(RegionLock::acquire(path, "r1", "x").ok());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(RegionLock, ALockOnARemovedFileIsNone) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.file("r1.lock");
  const auto first = RegionLock::acquire(path, "r1", "a");
  ASSERT_TRUE(first.ok());
  std::filesystem::remove(path);
  const auto second = RegionLock::acquire(path, "r1", "b");
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(RegionLock::acquire(path, "r1", "c").ok());
}

TEST(RegionLock, AFileThatCannotBeMadeIsNamed) {
  const test_support::TemporaryDirectory directory;
  const auto lock = RegionLock::acquire(directory.file("no/such/r1.lock"), "r1", "x");
  ASSERT_FALSE(lock.ok());
  EXPECT_EQ(lock.error().text(), directory.file("no/such/r1.lock") + ": No such file or directory");
}

}  // namespace
}  // namespace mixnet::ocs
