#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "scenario/npy.h"

// Any bytes are either refused or describe an array that lies completely inside them.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using mixnet::scenario::TraceLayout;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto header = mixnet::scenario::parse_npy_header(bytes, "input");
  if (!header) {
    CHECK(!header.error().message.empty(), "a refusal says why");
    return 0;
  }
  CHECK(header->data_offset <= size, "data outside the file");
  const mixnet::Result<TraceLayout> layout = mixnet::scenario::trace_layout(*header, size, "input");
  if (layout) {
    const auto counts = mixnet::scenario::checked_product(layout->shape, "input");
    CHECK(counts.ok() && layout->data_offset + 4 * static_cast<std::size_t>(*counts) == size,
          "the array does not fill the file");
  }
  return 0;
}
