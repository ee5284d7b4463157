#include "cli/emulator_server.h"

#include <utility>

namespace mixnet::cli {
namespace {

constexpr std::size_t kMostControlBytes = 4096;  // of one line

}  // namespace

class EmulatorServer::ControlClient final : public net::StreamEvents {
 public:
  ControlClient(EmulatorServer& server, std::unique_ptr<net::Stream> stream)
      : server_(server), stream_(std::move(stream)) {}

  void on_open() override {}
  void on_bytes(std::string_view bytes) override {
    input_ += bytes;
    for (std::size_t end = input_.find('\n'); end != std::string::npos; end = input_.find('\n')) {
      stream_->send(server_.answer(std::string_view(input_).substr(0, end)));
      input_.erase(0, end + 1);
    }
    if (input_.size() > kMostControlBytes) {
      stream_->send("error: the line is too long\n\n");
      stream_->close();
      server_.control_clients_.erase(this);  // destroys this
    }
  }
  void on_closed(const Error& /*why*/) override {
    server_.control_clients_.erase(this);  // destroys this
  }

 private:
  EmulatorServer& server_;
  std::unique_ptr<net::Stream> stream_;
  std::string input_;
};

class EmulatorServer::ControlDoor final : public net::StreamAcceptor {
 public:
  explicit ControlDoor(EmulatorServer& server) : server_(server) {}
  net::StreamEvents& accept(std::unique_ptr<net::Stream> stream,
                            const std::string& /*peer*/) override {
    auto client = std::make_unique<ControlClient>(server_, std::move(stream));
    ControlClient& events = *client;
    server_.control_clients_.emplace(&events, std::move(client));
    return events;
  }

 private:
  EmulatorServer& server_;
};

EmulatorServer::EmulatorServer(net::AsioLoop& loop, ocs::EmulatorOptions options,
                               std::vector<NamedNic> nics)
    : loop_(loop),
      emulated_(std::move(options)),
      nics_(std::move(nics)),
      link_(loop, emulated_, [this] { write_carriers(); }) {}

EmulatorServer::~EmulatorServer() {
  if (sysfs_ && !failure_) {
    for (const NamedNic& nic : nics_) {
      const Status ignored = sysfs_->set_carrier(nic.interface, false);  // nothing is lit any more
      (void)ignored;
    }
  }
}

Status EmulatorServer::start(const Places& places) {
  control_door_ = std::make_unique<ControlDoor>(*this);
  if (places.sysfs) {
    sysfs_.emplace(*places.sysfs);
  }
  link_.settle();
  if (failure_) {
    return *failure_;
  }
  auto tcp = net::TcpListener::listen(loop_, places.tcp, link_);
  if (!tcp) {
    return tcp.error();
  }
  tcp_ = std::move(tcp).value();
  if (places.control) {
    auto control = net::UnixListener::listen(loop_, *places.control, *control_door_);
    if (!control) {
      return control.error();
    }
    control_ = std::move(control).value();
  }
  return Status();
}

void EmulatorServer::write_carriers() {
  if (!sysfs_ || failure_) {
    return;
  }
  for (const NamedNic& nic : nics_) {
    const Status status =
        sysfs_->set_carrier(nic.interface, emulated_.carrier(nic.rx, loop_.now()));
    if (!status) {
      failure_ = status.error();
      loop_.stop();
      return;
    }
  }
}

std::string EmulatorServer::answer(std::string_view line) {
  const Result<std::string> shown = emulated_.control(line, loop_.now());
  link_.settle();
  return (shown ? *shown : "error: " + shown.error().message) + "\n\n";
}

}  // namespace mixnet::cli
