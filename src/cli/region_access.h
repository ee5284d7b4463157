#pragma once

#include <region.pb.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/instant.h"
#include "core/matrix.h"
#include "core/result.h"
#include "daemon/region_client.h"
#include "daemon/region_config.h"
#include "ocs/region_lock.h"

namespace mixnet::cli {

// A way to the switch of one region, in the messages of proto/region.proto. Errors say who was
// asked and what it said.
class RegionAccess {
 public:
  virtual ~RegionAccess() = default;
  // Who is asked: "mixnetd at unix:/run/mixnet/r1.sock".
  virtual std::string way() const = 0;

  // As it was read last, at least once; or without a session, and then an alarm says why.
  virtual Result<region::v1::Topology> status() = 0;
  virtual Result<region::v1::ApplyReply> apply(const region::v1::ApplyCircuitsRequest& request) = 0;
  virtual Result<region::v1::ApplyReply> verify() = 0;
  // `demand` is n x n for the n servers of the region.
  virtual Result<region::v1::ApplyReply> report_demand(const DemandMatrix& demand) = 0;
  // Once: calls `change` with the topology now and after every change, until SIGINT or SIGTERM or
  // for `length`.
  virtual Status watch(const std::function<void(const region::v1::Topology&)>& change,
                       std::optional<Duration> length) = 0;
};

// May the region be switched? If not, a controller of our own does not even finish what an earlier
// one left.
enum class Intention { kLook, kChange };

struct AccessOptions {
  std::string program;  // what others are told of us: "mixnet ocs status"
  Intention intention = Intention::kLook;
  // Of the daemon; with an empty address that of the region file.
  daemon::ClientOptions client;
};

// Asks the daemon if it has the region, or if `options` names its address or TLS files; otherwise
// takes the region and controls it from this program.
Result<std::unique_ptr<RegionAccess>> open_region(const daemon::RegionConfig& config,
                                                  const AccessOptions& options);

// The two ways.
Result<std::unique_ptr<RegionAccess>> ask_daemon(const daemon::RegionConfig& config,
                                                 const AccessOptions& options);
Result<std::unique_ptr<RegionAccess>> control_region(const daemon::RegionConfig& config,
                                                     ocs::RegionLock lock,
                                                     const AccessOptions& options);

// Why there is no session with the switch, as far as an alarm says so.
std::optional<std::string> session_trouble(const region::v1::Topology& topology);

}  // namespace mixnet::cli
