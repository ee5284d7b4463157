#include <pthread.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <string>

#include "daemon/daemon.h"
#include "daemon/grpc_log.h"
#include "daemon/json_log.h"
#include "daemon/region_config.h"
#include "net/standard_descriptors.h"

namespace mixnet::daemon {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

struct Options {
  std::string config;
  std::string log_level = "info";
  bool check = false;
};

void add_options(CLI::App& app, Options& options) {
  app.set_version_flag("--version", MIXNET_VERSION);
  app.add_option("--config", options.config, "the region file (docs/daemon.md)")->required();
  app.add_option("--log-level", options.log_level, "least level that is logged")
      ->capture_default_str()
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  app.add_flag("--check", options.check, "read the region file, say what is wrong, and end");
  app.footer(
      "Runs until SIGTERM or SIGINT. Logs to standard error, one JSON object a line.\n"
      "Exit codes: 0 stopped as asked, or the file is good; 1 cannot start, or could not stop in\n"
      "time; 2 wrong usage, or an error in the region file.\n"
      "Example: mixnetd --config examples/region.toml");
}

// In the thread that calls, and in those it starts from then on.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

int run(const RegionConfig& config, const JsonLog& log) {
  const sigset_t signals = block_signals();
  Result<std::unique_ptr<Daemon>> daemon = Daemon::start(config, log);
  if (!daemon.ok()) {
    log.write(LogLevel::kError, "cannot-start", {{"message", daemon.error().text()}});
    return kExitFailure;
  }
  log.write(LogLevel::kInfo, "started",
            {{"region", config.name}, {"version", MIXNET_VERSION}, {"grpc", config.listen.grpc}});
  sd_notify(0, "READY=1");

  int signal = 0;
  sigwait(&signals, &signal);
  sd_notify(0, "STOPPING=1");
  log.write(LogLevel::kInfo, "stopping", {{"signal", signal == SIGTERM ? "SIGTERM" : "SIGINT"}});
  const bool in_time = (*daemon)->stop();
  log.write(in_time ? LogLevel::kInfo : LogLevel::kError, "stopped", {{"in_time", in_time}});
  return in_time ? kExitOk : kExitFailure;
}

int main_of(const Options& options) {
  const JsonLog log(STDERR_FILENO, parse_log_level(options.log_level).value_or(LogLevel::kInfo));
  const Result<RegionConfig> config = read_region_config(options.config);
  if (options.check) {
    const std::string text = config.ok() ? options.config + ": good\n"
                                         : "mixnetd: error: " + config.error().text() + "\n";
    std::fputs(text.c_str(), config.ok() ? stdout : stderr);
    return config.ok() ? kExitOk : kExitUsage;
  }
  if (!config.ok()) {
    log.write(LogLevel::kError, "bad-region-file", {{"message", config.error().text()}});
    return kExitUsage;
  }
  const GrpcLog grpc_log(log);
  return run(*config, log);
}

}  // namespace
}  // namespace mixnet::daemon

// NOLINTNEXTLINE(bugprone-exception-escape): one that gets here is our bug, and ends loudly
int main(int argc, char** argv) {
  mixnet::net::open_standard_descriptors();
  CLI::App app{"The controller of one MixNet region: it keeps the circuits of an optical switch",
               "mixnetd"};
  mixnet::daemon::Options options;
  mixnet::daemon::add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? mixnet::daemon::kExitOk : mixnet::daemon::kExitUsage;
  }
  return mixnet::daemon::main_of(options);
}
