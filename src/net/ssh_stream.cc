#include "net/ssh_stream.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "net/connection.h"
#include "net/ssh_session.h"
#include "net/stream_errors.h"
#include "net/tcp_connect.h"

namespace mixnet::net {
namespace {

constexpr std::size_t kSshReadBytes = std::size_t{32} << 10;
constexpr int kSshReadsPerTurn = 8;  // then others have their turn

class SshConnection final : public Connection {
 public:
  SshConnection(AsioLoop& loop, const SshOptions& options, StreamEvents& events)
      : Connection(loop, options.host_port.text(), &events), options_(options) {}
  ~SshConnection() override { loop().cancel(deadline_timer_); }
  SshConnection(const SshConnection&) = delete;
  SshConnection& operator=(const SshConnection&) = delete;
  SshConnection(SshConnection&&) = delete;
  SshConnection& operator=(SshConnection&&) = delete;

  void dial(Duration deadline);

 private:
  std::optional<std::size_t> write_some(std::string_view bytes) override;
  bool drained() const override { return !session_->writing(); }
  void rearm() override { watch_->want(true, session_->writing()); }
  void release() override;

  template <typename... Args>
  auto weakly(void (SshConnection::*step)(Args...));
  void connected(Result<UniqueFd> socket);
  void timed_out();
  void proceed();
  void log_in();
  void read();

  SshOptions options_;
  Duration deadline_{0};
  TimerId deadline_timer_ = 0;
  std::shared_ptr<TcpConnect> attempt_;
  std::unique_ptr<SshSession> session_;
  std::unique_ptr<FdWatch> watch_;
};

// The step, unless the connection is gone by then.
template <typename... Args>
auto SshConnection::weakly(void (SshConnection::*step)(Args...)) {
  return [weak = weak_from_this(), step](Args... args) {
    if (const auto self = std::static_pointer_cast<SshConnection>(weak.lock())) {
      (*self.*step)(std::move(args)...);
    }
  };
}

void SshConnection::dial(Duration deadline) {
  deadline_ = deadline;
  attempt_ =
      TcpConnect::start(loop(), options_.host_port, deadline, weakly(&SshConnection::connected));
  deadline_timer_ = loop().call_at(loop().now() + deadline, weakly(&SshConnection::timed_out));
}

void SshConnection::connected(Result<UniqueFd> socket) {
  attempt_.reset();
  if (!socket) {
    ended(socket.error());
    return;
  }
  session_ = std::make_unique<SshSession>(options_, *std::move(socket));
  log_in();
}

void SshConnection::timed_out() {
  deadline_timer_ = 0;
  ended(
      closed(peer(), fmt::format("no connection within {}: waited for {}", duration_text(deadline_),
                                 session_ ? session_->waits_for() : "TCP")));
}

void SshConnection::proceed() {
  if (state() == State::kConnecting) {
    log_in();
  } else {
    read();
  }
}

void SshConnection::log_in() {
  const Result<bool> ready = session_->log_in();
  if (!ready) {
    ended(ready.error());
    return;
  }
  if (!watch_) {
    watch_ = loop().watch(session_->socket(),
                          [step = weakly(&SshConnection::proceed)](Readiness /*what*/) { step(); });
  }
  rearm();
  if (*ready) {
    loop().cancel(std::exchange(deadline_timer_, 0));
    open();
    announce();
    loop().call_at(loop().now(), weakly(&SshConnection::read));
  }
}

// Also carries on with writing: room in the window of the server is something that is read.
void SshConnection::read() {
  std::array<char, kSshReadBytes> buffer;
  for (int i = 0; state() == State::kOpen || state() == State::kClosing; ++i) {
    if (i == kSshReadsPerTurn) {
      // What waits in the buffers of the session wakes up no watch.
      loop().call_at(loop().now(), weakly(&SshConnection::read));
      return;
    }
    const auto got = session_->read_some(buffer.data(), buffer.size());
    if (!got) {
      ended(got.error());
    } else if (!got->has_value()) {
      ended(closed(peer(), kClosedByPeerText));
    } else if (**got == 0) {
      flush();
      return;
    } else if (has_owner()) {
      received(std::string_view(buffer.data(), **got));
    }
  }
}

std::optional<std::size_t> SshConnection::write_some(std::string_view bytes) {
  const Result<std::size_t> taken = session_->write_some(bytes);
  if (!taken) {
    end_later(taken.error());
    return std::nullopt;
  }
  return *taken;
}

void SshConnection::release() {
  loop().cancel(std::exchange(deadline_timer_, 0));
  attempt_.reset();
  watch_.reset();
  session_.reset();
}

}  // namespace

SshDialer::SshDialer(AsioLoop& loop, SshOptions options)
    : loop_(loop), options_(std::move(options)) {}

std::unique_ptr<Stream> SshDialer::dial(StreamEvents& events, Duration deadline) {
  const auto connection = std::make_shared<SshConnection>(loop_, options_, events);
  connection->dial(deadline);
  return std::make_unique<ConnectionHandle>(connection);
}

}  // namespace mixnet::net
