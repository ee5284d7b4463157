#include "ep/shared_ring.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <thread>

#include "core/check.h"
#include "core/random.h"
#include "ep/forked_test_support.h"

namespace mixnet::ep {
namespace {

constexpr uint64_t kTestCapacity = 1024;
// Room for more than one record, so that two ends take turns less often.
constexpr uint64_t kStreamCapacity = 8192;

// Memory of a ring, shared with children.
class RingMemory {
 public:
  explicit RingMemory(uint64_t capacity) : bytes_(ring_footprint(capacity)) {
    void* base = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(base != MAP_FAILED, "memory for a test");
    base_ = static_cast<std::byte*>(base);
  }
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;
  RingMemory(RingMemory&&) = delete;
  RingMemory& operator=(RingMemory&&) = delete;
  ~RingMemory() { munmap(base_, bytes_); }
  std::byte* get() const { return base_; }
  RingHead& head() const { return *reinterpret_cast<RingHead*>(base_); }

 private:
  uint64_t bytes_;
  std::byte* base_;
};

// What record `number` of a stream holds, known to both ends.
RingRecord numbered_record(uint32_t number) {
  RandomStream random(number, "record");
  RingRecord record;
  if (random.below(3) == 0) {
    record.kind = RingRecord::Kind::kSignal;
    record.immediate = number;
  } else {
    record.kind = RingRecord::Kind::kMessage;
    record.message.resize(random.below(largest_ring_message(kTestCapacity) + 1));
    uint32_t value = number;
    for (std::byte& byte : record.message) {
      byte = static_cast<std::byte>(value += 3);
    }
  }
  return record;
}

void send_record(RingWriter& writer, const RingRecord& record) {
  if (record.kind == RingRecord::Kind::kSignal) {
    writer.signal(record.immediate);
  } else {
    writer.message(record.message);
  }
}

bool same_record(const RingRecord& a, const RingRecord& b) {
  return a.kind == b.kind && a.immediate == b.immediate && a.message == b.message;
}

void produce(RingWriter& writer, uint32_t records) {
  for (uint32_t number = 0; number < records; ++number) {
    send_record(writer, numbered_record(number));
    while (writer.queued()) {
      writer.flush();
      std::this_thread::yield();
    }
  }
}

// True: all came, in order.
bool consume(RingReader& reader, uint32_t records) {
  for (uint32_t number = 0; number < records;) {
    const RingRecord record = reader.next();
    if (record.kind == RingRecord::Kind::kNothing) {
      if (reader.broken()) {
        return false;
      }
      std::this_thread::yield();
    } else if (!same_record(record, numbered_record(number++))) {
      return false;
    }
  }
  return reader.next().kind == RingRecord::Kind::kNothing;
}

TEST(SharedRing, IsAQueueOfMessagesAndSignals) {
  const RingMemory memory(kTestCapacity);
  RingWriter writer(memory.get(), kTestCapacity);
  RingReader reader(memory.get(), kTestCapacity);
  RandomStream random(7, "steps");
  std::deque<RingRecord> expected;
  uint32_t number = 0;
  for (int step = 0; step < 5000; ++step) {
    switch (random.below(3)) {
      case 0:
        expected.push_back(numbered_record(number++));
        send_record(writer, expected.back());
        break;
      case 1:
        writer.flush();
        break;
      default:
        const RingRecord record = reader.next();
        if (record.kind != RingRecord::Kind::kNothing) {
          ASSERT_FALSE(expected.empty());
          ASSERT_TRUE(same_record(record, expected.front()));
          expected.pop_front();
        } else {
          ASSERT_TRUE(expected.empty() || writer.queued());
        }
    }
    ASSERT_EQ(reader.ready(), reader.ready());
  }
  EXPECT_GT(number, 1000U);
  EXPECT_FALSE(writer.broken());
  EXPECT_FALSE(reader.broken());
}

TEST(SharedRing, TakesTheLargestMessageTwice) {
  const RingMemory memory(kTestCapacity);
  RingWriter writer(memory.get(), kTestCapacity);
  const std::vector<std::byte> message(largest_ring_message(kTestCapacity), std::byte{5});
  writer.message(message);
  writer.message(message);
  EXPECT_FALSE(writer.queued());
  writer.signal(1);
  EXPECT_TRUE(writer.queued());
  RingReader reader(memory.get(), kTestCapacity);
  EXPECT_EQ(reader.next().message, message);
  EXPECT_TRUE(writer.flush());
  EXPECT_EQ(reader.next().message, message);
  EXPECT_EQ(reader.next().immediate, 1U);
  EXPECT_FALSE(reader.ready());
}

TEST(SharedRing, LeadsFromThreadToThread) {
  const RingMemory memory(kStreamCapacity);
  constexpr uint32_t kRecords = 2000;
  std::thread producer([&] {
    RingWriter writer(memory.get(), kStreamCapacity);
    produce(writer, kRecords);
  });
  RingReader reader(memory.get(), kStreamCapacity);
  EXPECT_TRUE(consume(reader, kRecords));
  producer.join();
}

TEST(SharedRing, LeadsFromProcessToProcess) {
  const RingMemory memory(kStreamCapacity);
  constexpr uint32_t kRecords = 2000;
  ForkedRanks producer(1, [&](int) {
    RingWriter writer(memory.get(), kStreamCapacity);
    produce(writer, kRecords);
    return 0;
  });
  RingReader reader(memory.get(), kStreamCapacity);
  EXPECT_TRUE(consume(reader, kRecords));
  EXPECT_EQ(producer.join(0), 0);
}

TEST(SharedRing, ShowsOnlyWholeRecordsOfAKilledProducer) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const RingMemory memory(kStreamCapacity);
    ForkedRanks producer(1, [&](int) {
      RingWriter writer(memory.get(), kStreamCapacity);
      produce(writer, UINT32_MAX);
      return 0;
    });
    RingReader reader(memory.get(), kStreamCapacity);
    const uint64_t last = 20 + RandomStream(seed, "kill").below(200);
    uint32_t number = 0;
    const auto take = [&] {
      const RingRecord record = reader.next();
      const bool some = record.kind != RingRecord::Kind::kNothing;
      EXPECT_TRUE(!some || same_record(record, numbered_record(number)));
      number += some ? 1 : 0;
      return some;
    };
    const Instant until = monotonic_now() + std::chrono::seconds(20);
    while (number < last && monotonic_now() < until) {
      take();
    }
    producer.send(0, SIGKILL);
    EXPECT_EQ(producer.join(0), -SIGKILL);
    while (take()) {
    }
    EXPECT_GE(number, last);
    EXPECT_FALSE(reader.broken());
  }
}

TEST(SharedRing, BelievesNothingThatCannotBe) {
  const std::vector<std::byte> message(32, std::byte{1});
  const auto spoil = [&](const std::function<void(std::byte*, RingHead&)>& change) {
    const RingMemory memory(kTestCapacity);
    RingWriter writer(memory.get(), kTestCapacity);
    writer.message(message);
    change(memory.get() + sizeof(RingHead), memory.head());
    RingReader reader(memory.get(), kTestCapacity);
    EXPECT_EQ(reader.next().kind, RingRecord::Kind::kNothing);
    EXPECT_TRUE(reader.broken());
    EXPECT_FALSE(reader.ready());
  };
  const auto word = [](int index, uint32_t value) {
    return [index, value](std::byte* data, RingHead&) {
      std::memcpy(data + 4 * index, &value, sizeof value);
    };
  };
  spoil(word(0, 0));
  spoil(word(0, 3));
  spoil(word(1, 33));  // the last byte of its padding would be after the record
  spoil(word(1, UINT32_MAX));
  spoil([](std::byte*, RingHead& head) { head.written = kTestCapacity + 8; });
  spoil([](std::byte*, RingHead& head) { head.written = 41; });
  spoil([](std::byte*, RingHead& head) { head.written = UINT64_MAX - 7; });
}

TEST(SharedRing, GivesUpOnAConsumerThatSpoilsIt) {
  const RingMemory memory(kTestCapacity);
  RingWriter writer(memory.get(), kTestCapacity);
  memory.head().read = 8;  // before anything was written
  const std::vector<std::byte> message(largest_ring_message(kTestCapacity), std::byte{5});
  for (int i = 0; i < 4; ++i) {
    writer.message(message);
  }
  EXPECT_FALSE(writer.broken());  // 8 of what was written was taken: that can be
  memory.head().read = 1U << 20;
  writer.flush();
  EXPECT_TRUE(writer.broken());
  writer.message(message);
  EXPECT_FALSE(writer.queued());
}

TEST(SharedRing, GivesUpOnAConsumerThatDoesNotRead) {
  constexpr uint64_t kLargeCapacity = uint64_t{4} << 20;
  const RingMemory memory(kLargeCapacity);
  RingWriter writer(memory.get(), kLargeCapacity);
  const std::vector<std::byte> message(uint64_t{2} << 20 >> 1, std::byte{5});
  for (uint64_t sent = 0; sent <= kMaxRingQueueBytes + kLargeCapacity; sent += message.size()) {
    writer.message(message);
  }
  EXPECT_TRUE(writer.broken());
  EXPECT_FALSE(writer.queued());
}

}  // namespace
}  // namespace mixnet::ep
