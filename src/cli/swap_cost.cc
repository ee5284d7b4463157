#include "cli/swap_cost.h"

#include <fmt/format.h>

#include "plan/swap_cost.h"
#include "report/format.h"
#include "scenario/units_text.h"

namespace mixnet::cli {
namespace {

constexpr Bytes kLargestExpert(int64_t{1} << 50);
constexpr double kLongestSwapS = 1e6;  // picoseconds of it fit 64 bits

// The option in front of what is wrong with its value.
Error option_error(const char* option, const Error& error) {
  return Error{fmt::format("{}: {}", option, error.message), ""};
}

Result<Bytes> travelling_bytes(const SwapCostArguments& typed) {
  const Result<Bytes> size = scenario::parse_bytes(typed.size);
  if (!size) {
    return option_error("--swap-size", size.error());
  }
  if (size->count() < 1 || *size > kLargestExpert) {
    return Error{"--swap-size: an expert has between 1 byte and 1 PiB of weights", ""};
  }
  if (size->count() % typed.weight_bytes != 0) {
    return Error{fmt::format("--swap-size: {} bytes are no whole number of parameters of {} bytes: "
                             "change --weight-bytes",
                             size->count(), typed.weight_bytes),
                 ""};
  }
  const int64_t parameters = size->count() / typed.weight_bytes;
  return plan::expert_bytes(typed.training ? plan::training_state(parameters)
                                           : plan::serving_state(parameters, typed.weight_bytes));
}

Result<BitRate> link_rate(const SwapCostArguments& typed, BitRate nvlink) {
  if (typed.rate.empty()) {
    if (nvlink.bps() > 0) {
      return nvlink;
    }
    return Error{
        "the time of a swap needs the rate of a GPU in one direction: give --swap-rate, for "
        "example 450GB/s, or a --topology with nvlink_rate",
        ""};
  }
  const Result<BitRate> rate = scenario::parse_rate(typed.rate);
  if (!rate) {
    return option_error("--swap-rate", rate.error());
  }
  return rate;
}

}  // namespace

void add_swap_cost_options(CLI::App& command, CLI::Option& threshold, SwapCostArguments& typed) {
  const auto add = [&](const char* name, std::string& value, const char* help) {
    command.add_option(name, value, help)->excludes(&threshold);
  };
  add("--swap-size", typed.size,
      "replay: weights of one expert, for example 42MiB; with --token-time the threshold is "
      "t_swap / t_tok, instead of --threshold");
  add("--swap-rate", typed.rate,
      "replay: what a GPU sends to another one of its host in one direction, for example "
      "450GB/s; default: nvlink_rate of --topology");
  add("--token-time", typed.token_time,
      "replay: time that one more token takes a GPU, for example 1us");
  command
      .add_option("--weight-bytes", typed.weight_bytes,
                  "replay: bytes per parameter of --swap-size, 1 is FP8 and 2 is BF16")
      ->capture_default_str()
      ->check(CLI::Range(1, 8))
      ->excludes(&threshold);
  command
      .add_flag("--swap-training", typed.training,
                "replay: gradients and optimizer state travel with an expert, 16 bytes per "
                "parameter (Adam in mixed precision)")
      ->excludes(&threshold);
}

Result<std::optional<SwapCost>> swap_cost_of(const SwapCostArguments& typed, BitRate nvlink) {
  if (!typed.any()) {
    return std::optional<SwapCost>();
  }
  if (typed.size.empty() || typed.token_time.empty()) {
    return Error{
        "the threshold of a swap follows from --swap-size and --token-time, for example "
        "--swap-size 42MiB --token-time 1us; give both, or a count with --threshold",
        ""};
  }
  const Result<Bytes> expert = travelling_bytes(typed);
  if (!expert) {
    return expert.error();
  }
  const Result<BitRate> rate = link_rate(typed, nvlink);
  if (!rate) {
    return rate.error();
  }
  const Result<SimTime> token = scenario::parse_time(typed.token_time);
  if (!token) {
    return option_error("--token-time", token.error());
  }
  if (token->ps() <= 0) {
    return Error{"--token-time: a token takes time: give more than 0, for example 1us", ""};
  }
  if (static_cast<double>(expert->count()) / rate->bytes_per_second() > kLongestSwapS) {
    return Error{"a swap would take more than a million seconds: check --swap-size and --swap-rate",
                 ""};
  }
  SwapCost cost{*expert, *rate, plan::swap_time(*expert, *rate), *token, 1};
  cost.threshold = plan::swap_threshold(cost.swap, cost.per_token);
  return std::optional<SwapCost>(cost);
}

nlohmann::ordered_json swap_cost_json(const SwapCost& cost) {
  return {{"expert_bytes", cost.expert.count()},
          {"rate_gbps", cost.rate.gbps()},
          {"swap_time_us", static_cast<double>(cost.swap.ps()) / 1e6},
          {"token_time_us", static_cast<double>(cost.per_token.ps()) / 1e6},
          {"threshold", cost.threshold}};
}

std::string swap_cost_text(const SwapCost& cost) {
  return fmt::format(
      "A swap sends {} at {:g} GB/s: t_swap = {}, t_tok = {}, tau = t_swap / t_tok = {} "
      "token{}.\n",
      report::bytes_text(cost.expert), cost.rate.bytes_per_second() / 1e9,
      report::duration_text(cost.swap), report::duration_text(cost.per_token), cost.threshold,
      cost.threshold == 1 ? "" : "s");
}

}  // namespace mixnet::cli
