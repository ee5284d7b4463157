#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/place_replay.h"
#include "cli/placement_gain.h"

// What `mixnet place` prints beside plain placements: JSON objects and tables.
namespace mixnet::cli {

nlohmann::ordered_json joint_json(const std::vector<PlacementGain>& gains, std::size_t experts);
std::string joint_text(const std::vector<PlacementGain>& gains);

nlohmann::ordered_json replay_json(const PlaceReplayResult& result,
                                   const PlaceReplayOptions& options);
std::string replay_text(const PlaceReplayResult& result, const PlaceReplayOptions& options);

}  // namespace mixnet::cli
