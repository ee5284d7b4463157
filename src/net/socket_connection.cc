#include "net/socket_connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "net/stream_errors.h"

namespace mixnet::net {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr int kReadsPerTurn = 4;  // then others have their turn

bool would_block(int code) { return code == EAGAIN || code == EWOULDBLOCK; }

}  // namespace

void SocketConnection::start(UniqueFd socket) {
  socket_ = std::move(socket);
  watch_ = loop().watch(socket_.get(), [weak = weak_from_this()](Readiness what) {
    if (const auto self = std::static_pointer_cast<SocketConnection>(weak.lock())) {
      self->ready(what);
    }
  });
  open();
}

void SocketConnection::dialled(Result<UniqueFd> socket) {
  attempt_.reset();
  if (state() != State::kConnecting) {
    return;
  }
  if (socket) {
    start(*std::move(socket));
    announce();
  } else {
    ended(socket.error());
  }
}

void SocketConnection::accepted_by(StreamEvents& events) {
  if (state() == State::kOpen) {
    set_events(events);
    announce();
  }
}

void SocketConnection::ready(Readiness what) {
  if (what == Readiness::kWritable) {
    flush();
  } else if (has_owner()) {
    read();
  }
}

void SocketConnection::read() {
  std::array<char, kReadBytes> buffer;
  for (int i = 0; i < kReadsPerTurn && has_owner(); ++i) {
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (got > 0) {
      received(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
      if (static_cast<std::size_t>(got) < buffer.size()) {
        return;
      }
    } else if (got == 0) {
      ended(closed(peer(), kClosedByPeerText));
    } else if (errno != EINTR) {
      if (!would_block(errno)) {
        ended(closed(peer(), errno_text(errno)));
      }
      return;
    }
  }
}

std::optional<std::size_t> SocketConnection::write_some(std::string_view bytes) {
  for (;;) {
    const ssize_t sent =
        ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      return static_cast<std::size_t>(sent);
    }
    if (would_block(errno)) {
      return 0;
    }
    if (errno != EINTR) {
      end_later(closed(peer(), errno_text(errno)));
      return std::nullopt;
    }
  }
}

void SocketConnection::rearm() { watch_->want(has_owner(), has_output()); }

void SocketConnection::release() {
  attempt_.reset();
  watch_.reset();
  socket_.reset();
}

}  // namespace mixnet::net
