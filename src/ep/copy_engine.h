#pragma once

#include <cstdint>
#include <span>

#include "ep/address.h"
#include "ep/data_type.h"

namespace mixnet::ep {

struct RowMove {
  int32_t from = 0;
  int32_t to = 0;
};

// Moves and adds memory. Source and destination never overlap. Work is done when a call returns.
class CopyEngine {
 public:
  CopyEngine() = default;
  virtual ~CopyEngine() = default;
  CopyEngine(const CopyEngine&) = delete;
  CopyEngine& operator=(const CopyEngine&) = delete;
  CopyEngine(CopyEngine&&) = delete;
  CopyEngine& operator=(CopyEngine&&) = delete;

  virtual void copy(Address to, ConstAddress from, uint64_t bytes) = 0;
  // Row move.to of `to` = row move.from of `from`, for every move.
  virtual void copy_rows(Address to, ConstAddress from, std::span<const RowMove> moves,
                         uint64_t row_bytes) = 0;
  // The sum of rows of `width` elements, added in their order in single precision and rounded
  // once. Without rows: zeros.
  virtual void sum(Address to, std::span<const ConstAddress> rows, DataType type,
                   int64_t width) = 0;
};

// Host memory, on the calling thread.
class HostCopyEngine final : public CopyEngine {
 public:
  void copy(Address to, ConstAddress from, uint64_t bytes) override;
  void copy_rows(Address to, ConstAddress from, std::span<const RowMove> moves,
                 uint64_t row_bytes) override;
  void sum(Address to, std::span<const ConstAddress> rows, DataType type, int64_t width) override;
};

}  // namespace mixnet::ep
