#include "daemon/region_calls.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "daemon/region_messages.h"
#include "plan/wire.h"

namespace mixnet::daemon {
namespace {

namespace v1 = region::v1;

RequestFailure invalid(std::string message) {
  return RequestFailure{FailureKind::kInvalid, std::move(message)};
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

// Submits `request`; fills in the reply when it is answered.
void submit(RegionBackend& backend, RegionRequest request, v1::ApplyReply& reply,
            RegionCalls::Done done) {
  backend.submit(std::move(request),
                 [&backend, &reply, done = std::move(done)](const RegionAnswer& answer) {
                   if (!answer.failure.has_value()) {
                     fill_reply(backend.region(), answer, reply);
                   }
                   done(answer.failure);
                 });
}

}  // namespace

void RegionCalls::report_demand(const v1::ReportDemandRequest& request, v1::ApplyReply& reply,
                                Done done) {
  const ocs::Region& region = backend_.region();
  Result<DemandMatrix> demand = demand_of(request, region.servers().size());
  if (!demand.ok()) {
    done(invalid(demand.error().message));
    return;
  }
  auto plan = std::make_shared<DemandPlan>();
  plan->problem = {std::move(demand).value(), alpha_of(region), eps_};
  const auto began = std::chrono::steady_clock::now();
  plan->wiring = plan::wire(plan->problem, allocator_);
  plan->took_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();

  RegionRequest asked;
  asked.what = CarryOutPlan{{plan->wiring.circuits, plan->problem.demand, {}}};
  asked.deadline = deadline_of(request.deadline_ms());
  backend_.submit(std::move(asked),
                  [this, plan, &reply, done = std::move(done)](const RegionAnswer& answer) {
                    if (!answer.failure.has_value()) {
                      fill_reply(backend_.region(), answer, reply);
                      const auto verified = verified_circuits(backend_.region(), *answer.report);
                      fill_shares(shares_over(*plan, verified, allocator_),
                                  allocator_name(allocator_), *reply.mutable_shares());
                      reply.set_planning_ms(plan->took_ms);
                    }
                    done(answer.failure);
                  });
}

void RegionCalls::apply_circuits(const v1::ApplyCircuitsRequest& request, v1::ApplyReply& reply,
                                 Done done) {
  Result<std::vector<ocs::Circuit>> circuits = circuits_of(request, backend_.region());
  if (!circuits.ok()) {
    done(invalid(circuits.error().message));
    return;
  }
  RegionRequest asked;
  switch (request.mode()) {
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
      done(invalid("mode: write REPLACE_ALL, ADD or REMOVE"));
      return;
  }
  asked.dry_run = request.dry_run();
  asked.deadline = deadline_of(request.deadline_ms());
  submit(backend_, std::move(asked), reply, std::move(done));
}

void RegionCalls::verify(const v1::VerifyRequest& request, v1::ApplyReply& reply, Done done) {
  RegionRequest asked;
  asked.what = ReadBack{};
  asked.deadline = deadline_of(request.deadline_ms());
  submit(backend_, std::move(asked), reply, std::move(done));
}

}  // namespace mixnet::daemon
