#pragma once

#include <region.pb.h>

#include <functional>
#include <optional>

#include "core/fabric_spec.h"
#include "daemon/region_backend.h"

namespace mixnet::daemon {

// The calls of proto/region.proto that ask something of the switch, for whoever has messages: the
// service, or a program that controls the region itself.
class RegionCalls {
 public:
  // Called once, within the call or on the thread of the region's loop. Nothing: the reply is
  // filled in.
  using Done = std::function<void(std::optional<RequestFailure> failure)>;

  // `backend` outlives the calls; `eps` electrical NICs per server.
  RegionCalls(RegionBackend& backend, Allocator allocator, int eps)
      : backend_(backend), allocator_(allocator), eps_(eps) {}

  // `reply` outlives the call. `request` is read within it.
  void report_demand(const region::v1::ReportDemandRequest& request, region::v1::ApplyReply& reply,
                     Done done);
  void apply_circuits(const region::v1::ApplyCircuitsRequest& request,
                      region::v1::ApplyReply& reply, Done done);
  void verify(const region::v1::VerifyRequest& request, region::v1::ApplyReply& reply, Done done);

 private:
  RegionBackend& backend_;
  Allocator allocator_;
  int eps_;
};

}  // namespace mixnet::daemon
