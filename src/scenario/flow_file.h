#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/units.h"

// Flow files: who sends how many bytes to whom, and when. Text in the connection-matrix format of
// csg-htsim (`.cm`), so that the same file runs in other simulators:
//
//   Nodes N
//   Connections C
//   0->127 id 1 start 0 size 2000000        (C lines)
//
// `#` starts a comment, blank lines are skipped, lines may end in CR LF. The fields of a flow may
// come in any order. Triggers, failures, priorities and the like are not supported.
namespace mixnet::scenario {

struct Flow {
  int32_t source = 0;       // host
  int32_t destination = 0;  // host, another one
  SimTime start;            // picoseconds in the file
  Bytes size;               // payload, > 0
};

struct FlowSet {
  int32_t hosts = 0;
  std::vector<Flow> flows;  // in file order
};

// Parses the text of a flow file; `name` is the file's name in errors. Every error has name:line.
// Fails on anything unsupported or inconsistent: hosts outside 0 ... N-1, a host sending to itself,
// ids other than 1 ... C each once, sizes or starts that are not whole numbers, size 0, a number of
// flows other than C.
Result<FlowSet> parse_flows(std::string_view text, const std::string& name);

// Reads and parses a file.
Result<FlowSet> read_flow_file(const std::string& path);

// The text of a flow set, as parse_flows reads it.
std::string flow_text(const FlowSet& flows);

}  // namespace mixnet::scenario
