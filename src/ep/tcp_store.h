#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "ep/store.h"
#include "net/address.h"
#include "net/unique_fd.h"

namespace mixnet::ep {

// The table of a TcpStore, in a thread of its own. Whoever sends what is no request loses its
// connection, nobody else does.
//
//   request:  | magic (4) | 1 set, 2 get (4) | key bytes (4) | value bytes (4) | key | value |
//   answer:   | magic (4) | 0 or 1: refused (4) | value bytes (4) | zero (4) | value or error |
//
// in the byte order of the hosts. A get is answered when the key is set; a client that does not
// want to wait any longer closes the connection.
class TcpStoreServer {
 public:
  // On every address of this machine, or on the loopback interface alone if `address` says so.
  // Port 0: one that is free.
  static Result<std::unique_ptr<TcpStoreServer>> start(const net::HostPort& address);
  ~TcpStoreServer();
  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;
  TcpStoreServer(TcpStoreServer&&) = delete;
  TcpStoreServer& operator=(TcpStoreServer&&) = delete;

  uint16_t port() const;

 private:
  class Impl;
  explicit TcpStoreServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  int owner_;  // process id: a fork has no such thread
  std::thread thread_;
};

// One rank's way to the server, one request at a time. Connects when it is first used, and again
// when the connection breaks, until the deadline of the call: the server may be started later.
class TcpStore final : public Store {
 public:
  explicit TcpStore(net::HostPort server) : server_(std::move(server)) {}

  Status set(std::string_view key, std::string_view value, Instant until) override;
  Result<std::string> get(std::string_view key, Instant until) override;

 private:
  struct Answer {
    uint32_t code;
    std::string value;
  };

  Result<Answer> ask(uint32_t kind, std::string_view key, std::string_view value, Instant until);
  Result<Answer> ask_once(std::string_view request, Instant until);
  Status connect(Instant until);
  Status send_all(std::string_view bytes, Instant until);
  Status receive_all(char* bytes, std::size_t size, Instant until);

  net::HostPort server_;
  net::UniqueFd socket_;
};

}  // namespace mixnet::ep
