#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "core/result.h"
#include "net/asio_loop.h"
#include "net/socket_listener.h"
#include "net/stream.h"

// Streams between processes of one machine, at a socket in the file system.
namespace mixnet::net {

class UnixDialer final : public Dialer {
 public:
  UnixDialer(AsioLoop& loop, std::string path);

  std::unique_ptr<Stream> dial(StreamEvents& events, Duration deadline) override;
  std::string peer() const override { return path_; }

 private:
  AsioLoop& loop_;
  std::string path_;
};

// The socket is for its owner alone (mode 0600) and removed with the listener.
class UnixListener {
 public:
  // Takes the place of a socket that nobody listens at any more. Errors name the path: something
  // that is no socket, somebody who listens there. `acceptor` outlives the listener.
  static Result<std::unique_ptr<UnixListener>> listen(AsioLoop& loop, const std::string& path,
                                                      StreamAcceptor& acceptor);
  ~UnixListener();
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;
  UnixListener(UnixListener&&) = delete;
  UnixListener& operator=(UnixListener&&) = delete;

 private:
  UnixListener(std::unique_ptr<SocketListener> listener, std::string path, ino_t inode);

  std::unique_ptr<SocketListener> listener_;
  std::string path_;
  ino_t inode_;  // of our socket: the path may have become somebody else's
};

}  // namespace mixnet::net
