#include "daemon/region_service.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "daemon/region_messages.h"
#include "daemon/topology_writer.h"
#include "plan/wire.h"

namespace mixnet::daemon {
namespace {

namespace v1 = region::v1;

grpc::Status invalid(std::string message) {
  return {grpc::StatusCode::INVALID_ARGUMENT, std::move(message)};
}

grpc::Status status_of(const RequestFailure& failure) {
  switch (failure.kind) {
    case FailureKind::kInvalid:
      return invalid(failure.message);
    case FailureKind::kUnavailable:
      return {grpc::StatusCode::UNAVAILABLE, failure.message};
    case FailureKind::kExhausted:
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, failure.message};
    case FailureKind::kDeadline:
      return {grpc::StatusCode::DEADLINE_EXCEEDED, failure.message};
  }
  CHECK(false, "a failure without a status");
}

// Ends the call on whichever thread has the answer. A call that was cancelled is answered all the
// same: gRPC drops the answer then, and the transaction ran to its end.
grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext* context, const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

// The largest number of optical NICs of a server; one that has fewer gives circuits up.
int alpha_of(const ocs::Region& region) {
  std::vector<int> nics(region.servers().size());
  for (const ocs::Nic& nic : region.nics()) {
    ++nics[static_cast<std::size_t>(nic.server)];
  }
  return *std::max_element(nics.begin(), nics.end());
}

Matrix<int> verified_circuits(const ocs::Region& region, const ocs::ApplyReport& report) {
  Matrix<int> circuits(region.servers().size(), region.servers().size());
  for (const ocs::CircuitReport& circuit : report.circuits) {
    if (circuit.wanted && circuit.outcome == ocs::PairOutcome::kVerified) {
      const auto a = static_cast<std::size_t>(region.nic(circuit.circuit.a).server);
      const auto b = static_cast<std::size_t>(region.nic(circuit.circuit.b).server);
      ++circuits(a, b);
      ++circuits(b, a);
    }
  }
  return circuits;
}

struct DemandPlan {
  plan::WireProblem problem;
  Wiring wiring;
  double took_ms = 0;
};

// As planned if every circuit came up, else divided again over those that did.
Wiring shares_over(const DemandPlan& plan, const Matrix<int>& verified, Allocator allocator) {
  return verified == plan.wiring.circuits ? plan.wiring
                                          : plan::route_over(plan.problem, verified, allocator);
}

Duration deadline_of(uint32_t ms) { return std::chrono::milliseconds(ms); }

}  // namespace

RegionService::RegionService(ServiceOptions options, RegionBackend& backend, TopologyFeed& feed)
    : options_(std::move(options)), backend_(backend), feed_(feed) {}

grpc::ServerUnaryReactor* RegionService::ReportDemand(grpc::CallbackServerContext* context,
                                                      const v1::ReportDemandRequest* request,
                                                      v1::ApplyReply* reply) {
  const ocs::Region& region = backend_.region();
  Result<DemandMatrix> demand = demand_of(*request, region.servers().size());
  if (!demand.ok()) {
    return finish(context, invalid(demand.error().message));
  }
  auto plan = std::make_shared<DemandPlan>();
  plan->problem = {std::move(demand).value(), alpha_of(region), options_.eps};
  const auto began = std::chrono::steady_clock::now();
  plan->wiring = plan::wire(plan->problem, options_.allocator);
  plan->took_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();

  RegionRequest asked;
  asked.what = CarryOutPlan{{plan->wiring.circuits, plan->problem.demand, {}}};
  asked.deadline = deadline_of(request->deadline_ms());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  backend_.submit(std::move(asked), [this, plan, reply, reactor](const RegionAnswer& answer) {
    if (answer.failure.has_value()) {
      reactor->Finish(status_of(*answer.failure));
      return;
    }
    fill_reply(backend_.region(), answer, *reply);
    const Matrix<int> verified = verified_circuits(backend_.region(), *answer.report);
    fill_shares(shares_over(*plan, verified, options_.allocator),
                allocator_name(options_.allocator), *reply->mutable_shares());
    reply->set_planning_ms(plan->took_ms);
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

grpc::ServerUnaryReactor* RegionService::ApplyCircuits(grpc::CallbackServerContext* context,
                                                       const v1::ApplyCircuitsRequest* request,
                                                       v1::ApplyReply* reply) {
  Result<std::vector<ocs::Circuit>> circuits = circuits_of(*request, backend_.region());
  if (!circuits.ok()) {
    return finish(context, invalid(circuits.error().message));
  }
  RegionRequest asked;
  switch (request->mode()) {
    case v1::ApplyCircuitsRequest::REPLACE_ALL:
      asked.what = ReplaceAll{std::move(circuits).value()};
      break;
    case v1::ApplyCircuitsRequest::ADD:
      asked.what = AddCircuits{std::move(circuits).value()};
      break;
    case v1::ApplyCircuitsRequest::REMOVE:
      asked.what = RemoveCircuits{std::move(circuits).value()};
      break;
    default:
      return finish(context, invalid("mode: write REPLACE_ALL, ADD or REMOVE"));
  }
  asked.dry_run = request->dry_run();
  asked.deadline = deadline_of(request->deadline_ms());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  backend_.submit(std::move(asked), [this, reply, reactor](const RegionAnswer& answer) {
    if (answer.failure.has_value()) {
      reactor->Finish(status_of(*answer.failure));
      return;
    }
    fill_reply(backend_.region(), answer, *reply);
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

grpc::ServerUnaryReactor* RegionService::Verify(grpc::CallbackServerContext* context,
                                                const v1::VerifyRequest* request,
                                                v1::ApplyReply* reply) {
  RegionRequest asked;
  asked.what = ReadBack{};
  asked.deadline = deadline_of(request->deadline_ms());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  backend_.submit(std::move(asked), [this, reply, reactor](const RegionAnswer& answer) {
    if (answer.failure.has_value()) {
      reactor->Finish(status_of(*answer.failure));
      return;
    }
    fill_reply(backend_.region(), answer, *reply);
    reactor->Finish(grpc::Status::OK);
  });
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
    reply->set_state(v1::HealthReply::SERVING);
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
  return finish(context, grpc::Status::OK);
}

}  // namespace mixnet::daemon
