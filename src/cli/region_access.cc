#include "cli/region_access.h"

#include <fmt/format.h>

#include "daemon/region_engine.h"

namespace mixnet::cli {

Result<std::unique_ptr<RegionAccess>> open_region(const daemon::RegionConfig& config,
                                                  const AccessOptions& options) {
  const daemon::ClientOptions& client = options.client;
  if (!client.address.empty() || !client.tls_ca.empty() || !client.tls_certificate.empty() ||
      !client.tls_key.empty()) {
    return ask_daemon(config, options);
  }
  Result<ocs::RegionLock> lock = daemon::lock_region(config, options.program);
  if (lock.ok()) {
    return control_region(config, std::move(lock).value(), options);
  }
  const std::optional<std::string> holder = ocs::RegionLock::holder(config.lock);
  if (holder.has_value() && !holder->starts_with("mixnetd,")) {
    return lock.error();
  }
  // The lock may be out of our reach and the socket not: its group may talk to a daemon.
  Result<std::unique_ptr<RegionAccess>> access = ask_daemon(config, options);
  if (!access.ok() && !holder.has_value()) {
    return Error{
        fmt::format("{}; and no mixnetd answers: {}", lock.error().text(), access.error().text()),
        ""};
  }
  return access;
}

std::optional<std::string> session_trouble(const region::v1::Topology& topology) {
  for (const region::v1::Alarm& alarm : topology.alarms()) {
    // A switch of another size than that of the region: nothing on it means anything here.
    if (alarm.kind() == name_of(ocs::AlarmKind::kSwitch) && alarm.subject() == "size") {
      return alarm.message();
    }
  }
  if (topology.connected()) {
    return std::nullopt;
  }
  for (const region::v1::Alarm& alarm : topology.alarms()) {
    if (alarm.kind() == name_of(ocs::AlarmKind::kSession) ||
        alarm.kind() == name_of(ocs::AlarmKind::kLogin)) {
      return alarm.message();
    }
  }
  return std::nullopt;
}

}  // namespace mixnet::cli
