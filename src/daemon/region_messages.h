#pragma once

#include <region.pb.h>

#include <string>
#include <vector>

#include "core/wiring.h"
#include "daemon/region_backend.h"

// Between the types of the region and the messages of proto/region.proto.
namespace mixnet::daemon {

// Unix time in seconds of `now` by the loop's clock: turns instants into dates.
struct WallClock {
  Instant now;
  double unix_s = 0;

  double date_of(Instant when) const {
    return unix_s - std::chrono::duration<double>(now - when).count();
  }
};

region::v1::Topology topology_message(const std::string& name, const ocs::Region& region,
                                      const ocs::Topology& topology, const WallClock& clock);

// Fills in everything but the shares. The answer is no failure.
void fill_reply(const ocs::Region& region, const RegionAnswer& answer,
                region::v1::ApplyReply& reply);

void fill_shares(const Wiring& wiring, const char* allocator, region::v1::Shares& shares);

// The n * n demand of a request. Errors begin with the name of the field.
Result<DemandMatrix> demand_of(const region::v1::ReportDemandRequest& request, std::size_t servers);

// Errors begin with the name of the field.
Result<std::vector<ocs::Circuit>> circuits_of(const region::v1::ApplyCircuitsRequest& request,
                                              const ocs::Region& region);

}  // namespace mixnet::daemon
