#pragma once

#include <string_view>

#include "core/result.h"
#include "core/units.h"

// Quantities as people write them: a decimal number and a unit, "100Gbps", "5.67 s", "64KiB". One
// blank may stand between them. The result is exact: what is not a whole number of the base unit
// (bit/s, picosecond, byte) or does not fit 64 bits is an error, as are signs, exponents and
// missing or unknown units. Messages quote the text and list the units.
namespace mixnet::scenario {

// bps, Kbps, Mbps, Gbps, Tbps (powers of 1000 bit/s), MB/s, GB/s, TB/s (powers of 1000 byte/s).
// Always > 0.
Result<BitRate> parse_rate(std::string_view text);

// ps, ns, us, ms, s; a bare 0 needs no unit.
Result<SimTime> parse_time(std::string_view text);

// B, KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024); a bare 0 needs no unit.
Result<Bytes> parse_bytes(std::string_view text);

}  // namespace mixnet::scenario
