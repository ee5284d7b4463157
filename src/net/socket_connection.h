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
  // From calls of the loop only. The socket is connected and does not block.
  void dialled(Result<UniqueFd> socket);
  void accepted(UniqueFd socket, StreamEvents& events);
  // Not closed by its owner before it was open.
  bool wanted() const { return state() == State::kConnecting; }

 private:
  std::optional<std::size_t> write_some(std::string_view bytes) override;
  void rearm() override;
  void release() override;
  void start(UniqueFd socket);
  void ready(Readiness what);
  void read();

  std::shared_ptr<void> attempt_;
  UniqueFd socket_;
  std::unique_ptr<FdWatch> watch_;
};

}  // namespace mixnet::net
