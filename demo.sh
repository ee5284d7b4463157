#!/usr/bin/env bash
# From a bare Debian 12 to a report: installs, builds, compares the fabrics of one example.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. scripts/steps.sh

scenario=examples/mixtral-8x7b-256gpu.toml
out=out/mixtral-8x7b-256gpu

if [ $# -ne 0 ]; then
  echo "demo.sh: takes no arguments; run build/release/mixnet --help for everything else." >&2
  exit 2
fi

steps 4
step "install what is missing" scripts/install.sh build
step "configure the release build" cmake --preset release --log-level=WARNING
step "build mixnet" cmake --build --preset release --parallel "$(nproc)"
step "compare the fabrics of $scenario" build/release/mixnet compare "$scenario" --out "$out"

echo
echo "The report lies in $out:"
echo "  $PWD/$out/report.html     open it in a browser"
echo "  $PWD/$out/timeline.json   open it at https://ui.perfetto.dev"
echo "  $PWD/$out/result.json     every number and the full configuration"
echo "This took $SECONDS s."
