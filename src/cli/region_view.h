#pragma once

#include <region.pb.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "daemon/region_config.h"

// How a region is shown to an operator: as tables, or as JSON. Nothing here talks to anybody.
namespace mixnet::cli {

struct StatusView {
  const daemon::RegionConfig& config;
  const region::v1::Topology& topology;
  std::string way;  // who was asked
  bool ports = false;
};

// Ports of circuits on the switch whose light is too weak.
std::vector<region::v1::PortState> dark_ports(const daemon::RegionConfig& config,
                                              const region::v1::Topology& topology);

// Connected, settled, every circuit operational, no alarm and no foreign patch.
bool all_is_well(const region::v1::Topology& topology);
std::string status_text(const StatusView& view);
nlohmann::ordered_json status_json(const StatusView& view);

// Where what is intended, configured and operational disagree: circuits, and patches that are no
// circuit.
bool agrees(const region::v1::CircuitState& circuit);
bool all_agree(const region::v1::Topology& topology);
std::string diff_text(const region::v1::Topology& topology);
nlohmann::ordered_json diff_json(const region::v1::Topology& topology);

// Every circuit VERIFIED. Of a dry run: nothing is blocked.
bool all_verified(const region::v1::ApplyReply& reply);
std::string reply_text(const region::v1::ApplyReply& reply);
std::string dry_run_text(const region::v1::ApplyReply& reply);
nlohmann::ordered_json reply_json(const region::v1::ApplyReply& reply);

// "2026-03-01T12:00:00.123Z".
std::string date_text(double unix_s);
// "s0/ocs1 - s3/ocs19": of whatever has the ends `a` and `b`.
template <typename Ends>
std::string circuit_name(const Ends& ends) {
  return ends.a() + " - " + ends.b();
}
std::string step_name(region::v1::Step step);  // "carrier"

}  // namespace mixnet::cli
