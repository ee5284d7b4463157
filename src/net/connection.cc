#include "net/connection.h"

#include <utility>

#include "net/stream_errors.h"

namespace mixnet::net {
namespace {

constexpr Duration kLinger = std::chrono::seconds(1);
constexpr std::size_t kCompactAbove = std::size_t{64} << 10;

}  // namespace

Connection::Connection(AsioLoop& loop, std::string peer, StreamEvents* events)
    : loop_(loop), peer_(std::move(peer)), events_(events) {}

Connection::~Connection() { loop_.cancel(linger_); }

void Connection::send(std::string_view bytes) {
  if (state_ != State::kConnecting && state_ != State::kOpen) {
    return;
  }
  if (output_.size() - sent_ + bytes.size() > kMaxQueuedBytes) {
    end_later(closed(peer_, queue_full_text()));
    return;
  }
  output_ += bytes;
  if (state_ == State::kOpen) {
    flush();
  }
}

void Connection::flush() {
  while (has_output()) {
    const auto taken = write_some(std::string_view(output_).substr(sent_));
    if (!taken) {
      return;
    }
    sent_ += *taken;
    if (*taken == 0) {
      break;
    }
  }
  if (!has_output()) {
    output_.clear();
    sent_ = 0;
  } else if (sent_ > kCompactAbove && sent_ > output_.size() / 2) {
    output_.erase(0, sent_);
    sent_ = 0;
  }
  if (state_ == State::kClosing && !has_output() && drained()) {
    shut();
  } else {
    rearm();
  }
}

void Connection::close() {
  events_ = nullptr;
  if (state_ == State::kConnecting) {
    shut();
  } else if (state_ == State::kOpen) {
    state_ = State::kClosing;
    // Keeps the connection when the owner drops its handle.
    linger_ = loop_.call_at(loop_.now() + kLinger, [self = shared_from_this()] { self->shut(); });
    flush();
  }
}

void Connection::detach() {
  events_ = nullptr;
  if (state_ != State::kClosing) {
    shut();
  }
}

void Connection::shut() {
  if (std::exchange(state_, State::kClosed) != State::kClosed) {
    release();
    loop_.cancel(std::exchange(linger_, 0));
  }
}

void Connection::announce() {
  if (state_ != State::kOpen) {
    return;
  }
  events_->on_open();
  if (state_ == State::kOpen) {
    flush();
  }
}

void Connection::ended(const Error& why) {
  shut();
  if (StreamEvents* events = std::exchange(events_, nullptr)) {
    events->on_closed(why);
  }
}

void Connection::end_later(Error why) {
  loop_.call_at(loop_.now(), [weak = weak_from_this(), why = std::move(why)] {
    if (const auto self = weak.lock()) {
      self->ended(why);
    }
  });
}

}  // namespace mixnet::net
