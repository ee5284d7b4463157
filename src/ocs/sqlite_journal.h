#pragma once

#include <memory>
#include <string>

#include "ocs/journal.h"

struct sqlite3;
struct sqlite3_stmt;

namespace mixnet::ocs {

// One SQLite file (write-ahead log, synchronous = NORMAL). Survives the death of the process at any
// instruction; a power cut may take the last commits, but what is there stays consistent, and the
// read-back at the start finds what they had changed.
//
//   intent(id, asked_at, circuits as JSON [["s0/a","s1/b"],...], outcome: NULL until settled)
//   note(intent, at, text)
//
// asked_at and at are UTC, for whoever reads the file. At least the last kKeptIntents intents are
// kept, and at most kTrimEvery more.
class SqliteJournal final : public Journal {
 public:
  static constexpr int kKeptIntents = 2'000;
  static constexpr int kTrimEvery = 500;

  // Creates the file, readable by its owner only, if there is none. Errors name the file: it cannot
  // be opened, is no journal, or is of a newer version.
  static Result<std::unique_ptr<SqliteJournal>> open(const std::string& path);
  ~SqliteJournal() override;
  SqliteJournal(const SqliteJournal&) = delete;
  SqliteJournal& operator=(const SqliteJournal&) = delete;

  Result<std::optional<Intent>> last_intent() override;
  Result<bool> last_is_settled() override;
  Result<TransactionId> begin(
      const std::vector<std::pair<std::string, std::string>>& circuits) override;
  Status note(TransactionId id, const std::string& text) override;
  Status settle(TransactionId id, const std::string& summary) override;

 private:
  explicit SqliteJournal(std::string path) : path_(std::move(path)) {}

  Status set_up();
  Status run(const char* sql);
  // Forgets what is older than kKeptIntents intents.
  Status trim();
  Result<int> read_version();
  Error failure(const char* what) const;

  std::string path_;
  int since_trim_ = 0;  // intents
  sqlite3* database_ = nullptr;
  sqlite3_stmt* begin_ = nullptr;
  sqlite3_stmt* note_ = nullptr;
  sqlite3_stmt* settle_ = nullptr;
};

}  // namespace mixnet::ocs
