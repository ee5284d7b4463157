#include "ep/collective_input.h"

#include <functional>

namespace mixnet::ep {

std::string CollectiveInput::copy(ConstAddress from, uint64_t bytes) {
  if (bytes == 0) {
    return {};
  }
  const auto offset = state_.endpoint.memory->allocate(bytes);
  if (!offset) {
    return lacks_room(state_, bytes);
  }
  block_ = WindowBlock(state_.endpoint.memory, *offset);
  offset_ = *offset;
  bytes_ = bytes;
  state_.copies.copy(state_.endpoint.transport.window().base + offset_, from, bytes);
  return {};
}

std::string CollectiveInput::place(ConstAddress from, uint64_t bytes) {
  const Window window = state_.endpoint.transport.window();
  const std::less_equal<const std::byte*> ordered;
  if (bytes > 0 && from.kind == window.base.kind && ordered(window.base.data, from.data) &&
      ordered(from.data + bytes, window.base.data + window.bytes)) {
    offset_ = static_cast<uint64_t>(from.data - window.base.data);
    bytes_ = bytes;
    return {};
  }
  return copy(from, bytes);
}

void CollectiveInput::restore(Address to) const {
  state_.copies.copy(to, state_.endpoint.transport.window().base + offset_, bytes_);
}

std::string lacks_room(ExchangeState& state, uint64_t bytes) {
  return "needs a block of " + std::to_string(bytes) + " bytes of its window but " +
         std::to_string(state.endpoint.memory->largest_free()) +
         " are free: open the communicator with a larger window, or give results back earlier";
}

}  // namespace mixnet::ep
