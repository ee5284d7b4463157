#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// How the small messages between ranks are written: little-endian fields one after the other, the
// byte order of every machine that a communicator spans.
namespace mixnet::ep {

class MessageWriter {
 public:
  template <typename T>
  void put(const T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    append(&value, sizeof value);
  }
  template <typename T>
  void put_all(std::span<const T> values) {
    put(static_cast<uint32_t>(values.size()));
    append(values.data(), values.size_bytes());
  }
  void put_text(std::string_view text) { put_all(std::span<const char>(text.data(), text.size())); }

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void append(const void* data, std::size_t size) {
    if (size > 0) {
      const std::size_t end = bytes_.size();
      bytes_.resize(end + size);
      std::memcpy(bytes_.data() + end, data, size);
    }
  }

  std::vector<std::byte> bytes_;
};

// Reads what a MessageWriter wrote. After the first field that does not fit, all that follows is
// empty and ok() is false: a peer's message is checked once, at its end.
class MessageReader {
 public:
  explicit MessageReader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <typename T>
  T get() {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    T value{};
    take(&value, sizeof value);
    return value;
  }
  template <typename T>
  std::vector<T> get_all() {
    const auto count = get<uint32_t>();
    if (count > left_.size() / sizeof(T)) {
      ok_ = false;
      return {};
    }
    std::vector<T> values(count);
    take(values.data(), count * sizeof(T));
    return values;
  }
  std::string get_text() {
    const std::vector<char> text = get_all<char>();
    return {text.begin(), text.end()};
  }

  bool ok() const { return ok_; }
  bool finished() const { return ok_ && left_.empty(); }

 private:
  void take(void* to, std::size_t size) {
    if (!ok_ || size > left_.size()) {
      ok_ = false;
      return;
    }
    if (size > 0) {
      std::memcpy(to, left_.data(), size);
      left_ = left_.subspan(size);
    }
  }

  std::span<const std::byte> left_;
  bool ok_ = true;
};

}  // namespace mixnet::ep
