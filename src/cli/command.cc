#include "cli/command.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "scenario/pending_file.h"

namespace mixnet::cli {

namespace {

// fmt::print throws when the stream is closed; an error message must not.
void print_error(const std::string& line) { std::fputs(line.c_str(), stderr); }

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

void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_name() == kNameOfSwitch) {
      continue;
    }
    option->check(CLI::Validator(
        [](const std::string& text) {
          return text.empty() ? std::string("its value is empty: give one, or leave the option out")
                              : std::string();
        },
        ""));
  }
  for (CLI::App* command : app.get_subcommands({})) {
    refuse_empty_values(*command);
  }
}

Status check_used(const CLI::App& command, const std::vector<DependentOption>& options) {
  for (const DependentOption& option : options) {
    if (!option.used && command.count(option.name) > 0) {
      return Error{fmt::format("{} has no effect here: {}", option.name, option.fix), ""};
    }
  }
  return Status();
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
  std::vector<scenario::PendingFile> pending;
  for (const OutputFile& file : files) {
    Result<scenario::PendingFile> created = scenario::PendingFile::create(file.path);
    if (!created) {
      return created.error();
    }
    if (Status written = created->write(file.text); !written) {
      return written;
    }
    pending.push_back(std::move(created).value());
  }
  for (const auto step : {&scenario::PendingFile::finish, &scenario::PendingFile::rename}) {
    for (scenario::PendingFile& file : pending) {
      if (Status done = (file.*step)(); !done) {
        return done;
      }
    }
  }
  return Status();
}

}  // namespace mixnet::cli
