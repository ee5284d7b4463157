#pragma once

#include <region.pb.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/instant.h"
#include "core/matrix.h"
#include "core/result.h"

namespace mixnet::daemon {

// Where a daemon listens, and for a network address the files that make both sides known.
struct ClientOptions {
  std::string address;  // "unix:/run/mixnet/r1.sock" or "ocs-r1.example.net:7443"
  std::string tls_ca;   // paths; all three with a network address, none with a socket
  std::string tls_certificate;
  std::string tls_key;
  // Of every call but watch(). It is the daemon that gives up then and says what it waited for.
  Duration deadline = std::chrono::seconds(60);
};

// Calls the service of one region and waits for the answer. The messages are those of
// proto/region.proto. Errors name the daemon and what it said: "r1.sock: no session with the switch
// (UNAVAILABLE)".
class RegionClient {
 public:
  // Errors: files that cannot be read, TLS without all of them. Connects at the first call.
  static Result<RegionClient> make(const ClientOptions& options);
  RegionClient(const RegionClient&) = delete;
  RegionClient& operator=(const RegionClient&) = delete;
  RegionClient(RegionClient&&) noexcept;
  RegionClient& operator=(RegionClient&&) noexcept;
  ~RegionClient();

  // Waits for the daemon, which may be starting just now, but no longer than `most`. Whoever wants
  // to know why it does not answer calls it.
  void await_connection(Duration most);
  // The region as it was read last.
  Result<region::v1::Topology> status();
  Result<region::v1::HealthReply> health();
  Result<region::v1::ApplyReply> apply(region::v1::ApplyCircuitsRequest request);
  Result<region::v1::ApplyReply> verify();
  // `demand` is n x n for the n servers of the region.
  Result<region::v1::ApplyReply> report_demand(const DemandMatrix& demand);
  // Once: calls `change` with the topology now and after every change, until it returns false
  // (success) or the daemon goes away (error).
  Status watch(const std::function<bool(const region::v1::Topology&)>& change);
  // Ends watch() with success, now or when it begins. Any thread.
  void stop_watching();

 private:
  struct Connection;
  explicit RegionClient(std::unique_ptr<Connection> connection);

  std::unique_ptr<Connection> connection_;
};

}  // namespace mixnet::daemon
