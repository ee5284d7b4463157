#include "daemon/region_engine.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "daemon/json_log.h"
#include "daemon/region_messages.h"
#include "net/ssh_stream.h"
#include "net/tcp_stream.h"
#include "ocs/controller_link.h"
#include "ocs/credentials.h"
#include "ocs/sqlite_journal.h"
#include "ocs/sysfs_link_probe.h"

namespace mixnet::daemon {
namespace {

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

std::unique_ptr<net::Dialer> make_dialer(net::AsioLoop& loop, const SwitchConfig& config,
                                         const net::HostPort& address, const ocs::Login& login) {
  if (config.ssh.empty()) {
    return std::make_unique<net::TcpDialer>(loop, address);
  }
  net::SshOptions ssh;
  ssh.host_port = address;
  ssh.user = login.user;
  ssh.password = [password = login.password] { return std::string(password.reveal()); };
  ssh.known_hosts = config.known_hosts;
  return std::make_unique<net::SshDialer>(loop, std::move(ssh));
}

}  // namespace

Result<ocs::RegionLock> lock_region(const RegionSettings& config, const std::string& program) {
  if (Status status = create_folder(config.lock); !status.ok()) {
    return status.error();
  }
  return ocs::RegionLock::acquire(config.lock, config.name, program);
}

class RegionEngine::Impl {
 public:
  Impl(RegionConfig config, ocs::RegionLock lock, OnEvent on_event)
      : config_(std::move(config)), lock_(std::move(lock)), on_event_(std::move(on_event)) {}

  Status open();
  void stop(Duration deadline, std::function<void(bool)> ended);

  net::AsioLoop& loop() { return loop_; }
  RegionHost& host() { return *host_; }
  const ocs::RegionController& controller() const { return *controller_; }
  region::v1::Topology topology() const;

 private:
  void on_event(const ocs::ControllerEvent& event);
  void end(bool in_time);

  RegionConfig config_;
  ocs::RegionLock lock_;
  OnEvent on_event_;
  std::unique_ptr<ocs::SqliteJournal> journal_;
  std::unique_ptr<ocs::LinkProbe> probe_;
  net::AsioLoop loop_;
  std::unique_ptr<net::Dialer> dialer_;
  std::unique_ptr<ocs::RegionController> controller_;
  std::unique_ptr<ocs::ControllerLink> link_;
  std::unique_ptr<RegionHost> host_;
  std::function<void(bool)> ended_;
};

Status RegionEngine::Impl::open() {
  Result<std::unique_ptr<ocs::SqliteJournal>> journal = ocs::SqliteJournal::open(config_.journal);
  if (!journal.ok()) {
    return journal.error();
  }
  journal_ = std::move(journal).value();
  const SwitchConfig& ocs = config_.ocs;
  Result<ocs::Login> login = read_login_of(ocs);
  if (!login.ok()) {
    return login.error();
  }
  const Result<net::HostPort> address = net::parse_host_port(ocs.tcp.empty() ? ocs.ssh : ocs.tcp);
  if (!address.ok()) {
    return address.error();
  }
  dialer_ = make_dialer(loop_, ocs, *address, *login);
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
  return Status();
}

void RegionEngine::Impl::on_event(const ocs::ControllerEvent& event) {
  on_event_(event);
  if (const auto* done = std::get_if<ocs::ApplyDone>(&event)) {
    host_->handle(*done);
  }
}

region::v1::Topology RegionEngine::Impl::topology() const {
  const WallClock clock{loop_.now(), unix_now()};
  return topology_message(config_.name, config_.region, controller_->topology(), clock);
}

void RegionEngine::Impl::stop(Duration deadline, std::function<void(bool)> ended) {
  ended_ = std::move(ended);
  host_->refuse_new();
  link_->stop([this] { end(true); });
  loop_.call_at(loop_.now() + deadline, [this] { end(false); });
}

// Everything was reported and the switch said good-bye, or the deadline has passed.
void RegionEngine::Impl::end(bool in_time) {
  if (ended_) {
    host_->abandon();
    std::exchange(ended_, nullptr)(in_time);
  }
}

Result<std::unique_ptr<RegionEngine>> RegionEngine::open(const RegionConfig& config,
                                                         ocs::RegionLock lock, OnEvent on_event) {
  auto impl = std::make_unique<Impl>(config, std::move(lock), std::move(on_event));
  if (Status status = impl->open(); !status.ok()) {
    return status.error();
  }
  return std::unique_ptr<RegionEngine>(new RegionEngine(std::move(impl)));
}

RegionEngine::RegionEngine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RegionEngine::~RegionEngine() = default;
net::AsioLoop& RegionEngine::loop() { return impl_->loop(); }
RegionHost& RegionEngine::host() { return impl_->host(); }
const ocs::RegionController& RegionEngine::controller() const { return impl_->controller(); }
region::v1::Topology RegionEngine::topology() const { return impl_->topology(); }
void RegionEngine::stop(Duration deadline, std::function<void(bool)> ended) {
  impl_->stop(deadline, std::move(ended));
}

}  // namespace mixnet::daemon
