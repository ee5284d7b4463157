#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

// The NumPy .npy container, format versions 1.0, 2.0 and 3.0 (numpy.lib.format):
//
//   offset 0      6           7       8                10 or 12        data_offset
//          +------+-----------+-------+----------------+---------------+------------
//          | \x93 | version   | minor | length of dict | dict, blanks, | elements,
//          | NUMPY| 1, 2 or 3 | 0     | u16 (1) or u32 | newline       | row-major
//          +------+-----------+-------+----------------+---------------+------------
//
// The dict is a Python literal: {'descr': '<u4', 'fortran_order': False, 'shape': (1, 2, 3, 4), }
namespace mixnet::scenario {

struct NpyHeader {
  std::string descr;  // NumPy's name of the element type, e.g. "<u4"
  bool fortran_order = false;
  std::vector<int64_t> shape;   // empty for a scalar
  std::size_t data_offset = 0;  // of the first element, bytes from the start of the file
};

// Where the counts of a trace lie in its file.
struct TraceLayout {
  std::array<int64_t, 4> shape{};  // iterations, layers, sources, experts; each >= 1
  std::size_t data_offset = 0;     // a multiple of 4
};

// Parses the header at the start of `bytes` (at least the header, more is fine). `name` goes into
// the errors, which are: not an .npy file, unknown version, header cut off, malformed dict.
Result<NpyHeader> parse_npy_header(std::string_view bytes, const std::string& name);

// Checks that a file of `file_size` bytes with this header is a routing trace: '<u4', C order, four
// dimensions, no empty one, exactly as many bytes as the shape needs. The errors say how to
// convert.
Result<TraceLayout> trace_layout(const NpyHeader& header, uint64_t file_size,
                                 const std::string& name);

// The product of non-negative factors; fails if it does not fit int64.
Result<int64_t> checked_product(const std::array<int64_t, 4>& factors, const std::string& name);

// Header of a '<u4' array in C order, version 1.0, padded so that the data starts at a multiple of
// 64 bytes as numpy.save does.
std::string format_npy_header(const std::array<int64_t, 4>& shape);

}  // namespace mixnet::scenario
