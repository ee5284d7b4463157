#include "ep/host_card.h"

#include <fmt/format.h>

#include <limits>
#include <sstream>

namespace mixnet::ep {
namespace {

// The first word names the layout of everything that ranks of a host share.
constexpr std::string_view kHostCardWord = "mixnet-host-1";
constexpr uint64_t kMaxControlBytes = uint64_t{1} << 40;
constexpr uint64_t kMaxWindowBytes = uint64_t{1} << 46;

}  // namespace

std::string host_card_text(const HostCard& card) {
  const SharedName& memory = card.memory;
  return fmt::format("{} {} {} {} {} {} {} {} {} {}", kHostCardWord, memory.pid, memory.fd,
                     card.pipe, memory.inode, memory.pid_namespace, memory.control_bytes,
                     memory.window_bytes, card.ring_bytes, memory.boot);
}

Result<HostCard> parse_host_card(std::string_view text, const std::string& owner) {
  std::istringstream words{std::string(text)};
  std::string first;
  std::string more;
  HostCard card;
  SharedName& memory = card.memory;
  words >> first >> memory.pid >> memory.fd >> card.pipe >> memory.inode >> memory.pid_namespace >>
      memory.control_bytes >> memory.window_bytes >> card.ring_bytes >> memory.boot;
  if (first != kHostCardWord || !words || words >> more) {
    return Error{fmt::format("{} runs another version of MixNet, or another program uses its keys "
                             "of the store",
                             owner),
                 {}};
  }
  if (memory.pid <= 0 || memory.fd < 0 || card.pipe < 0 ||
      memory.control_bytes > kMaxControlBytes || memory.window_bytes > kMaxWindowBytes) {
    return Error{fmt::format("{} announced memory that cannot be", owner), {}};
  }
  return card;
}

}  // namespace mixnet::ep
