#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/instant.h"
#include "core/result.h"
#include "net/address.h"
#include "net/asio_loop.h"
#include "net/unique_fd.h"

namespace mixnet::net {

// One attempt to reach a host: looks its addresses up and tries one after the other, giving each
// its share of the time. Given up when it is destroyed.
class TcpConnect : public std::enable_shared_from_this<TcpConnect> {
 public:
  // A connected socket that does not block, or why there is none.
  using Done = std::function<void(Result<UniqueFd>)>;

  // `done` is called once, by the loop, and may destroy the attempt.
  static std::shared_ptr<TcpConnect> start(AsioLoop& loop, const HostPort& host_port,
                                           Duration deadline, Done done);
  ~TcpConnect();
  TcpConnect(const TcpConnect&) = delete;
  TcpConnect& operator=(const TcpConnect&) = delete;
  TcpConnect(TcpConnect&&) = delete;
  TcpConnect& operator=(TcpConnect&&) = delete;

 private:
  TcpConnect(AsioLoop& loop, HostPort host_port, Duration deadline, Done done);

  void begin();
  void resolved(Result<std::vector<SocketAddress>> addresses);
  void try_next();
  void connected();
  void attempt_failed(std::string why);
  void finish(Result<UniqueFd> result);
  TimerId call_at(Instant when, void (TcpConnect::*step)());
  void timed_out();

  AsioLoop& loop_;
  HostPort host_port_;
  Duration deadline_;
  Instant end_;
  Done done_;  // empty: done
  std::vector<SocketAddress> addresses_;
  std::size_t next_ = 0;
  UniqueFd socket_;
  std::unique_ptr<FdWatch> watch_;
  TimerId timer_ = 0;
  std::string last_failure_;
};

}  // namespace mixnet::net
