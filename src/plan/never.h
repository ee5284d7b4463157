#pragma once

#include <limits>

namespace mixnet::plan {

// The completion of what cannot be done: no circuit and no electrical share carries it.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace mixnet::plan
