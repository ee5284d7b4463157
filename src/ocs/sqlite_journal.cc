#include "ocs/sqlite_journal.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/check.h"

namespace mixnet::ocs {
namespace {

constexpr int kVersion = 1;
constexpr int kApplicationId = 0x6d786a31;  // "mxj1": tells a journal from any other database
constexpr int kBusyMilliseconds = 1000;

constexpr const char* kSchema = R"(
  CREATE TABLE intent (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    asked_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    circuits TEXT NOT NULL,
    outcome TEXT);
  CREATE TABLE note (
    intent INTEGER NOT NULL REFERENCES intent(id) ON DELETE CASCADE,
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    text TEXT NOT NULL);
  CREATE INDEX note_of_intent ON note(intent);
)";

// Steps a prepared statement once and resets it, whatever happens.
class Step {
 public:
  explicit Step(sqlite3_stmt* statement) : statement_(statement) {}
  ~Step() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  bool done() { return sqlite3_step(statement_) == SQLITE_DONE; }

 private:
  sqlite3_stmt* statement_;
};

void bind_text(sqlite3_stmt* statement, int index, const std::string& text) {
  sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

}  // namespace

Error SqliteJournal::failure(const char* what) const {
  const char* reason = database_ == nullptr ? "out of memory" : sqlite3_errmsg(database_);
  return Error{fmt::format("{}: {}", what, reason), path_};
}

Result<std::unique_ptr<SqliteJournal>> SqliteJournal::open(const std::string& path) {
  std::unique_ptr<SqliteJournal> journal(new SqliteJournal(path));
  constexpr int kFlags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (sqlite3_open_v2(path.c_str(), &journal->database_, kFlags, nullptr) != SQLITE_OK) {
    return journal->failure("the journal cannot be opened");
  }
  if (::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0) {
    return Error{fmt::format("its mode cannot be set: {}", std::strerror(errno)), path};
  }
  sqlite3_busy_timeout(journal->database_, kBusyMilliseconds);
  if (Status status = journal->set_up(); !status.ok()) {
    return status.error();
  }
  return journal;
}

SqliteJournal::~SqliteJournal() {
  for (sqlite3_stmt* statement : {begin_, note_, settle_}) {
    sqlite3_finalize(statement);
  }
  sqlite3_close(database_);
}

Status SqliteJournal::run(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return failure("the journal cannot be written");
  }
  return Status();
}

Status SqliteJournal::set_up() {
  if (Status status = run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; "
                          "PRAGMA foreign_keys = ON; BEGIN IMMEDIATE;");
      !status.ok()) {
    return status;
  }
  const Result<int> version = read_version();
  if (!version.ok()) {
    return version.error();
  }
  if (*version > kVersion) {
    return Error{fmt::format("the journal has version {}, this program writes version {}: use the "
                             "program that wrote it, or move the file away",
                             *version, kVersion),
                 path_};
  }
  if (*version == 0) {
    const std::string marks = fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};",
                                          kApplicationId, kVersion);
    for (const char* sql : {kSchema, marks.c_str()}) {
      if (Status status = run(sql); !status.ok()) {
        return status;
      }
    }
  }
  for (const Status& status : {trim(), run("COMMIT")}) {
    if (!status.ok()) {
      return status;
    }
  }
  const std::pair<sqlite3_stmt**, const char*> statements[] = {
      {&begin_, "INSERT INTO intent(circuits) VALUES (?)"},
      {&note_, "INSERT INTO note(intent, text) VALUES (?, ?)"},
      {&settle_, "UPDATE intent SET outcome = ?2 WHERE id = ?1"}};
  for (const auto& [statement, sql] : statements) {
    if (sqlite3_prepare_v2(database_, sql, -1, statement, nullptr) != SQLITE_OK) {
      return failure("this is no journal of circuits");
    }
  }
  return Status();
}

Status SqliteJournal::trim() {
  return run(
      fmt::format("DELETE FROM intent WHERE id <= (SELECT MAX(id) FROM intent) - {}", kKeptIntents)
          .c_str());
}

// 0: new and empty.
Result<int> SqliteJournal::read_version() {
  sqlite3_stmt* statement = nullptr;
  const char* sql =
      "SELECT (SELECT user_version FROM pragma_user_version),"
      " (SELECT application_id FROM pragma_application_id),"
      " (SELECT count(*) FROM sqlite_schema)";
  if (sqlite3_prepare_v2(database_, sql, -1, &statement, nullptr) != SQLITE_OK ||
      sqlite3_step(statement) != SQLITE_ROW) {
    sqlite3_finalize(statement);
    return failure("this is no journal of circuits");
  }
  const int version = sqlite3_column_int(statement, 0);
  const int application = sqlite3_column_int(statement, 1);
  const int tables = sqlite3_column_int(statement, 2);
  sqlite3_finalize(statement);
  if (tables > 0 && application != kApplicationId) {
    return Error{"this database is no journal of circuits: name another file", path_};
  }
  return tables == 0 ? 0 : version;
}

Result<std::optional<Intent>> SqliteJournal::last_intent() {
  sqlite3_stmt* statement = nullptr;
  const char* sql = "SELECT id, circuits FROM intent ORDER BY id DESC LIMIT 1";
  if (sqlite3_prepare_v2(database_, sql, -1, &statement, nullptr) != SQLITE_OK) {
    return failure("the last intent cannot be read");
  }
  const int step = sqlite3_step(statement);
  std::optional<Intent> intent;
  std::string text;
  if (step == SQLITE_ROW) {
    intent = Intent{sqlite3_column_int64(statement, 0), {}};
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): SQLite's text is unsigned
    text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 1));
  }
  sqlite3_finalize(statement);
  if (step != SQLITE_ROW && step != SQLITE_DONE) {
    return failure("the last intent cannot be read");
  }
  if (!intent.has_value()) {
    return intent;
  }
  const nlohmann::json circuits = nlohmann::json::parse(text, nullptr, false);
  if (!circuits.is_array()) {
    return Error{fmt::format("intent {} is not readable", intent->id), path_};
  }
  for (const nlohmann::json& circuit : circuits) {
    if (!circuit.is_array() || circuit.size() != 2 || !circuit[0].is_string() ||
        !circuit[1].is_string()) {
      return Error{fmt::format("intent {} is not readable", intent->id), path_};
    }
    intent->circuits.emplace_back(circuit[0].get<std::string>(), circuit[1].get<std::string>());
  }
  return intent;
}

Result<bool> SqliteJournal::last_is_settled() {
  sqlite3_stmt* statement = nullptr;
  const char* sql = "SELECT outcome IS NOT NULL FROM intent ORDER BY id DESC LIMIT 1";
  if (sqlite3_prepare_v2(database_, sql, -1, &statement, nullptr) != SQLITE_OK) {
    return failure("the last outcome cannot be read");
  }
  const int step = sqlite3_step(statement);
  const bool settled = step != SQLITE_ROW || sqlite3_column_int(statement, 0) != 0;
  sqlite3_finalize(statement);
  if (step != SQLITE_ROW && step != SQLITE_DONE) {
    return failure("the last outcome cannot be read");
  }
  return settled;
}

Result<TransactionId> SqliteJournal::begin(
    const std::vector<std::pair<std::string, std::string>>& circuits) {
  nlohmann::json text = nlohmann::json::array();
  for (const auto& [a, b] : circuits) {
    text.push_back({a, b});
  }
  if (++since_trim_ >= kTrimEvery) {  // before the intent: an error means that nothing was written
    if (Status trimmed = trim(); !trimmed.ok()) {
      return trimmed.error();
    }
    since_trim_ = 0;
  }
  Step step(begin_);
  bind_text(begin_, 1, text.dump());
  if (!step.done()) {
    return failure("the intent cannot be written");
  }
  return sqlite3_last_insert_rowid(database_);
}

Status SqliteJournal::note(TransactionId id, const std::string& text) {
  Step step(note_);
  sqlite3_bind_int64(note_, 1, id);
  bind_text(note_, 2, text);
  if (!step.done()) {
    return failure("the note cannot be written");
  }
  return Status();
}

Status SqliteJournal::settle(TransactionId id, const std::string& summary) {
  Step step(settle_);
  sqlite3_bind_int64(settle_, 1, id);
  bind_text(settle_, 2, summary);
  if (!step.done()) {
    return failure("the outcome cannot be written");
  }
  return Status();
}

}  // namespace mixnet::ocs
