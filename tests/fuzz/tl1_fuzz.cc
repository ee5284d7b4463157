#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/check.h"
#include "ocs/tl1_command_parser.h"
#include "ocs/tl1_decoder.h"
#include "ocs/tl1_encoder.h"

namespace {

using mixnet::ocs::Message;

std::vector<Message> decode(std::string_view bytes, std::size_t piece,
                            mixnet::ocs::DecoderLimits limits) {
  mixnet::ocs::Tl1Decoder decoder(limits);
  std::vector<Message> messages;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    decoder.feed(bytes.substr(at, piece), messages);
  }
  return messages;
}

std::string encoded(const Message& message) {
  return std::visit(
      [](const auto& m) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(m)>, mixnet::ocs::ProtocolError>) {
          return "";
        } else {
          return encode(m);
        }
      },
      message);
}

}  // namespace

// The messages in a stream do not depend on how it is cut, and each one survives being encoded and
// decoded again. A command that can be sent reads back as itself.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // Small limits, so that short inputs reach them.
  const mixnet::ocs::DecoderLimits limits{200, 600};
  const std::vector<Message> whole = decode(bytes, size + 1, limits);
  CHECK(whole == decode(bytes, 1, limits), "byte by byte gives other messages");
  CHECK(whole == decode(bytes, 7, limits), "pieces of seven bytes give other messages");
  for (const Message& message : whole) {
    if (!std::holds_alternative<mixnet::ocs::ProtocolError>(message)) {
      const std::string again = encoded(message) + "\r\n";
      CHECK(decode(again, again.size(), {}) == std::vector<Message>{message},
            "a message does not survive the wire");
    }
  }
  const auto command = mixnet::ocs::parse_command(bytes);
  if (command) {
    const auto text = encode(*command);
    if (text) {
      const auto parsed = mixnet::ocs::parse_command(*text);
      CHECK(parsed.ok() && *parsed == *command, "a command does not read back as itself");
    }
  }
  return 0;
}
