#pragma once

#include <region.pb.h>

#include <functional>
#include <memory>
#include <string>

#include "core/instant.h"
#include "core/result.h"
#include "daemon/region_config.h"
#include "daemon/region_host.h"
#include "net/asio_loop.h"
#include "ocs/region_controller.h"
#include "ocs/region_lock.h"

namespace mixnet::daemon {

// Keeps other controllers of this machine away from the region. Makes the folder of [state] if it
// is missing. `program` is what others are told: "mixnetd".
Result<ocs::RegionLock> lock_region(const RegionSettings& config, const std::string& program);

// The controller of one region with all that it needs of this machine: journal, login, carriers, a
// connection to the switch, and the loop that drives it. Whoever runs the loop owns the engine;
// only the host may be called by other threads.
class RegionEngine {
 public:
  using OnEvent = std::function<void(const ocs::ControllerEvent&)>;

  // The loop calls `on_event` once it runs; a report reaches whoever waits for it behind that.
  // Errors: credentials, journal, address.
  static Result<std::unique_ptr<RegionEngine>> open(const RegionConfig& config,
                                                    ocs::RegionLock lock, OnEvent on_event);
  // Drops the connection.
  ~RegionEngine();
  RegionEngine(const RegionEngine&) = delete;
  RegionEngine& operator=(const RegionEngine&) = delete;
  RegionEngine(RegionEngine&&) = delete;
  RegionEngine& operator=(RegionEngine&&) = delete;

  net::AsioLoop& loop();
  RegionHost& host();
  const ocs::RegionController& controller() const;
  // With dates by the clock of this moment.
  region::v1::Topology topology() const;

  // Refuses new requests, lets those that were accepted end, and logs out. `ended` is called once
  // by the loop: true if all that was within `deadline`, otherwise whoever waits was sent away.
  void stop(Duration deadline, std::function<void(bool in_time)> ended);

 private:
  class Impl;
  explicit RegionEngine(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mixnet::daemon
