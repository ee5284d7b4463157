#!/usr/bin/env bash
# Installs, builds the dev preset (Debug, ASan, UBSan), verifies the headers, runs the tests.
#   ./test.sh            everything
#   ./test.sh -L fast    under a minute of tests; -L slow: the rest
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. scripts/steps.sh

usage() {
  echo "test.sh: $1; usage: ./test.sh [-L fast|slow]" >&2
  exit 2
}

selection=()
if [ $# -gt 0 ]; then
  case "$*" in
    "-L fast" | "-L slow") selection=(-L "^$2\$") ;;
    *) usage "cannot read '$*'" ;;
  esac
fi

log=$PWD/build/dev/ctest.log
steps 5
step "install what is missing" scripts/install.sh test
step "configure the dev build" cmake --preset dev --log-level=WARNING
step "build with sanitizers" cmake --build --preset dev --parallel "$(nproc)"
step "verify that every header stands alone" \
  cmake --build --preset dev-headers --parallel "$(nproc)"
step "run the tests" ctest --preset dev --parallel "$(nproc)" --no-tests=error \
  --output-log "$log" "${selection[@]}"

echo
grep 'tests passed' "$log"
echo "This took $SECONDS s."
