#include "ocs/sqlite_journal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace mixnet::ocs {
namespace {

class SqliteJournalTest : public ::testing::Test {
 protected:
  SqliteJournalTest() {
    char name[] = "/tmp/mixnet-journal-XXXXXX";
    folder_ = ::mkdtemp(name);
    path_ = folder_ + "/region.sqlite";
  }
  ~SqliteJournalTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<SqliteJournal> open() {
    auto journal = SqliteJournal::open(path_);
    EXPECT_TRUE(journal.ok()) << (journal.ok() ? "" : journal.error().text());
    return std::move(journal).value();
  }

  std::string folder_;
  std::string path_;
};

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST_F(SqliteJournalTest, StartsEmptyAndSettled) {
  auto journal = open();
  EXPECT_FALSE(journal->last_intent()->has_value());
  EXPECT_TRUE(*journal->last_is_settled());
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(SqliteJournalTest, KeepsIntentsOverARestart) {
  const Pairs circuits = {{"s0/a", "s1/\"b\""}, {"s2/a", "s3/b"}};
  {
    auto journal = open();
    const auto first = journal->begin({});
    ASSERT_TRUE(first.ok()) << first.error().text();
    EXPECT_EQ(*first, 1);
    EXPECT_EQ(*journal->begin(circuits), 2);
    EXPECT_TRUE(journal->note(2, "ENT-PATCH").ok());
  }
  auto journal = open();
  EXPECT_EQ((*journal->last_intent())->id, 2);
  EXPECT_EQ((*journal->last_intent())->circuits, circuits);
  EXPECT_FALSE(*journal->last_is_settled());
  EXPECT_TRUE(journal->settle(2, "VERIFIED").ok());
  EXPECT_TRUE(*journal->last_is_settled());
  EXPECT_EQ(*journal->begin({}), 3);
  EXPECT_FALSE(*journal->last_is_settled());
}

TEST_F(SqliteJournalTest, ForgetsWhatIsOld) {
  constexpr int kIntents = SqliteJournal::kKeptIntents + 3 * SqliteJournal::kTrimEvery;
  auto journal = open();
  for (int i = 0; i < kIntents; ++i) {
    const auto id = journal->begin({});
    ASSERT_TRUE(id.ok());
    ASSERT_TRUE(journal->note(*id, "note").ok());
  }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  const auto count = [&](const char* sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database, sql, -1, &statement, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    const int rows = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return rows;
  };
  for (const char* sql : {"SELECT count(*) FROM intent", "SELECT count(*) FROM note"}) {
    EXPECT_GE(count(sql), SqliteJournal::kKeptIntents);
    EXPECT_LE(count(sql), SqliteJournal::kKeptIntents + SqliteJournal::kTrimEvery);
  }
  EXPECT_EQ(count("SELECT max(id) FROM intent"), kIntents);
  sqlite3_close(database);
}

TEST_F(SqliteJournalTest, RefusesWhatIsNoJournal) {
  std::ofstream(path_) << "not a database, but long enough to be looked at by the library";
  const auto text = SqliteJournal::open(path_);
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().text().find(path_), std::string::npos);

  const std::string other = folder_ + "/other.sqlite";
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(other.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "CREATE TABLE intent(x)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  EXPECT_FALSE(SqliteJournal::open(other).ok());
  EXPECT_FALSE(SqliteJournal::open(folder_ + "/missing/region.sqlite").ok());
}

TEST_F(SqliteJournalTest, RefusesANewerVersion) {
  open();
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "PRAGMA user_version = 9", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  const auto newer = SqliteJournal::open(path_);
  ASSERT_FALSE(newer.ok());
  EXPECT_NE(newer.error().message.find("version 9"), std::string::npos);
}

// The child writes intents until it is killed; every number that it announced must be there.
TEST_F(SqliteJournalTest, LosesNothingToAKill) {
  for (int round = 0; round < 10; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto journal = open();
      for (;;) {
        const TransactionId id = *journal->begin({{"s0/a", "s1/b"}});
        if (::write(pipe_ends[1], &id, sizeof id) != sizeof id) {
          ::_exit(1);
        }
      }
    }
    ::close(pipe_ends[1]);
    TransactionId announced = 0;
    for (int i = 0; i <= 20 + 7 * round; ++i) {
      ASSERT_EQ(::read(pipe_ends[0], &announced, sizeof announced),
                static_cast<ssize_t>(sizeof announced));
    }
    ::kill(child, SIGKILL);
    while (::read(pipe_ends[0], &announced, sizeof announced) == sizeof announced) {
    }
    ::close(pipe_ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    auto journal = open();
    const auto last = journal->last_intent();
    ASSERT_TRUE(last.ok() && last->has_value());
    EXPECT_GE((*last)->id, announced);
    EXPECT_EQ((*last)->circuits.size(), 1u);
  }
}

}  // namespace
}  // namespace mixnet::ocs
