#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace mixnet::ep {

// One record of a ring: a message, or a 32-bit signal. Both go through the same ring, so that they
// keep their order.
struct RingRecord {
  enum class Kind : uint8_t { kNothing, kMessage, kSignal };
  Kind kind = Kind::kNothing;
  uint32_t immediate = 0;          // kSignal
  std::vector<std::byte> message;  // kMessage
};

// A ring in shared memory, from one producer to one consumer:
//
//   0        8 ...      64       72 ...     128                      128 + capacity
//   | written |         | read   |          | records ...            |
//
//   record: | kind (4) | length or immediate (4) | message, padded to 8 |
//
// `written` and `read` count bytes since the start, so that they are never equal but when the ring
// is empty. A record is complete before `written` moves past it: one whose producer was killed on
// the way is never seen. Records may continue at the start of the ring; their first 8 bytes never
// do, since everything is a multiple of 8.
//
// Each side keeps its own position and takes the other's from memory that the other may have
// spoilt: what cannot be makes the ring broken for this side, and nothing more comes out of it or
// goes in.
struct RingHead {
  alignas(64) std::atomic<uint64_t> written{0};
  alignas(64) std::atomic<uint64_t> read{0};
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

inline constexpr uint64_t kRecordHeaderBytes = 8;

// Bytes of memory that a ring of `capacity` needs; a multiple of 64. The memory is aligned to 64
// bytes and zero at first. `capacity` is a multiple of 64 below 4 GiB.
constexpr uint64_t ring_footprint(uint64_t capacity) { return sizeof(RingHead) + capacity; }
// The largest message that a ring of `capacity` takes: half of it, so that one can be written while
// the one before is read.
constexpr uint64_t largest_ring_message(uint64_t capacity) {
  return capacity / 2 - kRecordHeaderBytes;
}

// The producer's side. What does not fit waits in a queue of its own, until flush() finds room.
class RingWriter {
 public:
  // `memory`: ring_footprint(capacity) bytes, outlives the writer.
  RingWriter(std::byte* memory, uint64_t capacity);

  // `message`: at most largest_ring_message(). None of these blocks.
  void message(std::span<const std::byte> message);
  void signal(uint32_t immediate);
  // True: something of the queue went into the ring.
  bool flush();

  bool queued() const { return !queue_.empty(); }
  // The consumer spoilt the ring, or has not read for so long that the queue is full.
  bool broken() const { return broken_; }

 private:
  struct Waiting {
    uint32_t kind;
    uint32_t word;
    std::vector<std::byte> message;
  };

  bool put(uint32_t kind, uint32_t word, std::span<const std::byte> message);
  void keep(Waiting record);
  void copy_in(uint64_t position, std::span<const std::byte> bytes);

  RingHead& head_;
  std::byte* data_;
  uint64_t capacity_;
  uint64_t written_ = 0;
  uint64_t read_seen_ = 0;  // as last looked up
  std::deque<Waiting> queue_;
  uint64_t queued_bytes_ = 0;
  bool broken_ = false;
};

// What a consumer that does not read may cost its producer.
inline constexpr uint64_t kMaxRingQueueBytes = uint64_t{64} << 20;

// The consumer's side.
class RingReader {
 public:
  // `memory` as above.
  RingReader(std::byte* memory, uint64_t capacity);

  // Kind::kNothing: there is none now.
  RingRecord next();
  bool ready() const;
  bool broken() const { return broken_; }

 private:
  RingRecord fail();
  void copy_out(uint64_t position, std::span<std::byte> bytes) const;

  RingHead& head_;
  const std::byte* data_;
  uint64_t capacity_;
  uint64_t read_ = 0;
  uint64_t written_seen_ = 0;  // as last looked up
  bool broken_ = false;
};

}  // namespace mixnet::ep
