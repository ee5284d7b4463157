#pragma once

#include <region.pb.h>

#include <string>
#include <vector>

namespace mixnet::cli {

// One thing that differs between two topologies, for `mixnet ocs watch`.
struct TopologyChange {
  double time = 0;      // Unix, in seconds
  std::string event;    // "alarm-raised", "alarm-cleared", "circuit", "patch", "session",
                        // "transaction", "quarantine"
  std::string kind;     // of an alarm; otherwise what it came to: "operational", "dark", "gone" ...
  std::string subject;  // circuit, port, NIC, region
  std::string message;
};

// From `before` to `after`, at `now`. Raised alarms are dated by the alarm.
std::vector<TopologyChange> changes_between(const region::v1::Topology& before,
                                            const region::v1::Topology& after, double now);

// What a watch begins with: the session, the number of circuits, and the alarms that stand.
std::vector<TopologyChange> standing(const region::v1::Topology& topology, double now);

}  // namespace mixnet::cli
