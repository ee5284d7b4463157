#include "cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

namespace mixnet::cli {

namespace {

// fmt::print throws when the stream is closed; an error message must not.
void print_error(const std::string& line) { std::fputs(line.c_str(), stderr); }

Error write_error(const std::string& path) {
  return Error{std::string("cannot write: ") + std::strerror(errno), path};
}

Status write_text(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    return write_error(path);
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  return written && closed ? Status() : Status(write_error(path));
}

struct Destination {
  std::string written;  // a temporary name, to be renamed
  std::string final;
};

// A link goes on pointing at the file that it names. A device or a pipe is written as it is:
// renaming a file over /dev/null would replace it for everyone.
Destination destination_of(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path target = std::filesystem::canonical(path, unknown);
  const std::string final = unknown ? path : target.string();
  const bool replaceable =
      unknown || std::filesystem::is_regular_file(target) || std::filesystem::is_directory(target);
  // The process id keeps two runs with one output folder apart.
  return {replaceable ? fmt::format("{}.{}.tmp", final, getpid()) : final, final};
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

CLI::Validator finite_range(double low, double high) {
  const std::string range = fmt::format("[{} - {}]", low, high);
  return CLI::Validator(
      [=](const std::string& text) {
        double value = 0;
        const bool number = CLI::detail::lexical_cast(text, value);
        return number && value >= low && value <= high
                   ? std::string()
                   : fmt::format("Value {} not in range {}", text, range);
      },
      "FLOAT in " + range);
}

Status make_folder(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  return failed ? Status(Error{"cannot create the folder: " + failed.message(), path}) : Status();
}

Status check_outputs(const std::vector<std::string>& outputs,
                     const std::vector<std::string>& inputs) {
  std::vector<std::string> taken = inputs;
  for (const std::string& output : outputs) {
    if (output.empty()) {
      continue;
    }
    const std::filesystem::path folder = std::filesystem::path(output).parent_path();
    std::error_code unknown;
    if (!folder.empty() && !std::filesystem::is_directory(folder, unknown)) {
      return Error{"the folder does not exist: create it, or name another", folder.string()};
    }
    for (const std::string& other : taken) {
      if (output == other || std::filesystem::equivalent(output, other, unknown)) {
        return Error{
            "it would be overwritten, and is also read or written for something else: "
            "name another file",
            output};
      }
    }
    taken.push_back(output);
  }
  return Status();
}

Status write_files(const std::vector<OutputFile>& files) {
  std::vector<Destination> destinations;
  for (const OutputFile& file : files) {
    destinations.push_back(destination_of(file.path));
  }
  Status status;
  for (std::size_t i = 0; i < files.size() && status.ok(); ++i) {
    status = write_text(destinations[i].written, files[i].text);
  }
  for (const Destination& destination : destinations) {
    if (destination.written == destination.final) {
      continue;
    }
    if (status.ok() && std::rename(destination.written.c_str(), destination.final.c_str()) != 0) {
      status = write_error(destination.final);
    }
    if (!status.ok()) {
      std::remove(destination.written.c_str());
    }
  }
  return status;
}

}  // namespace mixnet::cli
