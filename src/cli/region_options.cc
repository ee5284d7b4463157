#include "cli/region_options.h"

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "core/units.h"
#include "scenario/units_text.h"

namespace mixnet::cli {

const char* const kRegionExitCodes =
    "Asks mixnetd if it runs for the region on this machine, and otherwise controls the switch\n"
    "itself.\n"
    "Exit codes: 0 all is well; 1 the daemon or the switch could not be reached, or the work\n"
    "failed; 2 wrong usage, or an error in a file; 3 reached, but not everything is VERIFIED, in\n"
    "agreement or free of alarms.\n";

void add_region_options(CLI::App& command, RegionOptions& options) {
  command.add_option("--config", options.config, "the region file (docs/daemon.md)")->required();
  command.add_option("--daemon", options.daemon,
                     "where mixnetd listens, unix:/run/mixnet/r1.sock or host:7443, if not as the "
                     "region file says; nothing but the daemon is asked then");
  command.add_option("--tls-ca", options.tls_ca,
                     "PEM file: who signs the daemon's certificate; with a network address");
  command.add_option("--tls-certificate", options.tls_certificate, "PEM file: our certificate");
  command.add_option("--tls-key", options.tls_key, "PEM file: our key");
  command.add_option("--timeout", options.timeout, "how long to wait for the answer, like 30s")
      ->capture_default_str();
  command.add_flag("--json", options.json, "print one JSON object instead of tables");
}

Result<Duration> parse_duration(const std::string& option, const std::string& text) {
  const Result<SimTime> time = scenario::parse_time(text);
  if (!time.ok()) {
    return Error{fmt::format("{}: {}", option, time.error().message), ""};
  }
  const Duration duration = std::chrono::nanoseconds(time->ps() / 1000);
  if (duration < std::chrono::milliseconds(1)) {
    return Error{fmt::format("{}: at least 1ms, found {}", option, text), ""};
  }
  return duration;
}

int run_region_task(const RegionOptions& options, const RegionTask& task) {
  const Result<Duration> timeout = parse_duration("--timeout", options.timeout);
  if (!timeout.ok()) {
    return report_usage_error(timeout.error());
  }
  const Result<daemon::RegionConfig> config = daemon::read_region_config(options.config);
  if (!config.ok()) {
    return report_usage_error(config.error());
  }
  if (task.check) {
    if (const Status status = task.check(*config); !status.ok()) {
      return report_usage_error(status.error());
    }
  }
  AccessOptions access_options;
  access_options.program = "mixnet ocs " + task.verb;
  access_options.intention = task.intention;
  access_options.client = {options.daemon, options.tls_ca, options.tls_certificate, options.tls_key,
                           *timeout};
  const Result<std::unique_ptr<RegionAccess>> access = open_region(*config, access_options);
  if (!access.ok()) {
    return report_failure(access.error());
  }
  const Result<int> code = task.run(*config, **access);
  return code.ok() ? *code : report_failure(code.error());
}

}  // namespace mixnet::cli
