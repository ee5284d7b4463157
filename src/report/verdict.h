#pragma once

#include <string>
#include <vector>

#include "core/comparison.h"

namespace mixnet::report {

// Answers "which fabric" and "is re-wiring worth it here" in sentences, from the figures alone.
//
// Which fabric: the shortest iteration and the best performance per dollar (the lowest product of
// iteration time and cost) among the fabrics that can be built, so `ideal` is left out.
// Re-wiring: every `mixnet` fabric that switched is set against the fastest `mixnet` fabric that
// was wired once (switches = 0). A difference below 1 % of the iteration is called none, as the
// model is no more exact than that. Without such a partner the exposed switching is stated and
// no answer given. No `mixnet` fabric: no sentence.
std::vector<std::string> verdict(const Comparison& comparison);

}  // namespace mixnet::report
