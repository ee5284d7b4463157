#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/result.h"
#include "core/units.h"

// The threshold of a swap from what it costs (plan/swap_cost.h), as a user states it.
namespace mixnet::cli {

struct SwapCostArguments {
  std::string size;        // of one expert's weights, "42MiB"
  std::string rate;        // of a GPU in one direction, "450GB/s"
  std::string token_time;  // that one token adds to a GPU, "1us"
  int weight_bytes = 1;    // per parameter of `size`
  bool training = false;   // gradient and optimizer state travel too

  bool any() const {
    return !size.empty() || !rate.empty() || !token_time.empty() || weight_bytes != 1 || training;
  }
};

struct SwapCost {
  Bytes expert;  // all that travels
  BitRate rate;
  SimTime swap;
  SimTime per_token;
  int64_t threshold = 1;  // tokens
};

// `threshold` is the option that gives the threshold as a count instead.
void add_swap_cost_options(CLI::App& command, CLI::Option& threshold, SwapCostArguments& typed);

// Nothing if nothing was typed. `nvlink` is what the topology says, 0 if it does not. Errors say
// what is missing, or which quantity cannot be read or is out of range.
Result<std::optional<SwapCost>> swap_cost_of(const SwapCostArguments& typed, BitRate nvlink);

nlohmann::ordered_json swap_cost_json(const SwapCost& cost);
// One sentence, with its end of line.
std::string swap_cost_text(const SwapCost& cost);

}  // namespace mixnet::cli
