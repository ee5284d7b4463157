#include "cli/command.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace mixnet::cli {

int report_usage_error(const Error& error) {
  fmt::print(stderr, "mixnet: error: {}\n", error.text());
  return kExitUsage;
}

int report_failure(const Error& error) {
  fmt::print(stderr, "mixnet: failed: {}\n", error.text());
  return kExitFailure;
}

void print_json(const nlohmann::ordered_json& object) { fmt::print("{}\n", object.dump()); }

Status write_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp";
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) {
    return Error{std::string("cannot write: ") + std::strerror(errno), temporary};
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed || std::rename(temporary.c_str(), path.c_str()) != 0) {
    Error error{std::string("cannot write: ") + std::strerror(errno), path};
    std::remove(temporary.c_str());
    return error;
  }
  return Status();
}

}  // namespace mixnet::cli
