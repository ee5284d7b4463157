#include "cli/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/full_disk.h"
#include "support/temporary_directory.h"

namespace mixnet::cli {
namespace {

using test_support::FullDisk;
using test_support::read_all;
using test_support::TemporaryDirectory;

TEST(WriteFiles, ReplaceAllOrNone) {
  const TemporaryDirectory directory;
  const std::string first = directory.write("first", "old");
  const std::string second = directory.file("second");
  ASSERT_TRUE(write_files({{first, "new"}, {second, "new"}}).ok());
  EXPECT_EQ(read_all(first) + read_all(second), "newnew");
  EXPECT_FALSE(write_files({{first, "newer"}, {directory.file("no/folder"), "newer"}}).ok());
  {
    const FullDisk disk;
    EXPECT_FALSE(write_files({{first, "newer"}}).ok());
  }
  EXPECT_EQ(read_all(first), "new");
  EXPECT_EQ(directory.entries(), 2);
}

TEST(WriteFiles, APipeIsWrittenAndStaysOne) {
  const TemporaryDirectory directory;
  const std::string pipe = directory.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(write_files({{pipe, "text"}}).ok());
  char text[16];
  EXPECT_EQ(read(reader, text, sizeof text), 4);
  close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(directory.entries(), 1);
}

TEST(WriteFiles, ALinkStaysOne) {
  const TemporaryDirectory directory;
  const std::string target = directory.write("target", "old");
  const std::string link = directory.file("link");
  std::filesystem::create_symlink(target, link);
  EXPECT_TRUE(write_files({{link, "new"}}).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_all(target), "new");
}

}  // namespace
}  // namespace mixnet::cli
