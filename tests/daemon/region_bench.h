#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/emulator_server.h"
#include "daemon/region_client.h"
#include "net/asio_loop.h"
#include "support/temporary_directory.h"

// A region of three servers with two NICs on an emulated 8x8 switch, for the tests of the daemon.
namespace mixnet::test_support {

// The emulated switch, in a thread of its own.
class EmulatorThread {
 public:
  explicit EmulatorThread(const TemporaryDirectory& folder)
      : control_(folder.file("control.sock")), server_(loop_, options(), nics()) {
    cli::EmulatorServer::Places places;
    places.tcp = net::HostPort{"127.0.0.1", 0};
    places.control = control_;
    places.sysfs = folder.file("sys");
    const Status started = server_.start(places);
    EXPECT_TRUE(started.ok()) << (started.ok() ? "" : started.error().text());
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~EmulatorThread() {
    loop_.post([this] { loop_.stop(); });
    thread_.join();
  }
  EmulatorThread(const EmulatorThread&) = delete;
  EmulatorThread& operator=(const EmulatorThread&) = delete;
  EmulatorThread(EmulatorThread&&) = delete;
  EmulatorThread& operator=(EmulatorThread&&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(server_.tcp_port()); }

  // Types a line at the switch: "fibre pull 1". Returns what it shows.
  std::string control(const std::string& line) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    control_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const std::string text = line + "\n";
    EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    std::string shown;
    char byte = 0;
    while (shown.find("\n\n") == std::string::npos && ::read(fd, &byte, 1) == 1) {
      shown += byte;
    }
    ::close(fd);
    EXPECT_EQ(shown.find("error"), std::string::npos) << shown;
    return shown;
  }

 private:
  static ocs::EmulatorOptions options() {
    ocs::EmulatorOptions options;
    options.size = ocs::SwitchSize{8, 8};
    options.knobs.relink.fixed = Duration(0);
    return options;
  }
  static std::vector<cli::NamedNic> nics() {
    std::vector<cli::NamedNic> nics;
    for (int k = 1; k <= 8; ++k) {
      nics.push_back(cli::NamedNic{"ocs" + std::to_string(k), ocs::PortId(8 + k)});
    }
    return nics;
  }

  std::string control_;
  net::AsioLoop loop_;
  cli::EmulatorServer server_;
  std::thread thread_;
};

struct RegionBench {
  TemporaryDirectory folder;
  EmulatorThread emulator{folder};
  std::string config;  // path of the region file

  RegionBench() {
    const std::string credentials =
        folder.write("switch.credentials", "user = admin\npassword = root\n");
    EXPECT_EQ(::chmod(credentials.c_str(), 0600), 0);
    config = folder.write("r1.toml", text());
  }

  std::string text() const {
    std::string toml = "name = \"r1\"\n[switch]\naddress = \"" + emulator.address() +
                       "\"\nsize = \"8x8\"\ncredentials = \"switch.credentials\"\n";
    for (int s = 0; s < 3; ++s) {
      const std::string first = std::to_string(2 * s + 1);
      const std::string second = std::to_string(2 * s + 2);
      toml += "[[server]]\nname = \"s" + std::to_string(s) + "\"\ninterfaces = [\"ocs" + first +
              "\", \"ocs" + second + "\"]\ntx = \"" + first + "-" + second + "\"\nrx = \"" +
              std::to_string(2 * s + 9) + "-" + std::to_string(2 * s + 10) + "\"\n";
    }
    return toml +
           "[state]\ndirectory = \"state\"\n[links]\nprobe = \"sysfs\"\nsysfs = \"sys\"\n"
           "[control]\neps = 1\nhealth_interval = \"20ms\"\nrelink_window = \"100ms\"\n"
           "[listen]\ngrpc = \"unix:r1.sock\"\n";
  }

  daemon::RegionClient client() const {
    daemon::ClientOptions options;
    options.address = "unix:" + folder.file("r1.sock");
    options.deadline = std::chrono::seconds(30);
    return daemon::RegionClient::make(options).value();
  }

  // The first topology that `holds` accepts.
  template <typename Holds>
  region::v1::Topology await(Holds&& holds) const {
    region::v1::Topology found;
    const Status watched = client().watch([&](const region::v1::Topology& topology) {
      found = topology;
      return !holds(topology);
    });
    EXPECT_TRUE(watched.ok()) << (watched.ok() ? "" : watched.error().text());
    return found;
  }
  // Until then the daemon takes no change.
  void await_session() const {
    await([](const region::v1::Topology& t) { return t.connected() && t.read(); });
  }
};

inline bool has_alarm(const region::v1::Topology& topology, const std::string& kind) {
  for (const region::v1::Alarm& alarm : topology.alarms()) {
    if (alarm.kind() == kind) {
      return true;
    }
  }
  return false;
}

}  // namespace mixnet::test_support
