#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/sysfs_tree.h"
#include "core/result.h"
#include "net/address.h"
#include "net/asio_loop.h"
#include "net/stream.h"
#include "net/tcp_stream.h"
#include "net/unix_stream.h"
#include "ocs/emulated_switch.h"
#include "ocs/emulator_link.h"

namespace mixnet::cli {

// An interface of the emulated servers, as its kernel would name it.
struct NamedNic {
  std::string interface;
  ocs::PortId rx;
};

// Joins an emulated switch to sockets, to a control socket and to a tree of carriers.
//
// At the control socket a client writes one line per command and gets the text to show, or
// "error: " and the reason, in either case with an empty line behind it.
class EmulatorServer {
 public:
  struct Places {
    net::HostPort tcp;
    std::optional<std::string> control;
    std::optional<std::string> sysfs;
  };

  // `loop` outlives the server.
  EmulatorServer(net::AsioLoop& loop, ocs::EmulatorOptions options, std::vector<NamedNic> nics);
  ~EmulatorServer();
  EmulatorServer(const EmulatorServer&) = delete;
  EmulatorServer& operator=(const EmulatorServer&) = delete;

  // Listens. Errors name the address or the file. Later failures to write the tree stop the loop
  // and are kept for failure().
  Status start(const Places& places);
  uint16_t tcp_port() const { return tcp_->port(); }
  const std::optional<Error>& failure() const { return failure_; }

 private:
  class ControlClient;
  class ControlDoor;

  void write_carriers();
  std::string answer(std::string_view line);

  net::AsioLoop& loop_;
  ocs::EmulatedSwitch emulated_;
  std::vector<NamedNic> nics_;
  std::optional<SysfsTree> sysfs_;
  std::optional<Error> failure_;
  // Clients before the listeners, which may still call for one when they go.
  ocs::EmulatorLink link_;
  std::map<const ControlClient*, std::unique_ptr<ControlClient>> control_clients_;
  std::unique_ptr<ControlDoor> control_door_;
  std::unique_ptr<net::TcpListener> tcp_;
  std::unique_ptr<net::UnixListener> control_;
};

}  // namespace mixnet::cli
