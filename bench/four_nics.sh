#!/usr/bin/env bash
# How much of four NICs of 200 Mbit/s FabricRails fills: two network namespaces, four veth pairs
# with a token bucket on both ends, one rail per pair. Prints one line of JSON whose mbit_per_s is
# what counts: at least 770 of 800. Needs root; takes about 15 s; leaves nothing behind.
#
#   bench/four_nics.sh [PROGRAM]     the program of `cmake --build --preset release --target
#                                    mixnet_fi_writedata_loop`
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=${1:-build/release/mixnet_fi_writedata_loop}
sender=mixnet-send-$$
receiver=mixnet-receive-$$
seconds=8
write_bytes=65536
limit_s=60
# With 1500 the headers take 4.4 % of the rate, so that no program gets above 765 Mbit/s.
mtu=9000

if [ ! -x "$program" ]; then
  echo "four_nics.sh: no program at $program: build mixnet_fi_writedata_loop first." >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "four_nics.sh: making network namespaces needs root." >&2
  exit 1
fi

# The veth pairs go with their namespaces.
clean_up() {
  ip netns delete "$sender" 2>/dev/null || true
  ip netns delete "$receiver" 2>/dev/null || true
}
trap clean_up EXIT

ip netns add "$sender"
ip netns add "$receiver"
ip -n "$sender" link set lo up
ip -n "$receiver" link set lo up
for nic in 0 1 2 3; do
  ip -n "$sender" link add "n$nic" type veth peer name "n$nic" netns "$receiver"
  for side in "$sender 1" "$receiver 2"; do
    read -r namespace host <<<"$side"
    ip -n "$namespace" address add "10.77.$nic.$host/24" dev "n$nic"
    ip -n "$namespace" link set "n$nic" mtu "$mtu" up
    # A smaller burst starves segments of 64 KiB.
    tc -n "$namespace" qdisc add dev "n$nic" root tbf rate 200mbit burst 70k latency 50ms
  done
done

line=$(timeout "$limit_s" ip netns exec "$sender" "$program" "$seconds" n0,n1,n2,n3 n0,n1,n2,n3 \
  "$receiver" "$write_bytes")
mbit=$(sed -n 's/.*"mb_per_s": \([0-9.]*\).*/\1/p' <<<"$line" | awk '{ printf "%.1f", $1 * 8 }')
echo "${line%\}}, \"nics\": 4, \"mbit_per_s\": $mbit}"
