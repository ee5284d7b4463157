#!/usr/bin/env bash
# Installs what is missing from Debian's packages. Run it with what the machine is for:
#   scripts/install.sh build   build and run the program
#   scripts/install.sh test    also run the tests and the checks
#   scripts/install.sh tidy    also run clang-tidy (scripts/tidy.sh)
#   scripts/install.sh bench   build and run, with what `mixnet bench ep` compares itself with
# When nothing is missing it touches neither apt nor the network.
set -euo pipefail

purpose=${1:-build}
missing=()

# need PACKAGE REASON PROBE...: the package is missing when the probe fails.
need() {
  local package=$1 reason=$2
  shift 2
  if ! "$@" >/dev/null 2>&1; then
    missing+=("$package")
    printf '  %-22s %s\n' "$package" "$reason"
  fi
}

on_path() { command -v "$1"; }

packaged() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

cmake_is_new_enough() {
  local version
  version=$(cmake --version | sed -n 's/^cmake version \([0-9.]*\).*/\1/p')
  [ -n "$version" ] && printf '3.25\n%s\n' "$version" | sort -V -C
}

need_build_packages() {
  # libstdc++-12-dev brings libc6-dev and gcc brings binutils; Ninja takes the place of make.
  need g++ "C++20 compiler" on_path g++
  need cmake "build description, 3.25 or newer" cmake_is_new_enough
  need ninja-build "runs the build" on_path ninja
  need git "version control; the checks ask it for the list of files" on_path git
  need libfmt-dev "text formatting" packaged libfmt-dev
  need libcli11-dev "command line" packaged libcli11-dev
  need libtomlplusplus-dev "reads scenario and catalogue files" packaged libtomlplusplus-dev
  need nlohmann-json3-dev "reads and writes JSON" packaged nlohmann-json3-dev
  need libsqlite3-dev "journal of the region controller" packaged libsqlite3-dev
  need libasio-dev "poll loop" packaged libasio-dev
  need libssh-dev "switches that are reached over SSH" packaged libssh-dev
  need libfabric-dev "carries the bytes of dispatch and combine through the NICs" \
    packaged libfabric-dev
  need pkgconf "finds libssh, libfabric and libsystemd for the build" on_path pkg-config
  need libgtest-dev "unit tests" packaged libgtest-dev
  need libgmock-dev "matchers of the unit tests" packaged libgmock-dev
  need libnlopt-dev "reference of the load predictor in tests and benchmarks" packaged libnlopt-dev
  need libbenchmark-dev "benchmarks" packaged libbenchmark-dev
  need libgrpc++-dev "the service of mixnetd" packaged libgrpc++-dev
  need libprotobuf-dev "its messages" packaged libprotobuf-dev
  need protobuf-compiler "generates their code" on_path protoc
  need protobuf-compiler-grpc "generates the code of the service" on_path grpc_cpp_plugin
  need prometheus-cpp-dev "metrics of mixnetd" packaged prometheus-cpp-dev
  need libsystemd-dev "tells systemd that mixnetd is ready" packaged libsystemd-dev
  # A Node.js from elsewhere brings its own npm and conflicts with Debian's.
  need npm "fetches the charts of the HTML report at build time (about 390 small packages)" \
    on_path npm
  need ca-certificates "lets npm verify https connections" packaged ca-certificates
}

need_test_packages() {
  need openssl "makes the certificates of a test" on_path openssl
  need python3 "runs the checks of the code base on itself" on_path python3
  need clang-14 "second compiler that every source must pass" on_path clang++-14
  need clang-format-14 "layout check" on_path clang-format-14
}

need_bench_packages() {
  need openmpi-bin "starts the ranks of the other side" on_path mpirun
  need libopenmpi-dev "all-to-all of Open MPI" packaged libopenmpi-dev
  need libgloo-dev "all-to-all of Gloo" packaged libgloo-dev
  need iproute2 "makes the slow NICs of bench/ep_modes.sh and bench/four_nics.sh" on_path tc
}

# The command prefix that makes apt-get run as root: nothing for root, sudo for others.
find_root() {
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "install.sh: installing needs root: run this as root, or install sudo," \
        "or install the packages above by hand." >&2
      exit 1
    fi
    as_root=(sudo)
  fi
}

case "$purpose" in
  build | test | tidy | bench) ;;
  *)
    echo "install.sh: unknown purpose '$purpose': write build, test, tidy or bench." >&2
    exit 2
    ;;
esac

need_build_packages
case "$purpose" in
  test | tidy) need_test_packages ;;
  bench) need_bench_packages ;;
esac
if [ "$purpose" = tidy ]; then need clang-tidy-14 "static analysis" on_path clang-tidy-14; fi

if [ "${#missing[@]}" -eq 0 ]; then
  echo "nothing to install"
  exit 0
fi
if ! command -v apt-get >/dev/null; then
  echo "install.sh: the packages above are missing and there is no apt-get here: this script" \
    "knows Debian 12 only; install their equivalents by hand." >&2
  exit 1
fi
find_root
echo "installing the ${#missing[@]} packages above from Debian"
apt_get() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 "$@" </dev/null
}
if ! apt_get update; then
  echo "install.sh: apt-get update failed: check the network and /etc/apt/sources.list." >&2
  exit 1
fi
if ! apt_get install -y --no-install-recommends "${missing[@]}"; then
  echo "install.sh: apt-get could not install the packages above; its messages say why." >&2
  exit 1
fi
