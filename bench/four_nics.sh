#!/usr/bin/env bash
# How much of four NICs of 200 Mbit/s FabricRails fills: two network namespaces, four veth pairs
# with a token bucket on both ends, one rail per pair. Prints one line of JSON whose mbit_per_s is
# what counts: at least 770 of 800. Needs root; takes about 15 s; leaves nothing behind.
#
#   bench/four_nics.sh [PROGRAM]     the program that is built with
#                                    cmake --build --preset release-bench
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/slow_nics.sh

program=${1:-build/release/mixnet_fi_writedata_loop}
seconds=8
write_bytes=65536
limit_s=60

if [ ! -x "$program" ]; then
  echo "four_nics.sh: no program at $program: run cmake --build --preset release-bench" >&2
  exit 1
fi
trap remove_slow_nics EXIT
make_slow_nics

line=$(timeout "$limit_s" ip netns exec "$sender" "$program" "$seconds" n0,n1,n2,n3 n0,n1,n2,n3 \
  "$receiver" "$write_bytes")
mbit=$(sed -n 's/.*"mb_per_s": \([0-9.]*\).*/\1/p' <<<"$line" | awk '{ printf "%.1f", $1 * 8 }')
echo "${line%\}}, \"nics\": 4, \"mbit_per_s\": $mbit}"
