#!/usr/bin/env bash
# Builds mixnet_ep_hello if need be and runs it as RANKS processes of this machine, which take
# themselves for ranks of HOSTS machines: what crosses between these goes through libfabric over
# loopback. Ends with the status of the first rank that failed, or 0.
#
# A program that is built already is taken from MIXNET_EP_HELLO.
set -euo pipefail

usage() {
  echo "usage: run.sh [RANKS [HOSTS]]    1 to 64 ranks (4), 1 to RANKS hosts (2 if it can)" >&2
  exit 2
}

# number TEXT MOST: whether TEXT is a number from 1 to MOST.
number() { [[ $1 =~ ^[1-9][0-9]?$ ]] && [ "$1" -le "$2" ]; }

[ $# -le 2 ] || usage
ranks=${1-4}
number "$ranks" 64 || usage
hosts=${2-$((ranks > 1 ? 2 : 1))}
number "$hosts" "$ranks" || usage

# Its output is of interest only when it fails.
quietly() {
  local log
  log=$("$@" 2>&1) || {
    echo "$log" >&2
    echo "run.sh: failed: $*" >&2
    exit 1
  }
}

program=${MIXNET_EP_HELLO-}
if [ -z "$program" ]; then
  cd "$(dirname "${BASH_SOURCE[0]}")/../.."
  if [ ! -e build/release/build.ninja ]; then
    echo "configuring build/release" >&2
    quietly scripts/install.sh build
    quietly cmake --preset release --log-level=WARNING
  fi
  program=build/release/mixnet_ep_hello
  [ -x "$program" ] || echo "building $program, which takes some minutes" >&2
  quietly cmake --build --preset release --target mixnet_ep_hello --parallel "$(nproc)"
fi

# Below the ports that the system gives to connections.
port() {
  local try
  for try in {1..50}; do
    try=$((20000 + RANDOM % 10000))
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$try") 2>/dev/null; then
      echo "$try"
      return
    fi
  done
  echo "run.sh: no free port at 127.0.0.1" >&2
  return 1
}
store=127.0.0.1:$(port)

pids=()
# shellcheck disable=SC2317  # called by the trap
stop() {
  if [ ${#pids[@]} -gt 0 ]; then
    kill "${pids[@]}" 2>/dev/null || true
  fi
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for ((rank = 0; rank < ranks; ++rank)); do
  RANK=$rank WORLD_SIZE=$ranks MIXNET_STORE=$store MIXNET_HOSTS=$hosts "$program" &
  pids+=($!)
done
status=0
for pid in "${pids[@]}"; do
  code=0
  wait "$pid" || code=$?
  [ "$status" -ne 0 ] || status=$code
done
pids=()
exit "$status"
