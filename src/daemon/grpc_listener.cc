#include "daemon/grpc_listener.h"

#include <fmt/format.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "daemon/config_text.h"
#include "scenario/text_file.h"

namespace mixnet::daemon {
namespace {

// A demand of 1024 servers is 8 MiB.
constexpr int kMostBytesOfRequest = 16 << 20;
constexpr mode_t kSocketMode = 0660;

Error socket_error(const std::string& path, const std::string& what) {
  return Error{fmt::format("cannot listen at the socket {}: {}", path, what), ""};
}

// Does anybody accept connections there?
Result<bool> answers(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return socket_error(path, "the path is too long for a socket");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return socket_error(path, std::strerror(errno));
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what connect() takes
  const int connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int error = errno;
  ::close(fd);
  if (connected == 0 || error == EAGAIN) {
    return true;
  }
  if (error == ECONNREFUSED || error == ENOENT) {
    return false;
  }
  return socket_error(path, std::strerror(error));
}

Status clear_socket(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    return errno == ENOENT ? Status() : Status(socket_error(path, std::strerror(errno)));
  }
  if (!S_ISSOCK(found.st_mode)) {
    return socket_error(path,
                        "there is a file that is no socket: remove it, or write another "
                        "`grpc` in [listen]");
  }
  const Result<bool> used = answers(path);
  if (!used.ok()) {
    return used.error();
  }
  if (*used) {
    return socket_error(path, "another daemon answers there: stop it first");
  }
  if (::unlink(path.c_str()) != 0) {
    return socket_error(path, std::strerror(errno));
  }
  return Status();
}

Status check_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct stat found {};
  if (::stat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
    return socket_error(path, fmt::format("there is no folder {}: create it", folder));
  }
  return Status();
}

Result<std::shared_ptr<grpc::ServerCredentials>> tls_credentials(const ListenConfig& config) {
  const Result<std::string> certificate = scenario::read_text_file(config.tls_certificate);
  if (!certificate.ok()) {
    return certificate.error();
  }
  const Result<std::string> key = scenario::read_text_file(config.tls_key);
  if (!key.ok()) {
    return key.error();
  }
  const Result<std::string> ca = scenario::read_text_file(config.tls_client_ca);
  if (!ca.ok()) {
    return ca.error();
  }
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = *ca;
  options.pem_key_cert_pairs.push_back({*key, *certificate});
  return grpc::SslServerCredentials(options);
}

}  // namespace

Result<std::unique_ptr<GrpcListener>> GrpcListener::open(const ListenConfig& config,
                                                         grpc::Service& service) {
  const std::string socket(unix_path(config.grpc));
  std::shared_ptr<grpc::ServerCredentials> credentials;
  if (socket.empty()) {
    Result<std::shared_ptr<grpc::ServerCredentials>> tls = tls_credentials(config);
    if (!tls.ok()) {
      return tls.error();
    }
    credentials = std::move(tls).value();
  } else {
    for (const Status& status : {check_folder(socket), clear_socket(socket)}) {
      if (!status.ok()) {
        return status.error();
      }
    }
    credentials = grpc::InsecureServerCredentials();
  }
  grpc::ServerBuilder builder;
  int port = 0;
  // Two daemons must not share a port, each answering a part of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(kMostBytesOfRequest);
  builder.AddListeningPort(config.grpc, credentials, &port);
  builder.RegisterService(&service);
  // The socket never exists with more rights than it ends up with.
  const mode_t before = ::umask(0777 & ~kSocketMode);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ::umask(before);
  if (server == nullptr) {
    return Error{
        fmt::format("cannot listen at {}: the address is in use or not of this machine, or "
                    "the certificate and key do not belong together",
                    config.grpc),
        ""};
  }
  return std::unique_ptr<GrpcListener>(
      new GrpcListener(std::move(server), socket, socket.empty() ? port : 0));
}

GrpcListener::GrpcListener(std::unique_ptr<grpc::Server> server, std::string socket, int port)
    : server_(std::move(server)), socket_(std::move(socket)), port_(port) {}

GrpcListener::~GrpcListener() {
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  if (!socket_.empty()) {
    ::unlink(socket_.c_str());
  }
}

void GrpcListener::stop(Duration deadline) {
  server_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::duration_cast<std::chrono::system_clock::duration>(deadline));
  server_->Wait();
}

}  // namespace mixnet::daemon
