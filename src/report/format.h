#pragma once

#include <string>

#include "core/comparison.h"
#include "core/units.h"

// Numbers for people. Independent of the locale; a number that is not finite reads "-".
namespace mixnet::report {

// At least `digits` significant digits, never an exponent: 77.96, 0.1480, 1234. The digits before
// the point are always complete; 0 is "0".
std::string significant(double value, int digits = 4);

// With the unit that suits: "77.96 s", "148.0 ms", "25.00 µs", "3.000 ns", "0 s".
std::string duration_text(SimTime time);
// Four significant digits of seconds, for a column whose heading says s.
std::string seconds_text(SimTime time);

// Decimal units: "512 B", "1.500 GB", "3.200 TB".
std::string bytes_text(Bytes bytes);

// "$1.772M", "$850.0k", "$99".
std::string usd_text(double usd);
// To the dollar, with thousands separators: "$1,772,032".
std::string usd_exact_text(double usd);

// Three decimals below 10, then four digits: "1.004", "12.30". For "times the bound" and the like.
std::string ratio_text(double ratio);
// Of a share in [0, 1]: "33.4 %".
std::string percent_text(double share);

// A count over all iterations of a fabric, per iteration.
double per_iteration(int64_t count, const FabricResult& fabric);
// part / whole, 0 if the whole is 0.
double share_of(SimTime part, SimTime whole);
// Correctly rounded seconds: 148 ms is 0.148.
double exact_seconds(SimTime time);

}  // namespace mixnet::report
