#include "scenario/units_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace mixnet::scenario {
namespace {

struct Unit {
  std::string_view name;
  int64_t factor;  // base units in one of it
};

constexpr Unit kRateUnits[] = {
    {"bps", 1},
    {"Kbps", 1'000},
    {"Mbps", 1'000'000},
    {"Gbps", 1'000'000'000},
    {"Tbps", 1'000'000'000'000},
    {"MB/s", 8'000'000},
    {"GB/s", 8'000'000'000},
    {"TB/s", 8'000'000'000'000},
};

constexpr Unit kTimeUnits[] = {
    {"ps", 1}, {"ns", 1'000}, {"us", 1'000'000}, {"ms", 1'000'000'000}, {"s", 1'000'000'000'000},
};

constexpr Unit kByteUnits[] = {
    {"B", 1},
    {"KB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
    {"TB", 1'000'000'000'000},
    {"KiB", int64_t{1} << 10},
    {"MiB", int64_t{1} << 20},
    {"GiB", int64_t{1} << 30},
    {"TiB", int64_t{1} << 40},
};

// What is being read, for the messages.
struct Quantity {
  const char* name;     // "a rate"
  const char* example;  // "100Gbps"
  const char* base;     // "bit/s"
  std::span<const Unit> units;
};

constexpr Quantity kRate = {"a rate", "100Gbps", "bit/s", kRateUnits};
constexpr Quantity kTime = {"a time", "1us", "ps", kTimeUnits};
constexpr Quantity kBytes = {"a size", "64KiB", "byte", kByteUnits};

// The number as digits / 10^decimals.
struct Decimal {
  int64_t digits = 0;
  int decimals = 0;
  std::size_t length = 0;  // characters read; 0 if there is no number
  bool too_long = false;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

Decimal read_decimal(std::string_view text) {
  Decimal d;
  bool point = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !point && i > 0) {
      point = true;
      continue;
    }
    if (!is_digit(text[i])) {
      break;
    }
    if (d.digits > (std::numeric_limits<int64_t>::max() - 9) / 10) {
      d.too_long = true;
      continue;
    }
    d.digits = d.digits * 10 + (text[i] - '0');
    d.decimals += point ? 1 : 0;
  }
  const bool ends_in_digit = i > 0 && is_digit(text[i - 1]);
  d.length = ends_in_digit ? i : 0;
  return d;
}

Error malformed(std::string_view text, const Quantity& q) {
  std::string units;
  for (const Unit& unit : q.units) {
    units += units.empty() ? "" : ", ";
    units += unit.name;
  }
  return Error{fmt::format("'{}' is not {}: write a number and a unit, such as {} (units: {})",
                           text, q.name, q.example, units),
               ""};
}

Result<int64_t> parse_quantity(std::string_view text, const Quantity& q) {
  const Decimal number = read_decimal(text);
  if (number.length == 0) {
    return malformed(text, q);
  }
  std::string_view rest = text.substr(number.length);
  if (!rest.empty() && rest.front() == ' ') {
    rest.remove_prefix(1);
  }
  const Unit* unit = nullptr;
  for (const Unit& candidate : q.units) {
    unit = candidate.name == rest ? &candidate : unit;
  }
  if (unit == nullptr) {
    return malformed(text, q);
  }
  __extension__ using Wide = __int128;  // factor * digits overflows 64 bits
  Wide value = static_cast<Wide>(number.digits) * unit->factor;
  for (int i = 0; i < number.decimals && !number.too_long; ++i) {
    if (value % 10 != 0) {
      return Error{fmt::format("'{}' is not a whole number of {}", text, q.base), ""};
    }
    value /= 10;
  }
  if (number.too_long || value > std::numeric_limits<int64_t>::max()) {
    return Error{fmt::format("'{}' is too large or too long: at most {} {} fit", text,
                             std::numeric_limits<int64_t>::max(), q.base),
                 ""};
  }
  return static_cast<int64_t>(value);
}

}  // namespace

Result<BitRate> parse_rate(std::string_view text) {
  const Result<int64_t> bps = parse_quantity(text, kRate);
  if (!bps) {
    return bps.error();
  }
  if (*bps == 0) {
    return Error{fmt::format("'{}': a rate is greater than 0, such as {}", text, kRate.example),
                 ""};
  }
  return BitRate::from_bps(*bps);
}

Result<SimTime> parse_time(std::string_view text) {
  if (text == "0") {
    return SimTime();
  }
  const Result<int64_t> ps = parse_quantity(text, kTime);
  return ps ? Result<SimTime>(SimTime::from_ps(*ps)) : ps.error();
}

Result<Bytes> parse_bytes(std::string_view text) {
  if (text == "0") {
    return Bytes();
  }
  const Result<int64_t> count = parse_quantity(text, kBytes);
  return count ? Result<Bytes>(Bytes(*count)) : count.error();
}

}  // namespace mixnet::scenario
