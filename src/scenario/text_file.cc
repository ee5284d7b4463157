#include "scenario/text_file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace mixnet::scenario {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;
constexpr std::size_t kMaxQuoted = 40;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return error_at(path, fmt::format("cannot read the file: {}", std::strerror(errno)));
  }
  std::string text;
  std::array<char, 65536> block;
  for (;;) {
    const std::size_t got = std::fread(block.data(), 1, block.size(), file.get());
    text.append(block.data(), got);
    if (text.size() > kMaxTextBytes) {
      return error_at(path, "the text is larger than 1 GiB; is this the right file?");
    }
    if (got < block.size()) {
      break;
    }
  }
  if (std::ferror(file.get()) != 0) {
    return error_at(path, fmt::format("cannot read the file: {}", std::strerror(errno)));
  }
  // Spreadsheets and some editors put a byte order mark before the text.
  if (text.starts_with("\xEF\xBB\xBF")) {
    text.erase(0, 3);
  }
  return text;
}

std::string at_line(const std::string& name, int line) { return fmt::format("{}:{}", name, line); }

std::string excerpt(std::string_view text) {
  std::string shown = "\"";
  for (const char c : text.substr(0, kMaxQuoted)) {
    const bool printable = c >= ' ' && c <= '~';
    shown += printable ? c : '?';
  }
  shown += text.size() > kMaxQuoted ? "...\"" : "\"";
  return shown;
}

}  // namespace mixnet::scenario
