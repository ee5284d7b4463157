#include "scenario/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "scenario/text_file.h"

namespace mixnet::scenario {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;

// Reads the Python literal of the header. The first problem sticks: later calls return nothing
// useful and the caller asks once, at the end.
class DictReader {
 public:
  explicit DictReader(std::string_view text) : text_(text) {}

  bool accept(char c) {
    skip_blanks();
    if (!problem_.empty() || at_ >= text_.size() || text_[at_] != c) {
      return false;
    }
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) {
      fail(fmt::format("expected '{}'", c));
    }
  }

  std::string_view quoted_text() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"' && !accept('"')) {
      fail("expected a quoted text");
      return {};
    }
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) {
      fail("a quoted text does not end");
      return {};
    }
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
  }

  bool boolean() {
    skip_blanks();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    fail("expected True or False");
    return false;
  }

  std::vector<int64_t> tuple() {
    std::vector<int64_t> items;
    expect('(');
    while (problem_.empty() && !accept(')')) {
      items.push_back(integer());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return items;
  }

  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }

  void fail(std::string problem) {
    if (problem_.empty()) {
      problem_ = fmt::format("{} at character {} of the header", problem, at_);
    }
  }

  const std::string& problem() const { return problem_; }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) {
      ++at_;
    }
  }

  int64_t integer() {
    skip_blanks();
    int64_t value = 0;
    const char* first = text_.data() + at_;
    const auto [last, code] = std::from_chars(first, text_.data() + text_.size(), value);
    if (code != std::errc() || value < 0) {
      fail("expected an array dimension that fits 63 bits");
      return 0;
    }
    at_ += static_cast<std::size_t>(last - first);
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string problem_;
};

// Little-endian unsigned integer of `width` bytes.
uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t width) {
  uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

void read_entry(DictReader& reader, NpyHeader& header, std::array<bool, 3>& seen) {
  const std::string_view key = reader.quoted_text();
  reader.expect(':');
  std::size_t which = 0;
  if (key == "descr") {
    // A list describes a record type, which is no trace; the empty name makes that error.
    if (reader.accept('[')) {
      reader.fail("a record type instead of a plain element type");
      return;
    }
    header.descr = reader.quoted_text();
  } else if (key == "fortran_order") {
    which = 1;
    header.fortran_order = reader.boolean();
  } else if (key == "shape") {
    which = 2;
    header.shape = reader.tuple();
  } else {
    reader.fail(fmt::format("unknown key {}", excerpt(key)));
    return;
  }
  if (seen[which]) {
    reader.fail(fmt::format("{} appears twice", excerpt(key)));
  }
  seen[which] = true;
}

Result<NpyHeader> parse_dict(std::string_view text, const std::string& name) {
  DictReader reader(text);
  NpyHeader header;
  std::array<bool, 3> seen{};
  reader.expect('{');
  while (reader.problem().empty() && !reader.accept('}')) {
    read_entry(reader, header, seen);
    if (!reader.accept(',')) {
      reader.expect('}');
      break;
    }
  }
  if (reader.problem().empty() && !reader.at_end()) {
    reader.fail("more text after the dict");
  }
  if (reader.problem().empty() && !(seen[0] && seen[1] && seen[2])) {
    reader.fail("'descr', 'fortran_order' or 'shape' is missing");
  }
  if (!reader.problem().empty()) {
    return error_at(name, fmt::format("malformed .npy header: {}; write the array again with "
                                      "numpy.save",
                                      reader.problem()));
  }
  return header;
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view bytes, const std::string& name) {
  if (bytes.substr(0, kMagic.size()) != kMagic) {
    return error_at(name,
                    "not an .npy file (it does not start with \\x93NUMPY); write the trace with "
                    "numpy.save, or read text with `mixnet trace import`");
  }
  const std::size_t version_at = kMagic.size();
  if (bytes.size() < version_at + 2) {
    return error_at(name, "the .npy header is cut off");
  }
  const int major = static_cast<unsigned char>(bytes[version_at]);
  const int minor = static_cast<unsigned char>(bytes[version_at + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    return error_at(name, fmt::format(".npy format version {}.{} is unknown; versions 1.0, 2.0 "
                                      "and 3.0 can be read",
                                      major, minor));
  }
  const std::size_t width = major == 1 ? 2 : 4;
  const std::size_t dict_at = version_at + 2 + width;
  if (bytes.size() < dict_at) {
    return error_at(name, "the .npy header is cut off");
  }
  const uint64_t length = little_endian(bytes, version_at + 2, width);
  if (length > bytes.size() - dict_at) {
    return error_at(name, fmt::format("the .npy header is cut off: it needs {} bytes, {} are there",
                                      length, bytes.size() - dict_at));
  }
  Result<NpyHeader> header = parse_dict(bytes.substr(dict_at, length), name);
  if (header) {
    header->data_offset = dict_at + length;
  }
  return header;
}

Result<int64_t> checked_product(const std::array<int64_t, 4>& factors, const std::string& name) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) {
      return error_at(name,
                      fmt::format("an array of {} counts is too large", fmt::join(factors, " x ")));
    }
  }
  return product;
}

Result<TraceLayout> trace_layout(const NpyHeader& header, uint64_t file_size,
                                 const std::string& name) {
  if (header.descr != "<u4") {
    return error_at(name, fmt::format("the elements are {}; a trace holds little-endian uint32: "
                                      "convert it with array.astype('<u4')",
                                      excerpt(header.descr)));
  }
  if (header.fortran_order) {
    return error_at(name,
                    "the array is in Fortran order; a trace is in C order: convert it with "
                    "numpy.ascontiguousarray(array)");
  }
  if (header.shape.size() != 4) {
    return error_at(name, fmt::format("the array has {} dimensions; a trace has 4: [iteration, "
                                      "layer, source, expert]; add missing ones with "
                                      "array.reshape",
                                      header.shape.size()));
  }
  TraceLayout layout;
  for (std::size_t i = 0; i < layout.shape.size(); ++i) {
    layout.shape[i] = header.shape[i];
    if (layout.shape[i] < 1) {
      return error_at(
          name, fmt::format("the array is empty: its shape is {}", fmt::join(header.shape, " x ")));
    }
  }
  const Result<int64_t> count = checked_product(layout.shape, name);
  if (!count) {
    return count.error();
  }
  const uint64_t data_bytes = file_size - header.data_offset;
  if (data_bytes % sizeof(uint32_t) != 0 ||
      data_bytes / sizeof(uint32_t) != static_cast<uint64_t>(*count)) {
    return error_at(name, fmt::format("the file has {} bytes of data, but its shape {} needs 4 "
                                      "bytes for each of {} counts; it is truncated or has "
                                      "something appended",
                                      data_bytes, fmt::join(layout.shape, " x "), *count));
  }
  if (header.data_offset % alignof(uint32_t) != 0) {
    return error_at(name, fmt::format("the data starts at byte {}, which is no multiple of 4; "
                                      "write the array again with numpy.save",
                                      header.data_offset));
  }
  layout.data_offset = header.data_offset;
  return layout;
}

std::string format_npy_header(const std::array<int64_t, 4>& shape) {
  std::string dict = fmt::format("{{'descr': '<u4', 'fortran_order': False, 'shape': ({}), }}",
                                 fmt::join(shape, ", "));
  const std::size_t fixed = kMagic.size() + 4;  // magic, version, 16-bit length
  const std::size_t unpadded = fixed + dict.size() + 1;
  dict.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  dict += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(dict.size() & 0xff);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

}  // namespace mixnet::scenario
