#include "net/tcp_stream.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "net/socket_connection.h"
#include "net/socket_options.h"
#include "net/stream_errors.h"
#include "net/tcp_connect.h"

namespace mixnet::net {
namespace {

std::string describe_peer(int socket) {
  set_tcp_options(socket);
  SocketAddress address;
  address.size = sizeof address.storage;
  // The sockets interface is built on this cast.
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0) {
    return "a client that has gone";
  }
  return address.host_port().text();
}

// A socket that listens, or the errno.
struct Bound {
  UniqueFd socket;
  int code = 0;
};

Bound bind_to(const SocketAddress& address) {
  Bound bound{
      UniqueFd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
      0};
  const int on = 1;
  if (!bound.socket ||
      ::setsockopt(bound.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(bound.socket.get(), address.get(), address.size) != 0 ||
      ::listen(bound.socket.get(), SOMAXCONN) != 0) {
    bound.code = errno;
  }
  return bound;
}

uint16_t port_of(int socket) {
  SocketAddress address;
  address.size = sizeof address.storage;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage), &address.size);
  return address.host_port().port;
}

}  // namespace

TcpDialer::TcpDialer(AsioLoop& loop, HostPort host_port)
    : loop_(loop), host_port_(std::move(host_port)) {}

std::unique_ptr<Stream> TcpDialer::dial(StreamEvents& events, Duration deadline) {
  const auto connection = std::make_shared<SocketConnection>(loop_, peer(), &events);
  connection->dial(TcpConnect::start(
      loop_, host_port_, deadline,
      [weak = std::weak_ptr<SocketConnection>(connection)](Result<UniqueFd> socket) {
        if (const auto self = weak.lock()) {
          self->dialled(std::move(socket));
        }
      }));
  return std::make_unique<ConnectionHandle>(connection);
}

Result<std::unique_ptr<TcpListener>> TcpListener::listen(AsioLoop& loop, const HostPort& host_port,
                                                         StreamAcceptor& acceptor) {
  const Result<std::vector<SocketAddress>> addresses = resolve_now(host_port);
  if (!addresses) {
    return addresses.error();
  }
  Bound bound;
  for (const SocketAddress& address : *addresses) {
    bound = bind_to(address);
    if (bound.code == 0) {
      break;
    }
  }
  if (bound.code != 0) {
    return closed(host_port.text(), "cannot listen here: " + errno_text(bound.code));
  }
  const uint16_t port = port_of(bound.socket.get());
  // The constructor is private.
  return std::unique_ptr<TcpListener>(new TcpListener(
      std::make_unique<SocketListener>(loop, std::move(bound.socket), acceptor, describe_peer),
      port));
}

TcpListener::TcpListener(std::unique_ptr<SocketListener> listener, uint16_t port)
    : listener_(std::move(listener)), port_(port) {}

}  // namespace mixnet::net
