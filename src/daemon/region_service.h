#pragma once

#include <region.grpc.pb.h>

#include <atomic>
#include <chrono>
#include <string>

#include "core/fabric_spec.h"
#include "daemon/region_backend.h"
#include "daemon/region_calls.h"
#include "daemon/topology_feed.h"

namespace mixnet::daemon {

struct ServiceOptions {
  std::string region;  // its name
  Allocator allocator = Allocator::kSplit;
  int eps = 0;  // electrical NICs per server
  std::string version;
};

// The gRPC service of proto/region.proto. Its methods are called by the threads of gRPC; what they
// ask of the region is answered on the thread of its loop.
class RegionService final : public region::v1::Region::CallbackService {
 public:
  // Both outlive the service.
  RegionService(ServiceOptions options, RegionBackend& backend, TopologyFeed& feed);

  // Health says so from now on; the backend refuses the rest.
  void stopping() { stopping_ = true; }

  grpc::ServerUnaryReactor* ReportDemand(grpc::CallbackServerContext* context,
                                         const region::v1::ReportDemandRequest* request,
                                         region::v1::ApplyReply* reply) override;
  grpc::ServerUnaryReactor* ApplyCircuits(grpc::CallbackServerContext* context,
                                          const region::v1::ApplyCircuitsRequest* request,
                                          region::v1::ApplyReply* reply) override;
  grpc::ServerUnaryReactor* Verify(grpc::CallbackServerContext* context,
                                   const region::v1::VerifyRequest* request,
                                   region::v1::ApplyReply* reply) override;
  grpc::ServerWriteReactor<region::v1::Topology>* WatchTopology(
      grpc::CallbackServerContext* context,
      const region::v1::WatchTopologyRequest* request) override;
  grpc::ServerUnaryReactor* Health(grpc::CallbackServerContext* context,
                                   const region::v1::HealthRequest* request,
                                   region::v1::HealthReply* reply) override;

 private:
  ServiceOptions options_;
  RegionCalls calls_;
  TopologyFeed& feed_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::atomic<bool> stopping_ = false;
};

}  // namespace mixnet::daemon
