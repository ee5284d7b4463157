#include "core/comparison.h"

#include "core/check.h"

namespace mixnet {

const char* activity_name(Activity activity) {
  switch (activity) {
    case Activity::kAttention:
      return "attention";
    case Activity::kGate:
      return "gate";
    case Activity::kExpert:
      return "expert";
    case Activity::kAddNorm:
      return "add-norm";
    case Activity::kDense:
      return "dense";
    case Activity::kTensor:
      return "tensor-parallel";
    case Activity::kAllToAll:
      return "all-to-all";
    case Activity::kSwitching:
      return "switching";
    case Activity::kPipeline:
      return "pipeline";
    case Activity::kGradient:
      return "gradient";
  }
  CHECK(false, "unknown activity");
}

const char* switch_cause_name(SwitchCause cause) {
  switch (cause) {
    case SwitchCause::kOcs:
      return "ocs";
    case SwitchCause::kNic:
      return "nic";
    case SwitchCause::kControl:
      return "control";
    case SwitchCause::kDetour:
      return "detour";
  }
  CHECK(false, "unknown cause");
}

}  // namespace mixnet
