#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "core/instant.h"
#include "core/result.h"

// Ordered bytes to and from one peer, in the manner of TCP. Vocabulary: a Dialer opens streams, a
// Stream carries bytes, StreamEvents is what the owner of a stream hears of it.
namespace mixnet::net {

// Called by the loop, one at a time, never from within a call of the stream. The owner may close or
// destroy the stream inside any of them.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  // Bytes may be sent from now on.
  virtual void on_open() = 0;
  virtual void on_bytes(std::string_view bytes) = 0;
  // The last call, also when the stream never opened. Names the peer and what happened:
  // "10.0.0.5:3082: no connection within 2 s".
  virtual void on_closed(const Error& why) = 0;
};

class Stream {
 public:
  // Closes at once and without a call; after close() what is queued is still sent.
  virtual ~Stream() = default;
  // Queues bytes, in order. A queue that grows beyond kMaxQueuedBytes closes the stream.
  virtual void send(std::string_view bytes) = 0;
  // Sends what is queued, within a second, and closes. No call follows.
  virtual void close() = 0;
};
inline constexpr std::size_t kMaxQueuedBytes = std::size_t{16} << 20;

class Dialer {
 public:
  virtual ~Dialer() = default;
  // `events` outlives the stream. A stream that is not open within `deadline` is closed.
  virtual std::unique_ptr<Stream> dial(StreamEvents& events, Duration deadline) = 0;
  // Who is dialled, for messages: "10.0.0.5:3082".
  virtual std::string peer() const = 0;
};

// What a listener does with a stream that somebody opened: returns who hears of it, which outlives
// the stream. on_open() follows.
class StreamAcceptor {
 public:
  virtual ~StreamAcceptor() = default;
  virtual StreamEvents& accept(std::unique_ptr<Stream> stream, const std::string& peer) = 0;
};

}  // namespace mixnet::net
