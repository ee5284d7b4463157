#include "ep/fabric_contact.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

namespace mixnet::ep {
namespace {

RankContact example_contact() {
  RankContact contact;
  contact.rank = 7;
  contact.token = 0x0123456789abcdef;
  contact.window_bytes = 1ULL << 33U;
  contact.address_format = 2;
  contact.rails.push_back(RailContact{{std::byte{1}, std::byte{255}}, 0xffffffff00000000, 42});
  contact.rails.push_back(RailContact{{}, 0, 1});
  return contact;
}

TEST(FabricContact, SurvivesItsEncoding) {
  const auto decoded = decode_contact(encode(example_contact()));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, example_contact());
}

TEST(FabricContact, RefusesWhatWasCutOrExtended) {
  std::vector<std::byte> bytes = encode(example_contact());
  for (std::size_t count = 0; count < bytes.size(); ++count) {
    EXPECT_FALSE(decode_contact(std::span(bytes).first(count)).ok()) << count;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode_contact(bytes).ok());
}

TEST(FabricContact, RequestsMayBePadded) {
  const RailRequest request{3, 99};
  std::vector<std::byte> bytes = encode(request);
  EXPECT_FALSE(decode_request(std::span(bytes).first(bytes.size() - 1)).ok());
  bytes.resize(56);
  const auto decoded = decode_request(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, request);
}

TEST(FabricContact, StrangersAreNoRequest) {
  EXPECT_FALSE(decode_request(std::vector<std::byte>(16)).ok());
}

}  // namespace
}  // namespace mixnet::ep
