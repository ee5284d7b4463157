#include "ep/message.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/random.h"

namespace mixnet::ep {
namespace {

enum class Colour : uint8_t { kRed = 3 };

MessageWriter everything() {
  MessageWriter message;
  message.put(std::numeric_limits<uint64_t>::max());
  message.put(Colour::kRed);
  message.put_all(std::span<const int64_t>(std::vector<int64_t>{-1, 1LL << 40}));
  message.put_text("dispatch");
  message.put_all(std::span<const int32_t>());
  message.put(-0.5);
  return message;
}

bool reads_everything(MessageReader& reader) {
  const bool equal = reader.get<uint64_t>() == std::numeric_limits<uint64_t>::max() &&
                     reader.get<Colour>() == Colour::kRed &&
                     reader.get_all<int64_t>() == std::vector<int64_t>{-1, 1LL << 40} &&
                     reader.get_text() == "dispatch" && reader.get_all<int32_t>().empty() &&
                     reader.ok() && reader.get<double>() == -0.5;
  return equal && reader.finished();
}

TEST(Message, WhatWasWrittenIsRead) {
  const MessageWriter message = everything();
  MessageReader reader(message.bytes());
  EXPECT_TRUE(reads_everything(reader));
}

TEST(Message, FieldsAreLittleEndianWithoutGaps) {
  MessageWriter message;
  message.put(uint8_t{1});
  message.put(uint32_t{0x01020304});
  message.put_text("a");
  const std::vector<std::byte> expected = {std::byte{1}, std::byte{4},  std::byte{3}, std::byte{2},
                                           std::byte{1}, std::byte{1},  std::byte{0}, std::byte{0},
                                           std::byte{0}, std::byte{'a'}};
  EXPECT_EQ(std::vector<std::byte>(message.bytes().begin(), message.bytes().end()), expected);
}

TEST(Message, EveryShorterOneIsNotFinished) {
  const MessageWriter message = everything();
  for (std::size_t size = 0; size < message.bytes().size(); ++size) {
    MessageReader reader(message.bytes().first(size));
    EXPECT_FALSE(reads_everything(reader)) << size;
    EXPECT_FALSE(reader.finished()) << size;
  }
}

TEST(Message, AfterAFieldThatDoesNotFitAllIsEmpty) {
  MessageWriter message;
  message.put(uint16_t{7});
  MessageReader reader(message.bytes());
  EXPECT_EQ(reader.get<uint64_t>(), 0u);
  EXPECT_EQ(reader.get<uint16_t>(), 0u) << "although it would fit";
  EXPECT_EQ(reader.get_text(), "");
  EXPECT_FALSE(reader.ok());
}

TEST(Message, ACountBeyondTheEndIsNoAllocation) {
  for (const uint32_t count : {2u, 0x20000000u, 0xffffffffu}) {
    MessageWriter message;
    message.put(count);
    message.put(int64_t{1});
    MessageReader reader(message.bytes());
    EXPECT_TRUE(reader.get_all<int64_t>().empty());
    EXPECT_FALSE(reader.ok());
  }
}

TEST(Message, AnyBytesCanBeRead) {
  RandomStream random(1, "bytes");
  for (int run = 0; run < 20'000; ++run) {
    std::vector<std::byte> bytes(random.below(40));
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(random.below(4));
    }
    MessageReader reader(bytes);
    reads_everything(reader);
    EXPECT_LE(reader.get_text().size(), bytes.size());
  }
}

}  // namespace
}  // namespace mixnet::ep
