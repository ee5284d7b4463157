#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/asio_loop.h"
#include "net/stream.h"
#include "net/unique_fd.h"

namespace mixnet::net {

// Accepts streams at a socket that listens and does not block. Used by the listeners of TCP and of
// Unix sockets.
class SocketListener {
 public:
  // What to call whoever is at the other end of a socket that was accepted; may set its options.
  using Describe = std::function<std::string(int socket)>;

  SocketListener(AsioLoop& loop, UniqueFd socket, StreamAcceptor& acceptor, Describe describe);
  ~SocketListener();
  SocketListener(const SocketListener&) = delete;
  SocketListener& operator=(const SocketListener&) = delete;
  SocketListener(SocketListener&&) = delete;
  SocketListener& operator=(SocketListener&&) = delete;

  int socket() const { return socket_.get(); }

 private:
  void accept();

  AsioLoop& loop_;
  UniqueFd socket_;
  StreamAcceptor& acceptor_;
  Describe describe_;
  std::unique_ptr<FdWatch> watch_;
  TimerId pause_ = 0;
};

}  // namespace mixnet::net
