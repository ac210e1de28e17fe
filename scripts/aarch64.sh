#!/usr/bin/env bash
# Builds assay-probe for 64-bit Arm Linux into build/aarch64 and prints its path.
#
#   scripts/aarch64.sh [JOBS]     needs aarch64-linux-gnu-g++ (scripts/bootstrap.sh --aarch64) and, once, the network
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
log="$root/build/logs/aarch64.log"

for tool in aarch64-linux-gnu-g++ apt-get dpkg cmake ninja; do
  command -v $tool > /dev/null && continue
  echo "aarch64: no $tool here; on Debian scripts/bootstrap.sh --aarch64 installs it" >&2
  exit 1
done
mkdir -p "$(dirname "$log")"
scripts/arm64_packages.sh > /dev/null
build() { cmake --preset aarch64 && cmake --build build/aarch64 -j "$1" --target assay-probe; }
if ! build "${1:-2}" > "$log" 2>&1 < /dev/null; then
  tail -n 40 "$log" >&2
  echo "aarch64: the build failed (log: build/logs/aarch64.log)" >&2
  exit 1
fi
echo "$root/build/aarch64/bin/assay-probe"
