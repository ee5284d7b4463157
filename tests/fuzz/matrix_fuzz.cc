#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "scenario/matrix_file.h"
#include "scenario/trace_import.h"

// Any text is either refused or gives a valid matrix, and the same for a trace.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto matrix = mixnet::scenario::parse_matrix(text, "input");
  if (matrix) {
    CHECK(!matrix->empty() && matrix->rows() == matrix->cols(), "a demand matrix is square");
    for (const double cell : matrix->cells()) {
      CHECK(std::isfinite(cell) && cell >= 0, "an amount is finite and not negative");
    }
  }
  const auto trace = mixnet::scenario::import_text(text, "input", {});
  if (trace) {
    const auto shape = trace->shape();
    for (const int64_t extent : shape) {
      CHECK(extent >= 1, "a trace is not empty");
    }
  }
  CHECK(trace.ok() || !trace.error().message.empty(), "a refusal says why");
  return 0;
}
