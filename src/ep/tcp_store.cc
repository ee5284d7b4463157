#include "ep/tcp_store.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "ep/monotonic.h"
#include "ep/tcp_store_wire.h"
#include "net/stream_errors.h"
#include "net/tcp_connect.h"

namespace mixnet::ep {
namespace {

// Between two attempts to reach a server that is not there yet.
constexpr Duration kConnectPause = std::chrono::milliseconds(50);
// For one attempt, so that one that is lost on the way is made again.
constexpr Duration kConnectAttempt = std::chrono::seconds(5);
// A call whose time is over still asks once, which takes a way there and back.
constexpr Duration kShortestCall = std::chrono::milliseconds(100);

// Waits for `events`; false at `until`.
bool wait_for_socket(int socket, int16_t events, Instant until) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - monotonic_now());
    const auto limit = std::clamp<int64_t>(left.count(), 0, 60'000);
    pollfd one{socket, events, 0};
    if (poll(&one, 1, static_cast<int>(limit)) > 0) {
      return true;
    }
    if (monotonic_now() >= until) {
      return false;
    }
  }
}

Error store_is_late() { return Error{"the time was over", {}}; }

bool would_block(int code) { return code == EAGAIN || code == EWOULDBLOCK || code == EINTR; }

}  // namespace

Status TcpStore::set(std::string_view key, std::string_view value, Instant until) {
  const auto answer = ask(kStoreSet, key, value, until);
  if (!answer) {
    return Error{fmt::format("store at {}: '{}' was not set: {}", server_.text(), key,
                             answer.error().message),
                 {}};
  }
  if (answer->code != kStoreDone) {
    return Error{fmt::format("store at {}: {}", server_.text(), answer->value), {}};
  }
  return {};
}

Result<std::string> TcpStore::get(std::string_view key, Instant until) {
  auto answer = ask(kStoreGet, key, {}, until);
  if (!answer) {
    return Error{
        fmt::format("store at {}: no '{}': {}", server_.text(), key, answer.error().message), {}};
  }
  if (answer->code != kStoreDone) {
    return Error{fmt::format("store at {}: {}", server_.text(), answer->value), {}};
  }
  return std::move(answer->value);
}

Result<TcpStore::Answer> TcpStore::ask(uint32_t kind, std::string_view key, std::string_view value,
                                       Instant until) {
  if (key.empty() || key.size() > kMaxStoreKeyBytes || value.size() > kMaxStoreValueBytes) {
    return Error{fmt::format("a key has 1 to {} bytes and a value at most {}", kMaxStoreKeyBytes,
                             kMaxStoreValueBytes),
                 {}};
  }
  until = std::max(until, monotonic_now() + kShortestCall);
  const std::string request =
      store_header(kind, key.size(), value.size()).append(key).append(value);
  // Both requests may be repeated: what broke the connection may have come after the server did it.
  while (true) {
    auto answer = ask_once(request, until);
    if (answer) {
      return answer;
    }
    socket_.reset();
    const Instant again = monotonic_now() + kConnectPause;
    if (again >= until) {
      return answer;
    }
    std::this_thread::sleep_for(kConnectPause);
  }
}

Result<TcpStore::Answer> TcpStore::ask_once(std::string_view request, Instant until) {
  if (Status connected = connect(until); !connected) {
    return connected.error();
  }
  if (Status sent = send_all(request, until); !sent) {
    return sent.error();
  }
  std::string bytes(kStoreHeaderBytes, '\0');
  if (Status received = receive_all(bytes.data(), bytes.size(), until); !received) {
    return received.error();
  }
  const StoreHeader header = read_store_header(bytes);
  if (header.magic != kStoreMagic || header.first > kMaxStoreValueBytes) {
    return Error{"what answers there is no store of MixNet", {}};
  }
  Answer answer{header.kind, std::string(header.first, '\0')};
  if (Status received = receive_all(answer.value.data(), answer.value.size(), until); !received) {
    return received.error();
  }
  return answer;
}

Status TcpStore::connect(Instant until) {
  if (socket_) {
    return {};
  }
  const Duration left = std::max<Duration>(until - monotonic_now(), kShortestCall);
  net::AsioLoop loop;
  std::optional<Result<net::UniqueFd>> result;
  const auto attempt = net::TcpConnect::start(loop, server_, std::min(left, kConnectAttempt),
                                              [&](Result<net::UniqueFd> connected) {
                                                result.emplace(std::move(connected));
                                                loop.stop();
                                              });
  loop.run();
  if (!*result) {
    return result->error();
  }
  socket_ = **std::move(result);
  return {};
}

Status TcpStore::send_all(std::string_view bytes, Instant until) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (!would_block(errno)) {
      return Error{net::errno_text(errno), {}};
    } else if (!wait_for_socket(socket_.get(), POLLOUT, until)) {
      return store_is_late();
    }
  }
  return {};
}

Status TcpStore::receive_all(char* bytes, std::size_t size, Instant until) {
  while (size > 0) {
    const ssize_t received = recv(socket_.get(), bytes, size, 0);
    if (received > 0) {
      bytes += received;
      size -= static_cast<std::size_t>(received);
    } else if (received == 0) {
      return Error{std::string(net::kClosedByPeerText), {}};
    } else if (!would_block(errno)) {
      return Error{net::errno_text(errno), {}};
    } else if (!wait_for_socket(socket_.get(), POLLIN, until)) {
      return store_is_late();
    }
  }
  return {};
}

}  // namespace mixnet::ep
