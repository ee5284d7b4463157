#pragma once

#include <compare>
#include <cstdint>

namespace mixnet {

// Simulated time or duration: integer picoseconds, range ±106 days.
class SimTime {
 public:
  constexpr SimTime() = default;
  static constexpr SimTime from_ps(int64_t ps) { return SimTime(ps); }
  static constexpr SimTime from_ns(int64_t ns) { return SimTime(ns * 1'000); }
  static constexpr SimTime from_us(int64_t us) { return SimTime(us * 1'000'000); }
  static constexpr SimTime from_ms(int64_t ms) { return SimTime(ms * 1'000'000'000); }
  // Rounds to the nearest picosecond; what is beyond the range becomes its end.
  static constexpr SimTime from_seconds(double s) {
    const double ps = s * 1e12;
    if (!(ps < 9.2e18)) {
      return max();
    }
    return SimTime(static_cast<int64_t>(ps < 0 ? ps - 0.5 : ps + 0.5));
  }
  static constexpr SimTime max() { return SimTime(INT64_MAX); }

  constexpr int64_t ps() const { return ps_; }
  // Divisions, because they give the nearest double: 25 ms is 0.025 s, not 0.024999...
  constexpr double seconds() const { return static_cast<double>(ps_) / 1e12; }
  constexpr double us() const { return static_cast<double>(ps_) / 1e6; }
  constexpr double ms() const { return static_cast<double>(ps_) / 1e9; }

  constexpr auto operator<=>(const SimTime&) const = default;
  constexpr SimTime operator+(SimTime o) const { return SimTime(ps_ + o.ps_); }
  constexpr SimTime operator-(SimTime o) const { return SimTime(ps_ - o.ps_); }
  constexpr SimTime operator*(int64_t k) const { return SimTime(ps_ * k); }
  constexpr SimTime& operator+=(SimTime o) {
    ps_ += o.ps_;
    return *this;
  }
  constexpr SimTime& operator-=(SimTime o) {
    ps_ -= o.ps_;
    return *this;
  }

 private:
  constexpr explicit SimTime(int64_t ps) : ps_(ps) {}
  int64_t ps_ = 0;
};

constexpr SimTime later_of(SimTime a, SimTime b) { return a < b ? b : a; }
constexpr SimTime earlier_of(SimTime a, SimTime b) { return a < b ? a : b; }

// A size in bytes (payload unless said otherwise).
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(int64_t count) : count_(count) {}
  constexpr int64_t count() const { return count_; }
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes operator+(Bytes o) const { return Bytes(count_ + o.count_); }
  constexpr Bytes operator-(Bytes o) const { return Bytes(count_ - o.count_); }
  constexpr Bytes operator*(int64_t k) const { return Bytes(count_ * k); }
  constexpr Bytes& operator+=(Bytes o) {
    count_ += o.count_;
    return *this;
  }

 private:
  int64_t count_ = 0;
};

// A data rate in bits per second, one direction.
class BitRate {
 public:
  constexpr BitRate() = default;
  static constexpr BitRate from_bps(int64_t bps) { return BitRate(bps); }
  static constexpr BitRate from_gbps(int64_t gbps) { return BitRate(gbps * 1'000'000'000); }
  // 1 GB/s = 1e9 bytes per second.
  static constexpr BitRate from_gigabytes_per_s(int64_t gb) { return BitRate(gb * 8'000'000'000); }
  constexpr int64_t bps() const { return bps_; }
  constexpr double bytes_per_second() const { return static_cast<double>(bps_) / 8.0; }
  constexpr double gbps() const { return static_cast<double>(bps_) / 1e9; }
  constexpr auto operator<=>(const BitRate&) const = default;
  constexpr BitRate operator+(BitRate o) const { return BitRate(bps_ + o.bps_); }
  constexpr BitRate operator*(int64_t k) const { return BitRate(bps_ * k); }

 private:
  constexpr explicit BitRate(int64_t bps) : bps_(bps) {}
  int64_t bps_ = 0;
};

// Time to push `bytes` through a link of `rate`, rounded up to a picosecond. The rate is > 0.
constexpr SimTime transfer_time(Bytes bytes, BitRate rate) {
  // 8e12 bit-picoseconds a byte overflow 64 bits beyond 1.1 MB, hence the wide product. The
  // __extension__ keeps -Wpedantic quiet about the builtin 128-bit type.
  __extension__ using Wide = unsigned __int128;
  const Wide bits_ps = static_cast<Wide>(bytes.count()) * 8u * 1'000'000'000'000ULL;
  const Wide bps = static_cast<Wide>(rate.bps());
  return SimTime::from_ps(static_cast<int64_t>((bits_ps + bps - 1) / bps));
}

}  // namespace mixnet
