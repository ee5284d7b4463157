#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/instant.h"
#include "ocs/circuit_assignment.h"
#include "ocs/region.h"
#include "ocs/region_controller.h"
#include "ocs/region_report.h"

// What the service needs of a region, in types that know neither gRPC nor threads.
namespace mixnet::daemon {

struct ReplaceAll {
  std::vector<ocs::Circuit> circuits;
};
struct AddCircuits {
  std::vector<ocs::Circuit> circuits;
};
struct RemoveCircuits {
  std::vector<ocs::Circuit> circuits;
};
// Circuits between servers; NICs are chosen when it is carried out, and `unusable` is filled in.
struct CarryOutPlan {
  ocs::AssignmentProblem problem;
};
struct ReadBack {};

struct RegionRequest {
  std::variant<ReplaceAll, AddCircuits, RemoveCircuits, CarryOutPlan, ReadBack> what;
  bool dry_run = false;  // of everything but ReadBack
  Duration deadline{0};  // of the answer, not of the transaction; zero: none
};

enum class FailureKind {
  kInvalid,      // the request
  kUnavailable,  // no session, or stopping
  kExhausted,    // too many transactions are waiting
  kDeadline,     // of the request; the transaction goes on
};

struct RequestFailure {
  FailureKind kind = FailureKind::kInvalid;
  std::string message;
};

// Exactly one of the first three is set.
struct RegionAnswer {
  std::optional<RequestFailure> failure;
  std::optional<ocs::ApplyReport> report;
  std::optional<ocs::ChangePreview> preview;  // of a dry run
  std::vector<ocs::GivenUp> given_up;         // of a plan
};

class RegionBackend {
 public:
  using Done = std::function<void(RegionAnswer)>;

  virtual ~RegionBackend() = default;
  // Never changes. Any thread.
  virtual const ocs::Region& region() const = 0;
  // Any thread. `done` is called exactly once, on the thread of the region's loop.
  virtual void submit(RegionRequest request, Done done) = 0;
};

}  // namespace mixnet::daemon
