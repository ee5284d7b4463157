#include "net/tcp_connect.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "net/socket_options.h"
#include "net/stream_errors.h"

namespace mixnet::net {

std::shared_ptr<TcpConnect> TcpConnect::start(AsioLoop& loop, const HostPort& host_port,
                                              Duration deadline, Done done) {
  std::shared_ptr<TcpConnect> attempt(new TcpConnect(loop, host_port, deadline, std::move(done)));
  attempt->timer_ = attempt->call_at(attempt->end_, &TcpConnect::timed_out);
  attempt->call_at(loop.now(), &TcpConnect::begin);
  return attempt;
}

TcpConnect::TcpConnect(AsioLoop& loop, HostPort host_port, Duration deadline, Done done)
    : loop_(loop),
      host_port_(std::move(host_port)),
      deadline_(deadline),
      end_(loop.now() + deadline),
      done_(std::move(done)) {}

TcpConnect::~TcpConnect() { loop_.cancel(timer_); }

TimerId TcpConnect::call_at(Instant when, void (TcpConnect::*step)()) {
  return loop_.call_at(when, [weak = weak_from_this(), step] {
    if (const auto self = weak.lock()) {
      (*self.*step)();
    }
  });
}

void TcpConnect::begin() {
  std::vector<SocketAddress> numeric = numeric_addresses(host_port_);
  if (!numeric.empty()) {
    resolved(std::move(numeric));
    return;
  }
  loop_.resolve(host_port_, [weak = weak_from_this()](Result<std::vector<SocketAddress>> found) {
    if (const auto self = weak.lock()) {
      self->resolved(std::move(found));
    }
  });
}

void TcpConnect::resolved(Result<std::vector<SocketAddress>> addresses) {
  if (!done_) {
    return;  // too late
  }
  if (!addresses) {
    finish(addresses.error());
    return;
  }
  addresses_ = *std::move(addresses);
  try_next();
}

void TcpConnect::try_next() {
  watch_.reset();
  socket_.reset();
  if (next_ == addresses_.size()) {
    finish(closed(host_port_.text(), last_failure_));
    return;
  }
  const SocketAddress& address = addresses_[next_++];
  const auto left = static_cast<int64_t>(addresses_.size() - next_ + 1);
  loop_.cancel(timer_);
  timer_ = call_at(loop_.now() + (end_ - loop_.now()) / left, &TcpConnect::timed_out);
  socket_.reset(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_) {
    attempt_failed(errno_text(errno));
    return;
  }
  set_tcp_options(socket_.get());
  if (::connect(socket_.get(), address.get(), address.size) == 0) {
    finish(std::move(socket_));
  } else if (errno == EINPROGRESS) {
    watch_ = loop_.watch(socket_.get(), [weak = weak_from_this()](Readiness /*what*/) {
      if (const auto self = weak.lock()) {
        self->connected();
      }
    });
    watch_->want(false, true);
  } else {
    attempt_failed(errno_text(errno));
  }
}

void TcpConnect::connected() {
  int code = 0;
  socklen_t size = sizeof code;
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &code, &size);
  if (code == 0) {
    watch_.reset();
    finish(std::move(socket_));
  } else {
    attempt_failed(errno_text(code));
  }
}

void TcpConnect::attempt_failed(std::string why) {
  last_failure_ = std::move(why);
  try_next();
}

void TcpConnect::timed_out() {
  timer_ = 0;
  if (next_ < addresses_.size()) {
    attempt_failed("no answer");
    return;
  }
  finish(no_connection_within(host_port_.text(), deadline_));
}

void TcpConnect::finish(Result<UniqueFd> result) {
  watch_.reset();
  loop_.cancel(std::exchange(timer_, 0));
  if (const Done done = std::exchange(done_, nullptr)) {
    done(std::move(result));
  }
}

}  // namespace mixnet::net
