#include "net/unix_stream.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "net/address.h"
#include "net/socket_connection.h"
#include "net/stream_errors.h"

namespace mixnet::net {
namespace {

UniqueFd make_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

Result<SocketAddress> address_of(const std::string& path) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return closed(path, fmt::format("the path of a socket has 1 to {} bytes: write a shorter one",
                                    sizeof address.sun_path - 1));
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  SocketAddress result;
  result.size = sizeof address;
  std::memcpy(&result.storage, &address, sizeof address);
  return result;
}

// A socket that is connected to `path`, or why there is none.
Result<UniqueFd> connect_to(const std::string& path) {
  const Result<SocketAddress> address = address_of(path);
  if (!address) {
    return address.error();
  }
  UniqueFd socket = make_socket();
  if (!socket || ::connect(socket.get(), address->get(), address->size) != 0) {
    return closed(path,
                  errno == EAGAIN ? "too many others wait to be accepted" : errno_text(errno));
  }
  return socket;
}

std::string describe_local_peer(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return "a local client";
  }
  return fmt::format("pid {} of user {}", peer.pid, peer.uid);
}

// Removes a socket that nobody listens at.
Status make_room(const std::string& path, const SocketAddress& address) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    return errno == ENOENT ? Status() : closed(path, errno_text(errno));
  }
  if (!S_ISSOCK(found.st_mode)) {
    return closed(path, "there is something that is no socket: remove it or name another path");
  }
  const UniqueFd probe = make_socket();
  if (probe && ::connect(probe.get(), address.get(), address.size) != 0 && errno == ECONNREFUSED) {
    return ::unlink(path.c_str()) == 0 ? Status() : closed(path, errno_text(errno));
  }
  return closed(path, "another program listens there: stop it or name another path");
}

}  // namespace

UnixDialer::UnixDialer(AsioLoop& loop, std::string path) : loop_(loop), path_(std::move(path)) {}

// Connecting to a local socket is done at once or not at all: there is nothing to wait for.
std::unique_ptr<Stream> UnixDialer::dial(StreamEvents& events, Duration /*deadline*/) {
  const auto connection = std::make_shared<SocketConnection>(loop_, peer(), &events);
  loop_.call_at(loop_.now(), [weak = std::weak_ptr<SocketConnection>(connection), path = path_] {
    if (const auto self = weak.lock()) {
      self->dialled(connect_to(path));
    }
  });
  return std::make_unique<ConnectionHandle>(connection);
}

Result<std::unique_ptr<UnixListener>> UnixListener::listen(AsioLoop& loop, const std::string& path,
                                                           StreamAcceptor& acceptor) {
  const Result<SocketAddress> address = address_of(path);
  if (!address) {
    return address.error();
  }
  if (const Status room = make_room(path, *address); !room) {
    return room.error();
  }
  UniqueFd socket = make_socket();
  struct stat made {};
  // The mode before there is a name, so that nobody gets in between.
  if (!socket || ::fchmod(socket.get(), S_IRUSR | S_IWUSR) != 0 ||
      ::bind(socket.get(), address->get(), address->size) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0 || ::lstat(path.c_str(), &made) != 0) {
    return closed(path, "cannot listen here: " + errno_text(errno));
  }
  // The constructor is private.
  return std::unique_ptr<UnixListener>(new UnixListener(
      std::make_unique<SocketListener>(loop, std::move(socket), acceptor, describe_local_peer),
      path, made.st_ino));
}

UnixListener::UnixListener(std::unique_ptr<SocketListener> listener, std::string path, ino_t inode)
    : listener_(std::move(listener)), path_(std::move(path)), inode_(inode) {}

UnixListener::~UnixListener() {
  struct stat found {};
  if (::lstat(path_.c_str(), &found) == 0 && found.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
}

}  // namespace mixnet::net
