#include "report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace mixnet::report {
namespace {

constexpr const char* kNoNumber = "-";

struct Unit {
  double size;
  const char* name;
};

}  // namespace

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) {
    return kNoNumber;
  }
  if (value == 0) {
    return "0";
  }
  // The exponent of the rounded number: 9.9996 is 10.00, not 10.000.
  const std::string rounded = fmt::format("{:.{}e}", value, digits - 1);
  const int exponent = std::stoi(rounded.substr(rounded.find('e') + 1));
  return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent));
}

std::string duration_text(SimTime time) {
  static constexpr std::array<Unit, 4> kUnits{{{1e12, "s"}, {1e9, "ms"}, {1e6, "µs"}, {1e3, "ns"}}};
  const auto ps = static_cast<double>(time.ps());
  if (ps == 0) {
    return "0 s";
  }
  for (const Unit& unit : kUnits) {
    if (std::abs(ps) >= unit.size) {
      return significant(ps / unit.size) + " " + unit.name;
    }
  }
  return fmt::format("{} ps", time.ps());
}

std::string seconds_text(SimTime time) { return significant(exact_seconds(time)); }

std::string bytes_text(Bytes bytes) {
  static constexpr std::array<Unit, 5> kUnits{
      {{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}}};
  const auto count = static_cast<double>(bytes.count());
  for (const Unit& unit : kUnits) {
    if (count >= unit.size) {
      return significant(count / unit.size) + " " + unit.name;
    }
  }
  return fmt::format("{} B", bytes.count());
}

std::string usd_text(double usd) {
  if (!std::isfinite(usd)) {
    return kNoNumber;
  }
  if (usd >= 1e6) {
    return "$" + significant(usd / 1e6) + "M";
  }
  return usd >= 1e4 ? "$" + significant(usd / 1e3) + "k" : fmt::format("${:.0f}", usd);
}

std::string usd_exact_text(double usd) {
  if (!std::isfinite(usd)) {
    return kNoNumber;
  }
  std::string digits = fmt::format("{:.0f}", std::abs(usd));
  for (std::size_t at = digits.size(); at > 3; at -= 3) {
    digits.insert(at - 3, ",");
  }
  return (usd <= -0.5 ? "-$" : "$") + digits;
}

std::string ratio_text(double ratio) {
  if (!std::isfinite(ratio)) {
    return kNoNumber;
  }
  return std::abs(ratio) < 10 ? fmt::format("{:.3f}", ratio) : significant(ratio);
}

std::string percent_text(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", share * 100) : kNoNumber;
}

double share_of(SimTime part, SimTime whole) {
  return whole.ps() == 0 ? 0 : static_cast<double>(part.ps()) / static_cast<double>(whole.ps());
}

double exact_seconds(SimTime time) { return static_cast<double>(time.ps()) / 1e12; }

double per_iteration(int64_t count, const FabricResult& fabric) {
  const std::size_t iterations = fabric.iterations.empty() ? 1 : fabric.iterations.size();
  return static_cast<double>(count) / static_cast<double>(iterations);
}

}  // namespace mixnet::report
