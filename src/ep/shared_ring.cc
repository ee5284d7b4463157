#include "ep/shared_ring.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/check.h"

namespace mixnet::ep {
namespace {

constexpr uint32_t kRingMessage = 1;
constexpr uint32_t kRingSignal = 2;

struct RecordHeader {
  uint32_t kind;
  uint32_t word;
};
static_assert(sizeof(RecordHeader) == kRecordHeaderBytes);

constexpr uint64_t padded(uint64_t bytes) { return (bytes + 7) & ~uint64_t{7}; }

RingHead& ring_head(std::byte* memory, uint64_t capacity) {
  CHECK(capacity > 0 && capacity % 64 == 0 && capacity <= UINT32_MAX, "capacity of a ring");
  CHECK(reinterpret_cast<uintptr_t>(memory) % alignof(RingHead) == 0, "alignment of a ring");
  // Zero bytes are a valid head: lock-free atomics of a shared mapping have no other state.
  return *reinterpret_cast<RingHead*>(memory);
}

}  // namespace

RingWriter::RingWriter(std::byte* memory, uint64_t capacity)
    : head_(ring_head(memory, capacity)), data_(memory + sizeof(RingHead)), capacity_(capacity) {}

void RingWriter::message(std::span<const std::byte> message) {
  CHECK(message.size() <= largest_ring_message(capacity_), "the message fits the ring");
  const auto length = static_cast<uint32_t>(message.size());
  if (!queue_.empty() || !put(kRingMessage, length, message)) {
    keep(Waiting{kRingMessage, length, {message.begin(), message.end()}});
  }
}

void RingWriter::signal(uint32_t immediate) {
  if (!queue_.empty() || !put(kRingSignal, immediate, {})) {
    keep(Waiting{kRingSignal, immediate, {}});
  }
}

bool RingWriter::flush() {
  bool moved = false;
  while (!queue_.empty()) {
    const Waiting& first = queue_.front();
    if (!put(first.kind, first.word, first.message)) {
      break;
    }
    queued_bytes_ -= sizeof(Waiting) + first.message.size();
    queue_.pop_front();
    moved = true;
  }
  return moved;
}

void RingWriter::keep(Waiting record) {
  queued_bytes_ += sizeof(Waiting) + record.message.size();
  queue_.push_back(std::move(record));
  broken_ = broken_ || queued_bytes_ > kMaxRingQueueBytes;
  if (broken_) {
    queue_.clear();
    queued_bytes_ = 0;
  }
}

// False: there is no room now, or ever.
bool RingWriter::put(uint32_t kind, uint32_t word, std::span<const std::byte> message) {
  const uint64_t need = kRecordHeaderBytes + padded(message.size());
  if (broken_) {
    return false;
  }
  if (written_ - read_seen_ + need > capacity_) {
    const uint64_t read = head_.read.load(std::memory_order_acquire);
    if (read < read_seen_ || read > written_) {
      broken_ = true;
      return false;
    }
    read_seen_ = read;
    if (written_ - read_seen_ + need > capacity_) {
      return false;
    }
  }
  const RecordHeader header{kind, word};
  std::memcpy(data_ + written_ % capacity_, &header, sizeof header);
  copy_in(written_ + kRecordHeaderBytes, message);
  written_ += need;
  head_.written.store(written_, std::memory_order_release);
  return true;
}

void RingWriter::copy_in(uint64_t position, std::span<const std::byte> bytes) {
  if (bytes.empty()) {
    return;
  }
  const uint64_t start = position % capacity_;
  const uint64_t first = std::min<uint64_t>(bytes.size(), capacity_ - start);
  std::memcpy(data_ + start, bytes.data(), first);
  if (first < bytes.size()) {
    std::memcpy(data_, bytes.data() + first, bytes.size() - first);
  }
}

RingReader::RingReader(std::byte* memory, uint64_t capacity)
    : head_(ring_head(memory, capacity)), data_(memory + sizeof(RingHead)), capacity_(capacity) {}

bool RingReader::ready() const {
  return !broken_ &&
         (written_seen_ != read_ || head_.written.load(std::memory_order_acquire) != read_);
}

RingRecord RingReader::next() {
  if (broken_) {
    return {};
  }
  if (written_seen_ == read_) {
    const uint64_t written = head_.written.load(std::memory_order_acquire);
    if (written - read_ > capacity_ || written % kRecordHeaderBytes != 0) {
      return fail();
    }
    written_seen_ = written;
    if (written == read_) {
      return {};
    }
  }
  // Read once: what was checked is what is used.
  RecordHeader header{};
  std::memcpy(&header, data_ + read_ % capacity_, sizeof header);
  RingRecord record;
  uint64_t size = kRecordHeaderBytes;
  if (header.kind == kRingSignal) {
    record.kind = RingRecord::Kind::kSignal;
    record.immediate = header.word;
  } else if (header.kind == kRingMessage && header.word <= largest_ring_message(capacity_) &&
             kRecordHeaderBytes + padded(header.word) <= written_seen_ - read_) {
    record.kind = RingRecord::Kind::kMessage;
    record.message.resize(header.word);
    copy_out(read_ + kRecordHeaderBytes, record.message);
    size += padded(header.word);
  } else {
    return fail();
  }
  read_ += size;
  head_.read.store(read_, std::memory_order_release);
  return record;
}

RingRecord RingReader::fail() {
  broken_ = true;
  return {};
}

void RingReader::copy_out(uint64_t position, std::span<std::byte> bytes) const {
  if (bytes.empty()) {
    return;
  }
  const uint64_t start = position % capacity_;
  const uint64_t first = std::min<uint64_t>(bytes.size(), capacity_ - start);
  std::memcpy(bytes.data(), data_ + start, first);
  if (first < bytes.size()) {
    std::memcpy(bytes.data() + first, data_, bytes.size() - first);
  }
}

}  // namespace mixnet::ep
