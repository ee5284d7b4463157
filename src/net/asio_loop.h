#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/instant.h"
#include "core/result.h"
#include "net/address.h"
#include "net/loop.h"

namespace mixnet::net {

// Watches one descriptor from construction to destruction, without owning it.
class FdWatch {
 public:
  virtual ~FdWatch() = default;
  // What to be called for from now on; again and again, as long as it holds.
  virtual void want(bool readable, bool writable) = 0;
};

enum class Readiness { kReadable, kWritable };

// The loop of real time: a thread that waits for timers, descriptors and signals. Everything but
// post() is for that thread alone. Callbacks throw nothing. Outlives what was made with it.
class AsioLoop final : public Loop {
 public:
  // Throws std::system_error when the system has no descriptors left.
  AsioLoop();
  ~AsioLoop() override;
  AsioLoop(const AsioLoop&) = delete;
  AsioLoop& operator=(const AsioLoop&) = delete;
  AsioLoop(AsioLoop&&) = delete;
  AsioLoop& operator=(AsioLoop&&) = delete;

  // Outside of the calls of the loop: the time as it is.
  Instant now() const override;
  TimerId call_at(Instant when, std::function<void()> due) override;
  void cancel(TimerId timer) override;

  // Until stop() is called, also when there is nothing to wait for. May be called again.
  void run();
  // Ends run() after the call that is under way.
  void stop();
  // From any thread: has `call` called by the loop, in order of posting.
  void post(std::function<void()> call);
  // Calls `arrived` with the number whenever one of these arrives, instead of the end of the
  // process.
  void on_signals(const std::vector<int>& signals, std::function<void(int)> arrived);

  // `ready` may destroy the watch.
  std::unique_ptr<FdWatch> watch(int fd, std::function<void(Readiness)> ready);
  // Looks up addresses without blocking the loop. `done` is called once, never within this call.
  // Errors name the host. At its destruction the loop waits for a look-up that is under way.
  void resolve(const HostPort& host_port,
               std::function<void(Result<std::vector<SocketAddress>>)> done);

 private:
  class Impl;
  class Watch;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mixnet::net
