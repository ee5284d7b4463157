#include "ep/copy_engine.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/index.h"
#include "core/random.h"

namespace mixnet::ep {
namespace {

TEST(CopyEngine, NothingIsCopiedFromNowhere) {
  HostCopyEngine copies;
  copies.copy({}, {}, 0);
  copies.copy_rows({}, {}, {}, 16);
  copies.sum({}, {}, DataType::kFp32, 0);
}

TEST(CopyEngine, RowsGoWhereTheMovesSay) {
  RandomStream random(2, "rows");
  for (int run = 0; run < 300; ++run) {
    const std::size_t rows = random.below(20);
    const std::size_t row_bytes = 1 + random.below(40);
    std::vector<uint8_t> from(rows * row_bytes);
    for (uint8_t& byte : from) {
      byte = static_cast<uint8_t>(random.below(255) + 1);
    }
    std::vector<int32_t> places(rows + 3);
    std::iota(places.begin(), places.end(), 0);
    random.shuffle(std::span(places));
    std::vector<uint8_t> to(places.size() * row_bytes);
    std::vector<uint8_t> expected = to;
    std::vector<RowMove> moves;
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t row = random.below(rows);
      moves.push_back(RowMove{static_cast<int32_t>(row), places[i]});
      for (std::size_t byte = 0; byte < row_bytes; ++byte) {
        expected[at(places[i]) * row_bytes + byte] = from[row * row_bytes + byte];
      }
    }
    HostCopyEngine().copy_rows(host_address(to.data()), host_address(from.data()), moves,
                               row_bytes);
    ASSERT_EQ(to, expected);
  }
}

TEST(CopyEngine, RowsBeyondTwoGigabytes) {
  constexpr uint64_t kRowBytes = 7168 * 2;
  constexpr int32_t kRow = 300'000;  // 4.3 GB from the start
  void* memory = mmap(nullptr, (kRow + 1) * kRowBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::vector<uint8_t> row(kRowBytes, 5);
  std::vector<uint8_t> back(kRowBytes);
  HostCopyEngine copies;
  const RowMove there{0, kRow};
  copies.copy_rows(host_address(memory), host_address(row.data()), std::span(&there, 1), kRowBytes);
  const RowMove here{kRow, 0};
  copies.copy_rows(host_address(back.data()), host_address(memory), std::span(&here, 1), kRowBytes);
  EXPECT_EQ(back, row);
  munmap(memory, (kRow + 1) * kRowBytes);
}

template <typename T>
std::vector<T> sum_of(const std::vector<std::vector<T>>& rows, std::size_t width, DataType type) {
  std::vector<ConstAddress> addresses;
  for (const auto& row : rows) {
    addresses.push_back(host_address(row.data()));
  }
  std::vector<T> out(width, T{77});
  HostCopyEngine().sum(host_address(out.data()), addresses, type, static_cast<int64_t>(width));
  return out;
}

// In single precision, in order; Bf16 is rounded once.
TEST(CopyEngine, SumsEqualAPlainLoopBitForBit) {
  RandomStream random(4, "sums");
  for (const std::size_t width : {1, 7, 1023, 1024, 1025, 3000}) {
    for (std::size_t count = 0; count < 6; ++count) {
      std::vector<std::vector<float>> singles(count, std::vector<float>(width));
      std::vector<std::vector<Bf16>> halves(count, std::vector<Bf16>(width));
      std::vector<float> total(width);
      std::vector<float> total_of_halves(width);
      for (std::size_t row = 0; row < count; ++row) {
        for (std::size_t i = 0; i < width; ++i) {
          const auto value = static_cast<float>(random.normal() * std::pow(10, random.normal()));
          singles[row][i] = value;
          halves[row][i] = to_bf16(value);
          total[i] += value;
          total_of_halves[i] += to_fp32(halves[row][i]);
        }
      }
      EXPECT_EQ(sum_of(singles, width, DataType::kFp32), total);
      std::vector<Bf16> rounded;
      for (const float value : total_of_halves) {
        rounded.push_back(to_bf16(value));
      }
      EXPECT_EQ(sum_of(halves, width, DataType::kBf16), rounded);
    }
  }
}

TEST(CopyEngine, OneRowIsItsOwnSum) {
  std::vector<Bf16> row;
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const bool signalling = (bits & 0x7fff) > 0x7f80 && (bits & 0x40) == 0;
    row.push_back(static_cast<Bf16>(signalling ? bits | 0x40 : bits));
  }
  EXPECT_EQ(sum_of<Bf16>({row}, row.size(), DataType::kBf16), row);
}

TEST(CopyEngine, NoRowsSumToPositiveZero) {
  EXPECT_EQ(sum_of<Bf16>({}, 3, DataType::kBf16), std::vector<Bf16>(3, 0));
  const std::vector<float> zeros = sum_of<float>({}, 3, DataType::kFp32);
  EXPECT_FALSE(std::signbit(zeros[0]));
}

}  // namespace
}  // namespace mixnet::ep
