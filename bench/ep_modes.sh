#!/usr/bin/env bash
# Dispatch and combine in every transport mode where NICs are the limit: two hosts (network
# namespaces) of four ranks, each with a NIC of 200 Mbit/s. Prints one line of JSON per mode.
# Needs root; takes about 30 s; leaves nothing behind.
#
#   bench/ep_modes.sh [PROGRAM]      the program that is built with
#                                    cmake --build --preset release-bench
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/slow_nics.sh

program=${1:-build/release/mixnet_ep_modes_bench}
limit_s=120

if [ ! -x "$program" ]; then
  echo "ep_modes.sh: no program at $program: run cmake --build --preset release-bench" >&2
  exit 1
fi
trap remove_slow_nics EXIT
make_slow_nics
timeout "$limit_s" ip netns exec "$sender" "$program" 10.78.0.1 "$sender" "$receiver"
