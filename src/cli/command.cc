#include "cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace mixnet::cli {

namespace {

// fmt::print throws when the stream is closed; an error message must not.
void print_error(const std::string& line) { std::fputs(line.c_str(), stderr); }

Error write_error(const std::string& path) {
  return Error{std::string("cannot write: ") + std::strerror(errno), path};
}

Status write_temporary(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    return write_error(path);
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  return written && closed ? Status() : Status(write_error(path));
}

}  // namespace

int report_usage_error(const Error& error) {
  print_error(fmt::format("mixnet: error: {}\n", error.text()));
  return kExitUsage;
}

int report_failure(const Error& error) {
  print_error(fmt::format("mixnet: failed: {}\n", error.text()));
  return kExitFailure;
}

void print_note(const std::string& text) { print_error("mixnet: " + text + "\n"); }

void print_text(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_json(const nlohmann::ordered_json& object) { print_text(object.dump() + "\n"); }

int finish_output(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
    return exit_code;
  }
  return report_failure(
      Error{std::string("cannot write: ") + std::strerror(errno), "standard output"});
}

Status write_files(const std::vector<OutputFile>& files) {
  // The process id keeps two runs with one output folder apart.
  const auto temporary = [](const OutputFile& file) {
    return fmt::format("{}.{}.tmp", file.path, getpid());
  };
  Status status;
  for (const OutputFile& file : files) {
    status = write_temporary(temporary(file), file.text);
    if (!status.ok()) {
      break;
    }
  }
  for (const OutputFile& file : files) {
    if (status.ok() && std::rename(temporary(file).c_str(), file.path.c_str()) != 0) {
      status = write_error(file.path);
    }
    if (!status.ok()) {
      std::remove(temporary(file).c_str());
    }
  }
  return status;
}

}  // namespace mixnet::cli
