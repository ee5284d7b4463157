#include "scenario/pending_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/full_disk.h"
#include "support/temporary_directory.h"

namespace mixnet::scenario {
namespace {

using test_support::FullDisk;
using test_support::read_all;
using test_support::TemporaryDirectory;

Status replace(const std::string& path, const std::string& text) {
  Result<PendingFile> file = PendingFile::create(path);
  if (!file) {
    return file.error();
  }
  for (const Status& step : {file->write(text), file->finish(), file->rename()}) {
    if (!step) {
      return step;
    }
  }
  return Status();
}

TEST(PendingFile, AppearsWholeOrNotAtAll) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("file", "old");
  {
    Result<PendingFile> file = PendingFile::create(path);
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(file->write(std::string(200'000, 'x')).ok());
    EXPECT_TRUE(file->finish().ok());
    EXPECT_EQ(read_all(path), "old");
  }
  EXPECT_EQ(directory.entries(), 1);
  {
    const FullDisk disk;
    EXPECT_FALSE(replace(path, "newer").ok());
  }
  EXPECT_EQ(read_all(path), "old");
  EXPECT_TRUE(replace(path, "new").ok());
  EXPECT_EQ(read_all(path), "new");
  EXPECT_EQ(directory.entries(), 1);
  const Status nowhere = replace(directory.file("no/folder"), "text");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().where, directory.file("no/folder"));
}

TEST(PendingFile, IsNamedForAsShortAsCanBe) {
  const TemporaryDirectory directory;
  const Result<PendingFile> file = PendingFile::create(directory.file("file"));
  ASSERT_TRUE(file.ok());
  if (directory.entries() == 1) {
    GTEST_SKIP() << "no files without a name in this file system";
  }
  EXPECT_EQ(directory.entries(), 0);
}

TEST(PendingFile, LinksAreFollowed) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.file("there"));
  std::filesystem::create_symlink("there/target", directory.file("second"));
  std::filesystem::create_symlink("second", directory.file("first"));
  for (const char* text : {"made", "replaced"}) {
    EXPECT_TRUE(replace(directory.file("first"), text).ok());
    EXPECT_TRUE(std::filesystem::is_symlink(directory.file("first")));
    EXPECT_TRUE(std::filesystem::is_symlink(directory.file("second")));
    EXPECT_EQ(read_all(directory.file("there/target")), text);
  }
}

TEST(PendingFile, DevicesAndOpenFilesAreWrittenInPlace) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(replace("/dev/null", "text").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  const std::string path = directory.write("file", "old");
  const int open_file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(open_file, 0);
  EXPECT_TRUE(replace("/dev/fd/" + std::to_string(open_file), "new").ok());
  char text[16];
  EXPECT_EQ(::read(open_file, text, sizeof text), 3);
  ::close(open_file);
}

}  // namespace
}  // namespace mixnet::scenario
