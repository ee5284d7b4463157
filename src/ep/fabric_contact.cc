#include "ep/fabric_contact.h"

#include <fmt/format.h>

#include <type_traits>

// Integers are little-endian.
//
// contact: "MXC1" | rank u32 | token u64 | window bytes u64 | address format u32 | rails u32
//          then per rail: address bytes u32 | address | base u64 | key u64
// request: "MXR1" | rank u32 | token u64
namespace mixnet::ep {
namespace {

constexpr uint32_t kContactMagic = 0x3143584d;
constexpr uint32_t kRequestMagic = 0x3152584d;
constexpr uint32_t kMaxRails = 1024;
constexpr uint32_t kMaxAddressBytes = 256;
constexpr uint32_t kMaxRank = 1U << 24U;

template <typename Integer>
void put_integer(std::vector<std::byte>& out, Integer value) {
  static_assert(std::is_unsigned_v<Integer>);
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    out.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
}

// Once it fails it stays failed and yields zeros.
class ContactReader {
 public:
  explicit ContactReader(std::span<const std::byte> bytes) : left_(bytes) {}

  uint32_t u32() { return integer<uint32_t>(); }
  uint64_t u64() { return integer<uint64_t>(); }
  std::vector<std::byte> bytes(std::size_t count) {
    const auto part = take(count);
    return {part.begin(), part.end()};
  }
  void require(bool condition) { ok_ = ok_ && condition; }
  bool ok() const { return ok_; }
  bool complete() const { return ok_ && left_.empty(); }

 private:
  std::span<const std::byte> take(std::size_t count) {
    require(count <= left_.size());
    if (!ok_) {
      return {};
    }
    const auto part = left_.first(count);
    left_ = left_.subspan(count);
    return part;
  }
  template <typename Integer>
  Integer integer() {
    Integer value = 0;
    std::size_t i = 0;
    for (const std::byte byte : take(sizeof(Integer))) {
      value |= static_cast<Integer>(static_cast<Integer>(byte) << (8 * i++));
    }
    return value;
  }

  std::span<const std::byte> left_;
  bool ok_ = true;
};

}  // namespace

std::vector<std::byte> encode(const RankContact& contact) {
  std::vector<std::byte> out;
  put_integer(out, kContactMagic);
  put_integer(out, static_cast<uint32_t>(contact.rank));
  put_integer(out, contact.token);
  put_integer(out, contact.window_bytes);
  put_integer(out, contact.address_format);
  put_integer(out, static_cast<uint32_t>(contact.rails.size()));
  for (const RailContact& rail : contact.rails) {
    put_integer(out, static_cast<uint32_t>(rail.address.size()));
    out.insert(out.end(), rail.address.begin(), rail.address.end());
    put_integer(out, rail.base);
    put_integer(out, rail.key);
  }
  return out;
}

Result<RankContact> decode_contact(std::span<const std::byte> bytes) {
  ContactReader reader(bytes);
  reader.require(reader.u32() == kContactMagic);
  RankContact contact;
  const uint32_t rank = reader.u32();
  reader.require(rank <= kMaxRank);
  contact.token = reader.u64();
  contact.window_bytes = reader.u64();
  contact.address_format = reader.u32();
  const uint32_t rails = reader.u32();
  reader.require(rails <= kMaxRails);
  for (uint32_t i = 0; reader.ok() && i < rails; ++i) {
    RailContact rail;
    const uint32_t address_bytes = reader.u32();
    reader.require(address_bytes <= kMaxAddressBytes);
    rail.address = reader.bytes(address_bytes);
    rail.base = reader.u64();
    rail.key = reader.u64();
    contact.rails.push_back(std::move(rail));
  }
  if (!reader.complete()) {
    return Error{
        fmt::format("{} bytes that are no contact of this version of the program", bytes.size()),
        ""};
  }
  contact.rank = static_cast<int>(rank);
  return contact;
}

std::vector<std::byte> encode(const RailRequest& request) {
  std::vector<std::byte> out;
  put_integer(out, kRequestMagic);
  put_integer(out, static_cast<uint32_t>(request.rank));
  put_integer(out, request.token);
  return out;
}

Result<RailRequest> decode_request(std::span<const std::byte> bytes) {
  // Some transports pad it.
  constexpr std::size_t kBytes = 16;
  ContactReader reader(bytes.first(bytes.size() < kBytes ? bytes.size() : kBytes));
  reader.require(reader.u32() == kRequestMagic);
  const uint32_t rank = reader.u32();
  reader.require(rank <= kMaxRank);
  RailRequest request;
  request.token = reader.u64();
  if (!reader.ok()) {
    return Error{"no request of this version of the program", ""};
  }
  request.rank = static_cast<int>(rank);
  return request;
}

}  // namespace mixnet::ep
