#include "daemon/region_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mixnet::daemon {
namespace {

using ocs::Circuit;

RegionAnswer failed(FailureKind kind, std::string message) {
  RegionAnswer answer;
  answer.failure = RequestFailure{kind, std::move(message)};
  return answer;
}

bool holds(const std::vector<Circuit>& circuits, Circuit circuit) {
  return std::find(circuits.begin(), circuits.end(), circuit) != circuits.end();
}

}  // namespace

RegionHost::RegionHost(const ocs::RegionController& controller, std::size_t max_waiting,
                       net::Loop& loop, HostHooks hooks)
    : controller_(controller),
      max_waiting_(max_waiting),
      loop_(loop),
      hooks_(std::move(hooks)),
      region_(controller.region()) {}

void RegionHost::submit(RegionRequest request, Done done) {
  hooks_.post(
      [this, request = std::move(request), done = std::move(done)] { execute(request, done); });
}

std::optional<RequestFailure> RegionHost::refusal(const RegionRequest& request) const {
  if (stopping_) {
    return RequestFailure{FailureKind::kUnavailable, "the daemon is stopping"};
  }
  const ocs::Topology& topology = controller_.topology();
  if (topology.connected || request.dry_run) {
    return std::nullopt;
  }
  std::string why = "no session with the switch";
  for (const ocs::Alarm& alarm : topology.alarms) {
    if (alarm.kind == ocs::AlarmKind::kSession || alarm.kind == ocs::AlarmKind::kLogin) {
      why += ": " + alarm.message;
      break;
    }
  }
  return RequestFailure{FailureKind::kUnavailable, why};
}

void RegionHost::execute(const RegionRequest& request, const Done& done) {
  if (std::optional<RequestFailure> refused = refusal(request)) {
    done(failed(refused->kind, std::move(refused->message)));
    return;
  }
  if (request.dry_run) {
    dry_run(request, done);
    return;
  }
  const bool reads_only = std::holds_alternative<ReadBack>(request.what);
  if (!reads_only && !controller_.topology().read) {
    // What is there is not known: adding to it, or keeping what fits, would mean nothing.
    done(failed(FailureKind::kUnavailable, "the switch was not read yet; try again in a moment"));
    return;
  }
  Waiting waiting{done, 0, {}};
  std::vector<Circuit> wanted;
  if (!reads_only) {
    Result<std::vector<Circuit>> circuits = wanted_by(request, waiting.given_up);
    if (!circuits.ok()) {
      done(failed(FailureKind::kInvalid, circuits.error().message));
      return;
    }
    wanted = std::move(circuits).value();
  }
  const Result<uint64_t> ticket = reads_only ? hooks_.verify() : hooks_.apply(wanted);
  if (!ticket.ok()) {
    // The circuits were checked. What is left is the length of the queue, or a controller that
    // takes no changes at all: an unreadable journal, a switch of another size.
    done(failed(under_way_ >= max_waiting_ ? FailureKind::kExhausted : FailureKind::kUnavailable,
                ticket.error().message));
    return;
  }
  ++under_way_;
  if (!reads_only) {
    wanted_ = std::move(wanted);
  }
  await(*ticket, std::move(waiting), request.deadline);
}

void RegionHost::dry_run(const RegionRequest& request, const Done& done) {
  RegionAnswer answer;
  const Result<std::vector<Circuit>> wanted = wanted_by(request, answer.given_up);
  if (!wanted.ok()) {
    done(failed(FailureKind::kInvalid, wanted.error().message));
    return;
  }
  Result<ocs::ChangePreview> preview = controller_.preview(*wanted);
  if (!preview.ok()) {
    done(failed(FailureKind::kUnavailable, preview.error().message));
    return;
  }
  answer.preview = std::move(preview).value();
  done(std::move(answer));
}

Result<std::vector<Circuit>> RegionHost::wanted_by(const RegionRequest& request,
                                                   std::vector<ocs::GivenUp>& given_up) const {
  std::vector<Circuit> wanted;
  if (const auto* plan = std::get_if<CarryOutPlan>(&request.what)) {
    ocs::AssignmentProblem problem = plan->problem;
    problem.unusable = controller_.topology().quarantined;
    ocs::Assignment assignment = ocs::assign_circuits(region_, problem, there());
    given_up = std::move(assignment.given_up);
    return std::move(assignment.circuits);
  }
  if (const auto* replace = std::get_if<ReplaceAll>(&request.what)) {
    wanted = replace->circuits;
  } else if (const auto* add = std::get_if<AddCircuits>(&request.what)) {
    wanted = last_wanted();
    for (const Circuit circuit : add->circuits) {
      if (holds(wanted, circuit)) {
        continue;
      }
      if (const Status free = check_free(circuit, wanted); !free.ok()) {
        return free.error();
      }
      wanted.push_back(circuit);
    }
  } else if (const auto* remove = std::get_if<RemoveCircuits>(&request.what)) {
    wanted = last_wanted();
    for (const Circuit circuit : remove->circuits) {
      if (!holds(wanted, circuit)) {
        return Error{fmt::format("circuits: {} is not wanted now, so it cannot be removed: "
                                 "WatchTopology or `mixnet ocs status` shows those that are",
                                 region_.name_of(circuit)),
                     ""};
      }
      wanted.erase(std::find(wanted.begin(), wanted.end(), circuit));
    }
  }
  std::sort(wanted.begin(), wanted.end());
  if (Status status = ocs::check_circuits(region_, wanted); !status.ok()) {
    return Error{"circuits: " + status.error().message, ""};
  }
  return wanted;
}

Status RegionHost::check_free(Circuit circuit, const std::vector<Circuit>& wanted) const {
  for (const Circuit other : wanted) {
    for (const ocs::NicId nic : {other.a, other.b}) {
      if (nic == circuit.a || nic == circuit.b) {
        return Error{fmt::format("circuits: {} is in use: {} is wanted; remove that first",
                                 region_.nic(nic).name, region_.name_of(other)),
                     ""};
      }
    }
  }
  return Status();
}

std::vector<Circuit> RegionHost::last_wanted() const {
  if (wanted_.has_value()) {
    return *wanted_;
  }
  std::vector<Circuit> intended;
  for (const ocs::CircuitState& state : controller_.topology().circuits) {
    if (state.intended) {
      intended.push_back(state.circuit);
    }
  }
  return intended;
}

// What a plan tries to keep: the circuits on the switch, or those that will be there in a moment.
std::vector<Circuit> RegionHost::there() const {
  if (wanted_.has_value()) {
    return *wanted_;
  }
  std::vector<Circuit> configured;
  for (const ocs::CircuitState& state : controller_.topology().circuits) {
    if (state.configured) {
      configured.push_back(state.circuit);
    }
  }
  return configured;
}

void RegionHost::await(uint64_t ticket, Waiting waiting, Duration deadline) {
  if (deadline > Duration::zero()) {
    waiting.timer = loop_.call_at(loop_.now() + deadline,
                                  [this, ticket, deadline] { give_up_waiting(ticket, deadline); });
  }
  waiting_.emplace(ticket, std::move(waiting));
}

void RegionHost::give_up_waiting(uint64_t ticket, Duration deadline) {
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) {
    return;
  }
  const Done done = std::move(found->second.done);
  waiting_.erase(found);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(deadline).count();
  done(failed(
      FailureKind::kDeadline,
      fmt::format("no report within {} ms: waited for {}; the transaction was not called off", ms,
                  waited_for())));
}

std::string RegionHost::waited_for() const {
  if (!controller_.topology().connected) {
    return "a session with the switch";
  }
  if (under_way_ > 1) {
    return fmt::format("{} transactions, of which one is under way", under_way_);
  }
  return "the switch to carry it out and the NICs to see light";
}

void RegionHost::handle(const ocs::ApplyDone& done) {
  if (done.request == 0) {
    return;
  }
  CHECK(under_way_ > 0, "a report of a transaction that was not accepted");
  if (--under_way_ == 0) {
    wanted_.reset();
  }
  const auto found = waiting_.find(done.request);
  if (found != waiting_.end()) {
    Waiting waiting = std::move(found->second);
    waiting_.erase(found);
    loop_.cancel(waiting.timer);
    RegionAnswer answer;
    answer.report = done.report;
    answer.given_up = std::move(waiting.given_up);
    waiting.done(std::move(answer));
  }
}

void RegionHost::abandon() {
  for (auto& [ticket, waiting] : std::exchange(waiting_, {})) {
    loop_.cancel(waiting.timer);
    waiting.done(failed(FailureKind::kUnavailable,
                        "the daemon stops before the transaction ended: its outcome is unknown "
                        "until the daemon runs again and reads the switch"));
  }
}

}  // namespace mixnet::daemon
