# Sourced by what measures between two hosts of four slow NICs: network namespaces $sender and
# $receiver with n0 to n3 of 200 Mbit/s each (10.77.NIC.1 and .2), and m0, which is not slow, for
# ranks to meet (10.78.0.1 and .2). Needs root. The caller calls remove_slow_nics when it ends.
sender=mixnet-send-$$
receiver=mixnet-receive-$$
# With 1500 the headers take 4.4 % of the rate, so that no program gets above 765 Mbit/s.
mtu=9000

# The veth pairs go with their namespaces.
remove_slow_nics() {
  ip netns delete "$sender" 2>/dev/null || true
  ip netns delete "$receiver" 2>/dev/null || true
}

# make_link NAME NETWORK
make_link() {
  ip -n "$sender" link add "$1" type veth peer name "$1" netns "$receiver"
  ip -n "$sender" address add "$2.1/24" dev "$1"
  ip -n "$receiver" address add "$2.2/24" dev "$1"
  for namespace in "$sender" "$receiver"; do
    ip -n "$namespace" link set "$1" mtu "$mtu" up
  done
}

make_slow_nics() {
  if [ "$(id -u)" -ne 0 ]; then
    echo "${0##*/}: making network namespaces needs root." >&2
    exit 1
  fi
  for namespace in "$sender" "$receiver"; do
    ip netns add "$namespace"
    ip -n "$namespace" link set lo up
  done
  make_link m0 10.78.0
  for nic in 0 1 2 3; do
    make_link "n$nic" "10.77.$nic"
    for namespace in "$sender" "$receiver"; do
      # A smaller burst starves segments of 64 KiB.
      tc -n "$namespace" qdisc add dev "n$nic" root tbf rate 200mbit burst 70k latency 50ms
    done
  done
}
