#pragma once

#include <memory>

#include "core/result.h"
#include "daemon/json_log.h"
#include "daemon/region_config.h"

namespace mixnet::daemon {

// One region, from the switch to the socket. Its parts run in threads of their own; the functions
// below belong to the thread that started it.
class Daemon {
 public:
  // Everything is in place when it returns, but for the session with the switch. Errors: another
  // daemon has the region, credentials, journal, a port or socket in use. `log` outlives
  // the daemon.
  static Result<std::unique_ptr<Daemon>> start(const RegionConfig& config, const JsonLog& log);
  // As stop().
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  Daemon(Daemon&&) = delete;
  Daemon& operator=(Daemon&&) = delete;

  // Refuses new requests, lets the transactions that were accepted end within stop_deadline,
  // answers whoever waits, and logs out. Returns whether all that was in time.
  bool stop();

  int metrics_port() const;  // 0: none

 private:
  class Impl;
  explicit Daemon(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mixnet::daemon
