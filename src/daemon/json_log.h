#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace mixnet::daemon {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
std::string_view name_of(LogLevel level);  // "info"
std::optional<LogLevel> parse_log_level(std::string_view name);

// One JSON object a line:
//   {"time":"2026-03-01T12:00:00.123Z","level":"info","event":"transaction", ...fields}
// Any thread. Whoever calls it sees to it that no field holds a secret.
class JsonLog {
 public:
  // `fd` outlives the log; lines below `least` are dropped.
  JsonLog(int fd, LogLevel least) : fd_(fd), least_(least) {}

  // `fields` is an object.
  void write(LogLevel level, std::string_view event,
             const nlohmann::ordered_json& fields = nlohmann::ordered_json::object()) const;

 private:
  int fd_;
  LogLevel least_;
};

// Unix time now, in seconds.
double unix_now();

}  // namespace mixnet::daemon
