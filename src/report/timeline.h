#pragma once

#include <cstddef>
#include <string>

#include "core/comparison.h"

namespace mixnet::report {

// At most this many bars are written, about 30 MB of text: what a browser still opens with ease.
inline constexpr std::size_t kMaxTimelineSpans = 200'000;

// The spans of every fabric in the Trace Event Format (JSON object form), which Perfetto and
// chrome://tracing open. One process per fabric and lane group ("mixnet: server 0"), one thread per
// lane, one complete event ("ph":"X") per span with its activity as category; ts and dur in
// microseconds with six decimals, so that every picosecond is kept. Events are in the order of
// process, thread and start.
//
// The format wants the events of a thread nested or apart. A lane whose spans overlap (two
// transfers on one NIC) is therefore spread over as few threads as keep them apart: "eps nic 0",
// "eps nic 0 (2)", ...
//
// If there are more than `max_spans` spans, each fabric gets an equal share of them and keeps its
// earliest; otherData then has "truncated": true and the counts. Spans name lanes that exist and
// have no negative start or duration.
std::string timeline_json(const Comparison& comparison, std::size_t max_spans = kMaxTimelineSpans);

}  // namespace mixnet::report
