#include "cli/sweep_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/worker_pool.h"
#include "support/full_disk.h"
#include "support/temporary_directory.h"

namespace mixnet::cli {
namespace {

using mixnet::test_support::FullDisk;
using mixnet::test_support::read_all;
using mixnet::test_support::TemporaryDirectory;
using ::testing::HasSubstr;

const std::string kOne = R"({"id":"1","point":{},"fabrics":[]})";
const std::string kTwo = R"({"id":"2","point":{},"fabrics":[]})";
const std::string kFailed = R"({"id":"3","point":{},"error":"why"})";

TEST(SweepFile, KeepsWholeLinesOnlyAndAddsToThem) {
  const TemporaryDirectory directory;
  // Cut off at every byte of the second line.
  for (std::size_t cut = 0; cut <= kTwo.size(); ++cut) {
    const std::string path = directory.write("r.jsonl", kOne + "\n" + kTwo.substr(0, cut));
    {
      auto file = SweepFile::open(path);
      ASSERT_TRUE(file.ok()) << cut << ": " << file.error().text();
      ASSERT_EQ(file->kept().size(), 1U);
      EXPECT_EQ(file->kept()[0].id, "1");
      ASSERT_TRUE(file->append(kTwo).ok());
    }
    EXPECT_EQ(read_all(path), kOne + "\n" + kTwo + "\n");
  }
  // And of the first.
  for (std::size_t cut = 0; cut <= kOne.size(); ++cut) {
    const std::string path = directory.write("r.jsonl", kOne.substr(0, cut));
    auto file = SweepFile::open(path);
    ASSERT_TRUE(file.ok()) << cut;
    EXPECT_TRUE(file->kept().empty());
    EXPECT_EQ(read_all(path), "");
  }
  EXPECT_EQ(directory.entries(), 1);
}

TEST(SweepFile, DropsFailuresSoThatTheyAreTriedAgain) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("r.jsonl", kOne + "\n" + kFailed + "\n" + kTwo + "\n");
  auto file = SweepFile::open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->kept().size(), 2U);
  EXPECT_EQ(read_all(path), kOne + "\n" + kTwo + "\n");
}

TEST(SweepFile, IsRewrittenBehindALink) {
  const TemporaryDirectory directory;
  const std::string target = directory.write("target", kOne + "\n{\"id\":");
  std::filesystem::create_symlink("target", directory.file("r.jsonl"));
  {
    auto file = SweepFile::open(directory.file("r.jsonl"));
    ASSERT_TRUE(file.ok()) << file.error().text();
    EXPECT_TRUE(file->append(kTwo).ok());
  }
  EXPECT_TRUE(std::filesystem::is_symlink(directory.file("r.jsonl")));
  EXPECT_EQ(read_all(target), kOne + "\n" + kTwo + "\n");
}

TEST(SweepFile, LeavesOtherFilesAlone) {
  const TemporaryDirectory directory;
  for (const std::string text : {"seed = 1\n", "seed = 1", "{}\n",
                                 R"({"id":1,"fabrics":[]})"
                                 "\n",
                                 R"({"id":"1"})"
                                 "\n",
                                 "\n",
                                 R"({"id":"1","fabrics":[],"error":""})"
                                 "\n"}) {
    const std::string path = directory.write("s.toml", text);
    const auto file = SweepFile::open(path);
    ASSERT_FALSE(file.ok()) << text;
    EXPECT_THAT(file.error().message, HasSubstr("name another"));
    EXPECT_EQ(read_all(path), text);
  }
  const auto damaged = sweep_lines(kOne + "\n{\"id\"\n" + kTwo + "\n", "r.jsonl");
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().where, "r.jsonl:2");
}

// A lock belongs to a process, so the second writer has to be one.
TEST(SweepFile, HasOneWriterAlsoAfterItWasRewritten) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("r.jsonl", kOne + "\n{\"id\":");
  const auto file = SweepFile::open(path);
  ASSERT_TRUE(file.ok());
  std::string answer;
  WorkerPool pool;
  pool.work = [&](std::size_t) {
    const auto second = SweepFile::open(path);
    return second.ok() ? std::string("opened") : second.error().text();
  };
  pool.done = [&](std::size_t, const Result<std::string>& output) {
    answer = output.ok() ? *output : output.error().message;
    return Status();
  };
  ASSERT_TRUE(run_workers(pool, 1).ok());
  EXPECT_THAT(answer, HasSubstr("another process writes it"));
}

TEST(SweepFile, AFullDiskIsAFailure) {
  const TemporaryDirectory directory;
  auto full = SweepFile::open(directory.file("r.jsonl"));
  ASSERT_TRUE(full.ok()) << full.error().text();
  {
    const FullDisk disk;
    EXPECT_FALSE(full->append(kOne).ok());
  }
  EXPECT_TRUE(full->append(kOne).ok());
  EXPECT_FALSE(SweepFile::open("/nowhere/at/all").ok());
}

}  // namespace
}  // namespace mixnet::cli
