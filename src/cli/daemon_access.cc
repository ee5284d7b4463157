#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "cli/region_access.h"
#include "net/asio_loop.h"

namespace mixnet::cli {
namespace {

namespace v1 = region::v1;
using Clock = std::chrono::steady_clock;

// A daemon that has the lock opens its socket in a moment.
constexpr Duration kMostConnecting = std::chrono::seconds(3);
constexpr Duration kLookAgain = std::chrono::milliseconds(20);

// Ends a watch at a signal or when its time is over, from a thread of its own: the thread that
// watches waits for the daemon.
class WatchEnd {
 public:
  WatchEnd(daemon::RegionClient& client, std::optional<Duration> length) {
    loop_.on_signals({SIGINT, SIGTERM}, [&client](int /*signal*/) { client.stop_watching(); });
    if (length.has_value()) {
      loop_.call_at(loop_.now() + *length, [&client] { client.stop_watching(); });
    }
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~WatchEnd() {
    loop_.post([this] { loop_.stop(); });
    thread_.join();
  }
  WatchEnd(const WatchEnd&) = delete;
  WatchEnd& operator=(const WatchEnd&) = delete;
  WatchEnd(WatchEnd&&) = delete;
  WatchEnd& operator=(WatchEnd&&) = delete;

 private:
  net::AsioLoop loop_;
  std::thread thread_;
};

class DaemonAccess final : public RegionAccess {
 public:
  DaemonAccess(daemon::RegionClient client, daemon::ClientOptions options)
      : client_(std::move(client)), options_(std::move(options)) {}

  // Waits for a daemon that is starting, and for its first look at the switch.
  Result<v1::Topology> status() override {
    const Clock::time_point end = Clock::now() + options_.deadline;
    while (true) {
      Result<v1::Topology> topology = client_.status();
      if (!topology.ok() || (topology->connected() && topology->read()) ||
          session_trouble(*topology).has_value()) {
        return topology;
      }
      if (Clock::now() >= end) {
        return Error{fmt::format("{}: it has not read the switch yet", way()), ""};
      }
      std::this_thread::sleep_for(kLookAgain);
    }
  }
  Result<v1::ApplyReply> apply(const v1::ApplyCircuitsRequest& request) override {
    return client_.apply(request);
  }
  Result<v1::ApplyReply> verify() override { return client_.verify(); }
  Result<v1::ApplyReply> report_demand(const DemandMatrix& demand) override {
    return client_.report_demand(demand);
  }
  Status watch(const std::function<void(const v1::Topology&)>& change,
               std::optional<Duration> length) override {
    const WatchEnd end(client_, length);
    return client_.watch([&](const v1::Topology& topology) {
      change(topology);
      return true;
    });
  }
  std::string way() const override { return "mixnetd at " + options_.address; }

 private:
  daemon::RegionClient client_;
  daemon::ClientOptions options_;
};

}  // namespace

Result<std::unique_ptr<RegionAccess>> ask_daemon(const daemon::RegionConfig& config,
                                                 const AccessOptions& options) {
  daemon::ClientOptions client_options = options.client;
  if (client_options.address.empty()) {
    client_options.address = config.listen.grpc;
  }
  Result<daemon::RegionClient> client = daemon::RegionClient::make(client_options);
  if (!client.ok()) {
    return client.error();
  }
  client->await_connection(std::min(kMostConnecting, client_options.deadline));
  auto access = std::make_unique<DaemonAccess>(std::move(client).value(), client_options);
  // Fails here rather than in the middle of something.
  if (Result<v1::Topology> topology = access->status(); !topology.ok()) {
    return topology.error();
  }
  return std::unique_ptr<RegionAccess>(std::move(access));
}

}  // namespace mixnet::cli
