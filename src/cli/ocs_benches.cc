#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/bench.h"
#include "cli/process_usage.h"
#include "core/check.h"
#include "core/random.h"
#include "daemon/daemon.h"
#include "daemon/region_client.h"
#include "net/asio_loop.h"
#include "net/tcp_stream.h"
#include "ocs/controller_link.h"
#include "ocs/emulator_link.h"
#include "ocs/sqlite_journal.h"

// The region controller and the daemon against an emulated switch on loopback TCP whose mirrors and
// NICs need no time: what is left is ours, the emulator's answers included.
namespace mixnet::cli {
namespace {

using std::chrono::seconds;

constexpr int kNicsPerServer = 6;
constexpr double kTargetOverheadMs = 1;
constexpr double kTargetFirstByteMs = 2;

double ms(Duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

Instant steady_now() { return Instant(std::chrono::steady_clock::now().time_since_epoch()); }

double median(std::vector<double> values) {
  CHECK(!values.empty(), "a median of nothing");
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "mixnet-XXXXXX").string();
    CHECK(::mkdtemp(pattern.data()) != nullptr, "no temporary folder");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  TemporaryFolder(TemporaryFolder&&) = delete;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

ocs::Region region_of(int servers) {
  const int ports = servers * kNicsPerServer;
  std::vector<std::string> names;
  std::vector<ocs::Nic> nics;
  for (int s = 0; s < servers; ++s) {
    names.push_back(fmt::format("s{}", s));
    for (int k = 0; k < kNicsPerServer; ++k) {
      const int port = s * kNicsPerServer + k + 1;
      nics.push_back({fmt::format("s{}/n{}", s, k), s, fmt::format("n{}", k), ocs::PortId(port),
                      ocs::PortId(ports + port)});
    }
  }
  return ocs::Region::make({ports, ports}, std::move(names), std::move(nics)).value();
}

// An emulated switch in a thread of its own.
class SwitchThread {
 public:
  explicit SwitchThread(ocs::SwitchSize size) : emulated_(options(size)) {
    link_ = std::make_unique<ocs::EmulatorLink>(loop_, emulated_, [this] {
      if (emulated_.counters().commands > commands_) {
        commands_ = emulated_.counters().commands;
        if (first_command_.load() == kNone) {
          first_command_ = steady_now().time_since_epoch().count();
        }
      }
    });
    listener_ = net::TcpListener::listen(loop_, {"127.0.0.1", 0}, *link_).value();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~SwitchThread() {
    loop_.post([this] { loop_.stop(); });
    thread_.join();
  }
  SwitchThread(const SwitchThread&) = delete;
  SwitchThread& operator=(const SwitchThread&) = delete;
  SwitchThread(SwitchThread&&) = delete;
  SwitchThread& operator=(SwitchThread&&) = delete;

  net::HostPort address() const { return {"127.0.0.1", listener_->port()}; }
  // When the first command since expect_command() arrived, as steady_now().
  void expect_command() { first_command_ = kNone; }
  Instant first_command() const { return Instant(Duration(first_command_.load())); }

 private:
  static constexpr int64_t kNone = -1;

  static ocs::EmulatorOptions options(ocs::SwitchSize size) {
    ocs::EmulatorOptions options;
    options.size = size;
    options.knobs.switching.fixed = Duration(0);
    options.knobs.relink.fixed = Duration(0);
    return options;
  }

  net::AsioLoop loop_;
  ocs::EmulatedSwitch emulated_;
  uint64_t commands_ = 0;
  std::atomic<int64_t> first_command_{0};
  std::unique_ptr<ocs::EmulatorLink> link_;
  std::unique_ptr<net::TcpListener> listener_;
  std::thread thread_;
};

// `count` duplex circuits, each between a NIC of an even server and one of the next server.
std::vector<ocs::Circuit> pairs(int count, int shift) {
  std::vector<ocs::Circuit> circuits;
  for (int i = 0; i < count; ++i) {
    const int even = 2 * (i / kNicsPerServer);
    const int a = even * kNicsPerServer + i % kNicsPerServer;
    const int b = (even + 1) * kNicsPerServer + (i + shift) % kNicsPerServer;
    circuits.push_back(ocs::circuit_between(ocs::NicId(a), ocs::NicId(b)));
  }
  return circuits;
}

// One transaction after another, each replacing every circuit by another.
Result<BenchFigure> time_transactions() {
  constexpr int kPairs = 16;
  constexpr std::size_t kTransactions = 300;
  const TemporaryFolder folder;
  const ocs::Region region = region_of(8);
  SwitchThread emulated(region.switch_size());
  auto journal = ocs::SqliteJournal::open(folder.file("journal.sqlite"));
  if (!journal) {
    return journal.error();
  }
  ocs::NoLinkProbe probe;
  ocs::ControllerOptions options;
  options.session.peer = emulated.address().text();
  options.session.login = ocs::Login{"", "admin", ocs::Secret("root")};
  options.health_interval = seconds(3600);
  net::AsioLoop loop;
  net::TcpDialer dialer(loop, emulated.address());
  ocs::RegionController controller(region, options, **journal, probe);
  std::vector<double> total_ms;
  std::vector<double> ours_ms;
  double cpu_before_s = 0;
  bool failed = false;
  std::unique_ptr<ocs::ControllerLink> link;
  const auto ask = [&] {
    failed = failed || !link->apply(pairs(kPairs, static_cast<int>(total_ms.size() % 2))).ok();
    if (failed) {
      loop.stop();
    }
  };
  link = std::make_unique<ocs::ControllerLink>(
      loop, dialer, controller, [&](ocs::ControllerEvent& event) {
        if (const auto* done = std::get_if<ocs::ApplyDone>(&event)) {
          failed = failed || !done->report.all_verified();
          total_ms.push_back(ms(done->report.total));
          ours_ms.push_back(ms(done->report.total - done->report.switching));
          if (failed || total_ms.size() > kTransactions) {
            loop.stop();
          } else {
            ask();
          }
        } else if (std::holds_alternative<ocs::TopologyChanged>(event) && controller.idle() &&
                   cpu_before_s == 0) {
          cpu_before_s = process_usage().cpu_s;
          ask();
        }
      });
  loop.call_at(loop.now() + seconds(60), [&] { loop.stop(); });
  loop.run();
  if (failed || total_ms.size() <= kTransactions) {
    return Error{"the transactions of the benchmark did not end as VERIFIED", ""};
  }
  BenchFigure figure;
  figure.cpu_s = process_usage().cpu_s - cpu_before_s;
  figure.against = "target of 1 ms beyond the switch";
  figure.details = {{"transactions", kTransactions},
                    {"duplex_pairs", kPairs},
                    {"median_ms", median(total_ms)},
                    {"median_without_patch_commands_ms", median(ours_ms)},
                    {"target_ms", kTargetOverheadMs}};
  return figure;
}

Result<daemon::RegionConfig> daemon_config(const TemporaryFolder& folder, int servers,
                                           const std::string& address) {
  const std::string credentials = folder.file("credentials");
  std::ofstream(credentials) << "user = admin\npassword = root\n";
  if (::chmod(credentials.c_str(), S_IRUSR | S_IWUSR) != 0) {
    return Error{"the mode cannot be set", credentials};
  }
  daemon::RegionSettings settings;
  settings.name = "bench";
  settings.ocs.tcp = address;
  settings.ocs.credentials_file = credentials;
  settings.journal = folder.file("journal.sqlite");
  settings.lock = folder.file("lock");
  settings.options.session.peer = address;
  settings.options.health_interval = seconds(3600);
  settings.eps = 2;
  settings.listen.grpc = "unix:" + folder.file("daemon.sock");
  return daemon::RegionConfig{settings, region_of(servers)};
}

DemandMatrix random_demand(int servers, uint64_t seed) {
  RandomStream random(seed, "demand");
  const auto n = static_cast<std::size_t>(servers);
  DemandMatrix demand(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      demand(i, j) = i == j ? 0 : random.log_normal(0, 1);
    }
  }
  return demand;
}

// From the call of a client to the first byte of a command at the switch, without the allocator.
Result<BenchFigure> time_first_byte() {
  constexpr int kServers = 64;
  constexpr int kReports = 15;
  const TemporaryFolder folder;
  SwitchThread emulated(region_of(kServers).switch_size());
  const auto config = daemon_config(folder, kServers, emulated.address().text());
  if (!config) {
    return config.error();
  }
  const daemon::JsonLog log(STDERR_FILENO, daemon::LogLevel::kError);
  auto started = daemon::Daemon::start(*config, log);
  if (!started) {
    return started.error();
  }
  daemon::ClientOptions options;
  options.address = config->listen.grpc;
  auto client = daemon::RegionClient::make(options);
  if (!client) {
    return client.error();
  }
  const Status ready = client->watch([](const region::v1::Topology& topology) {
    return !(topology.connected() && !topology.switch_model().empty());
  });
  if (!ready) {
    return ready.error();
  }
  std::vector<double> first_ms;
  std::vector<double> planning_ms;
  const double cpu_before_s = process_usage().cpu_s;
  for (int i = 0; i < kReports; ++i) {
    const DemandMatrix demand = random_demand(kServers, static_cast<uint64_t>(i));
    emulated.expect_command();
    const Instant asked = steady_now();
    const auto reply = client->report_demand(demand);
    if (!reply) {
      return reply.error();
    }
    planning_ms.push_back(reply->planning_ms());
    first_ms.push_back(ms(emulated.first_command() - asked) - reply->planning_ms());
  }
  BenchFigure figure;
  figure.cpu_s = process_usage().cpu_s - cpu_before_s;
  figure.against = "target of 2 ms to the first byte";
  figure.details = {{"reports", kReports},
                    {"servers", kServers},
                    {"median_first_byte_ms", median(first_ms)},
                    {"median_planning_ms", median(planning_ms)},
                    {"target_ms", kTargetFirstByteMs}};
  return figure;
}

}  // namespace

std::vector<BenchCase> ocs_benches() {
  return {
      {"ocs-transaction", "region controller, 16 circuits replaced over loopback TCP",
       time_transactions},
      {"ocs-first-byte", "mixnetd, a demand of 64 servers to the first command byte",
       time_first_byte},
  };
}

}  // namespace mixnet::cli
