#pragma once

#include "core/comparison.h"

// Made-up comparisons for the tests of this module.
namespace mixnet::report {

// Seven fabrics of a job like Mixtral 8x7B on 256 GPUs, with traffic, a region of eight servers
// and a short timeline.
Comparison sample_comparison();

// One fabric without all-to-alls, circuits, cost, timeline or bound.
Comparison bare_comparison();

}  // namespace mixnet::report
