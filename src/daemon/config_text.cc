#include "daemon/config_text.h"

#include <charconv>

namespace mixnet::daemon {
namespace {

std::optional<int> number_of(std::string_view text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= least && value <= most ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<std::vector<ocs::PortId>> parse_ports(std::string_view text) {
  std::vector<ocs::PortId> ports;
  while (true) {
    const std::string_view part = text.substr(0, text.find(','));
    const std::size_t dash = part.find('-');
    const std::optional<int> first = number_of(part.substr(0, dash), 1, ocs::kMaxPorts);
    const std::optional<int> last = dash == std::string_view::npos
                                        ? first
                                        : number_of(part.substr(dash + 1), 1, ocs::kMaxPorts);
    if (!first || !last || *last < *first) {
      return std::nullopt;
    }
    for (int port = *first; port <= *last; ++port) {
      ports.push_back(ocs::PortId(port));
    }
    // Doubled ports are refused later; a list of lists of ranges must not fill the memory first.
    if (part.size() == text.size() || ports.size() > ocs::kMaxPorts) {
      return ports;
    }
    text.remove_prefix(part.size() + 1);
  }
}

std::optional<std::string> host_of(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || !number_of(address.substr(colon + 1), 1, 65535)) {
    return std::nullopt;
  }
  std::string_view host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  if (host.empty() || host.find_first_of(" /") != std::string_view::npos) {
    return std::nullopt;
  }
  return std::string(host);
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.substr(0, 4) == "127.";
}

std::string_view unix_path(std::string_view grpc_address) {
  constexpr std::string_view kScheme = "unix:";
  return grpc_address.substr(0, kScheme.size()) == kScheme ? grpc_address.substr(kScheme.size())
                                                           : std::string_view();
}

}  // namespace mixnet::daemon
