#include "scenario/sweep_steps.h"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <string>

#include "core/check.h"
#include "scenario/units_text.h"

namespace mixnet::scenario {
namespace {

using nlohmann::ordered_json;

enum class Kind { kWhole, kDecimal, kTime, kRate, kBytes, kOther };

struct StepQuantity {
  Kind kind = Kind::kOther;
  double value = 0;  // whole numbers and decimals as they are; ps, bit/s, bytes
};

struct StepUnit {
  const char* name;
  int64_t size;  // in the base unit
};
constexpr StepUnit kTimes[] = {
    {"s", 1'000'000'000'000}, {"ms", 1'000'000'000}, {"us", 1'000'000}, {"ns", 1'000}, {"ps", 1}};
constexpr StepUnit kRates[] = {{"Tbps", 1'000'000'000'000},
                               {"Gbps", 1'000'000'000},
                               {"Mbps", 1'000'000},
                               {"Kbps", 1'000},
                               {"bps", 1}};
constexpr StepUnit kSizes[] = {
    {"TB", 1'000'000'000'000}, {"GB", 1'000'000'000}, {"MB", 1'000'000}, {"KB", 1'000}, {"B", 1}};

StepQuantity quantity_of(const ordered_json& value) {
  if (value.is_number_integer()) {
    return {Kind::kWhole, value.get<double>()};
  }
  if (value.is_number()) {
    return {Kind::kDecimal, value.get<double>()};
  }
  if (!value.is_string()) {
    return {};
  }
  const std::string text = value.get<std::string>();
  if (const Result<SimTime> time = parse_time(text); time.ok()) {
    return {Kind::kTime, static_cast<double>(time->ps())};
  }
  if (const Result<BitRate> rate = parse_rate(text); rate.ok()) {
    return {Kind::kRate, static_cast<double>(rate->bps())};
  }
  if (const Result<Bytes> bytes = parse_bytes(text); bytes.ok()) {
    return {Kind::kBytes, static_cast<double>(bytes->count())};
  }
  return {};
}

// In the largest unit that is not larger, with as many decimals as it takes: "2.5ms".
std::string exact_text(int64_t count, std::span<const StepUnit> units) {
  for (const StepUnit& unit : units) {
    if (count >= unit.size) {
      std::string text = std::to_string(count / unit.size);
      int64_t rest = count % unit.size;
      std::string decimals;
      for (int64_t place = unit.size / 10; rest > 0; place /= 10) {
        decimals += static_cast<char>('0' + rest / place);
        rest %= place;
      }
      return text + (decimals.empty() ? "" : "." + decimals) + unit.name;
    }
  }
  return std::string("0") + units.back().name;
}

double four_digits(double value) { return std::stod(fmt::format("{:.3e}", value)); }

ordered_json value_of(Kind kind, double value) {
  switch (kind) {
    case Kind::kWhole:
      return std::llround(value);
    case Kind::kTime:
      return exact_text(std::llround(four_digits(value)), kTimes);
    case Kind::kRate:
      return exact_text(std::llround(four_digits(value)), kRates);
    case Kind::kBytes:
      return exact_text(std::llround(four_digits(value)), kSizes);
    default:
      return four_digits(value);
  }
}

}  // namespace

std::optional<double> sweep_magnitude(const ordered_json& value) {
  const StepQuantity quantity = quantity_of(value);
  switch (quantity.kind) {
    case Kind::kOther:
      return std::nullopt;
    case Kind::kTime:
      return quantity.value / 1e12;
    default:
      return quantity.value;
  }
}

Result<std::vector<SweepValue>> sweep_range(const SweepRange& range) {
  CHECK(range.steps >= 2, "a range has two ends");
  StepQuantity from = quantity_of(range.from);
  StepQuantity to = quantity_of(range.to);
  const auto number = [](Kind kind) { return kind == Kind::kWhole || kind == Kind::kDecimal; };
  if (from.kind != to.kind && number(from.kind) && number(to.kind)) {
    from.kind = to.kind = Kind::kDecimal;
  }
  if (from.kind == Kind::kOther || from.kind != to.kind) {
    return Error{fmt::format("`from` and `to` must both be numbers, times, rates or sizes, found "
                             "{} and {}; list other values as `values = [...]`",
                             range.from.dump(), range.to.dump()),
                 ""};
  }
  if (range.log && !(from.value > 0 && to.value > 0)) {
    return Error{fmt::format("a logarithmic scale has no 0 and nothing below: `from` and `to` must "
                             "be larger, found {} and {}",
                             range.from.dump(), range.to.dump()),
                 ""};
  }
  std::vector<SweepValue> values;
  for (int i = 0; i < range.steps; ++i) {
    const double share = static_cast<double>(i) / (range.steps - 1);
    const double between = range.log ? from.value * std::pow(to.value / from.value, share)
                                     : from.value + (to.value - from.value) * share;
    ordered_json value = value_of(from.kind, between);
    if (i == 0 || i + 1 == range.steps) {
      value = i == 0 ? range.from : range.to;
    }
    values.push_back({value, sweep_magnitude(value)});
  }
  return values;
}

}  // namespace mixnet::scenario
