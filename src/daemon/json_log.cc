#include "daemon/json_log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <ctime>

#include "core/check.h"

namespace mixnet::daemon {
namespace {

struct LevelName {
  LogLevel level;
  std::string_view name;
};

constexpr std::array kLevels = {
    LevelName{LogLevel::kDebug, "debug"}, LevelName{LogLevel::kInfo, "info"},
    LevelName{LogLevel::kWarning, "warning"}, LevelName{LogLevel::kError, "error"}};

std::string utc_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  const std::time_t whole_seconds = ms / 1000;
  std::tm parts{};
  gmtime_r(&whole_seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     ms % 1000);
}

}  // namespace

std::string_view name_of(LogLevel level) {
  for (const LevelName& known : kLevels) {
    if (known.level == level) {
      return known.name;
    }
  }
  CHECK(false, "a level without a name");
}

std::optional<LogLevel> parse_log_level(std::string_view name) {
  for (const LevelName& known : kLevels) {
    if (known.name == name) {
      return known.level;
    }
  }
  return std::nullopt;
}

void JsonLog::write(LogLevel level, std::string_view event,
                    const nlohmann::ordered_json& fields) const {
  if (level < least_) {
    return;
  }
  nlohmann::ordered_json line;
  line["time"] = utc_now();
  line["level"] = name_of(level);
  line["event"] = event;
  line.update(fields);
  // A switch may say anything; the log stays UTF-8.
  std::string text = line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text += '\n';
  // In one call, so that lines of several threads do not mix; there is nobody to tell of a failure.
  [[maybe_unused]] const ssize_t written = ::write(fd_, text.data(), text.size());
}

double unix_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

}  // namespace mixnet::daemon
