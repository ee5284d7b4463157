#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace mixnet::net {

struct HostPort {
  std::string host;  // a name or an address; IPv6 without brackets
  uint16_t port = 0;
  std::string text() const;  // "10.0.0.5:3082", "[::1]:3082"
};

// "HOST:PORT". Errors say what to write instead.
Result<HostPort> parse_host_port(std::string_view text);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const;
  HostPort host_port() const;
};

// Empty when `host` is a name rather than an address. Does not block.
std::vector<SocketAddress> numeric_addresses(const HostPort& host_port);
// Asks the system, which may take long. Errors name the host.
Result<std::vector<SocketAddress>> resolve_now(const HostPort& host_port);

}  // namespace mixnet::net
