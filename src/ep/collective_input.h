#pragma once

#include <cstdint>
#include <string>

#include "ep/exchange.h"
#include "ep/window_allocator.h"

namespace mixnet::ep {

// What a rank hands in, in its window, where ranks of its host read it and NICs send it from. It
// outlives the attempts of a call: nobody ever writes there.
class CollectiveInput {
 public:
  explicit CollectiveInput(ExchangeState& state) : state_(state) {}

  // Copies `bytes` bytes to the window. Returns why it cannot; or nothing.
  std::string copy(ConstAddress from, uint64_t bytes);
  // The same, but what lies in the window already stays where it is.
  std::string place(ConstAddress from, uint64_t bytes);

  uint64_t offset() const { return offset_; }
  // Copies it back.
  void restore(Address to) const;
  // A copy that others may read at any time is not used again.
  void retire() { block_.retire(); }

 private:
  ExchangeState& state_;
  WindowBlock block_;
  uint64_t offset_ = 0;
  uint64_t bytes_ = 0;
};

// Why a rank that needs `bytes` bytes of its window cannot take part.
std::string lacks_room(ExchangeState& state, uint64_t bytes);

}  // namespace mixnet::ep
