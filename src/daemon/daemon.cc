#include "daemon/daemon.h"

#include <fmt/format.h>
#include <prometheus/exposer.h>
#include <prometheus/registry.h>
#include <systemd/sd-daemon.h>

#include <exception>
#include <filesystem>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "daemon/grpc_listener.h"
#include "daemon/region_host.h"
#include "daemon/region_messages.h"
#include "daemon/region_metrics.h"
#include "daemon/region_service.h"
#include "daemon/topology_feed.h"
#include "net/asio_loop.h"
#include "net/ssh_stream.h"
#include "net/tcp_stream.h"
#include "ocs/controller_link.h"
#include "ocs/credentials.h"
#include "ocs/region_lock.h"
#include "ocs/sqlite_journal.h"
#include "ocs/sysfs_link_probe.h"

namespace mixnet::daemon {
namespace {

using std::chrono::seconds;

constexpr Duration kShowInterval = seconds(1);
constexpr Duration kCallsDeadline = seconds(1);  // of calls that are left when all is answered

Status create_folder(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) {
    return Status();
  }
  std::filesystem::create_directory(folder, error);
  if (error) {
    return Error{
        fmt::format("cannot create the folder {} of [state]: {}", folder.string(), error.message()),
        ""};
  }
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  return Status();
}

Result<ocs::Login> read_login_of(const SwitchConfig& config) {
  return config.credential.empty() ? ocs::read_login(config.credentials_file)
                                   : ocs::read_login_credential(config.credential);
}

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
  Status open_state();
  Status open_switch();
  Status open_metrics();
  void start_loop();
  void begin();

  void on_event(const ocs::ControllerEvent& event);
  void report(const ocs::ApplyDone& done);
  void log_alarm(LogLevel level, const char* event, const ocs::Alarm& alarm);
  void publish();
  void every_second();
  void end(bool in_time);

  RegionConfig config_;
  const JsonLog& log_;
  TopologyFeed feed_;
  RegionMetrics metrics_;
  std::optional<ocs::RegionLock> lock_;
  std::unique_ptr<ocs::SqliteJournal> journal_;
  std::unique_ptr<ocs::LinkProbe> probe_;
  net::AsioLoop loop_;
  std::unique_ptr<net::Dialer> dialer_;
  std::unique_ptr<ocs::RegionController> controller_;
  std::unique_ptr<ocs::ControllerLink> link_;
  std::unique_ptr<RegionHost> host_;
  std::unique_ptr<RegionService> service_;
  std::unique_ptr<prometheus::Exposer> exposer_;
  std::unique_ptr<GrpcListener> listener_;
  std::thread thread_;  // of the loop
  bool publish_is_due_ = false;
  bool watchdog_ = false;
  bool ended_ = false;
  std::promise<bool> stopped_;
};

Status Daemon::Impl::open() {
  for (Status (Impl::*step)() : {&Impl::open_state, &Impl::open_switch, &Impl::open_metrics}) {
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

Status Daemon::Impl::open_state() {
  if (Status status = create_folder(config_.lock); !status.ok()) {
    return status;
  }
  Result<ocs::RegionLock> lock = ocs::RegionLock::acquire(config_.lock, config_.name, "mixnetd");
  if (!lock.ok()) {
    return lock.error();
  }
  lock_.emplace(std::move(lock).value());
  Result<std::unique_ptr<ocs::SqliteJournal>> journal = ocs::SqliteJournal::open(config_.journal);
  if (!journal.ok()) {
    return journal.error();
  }
  journal_ = std::move(journal).value();
  return Status();
}

Status Daemon::Impl::open_switch() {
  const SwitchConfig& ocs = config_.ocs;
  Result<ocs::Login> login = read_login_of(ocs);
  if (!login.ok()) {
    return login.error();
  }
  const Result<net::HostPort> address = net::parse_host_port(ocs.tcp.empty() ? ocs.ssh : ocs.tcp);
  if (!address.ok()) {
    return address.error();
  }
  if (ocs.ssh.empty()) {
    dialer_ = std::make_unique<net::TcpDialer>(loop_, *address);
  } else {
    net::SshOptions ssh;
    ssh.host_port = *address;
    ssh.user = login->user;
    ssh.password = [password = login->password] { return std::string(password.reveal()); };
    ssh.known_hosts = ocs.known_hosts;
    dialer_ = std::make_unique<net::SshDialer>(loop_, std::move(ssh));
  }
  if (config_.probe == ProbeKind::kSysfs) {
    probe_ = std::make_unique<ocs::SysfsLinkProbe>(config_.region, config_.visible, config_.sysfs);
  } else {
    probe_ = std::make_unique<ocs::NoLinkProbe>();
  }
  ocs::ControllerOptions options = config_.options;
  options.session.login = std::move(login).value();
  options.session.login.tid = ocs.tid;
  controller_ =
      std::make_unique<ocs::RegionController>(config_.region, options, *journal_, *probe_);
  link_ = std::make_unique<ocs::ControllerLink>(
      loop_, *dialer_, *controller_, [this](ocs::ControllerEvent& event) { on_event(event); });
  HostHooks hooks;
  hooks.post = [this](std::function<void()> call) { loop_.post(std::move(call)); };
  hooks.apply = [this](std::vector<ocs::Circuit> circuits) {
    return link_->apply(std::move(circuits));
  };
  hooks.verify = [this] { return link_->verify(); };
  host_ = std::make_unique<RegionHost>(*controller_, options.max_waiting, loop_, std::move(hooks));
  service_ = std::make_unique<RegionService>(
      ServiceOptions{config_.name, config_.allocator, config_.eps, MIXNET_VERSION}, *host_, feed_);
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
  loop_.post([this] { begin(); });
  thread_ = std::thread([this] { loop_.run(); });
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
    loop_.call_at(loop_.now(), [this] { publish(); });
  }
}

void Daemon::Impl::report(const ocs::ApplyDone& done) {
  metrics_.count(done.report);
  // Before the caller hears of it, so that whoever asks next sees the same.
  publish();
  host_->handle(done);

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
  const WallClock clock{loop_.now(), unix_now()};
  feed_.publish(topology_message(config_.name, config_.region, controller_->topology(), clock));
  metrics_.show(controller_->topology());
}

void Daemon::Impl::every_second() {
  metrics_.show(controller_->topology());
  metrics_.count(controller_->session_counters());
  if (watchdog_) {
    sd_notify(0, "WATCHDOG=1");
  }
  loop_.call_at(loop_.now() + kShowInterval, [this] { every_second(); });
}

// Everything was reported and the switch said good-bye, or the deadline has passed.
void Daemon::Impl::end(bool in_time) {
  if (!ended_) {
    ended_ = true;
    host_->abandon();
    feed_.end();
    stopped_.set_value(in_time);
  }
}

// --- on the thread of the owner -----------------------------------------------------------------

bool Daemon::Impl::stop() {
  if (!thread_.joinable()) {
    return true;
  }
  service_->stopping();
  loop_.post([this] {
    host_->refuse_new();
    link_->stop([this] { end(true); });
    loop_.call_at(loop_.now() + config_.stop_deadline, [this] { end(false); });
  });
  const bool in_time = stopped_.get_future().get();
  if (listener_ != nullptr) {
    listener_->stop(kCallsDeadline);
    listener_.reset();
  }
  loop_.post([this] { loop_.stop(); });
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
