#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/connection.h"
#include "net/unique_fd.h"

namespace mixnet::net {

// Bytes over a connected stream socket.
class SocketConnection final : public Connection {
 public:
  using Connection::Connection;

  // Keeps the attempt to connect until dialled().
  void dial(std::shared_ptr<void> attempt) { attempt_ = std::move(attempt); }
  // From calls of the loop only.
  void dialled(Result<UniqueFd> socket);
  // `socket` is connected and does not block; bytes may be sent from now on.
  void start(UniqueFd socket);
  // Bytes are received from now on.
  void accepted_by(StreamEvents& events);

 private:
  std::optional<std::size_t> write_some(std::string_view bytes) override;
  void rearm() override;
  void release() override;
  void ready(Readiness what);
  void read();

  std::shared_ptr<void> attempt_;
  UniqueFd socket_;
  std::unique_ptr<FdWatch> watch_;
};

}  // namespace mixnet::net
