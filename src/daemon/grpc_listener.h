#pragma once

#include <memory>
#include <string>

#include "core/instant.h"
#include "core/result.h"
#include "daemon/region_config.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace mixnet::daemon {

// The open door of the service: a Unix socket of mode 0660, or a port with mutual TLS. There is no
// third kind.
class GrpcListener {
 public:
  // `service` outlives the listener. Errors: a socket or port that somebody listens on, a folder
  // that is missing, certificates that cannot be read. A socket that nobody answers is left over
  // from a daemon that was killed, and replaced.
  static Result<std::unique_ptr<GrpcListener>> open(const ListenConfig& config,
                                                    grpc::Service& service);
  // Removes the socket.
  ~GrpcListener();
  GrpcListener(const GrpcListener&) = delete;
  GrpcListener& operator=(const GrpcListener&) = delete;
  GrpcListener(GrpcListener&&) = delete;
  GrpcListener& operator=(GrpcListener&&) = delete;

  // Takes no more calls and returns when every call has ended; those that last longer than
  // `deadline` are cancelled, but still have to be answered by the service.
  void stop(Duration deadline);

  int port() const { return port_; }  // as bound; 0 for a socket

 private:
  GrpcListener(std::unique_ptr<grpc::Server> server, std::string socket, int port);

  std::unique_ptr<grpc::Server> server_;
  std::string socket_;  // path
  int port_;
};

}  // namespace mixnet::daemon
