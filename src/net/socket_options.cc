#include "net/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace mixnet::net {
namespace {

constexpr int kKeepAliveIdleS = 10;
constexpr int kKeepAliveIntervalS = 5;
constexpr int kKeepAliveProbes = 3;
constexpr int kUnacknowledgedMs = 25'000;

void set_option(int socket, int level, int name, int value) {
  // A socket that does not know an option works without it.
  ::setsockopt(socket, level, name, &value, sizeof value);
}

}  // namespace

void set_tcp_options(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleS);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalS);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMs);
}

}  // namespace mixnet::net
