#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "net/asio_loop.h"
#include "net/stream.h"

namespace mixnet::net {

// What streams over descriptors have in common: the queue of what is to be sent, and the order in
// which an owner hears of things. The handle of the owner owns it; what the loop calls holds it
// weakly, so that the owner may drop the handle in any call.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(AsioLoop& loop, std::string peer, StreamEvents* events);
  virtual ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  Connection(Connection&&) = delete;
  Connection& operator=(Connection&&) = delete;

  void send(std::string_view bytes);
  void close();
  // The owner is gone.
  void detach();

 protected:
  enum class State { kConnecting, kOpen, kClosing, kClosed };

  AsioLoop& loop() { return loop_; }
  const std::string& peer() const { return peer_; }
  State state() const { return state_; }
  bool has_owner() const { return events_ != nullptr; }
  bool has_output() const { return sent_ < output_.size(); }

  void open() { state_ = State::kOpen; }
  // From calls of the loop only.
  void announce();  // that it is open, unless it was closed meanwhile
  void received(std::string_view bytes) { events_->on_bytes(bytes); }
  void ended(const Error& why);
  // From anywhere: ended(), but called by the loop.
  void end_later(Error why);
  void set_events(StreamEvents& events) { events_ = &events; }
  // Writes what the peer takes, and finishes a close() when all is written.
  void flush();

 private:
  // How many of the bytes were taken; none: the stream broke, and end_later() was called.
  virtual std::optional<std::size_t> write_some(std::string_view bytes) = 0;
  // Nothing is left in buffers of its own.
  virtual bool drained() const { return true; }
  // After writing: waits for what it needs next.
  virtual void rearm() = 0;
  // Gives everything back to the system.
  virtual void release() = 0;

  void shut();

  AsioLoop& loop_;
  std::string peer_;
  StreamEvents* events_;  // null: nobody is to hear of anything
  State state_ = State::kConnecting;
  std::string output_;
  std::size_t sent_ = 0;  // of output_
  TimerId linger_ = 0;
};

// The end in the hands of the owner.
class ConnectionHandle final : public Stream {
 public:
  explicit ConnectionHandle(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}
  ConnectionHandle(const ConnectionHandle&) = delete;
  ConnectionHandle& operator=(const ConnectionHandle&) = delete;
  ConnectionHandle(ConnectionHandle&&) = delete;
  ConnectionHandle& operator=(ConnectionHandle&&) = delete;
  ~ConnectionHandle() override { connection_->detach(); }

  void send(std::string_view bytes) override { connection_->send(bytes); }
  void close() override { connection_->close(); }

 private:
  std::shared_ptr<Connection> connection_;
};

}  // namespace mixnet::net
