#include "net/asio_loop.h"

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "core/check.h"
#include "net/stream_errors.h"
#include "net/timer_queue.h"

namespace mixnet::net {
namespace {

using SteadyClock = std::chrono::steady_clock;

Instant read_clock() { return Instant(SteadyClock::now().time_since_epoch()); }

}  // namespace

class AsioLoop::Impl {
 public:
  Impl() : timer_(context_) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  Impl(Impl&&) = delete;
  Impl& operator=(Impl&&) = delete;
  ~Impl() {
    // One by one: what a timer holds may cancel others when it goes.
    while (timers_.take_due(Instant::max(), timers_.last())) {
    }
  }

  asio::io_context& context() { return context_; }
  Instant now() const { return turn_ ? *turn_ : read_clock(); }

  TimerId call_at(Instant when, std::function<void()> due) {
    const TimerId timer = timers_.add(when, std::move(due));
    if (!turn_) {
      arm();
    }
    return timer;
  }
  void cancel(TimerId timer) { timers_.cancel(timer); }

  void run() {
    const auto work = asio::make_work_guard(context_);
    context_.restart();
    context_.run();
  }

  // Everything that the loop calls is called through this.
  template <typename Call>
  void turn(const Call& call) {
    CHECK(!turn_, "a loop runs within a call of itself");
    turn_ = read_clock();
    call();
    turn_.reset();
    arm();
  }

  void wait_for_signal(asio::signal_set& signals, std::function<void(int)> arrived) {
    signals.async_wait(
        [this, &signals, arrived = std::move(arrived)](std::error_code error, int signal) {
          if (!error) {
            turn([&] { arrived(signal); });
            wait_for_signal(signals, arrived);
          }
        });
  }
  asio::signal_set& add_signal_set() {
    return *signal_sets_.emplace_back(std::make_unique<asio::signal_set>(context_));
  }

 private:
  // Sees to it that the timer of the system ends no later than the earliest of ours. It may end
  // earlier: setting it costs a system call, and most deadlines are moved before they pass.
  void arm() {
    const auto earliest = timers_.earliest();
    if (!earliest || (armed_ && *armed_ <= *earliest)) {
      return;
    }
    armed_ = earliest;
    timer_.expires_at(SteadyClock::time_point(earliest->time_since_epoch()));
    timer_.async_wait([this](std::error_code error) {
      if (!error) {
        armed_.reset();
        turn([this] { call_due(); });
      }
    });
  }

  void call_due() {
    // Not those that are set meanwhile: descriptors have their turn first.
    const TimerId youngest = timers_.last();
    while (const auto due = timers_.take_due(*turn_, youngest)) {
      (*due)();
    }
  }

  asio::io_context context_{1};
  std::vector<std::unique_ptr<asio::signal_set>> signal_sets_;
  asio::steady_timer timer_;
  std::optional<Instant> armed_;
  std::optional<Instant> turn_;  // when the turn began; none: outside of one
  TimerQueue timers_;
};

class AsioLoop::Watch final : public FdWatch {
 public:
  Watch(Impl& loop, int fd, std::function<void(Readiness)> ready)
      : state_(std::make_shared<State>(loop, std::move(ready))) {
    std::error_code error;
    state_->descriptor.assign(fd, error);
    CHECK(!error, "a descriptor that cannot be watched");
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  Watch(Watch&&) = delete;
  Watch& operator=(Watch&&) = delete;
  ~Watch() override {
    state_->want_readable = state_->want_writable = false;
    state_->descriptor.release();
  }

  void want(bool readable, bool writable) override {
    state_->want_readable = readable;
    state_->want_writable = writable;
    state_->arm();
  }

 private:
  // Kept by the waits under way: it outlives the watch until they are aborted.
  struct State : std::enable_shared_from_this<State> {
    State(Impl& the_loop, std::function<void(Readiness)> call)
        : loop(the_loop), descriptor(the_loop.context()), ready(std::move(call)) {}

    void arm() {
      wait(Readiness::kReadable, asio::posix::descriptor_base::wait_read, want_readable, reading);
      wait(Readiness::kWritable, asio::posix::descriptor_base::wait_write, want_writable, writing);
    }

    void wait(Readiness what, asio::posix::descriptor_base::wait_type type, const bool& wanted,
              bool& waiting) {
      if (!wanted || waiting) {
        return;
      }
      waiting = true;
      descriptor.async_wait(
          type, [self = shared_from_this(), what, &wanted, &waiting](std::error_code error) {
            waiting = false;
            if (!error && wanted) {
              self->loop.turn([&] { self->ready(what); });
              self->arm();
            }
          });
    }

    Impl& loop;
    asio::posix::stream_descriptor descriptor;
    std::function<void(Readiness)> ready;
    bool want_readable = false;
    bool want_writable = false;
    bool reading = false;  // waits that are under way
    bool writing = false;
  };

  std::shared_ptr<State> state_;
};

AsioLoop::AsioLoop() : impl_(std::make_unique<Impl>()) {}
AsioLoop::~AsioLoop() = default;

Instant AsioLoop::now() const { return impl_->now(); }

TimerId AsioLoop::call_at(Instant when, std::function<void()> due) {
  return impl_->call_at(when, std::move(due));
}

void AsioLoop::cancel(TimerId timer) { impl_->cancel(timer); }

void AsioLoop::run() { impl_->run(); }

void AsioLoop::stop() { impl_->context().stop(); }

void AsioLoop::post(std::function<void()> call) {
  asio::post(impl_->context(), [impl = impl_.get(), call = std::move(call)] { impl->turn(call); });
}

void AsioLoop::on_signals(const std::vector<int>& signals, std::function<void(int)> arrived) {
  asio::signal_set& set = impl_->add_signal_set();
  for (const int signal : signals) {
    std::error_code error;
    set.add(signal, error);
    CHECK(!error, "a signal that cannot be caught");
  }
  impl_->wait_for_signal(set, std::move(arrived));
}

std::unique_ptr<FdWatch> AsioLoop::watch(int fd, std::function<void(Readiness)> ready) {
  return std::make_unique<Watch>(*impl_, fd, std::move(ready));
}

void AsioLoop::resolve(const HostPort& host_port,
                       std::function<void(Result<std::vector<SocketAddress>>)> done) {
  using Resolver = asio::ip::tcp::resolver;
  const auto resolver = std::make_shared<Resolver>(impl_->context());
  resolver->async_resolve(
      host_port.host, std::to_string(host_port.port), Resolver::numeric_service,
      [impl = impl_.get(), resolver, peer = host_port.text(), done = std::move(done)](
          std::error_code error, const Resolver::results_type& results) {
        std::vector<SocketAddress> found;
        for (const auto& entry : results) {
          SocketAddress address;
          address.size = static_cast<socklen_t>(entry.endpoint().size());
          std::memcpy(&address.storage, entry.endpoint().data(), address.size);
          found.push_back(address);
        }
        impl->turn([&] {
          if (error || found.empty()) {
            done(closed(peer, "the name has no address: " + error.message()));
          } else {
            done(std::move(found));
          }
        });
      });
}

}  // namespace mixnet::net
