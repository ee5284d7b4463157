#pragma once

#include <string>

#include "core/comparison.h"
#include "report/table.h"

namespace mixnet::report {

// What moved bytes are, and what they leave out.
inline constexpr const char* kPlacementCaption =
    "imbalance: tokens of the busiest expert rank over the mean. Moved bytes are weights, "
    "gradients and optimizer state of experts that change their rank. Time to move is the least "
    "that all these moves take together, at the full rate of the busiest NICs or NVLinks; it is "
    "not part of the iteration.";

// Placement of experts per fabric, and whether any fabric plans one.
Table placement_table(const Comparison& comparison);
bool has_placement(const Comparison& comparison);

// One row per fabric: iteration, all-to-all share, exposed switching, ratio to the bound, network
// cost, performance per dollar.
Table headline_table(const Comparison& comparison);

// One row per fabric: iterations, median and 99th percentile, commands and circuits set up per
// iteration, exposed switching by cause.
Table switching_table(const Comparison& comparison);
// Is there anything in it?
bool has_switching(const Comparison& comparison);

// Seconds of the critical path: a row per activity, a column per fabric, the bound last.
// Activities that take no time anywhere are left out.
Table breakdown_table(const Comparison& comparison);

// "10.10 s", or "not computed" if it is 0.
std::string bound_text(const Comparison& comparison);

// What `mixnet compare` prints: the headline table, the verdict and the notes; if `verbose`, the
// breakdown too.
std::string comparison_text(const Comparison& comparison, bool verbose);

}  // namespace mixnet::report
