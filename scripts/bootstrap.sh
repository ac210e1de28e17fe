#!/usr/bin/env bash
# Installs missing Debian packages that building and testing need. Needs no network if none is
# missing.
#
#   scripts/bootstrap.sh [--bench] [--browser] [--aarch64]
#
#   --bench     also the libraries that bench/ compares with
#   --browser   also a headless Chromium (about 100 MB), for the report's test
#   --aarch64   also what builds and runs assay-probe for 64-bit Arm
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

packages=(g++ cmake ninja-build clang-format libyaml-cpp-dev libfmt-dev libcli11-dev libeigen3-dev nlohmann-json3-dev libjs-chart.js
  libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev libonnx-dev libonnx-testdata libprotobuf-dev protobuf-compiler libtbb-dev
  libxxhash-dev opencl-c-headers ocl-icd-libopencl1 pocl-opencl-icd libvulkan-dev libvulkan1 mesa-vulkan-drivers vulkan-validationlayers glslang-dev graphviz fonts-dejavu-core python3 python3-venv python3-jsonschema python3-yaml)
for option in "$@"; do
  case $option in
    --bench) packages+=(libdnnl-dev) ;;
    --browser) packages+=(chromium-headless-shell fonts-dejavu-core) ;;
    --aarch64) packages+=(g++-aarch64-linux-gnu qemu-user) ;;
    *) echo "bootstrap: unknown option '$option'; there are --bench, --browser and --aarch64" >&2; exit 2 ;;
  esac
done

if ! command -v dpkg > /dev/null; then
  echo "bootstrap: no dpkg here, so nothing is installed; needed are the Debian packages: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  dpkg -s "$package" 2> /dev/null | grep -q '^Status: install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo > /dev/null; then
    echo "bootstrap: neither root nor sudo; as root run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

log="$root/build/logs/bootstrap.log"
mkdir -p "$(dirname "$log")"
: > "$log"

# Another apt may hold the lock, such as an update after booting: wait for it, five minutes at most.
apt() {
  local attempt=$log.attempt deadline=$((SECONDS + 300)) told=
  until "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" > "$attempt" 2>&1; do
    cat "$attempt" >> "$log"
    if ! grep -qE 'Could not get lock|Unable to (lock|acquire)' "$attempt" || [ $SECONDS -ge $deadline ]; then
      rm -f "$attempt"
      return 1
    fi
    [ -n "$told" ] || echo "bootstrap: another apt is at work; waiting for it"
    told=yes
    sleep 5
  done
  cat "$attempt" >> "$log"
  rm -f "$attempt"
}

echo "bootstrap: installing ${missing[*]}"
install=(install --no-install-recommends "${missing[@]}")
# Try first with the present package lists: without network this may work from the cache.
if ! apt "${install[@]}"; then
  apt update || echo "bootstrap: apt-get update failed; trying with the present package lists" >&2
  if ! apt "${install[@]}"; then
    tail -n 20 "$log" >&2
    echo "bootstrap: apt-get could not install: ${missing[*]} (log: build/logs/bootstrap.log)" >&2
    exit 1
  fi
fi
