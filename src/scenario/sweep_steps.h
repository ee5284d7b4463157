#pragma once

#include <vector>

#include "core/result.h"
#include "scenario/sweep.h"

namespace mixnet::scenario {

// How large a value is, so that values can be ordered, drawn and stepped: numbers as they are;
// text that is a time, a rate or a size in s, bit/s or bytes; nothing for other values.
std::optional<double> sweep_magnitude(const nlohmann::ordered_json& value);

struct SweepRange {
  nlohmann::ordered_json from;
  nlohmann::ordered_json to;
  int steps = 2;  // both ends included, at least 2
  bool log = false;
};

// The values from one end to the other: equal differences, or equal ratios if `log`. The ends are
// as written. Between whole numbers all are rounded to whole numbers; other values between are
// rounded to four significant digits, times, rates and sizes with the unit that suits. Fails if the
// ends are not numbers or quantities of one kind, or if a logarithm meets 0.
Result<std::vector<SweepValue>> sweep_range(const SweepRange& range);

}  // namespace mixnet::scenario
