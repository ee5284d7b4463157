#include "net/address.h"

#include <fmt/format.h>
#include <netdb.h>

#include <charconv>
#include <cstring>
#include <memory>

#include "net/stream_errors.h"

namespace mixnet::net {
namespace {

// Zero, or the error code of getaddrinfo().
int look_up(const HostPort& host_port, int flags, std::vector<SocketAddress>& found) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const std::string port = std::to_string(host_port.port);
  const int code = getaddrinfo(host_port.host.c_str(), port.c_str(), &hints, &list);
  if (code != 0) {
    return code;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    SocketAddress address;
    address.size = entry->ai_addrlen;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    found.push_back(address);
  }
  return 0;
}

}  // namespace

std::string HostPort::text() const {
  const bool brackets = host.find(':') != std::string::npos;
  return brackets ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<HostPort> parse_host_port(std::string_view text) {
  const Error error{
      fmt::format("'{}' is no address: write HOST:PORT, such as 10.0.0.5:3082 or [fe80::5]:3082",
                  text),
      ""};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return error;
  }
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of(":[] \t") != std::string_view::npos) {
    return error;
  }
  HostPort parsed{std::string(host), 0};
  const auto [end, code] = std::from_chars(digits.begin(), digits.end(), parsed.port);
  if (host.empty() || code != std::errc() || end != digits.end()) {
    return error;
  }
  return parsed;
}

const sockaddr* SocketAddress::get() const {
  // The sockets interface is built on this cast.
  return reinterpret_cast<const sockaddr*>(&storage);
}

HostPort SocketAddress::host_port() const {
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "";
  HostPort result;
  if (getnameinfo(get(), size, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
    result.host = host;
    std::from_chars(port, port + std::strlen(port), result.port);
  }
  return result;
}

std::vector<SocketAddress> numeric_addresses(const HostPort& host_port) {
  std::vector<SocketAddress> found;
  look_up(host_port, AI_NUMERICHOST, found);
  return found;
}

Result<std::vector<SocketAddress>> resolve_now(const HostPort& host_port) {
  std::vector<SocketAddress> found;
  const int code = look_up(host_port, 0, found);
  if (code != 0 || found.empty()) {
    return closed(host_port.text(), fmt::format("the name has no address: {}", gai_strerror(code)));
  }
  return found;
}

}  // namespace mixnet::net
