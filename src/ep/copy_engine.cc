#include "ep/copy_engine.h"

#include <algorithm>
#include <cstring>

namespace mixnet::ep {
namespace {

// Small enough to stay in the first cache beside the rows that are added.
constexpr int64_t kBlock = 1024;

float load(const Bf16* from) { return to_fp32(*from); }
float load(const float* from) { return *from; }
void store(Bf16* to, float value) { *to = to_bf16(value); }
void store(float* to, float value) { *to = value; }

template <typename T>
[[gnu::always_inline]] inline void sum_rows(T* to, std::span<const ConstAddress> rows,
                                            int64_t width) {
  float total[kBlock];
  for (int64_t first = 0; first < width; first += kBlock) {
    const int64_t count = std::min(kBlock, width - first);
    std::fill(total, total + count, rows.empty() ? 0.0F : -0.0F);  // -0 changes no sum
    for (const ConstAddress& row : rows) {
      const T* from = reinterpret_cast<const T*>(row.data) + first;
      for (int64_t i = 0; i < count; ++i) {
        total[i] += load(from + i);
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      store(to + first + i, total[i]);
    }
  }
}

void sum_any(Address to, std::span<const ConstAddress> rows, DataType type, int64_t width) {
  if (type == DataType::kBf16) {
    sum_rows(reinterpret_cast<Bf16*>(to.data), rows, width);
  } else {
    sum_rows(reinterpret_cast<float*>(to.data), rows, width);
  }
}

#if defined(__x86_64__)
// The same additions in the same order, eight at a time: twice as fast, and the same bits.
[[gnu::target("avx2")]] void sum_avx2(Address to, std::span<const ConstAddress> rows, DataType type,
                                      int64_t width) {
  if (type == DataType::kBf16) {
    sum_rows(reinterpret_cast<Bf16*>(to.data), rows, width);
  } else {
    sum_rows(reinterpret_cast<float*>(to.data), rows, width);
  }
}
#endif

}  // namespace

void HostCopyEngine::copy(Address to, ConstAddress from, uint64_t bytes) {
  if (bytes > 0) {
    std::memcpy(to.data, from.data, bytes);
  }
}

void HostCopyEngine::copy_rows(Address to, ConstAddress from, std::span<const RowMove> moves,
                               uint64_t row_bytes) {
  for (const RowMove& move : moves) {
    copy(to + static_cast<uint64_t>(move.to) * row_bytes,
         from + static_cast<uint64_t>(move.from) * row_bytes, row_bytes);
  }
}

void HostCopyEngine::sum(Address to, std::span<const ConstAddress> rows, DataType type,
                         int64_t width) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") > 0) {
    sum_avx2(to, rows, type, width);
    return;
  }
#endif
  sum_any(to, rows, type, width);
}

}  // namespace mixnet::ep
