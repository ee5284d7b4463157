#include "daemon/region_service.h"

#include <utility>

#include "daemon/topology_writer.h"

namespace mixnet::daemon {
namespace {

namespace v1 = region::v1;

grpc::Status status_of(const RequestFailure& failure) {
  switch (failure.kind) {
    case FailureKind::kInvalid:
      return {grpc::StatusCode::INVALID_ARGUMENT, failure.message};
    case FailureKind::kUnavailable:
      return {grpc::StatusCode::UNAVAILABLE, failure.message};
    case FailureKind::kExhausted:
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, failure.message};
    case FailureKind::kDeadline:
      return {grpc::StatusCode::DEADLINE_EXCEEDED, failure.message};
  }
  CHECK(false, "a failure without a status");
}

// Ends a call on whichever thread has the answer. One that was cancelled is answered all the same:
// gRPC drops the answer then, and the transaction ran to its end.
RegionCalls::Done ending(grpc::ServerUnaryReactor* reactor) {
  return [reactor](const std::optional<RequestFailure>& failure) {
    reactor->Finish(failure.has_value() ? status_of(*failure) : grpc::Status::OK);
  };
}

}  // namespace

RegionService::RegionService(ServiceOptions options, RegionBackend& backend, TopologyFeed& feed)
    : options_(std::move(options)),
      calls_(backend, options_.allocator, options_.eps),
      feed_(feed) {}

grpc::ServerUnaryReactor* RegionService::ReportDemand(grpc::CallbackServerContext* context,
                                                      const v1::ReportDemandRequest* request,
                                                      v1::ApplyReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  calls_.report_demand(*request, *reply, ending(reactor));
  return reactor;
}

grpc::ServerUnaryReactor* RegionService::ApplyCircuits(grpc::CallbackServerContext* context,
                                                       const v1::ApplyCircuitsRequest* request,
                                                       v1::ApplyReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  calls_.apply_circuits(*request, *reply, ending(reactor));
  return reactor;
}

grpc::ServerUnaryReactor* RegionService::Verify(grpc::CallbackServerContext* context,
                                                const v1::VerifyRequest* request,
                                                v1::ApplyReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  calls_.verify(*request, *reply, ending(reactor));
  return reactor;
}

grpc::ServerWriteReactor<v1::Topology>* RegionService::WatchTopology(
    grpc::CallbackServerContext* /*context*/, const v1::WatchTopologyRequest* /*request*/) {
  return TopologyWriter::start(feed_);
}

grpc::ServerUnaryReactor* RegionService::Health(grpc::CallbackServerContext* context,
                                                const v1::HealthRequest* /*request*/,
                                                v1::HealthReply* reply) {
  const TopologyFeed::Snapshot topology = feed_.latest();
  const std::chrono::duration<double> uptime = std::chrono::steady_clock::now() - started_;
  if (stopping_) {
    reply->set_state(v1::HealthReply::STOPPING);
  } else if (topology->connected()) {
    reply->set_state(topology->read() ? v1::HealthReply::SERVING : v1::HealthReply::STARTING);
  } else {
    reply->set_state(topology->version() == 0 ? v1::HealthReply::STARTING
                                              : v1::HealthReply::DISCONNECTED);
  }
  reply->set_connected(topology->connected());
  reply->set_settled(topology->settled());
  *reply->mutable_alarms() = topology->alarms();
  reply->set_version(options_.version);
  reply->set_uptime_s(uptime.count());
  reply->set_region(options_.region);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace mixnet::daemon
