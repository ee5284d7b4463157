#include "ep/pulse_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mixnet::ep {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Duration kTestInterval = milliseconds(20);
constexpr Instant kBookStart{milliseconds(1000)};

Instant book_time(int ms) { return kBookStart + milliseconds(ms); }

TEST(PulseBook, BeatsAtOnceAndThenEveryInterval) {
  PulseBook book(2, kTestInterval, kBookStart);
  EXPECT_TRUE(book.beat(book_time(0)));
  EXPECT_FALSE(book.beat(book_time(19)));
  EXPECT_EQ(book.next_beat(), book_time(20));
  EXPECT_TRUE(book.beat(book_time(25)));  // late
  EXPECT_EQ(book.next_beat(), book_time(40));
}

TEST(PulseBook, DoesNotMakeUpForMissedBeats) {
  PulseBook book(2, kTestInterval, kBookStart);
  EXPECT_TRUE(book.beat(book_time(500)));
  EXPECT_FALSE(book.beat(book_time(519)));
  EXPECT_TRUE(book.beat(book_time(520)));
}

TEST(PulseBook, HearsOfACounterThatMoves) {
  PulseBook book(3, kTestInterval, kBookStart);
  for (int ms = 20; ms <= 200; ms += 20) {
    book.saw(1, static_cast<uint64_t>(ms), book_time(ms));
    book.saw(2, 7, book_time(ms));
    book.looked(book_time(ms));
  }
  EXPECT_EQ(book.heard(1), book_time(200));
  EXPECT_EQ(book.heard(2), book_time(20));
  EXPECT_THAT(book.silent(book_time(200), milliseconds(100)), ElementsAre(0, 2));
  EXPECT_THAT(book.silent(book_time(200), milliseconds(201)), IsEmpty());
}

TEST(PulseBook, CountsOnlyTimeInWhichItLooked) {
  PulseBook book(2, kTestInterval, kBookStart);
  book.saw(1, 1, book_time(20));
  book.looked(book_time(20));
  // Stopped for ten seconds: asked before its own thread looked, and after that.
  EXPECT_THAT(book.silent(book_time(10'020), milliseconds(100)), IsEmpty());
  book.saw(1, 1, book_time(10'020));
  book.looked(book_time(10'020));
  EXPECT_EQ(book_time(10'020) - book.heard(1), PulseBook::kLateLook * kTestInterval);
  for (int ms = 10'040; ms <= 10'100; ms += 20) {
    book.saw(1, 1, book_time(ms));
    book.looked(book_time(ms));
  }
  EXPECT_THAT(book.silent(book_time(10'100), milliseconds(100)), ElementsAre(0, 1));
}

TEST(PulseBook, TellsOnceThatAProcessEnded) {
  PulseBook book(2, kTestInterval, kBookStart);
  EXPECT_FALSE(book.gone(1));
  EXPECT_TRUE(book.ended(1));
  EXPECT_FALSE(book.ended(1));
  EXPECT_TRUE(book.gone(1));
  EXPECT_THAT(book.silent(book_time(30), milliseconds(10)), ElementsAre(0));
}

TEST(PulseBook, BeatsSurviveTheWire) {
  auto bytes = encode_beat(Beat{3, 0x1122334455667788, 9});
  const auto beat = decode_beat(bytes);
  ASSERT_TRUE(beat.has_value());
  EXPECT_EQ(beat->rank, 3U);
  EXPECT_EQ(beat->communicator, 0x1122334455667788U);
  EXPECT_EQ(beat->counter, 9U);
  EXPECT_FALSE(decode_beat(std::span(bytes).first(23)).has_value());
  EXPECT_FALSE(decode_beat({}).has_value());
  bytes[0] = std::byte{0};
  EXPECT_FALSE(decode_beat(bytes).has_value());
}

}  // namespace
}  // namespace mixnet::ep
