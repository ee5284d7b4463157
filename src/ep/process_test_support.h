#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "ep/forked_test_support.h"
#include "ep/process_transport.h"
#include "ep/tcp_store.h"
#include "net/address.h"
#include "net/unique_fd.h"

namespace mixnet::ep {

inline uint16_t free_port() {
  const net::UniqueFd probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto address = net::numeric_addresses({"127.0.0.1", 0}).front();
  CHECK(bind(probe.get(), address.get(), address.size) == 0 &&
            getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address.storage),
                        &address.size) == 0,
        "loopback has ports");
  return address.host_port().port;
}

// Ranks of a test as processes with a ProcessTransport each; rail r is 127.0.0.(r + 1). What
// `body` returns, a text, is read back from every rank.
class ProcessRanks {
 public:
  using Body = std::function<std::string(Transport&)>;

  ProcessRanks(const RankMap& ranks, int rails, const Body& body)
      : store_{"127.0.0.1", free_port()},
        pipes_(make_pipes(ranks.ranks())),
        children_(ranks.ranks(), [&](int rank) { return run(ranks, rails, rank, body); }) {
    for (auto& [out, in] : pipes_) {
      in.reset();
    }
  }

  ForkedRanks& children() { return children_; }
  // Waits for the rank to end. A rank that was killed, or failed, says so.
  std::string result(int rank) {
    std::string text;
    char buffer[4096];
    ssize_t count = 0;
    while ((count = read(pipes_[at(rank)].first.get(), buffer, sizeof buffer)) > 0) {
      text.append(buffer, static_cast<std::size_t>(count));
    }
    const int code = children_.join(rank);
    return code == 0 ? text : "ended with " + std::to_string(code) + " " + text;
  }

 private:
  using Pipe = std::pair<net::UniqueFd, net::UniqueFd>;

  static std::vector<Pipe> make_pipes(int ranks) {
    std::vector<Pipe> pipes;
    for (int rank = 0; rank < ranks; ++rank) {
      int ends[2];
      CHECK(pipe(ends) == 0, "a pipe can be made");
      pipes.emplace_back(net::UniqueFd(ends[0]), net::UniqueFd(ends[1]));
    }
    return pipes;
  }

  int run(const RankMap& ranks, int rails, int rank, const Body& body) {
    for (int other = 0; other < ranks.ranks(); ++other) {
      pipes_[at(other)].first.reset();
      if (other != rank) {
        pipes_[at(other)].second.reset();
      }
    }
    std::unique_ptr<TcpStoreServer> server;
    if (rank == 0) {
      auto started = TcpStoreServer::start(store_);
      CHILD_EXPECT(started.ok());
      server = *std::move(started);
    }
    const std::string text = with_transport(ranks, rails, rank, body);
    const ssize_t written = write(pipes_[at(rank)].second.get(), text.data(), text.size());
    return written == static_cast<ssize_t>(text.size()) ? 0 : ForkedRanks::kFailed;
  }

  std::string with_transport(const RankMap& ranks, int rails, int rank, const Body& body) const {
    TcpStore store(store_);
    ProcessOptions options;
    options.link.ranks = ranks;
    options.link.rank = rank;
    options.link.window_bytes = uint64_t{64} << 20;
    options.link.deadline = std::chrono::seconds(30);
    for (int rail = 0; rail < rails; ++rail) {
      options.nics.push_back("127.0.0." + std::to_string(rail + 1));
    }
    auto transport = ProcessTransport::open(options, store);
    if (!transport) {
      return transport.error().text();
    }
    const Status met =
        meet_last(store, "end/", rank, ranks.ranks(), monotonic_now() + std::chrono::seconds(30));
    return met ? body(**transport) : met.error().text();
  }

  net::HostPort store_;
  std::vector<Pipe> pipes_;
  ForkedRanks children_;
};

}  // namespace mixnet::ep
