#include "daemon/daemon.h"

#include <fmt/format.h>
#include <prometheus/exposer.h>
#include <prometheus/registry.h>
#include <systemd/sd-daemon.h>

#include <exception>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "daemon/grpc_listener.h"
#include "daemon/region_engine.h"
#include "daemon/region_metrics.h"
#include "daemon/region_service.h"
#include "daemon/topology_feed.h"

namespace mixnet::daemon {
namespace {

using std::chrono::seconds;

constexpr Duration kShowInterval = seconds(1);
constexpr Duration kCallsDeadline = seconds(1);  // of calls that are left when all is answered

}  // namespace

class Daemon::Impl {
 public:
  Impl(RegionConfig config, const JsonLog& log)
      : config_(std::move(config)), log_(log), metrics_(config_.name) {}
  ~Impl() { stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  Impl(Impl&&) = delete;
  Impl& operator=(Impl&&) = delete;

  Status open();
  bool stop();
  int metrics_port() const;

 private:
  Status open_engine();
  Status open_metrics();
  void start_loop();
  void begin();

  void on_event(const ocs::ControllerEvent& event);
  void report(const ocs::ApplyDone& done);
  void log_alarm(LogLevel level, const char* event, const ocs::Alarm& alarm);
  void publish();
  void every_second();

  RegionConfig config_;
  const JsonLog& log_;
  TopologyFeed feed_;
  RegionMetrics metrics_;
  // Destroyed last: it takes its time, and nobody is to wait for the lock or the journal.
  std::unique_ptr<prometheus::Exposer> exposer_;
  std::unique_ptr<RegionEngine> engine_;
  std::unique_ptr<RegionService> service_;
  std::unique_ptr<GrpcListener> listener_;
  std::thread thread_;  // of the loop
  bool publish_is_due_ = false;
  bool watchdog_ = false;
  std::promise<bool> stopped_;
};

Status Daemon::Impl::open() {
  for (Status (Impl::*step)() : {&Impl::open_engine, &Impl::open_metrics}) {
    if (Status status = (this->*step)(); !status.ok()) {
      return status;
    }
  }
  // Calls are answered by the loop, so it runs before the first one can come.
  start_loop();
  Result<std::unique_ptr<GrpcListener>> listener = GrpcListener::open(config_.listen, *service_);
  if (!listener.ok()) {
    return listener.error();
  }
  listener_ = std::move(listener).value();
  return Status();
}

Status Daemon::Impl::open_engine() {
  Result<ocs::RegionLock> lock = lock_region(config_, "mixnetd");
  if (!lock.ok()) {
    return lock.error();
  }
  Result<std::unique_ptr<RegionEngine>> engine =
      RegionEngine::open(config_, std::move(lock).value(),
                         [this](const ocs::ControllerEvent& event) { on_event(event); });
  if (!engine.ok()) {
    return engine.error();
  }
  engine_ = std::move(engine).value();
  service_ = std::make_unique<RegionService>(
      ServiceOptions{config_.name, config_.allocator, config_.eps, MIXNET_VERSION}, engine_->host(),
      feed_);
  return Status();
}

Status Daemon::Impl::open_metrics() {
  if (config_.listen.metrics.empty()) {
    return Status();
  }
  try {
    exposer_ = std::make_unique<prometheus::Exposer>(config_.listen.metrics, 1);
  } catch (const std::exception& error) {
    return Error{
        fmt::format("cannot serve metrics at {}: the port is in use or not of this machine "
                    "({})",
                    config_.listen.metrics, error.what()),
        ""};
  }
  exposer_->RegisterCollectable(metrics_.registry());
  return Status();
}

int Daemon::Impl::metrics_port() const {
  return exposer_ == nullptr ? 0 : exposer_->GetListeningPorts().at(0);
}

void Daemon::Impl::start_loop() {
  uint64_t watchdog_us = 0;
  watchdog_ = sd_watchdog_enabled(0, &watchdog_us) > 0;
  engine_->loop().post([this] { begin(); });
  thread_ = std::thread([this] { engine_->loop().run(); });
}

void Daemon::Impl::begin() {
  publish();
  every_second();
}

// --- on the thread of the loop ------------------------------------------------------------------

void Daemon::Impl::on_event(const ocs::ControllerEvent& event) {
  if (const auto* done = std::get_if<ocs::ApplyDone>(&event)) {
    report(*done);
  } else if (const auto* raised = std::get_if<ocs::AlarmRaised>(&event)) {
    log_alarm(LogLevel::kWarning, "alarm-raised", raised->alarm);
  } else if (const auto* cleared = std::get_if<ocs::AlarmCleared>(&event)) {
    log_alarm(LogLevel::kInfo, "alarm-cleared", cleared->alarm);
  } else if (const auto* notice = std::get_if<ocs::Notice>(&event)) {
    log_.write(LogLevel::kInfo, "notice", {{"message", notice->message}});
  } else if (!publish_is_due_) {
    // Once for all changes of this turn of the loop.
    publish_is_due_ = true;
    engine_->loop().call_at(engine_->loop().now(), [this] { publish(); });
  }
}

void Daemon::Impl::report(const ocs::ApplyDone& done) {
  metrics_.count(done.report);
  // Before the caller hears of it, so that whoever asks next sees the same.
  publish();

  std::map<std::string, int> outcomes;
  for (const ocs::CircuitReport& circuit : done.report.circuits) {
    ++outcomes[std::string(name_of(circuit.outcome))];
    if (circuit.outcome != ocs::PairOutcome::kVerified) {
      log_.write(LogLevel::kWarning, "circuit",
                 {{"transaction", done.report.id},
                  {"circuit", config_.region.name_of(circuit.circuit)},
                  {"wanted", circuit.wanted},
                  {"outcome", name_of(circuit.outcome)},
                  {"step", name_of(circuit.step)},
                  {"message", circuit.message}});
    }
  }
  const auto ms = [](Duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
  };
  log_.write(LogLevel::kInfo, "transaction",
             {{"id", done.report.id},
              {"total_ms", ms(done.report.total)},
              {"switching_ms", ms(done.report.switching)},
              {"outcomes", outcomes}});
}

void Daemon::Impl::log_alarm(LogLevel level, const char* event, const ocs::Alarm& alarm) {
  log_.write(
      level, event,
      {{"kind", name_of(alarm.kind)}, {"subject", alarm.subject}, {"message", alarm.message}});
}

void Daemon::Impl::publish() {
  publish_is_due_ = false;
  feed_.publish(engine_->topology());
  metrics_.show(engine_->controller().topology());
}

void Daemon::Impl::every_second() {
  publish();  // powers and texts change without an event
  metrics_.count(engine_->controller().session_counters());
  if (watchdog_) {
    sd_notify(0, "WATCHDOG=1");
  }
  engine_->loop().call_at(engine_->loop().now() + kShowInterval, [this] { every_second(); });
}

// --- on the thread of the owner -----------------------------------------------------------------

bool Daemon::Impl::stop() {
  if (!thread_.joinable()) {
    return true;
  }
  service_->stopping();
  engine_->loop().post([this] {
    engine_->stop(config_.stop_deadline, [this](bool in_time) {
      feed_.end();
      stopped_.set_value(in_time);
    });
  });
  const bool in_time = stopped_.get_future().get();
  if (listener_ != nullptr) {
    listener_->stop(kCallsDeadline);
    listener_.reset();
  }
  engine_->loop().post([this] { engine_->loop().stop(); });
  thread_.join();
  return in_time;
}

Result<std::unique_ptr<Daemon>> Daemon::start(const RegionConfig& config, const JsonLog& log) {
  auto impl = std::make_unique<Impl>(config, log);
  if (Status status = impl->open(); !status.ok()) {
    return status.error();
  }
  return std::unique_ptr<Daemon>(new Daemon(std::move(impl)));
}

Daemon::Daemon(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Daemon::~Daemon() = default;
bool Daemon::stop() { return impl_->stop(); }
int Daemon::metrics_port() const { return impl_->metrics_port(); }

}  // namespace mixnet::daemon
