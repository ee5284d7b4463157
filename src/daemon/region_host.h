#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/region_backend.h"
#include "net/loop.h"

namespace mixnet::daemon {

// How the host reaches the thread of the loop, and the controller through its connection.
struct HostHooks {
  // Runs a function on the loop's thread; may be called from any thread.
  std::function<void(std::function<void()>)> post;
  // As those of the controller, for now; their reports come to handle() later.
  std::function<Result<uint64_t>(std::vector<ocs::Circuit>)> apply;
  std::function<Result<uint64_t>()> verify;
};

// Joins requests of many threads to the controller of one region, which knows one thread.
// Everything but submit() and region() belongs to the thread of the loop.
class RegionHost final : public RegionBackend {
 public:
  // All outlive the host; `max_waiting` is that of the controller.
  RegionHost(const ocs::RegionController& controller, std::size_t max_waiting, net::Loop& loop,
             HostHooks hooks);

  const ocs::Region& region() const override { return region_; }
  void submit(RegionRequest request, Done done) override;

  // The report of a transaction.
  void handle(const ocs::ApplyDone& done);
  // Refuses new requests from now on.
  void refuse_new() { stopping_ = true; }
  // Answers whoever still waits: the daemon ends before the transaction does.
  void abandon();

 private:
  struct Waiting {
    Done done;
    net::TimerId timer = 0;  // of the request's deadline
    std::vector<ocs::GivenUp> given_up;
  };

  void execute(const RegionRequest& request, const Done& done);
  void dry_run(const RegionRequest& request, const Done& done);
  // The circuits that are wanted once `request` is carried out.
  Result<std::vector<ocs::Circuit>> wanted_by(const RegionRequest& request,
                                              std::vector<ocs::GivenUp>& given_up) const;
  // Error: a NIC of `circuit` is in one of `wanted`.
  Status check_free(ocs::Circuit circuit, const std::vector<ocs::Circuit>& wanted) const;
  std::vector<ocs::Circuit> last_wanted() const;
  std::vector<ocs::Circuit> there() const;
  std::optional<RequestFailure> refusal(const RegionRequest& request) const;
  void await(uint64_t ticket, Waiting waiting, Duration deadline);
  void give_up_waiting(uint64_t ticket, Duration deadline);
  std::string waited_for() const;

  const ocs::RegionController& controller_;
  std::size_t max_waiting_;
  net::Loop& loop_;
  HostHooks hooks_;
  const ocs::Region& region_;
  std::map<uint64_t, Waiting> waiting_;  // by the controller's number of the request
  std::size_t under_way_ = 0;            // accepted by the controller and not reported
  // Of the last accepted transaction, while one is under way.
  std::optional<std::vector<ocs::Circuit>> wanted_;
  bool stopping_ = false;
};

}  // namespace mixnet::daemon
