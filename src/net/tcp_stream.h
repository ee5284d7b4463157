#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/result.h"
#include "net/address.h"
#include "net/asio_loop.h"
#include "net/socket_listener.h"
#include "net/stream.h"

namespace mixnet::net {

class TcpDialer final : public Dialer {
 public:
  TcpDialer(AsioLoop& loop, HostPort host_port);

  std::unique_ptr<Stream> dial(StreamEvents& events, Duration deadline) override;
  std::string peer() const override { return host_port_.text(); }

 private:
  AsioLoop& loop_;
  HostPort host_port_;
};

class TcpListener {
 public:
  // Port 0: one that is free. A name is looked up at once, which blocks. `acceptor` outlives the
  // listener. Errors name the address.
  static Result<std::unique_ptr<TcpListener>> listen(AsioLoop& loop, const HostPort& host_port,
                                                     StreamAcceptor& acceptor);

  uint16_t port() const { return port_; }

 private:
  TcpListener(std::unique_ptr<SocketListener> listener, uint16_t port);

  std::unique_ptr<SocketListener> listener_;
  uint16_t port_;
};

}  // namespace mixnet::net
