#include "net/socket_listener.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "net/socket_connection.h"

namespace mixnet::net {
namespace {

// How long nothing is accepted when the process has no descriptors left.
constexpr Duration kPause = std::chrono::milliseconds(100);

}  // namespace

SocketListener::SocketListener(AsioLoop& loop, UniqueFd socket, StreamAcceptor& acceptor,
                               Describe describe)
    : loop_(loop),
      socket_(std::move(socket)),
      acceptor_(acceptor),
      describe_(std::move(describe)),
      watch_(loop.watch(socket_.get(), [this](Readiness /*what*/) { accept(); })) {
  watch_->want(true, false);
}

SocketListener::~SocketListener() { loop_.cancel(pause_); }

// One at a time: the owner may drop the listener while it accepts.
void SocketListener::accept() {
  UniqueFd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    const bool exhausted =
        errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    if (exhausted) {
      watch_->want(false, false);
      pause_ = loop_.call_at(loop_.now() + kPause, [this] { watch_->want(true, false); });
    }
    return;
  }
  const std::string peer = describe_(socket.get());
  const auto connection = std::make_shared<SocketConnection>(loop_, peer, nullptr);
  connection->start(std::move(socket));
  connection->accepted_by(acceptor_.accept(std::make_unique<ConnectionHandle>(connection), peer));
}

}  // namespace mixnet::net
