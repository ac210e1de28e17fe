#!/usr/bin/env bash
# Unpacks the libraries and headers that assay-probe links on 64-bit Arm, from Debian's arm64
# packages, into build/aarch64-sysroot, once, and prints that folder. It does not change this
# machine's dpkg.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
sysroot="$root/build/aarch64-sysroot"
apt="$root/build/aarch64-apt"
log="$root/build/logs/arm64_packages.log"
wanted=(libyaml-cpp-dev libfmt-dev glslang-dev spirv-tools libvulkan-dev nlohmann-json3-dev libcli11-dev libeigen3-dev opencl-c-headers
  libjs-chart.js)

# apt's lists and cache in a folder of their own.
prepare_apt() {
  rm -rf "$apt"
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/packages"
  : > "$apt/status"
  cat > "$apt/apt.conf" << END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "$(id -un)";
Acquire::Languages "none";
Dir::State "$apt";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
END
  export APT_CONFIG="$apt/apt.conf"
}

# Some CMake files also need the shared object, whose package has its version in its name.
packages() {
  printf '%s\n' "${wanted[@]}"
  apt-cache depends libfmt-dev:arm64 libyaml-cpp-dev:arm64 | sed -nE 's/^ *Depends: (lib(fmt|yaml-cpp)[0-9.]+)(:arm64)?$/\1/p'
}

unpack() {
  rm -rf "$sysroot"
  prepare_apt && apt-get -q update && packages > "$apt/names" || return 1
  (cd "$apt/packages" && xargs apt-get -q download < "$apt/names") || return 1
  for package in "$apt"/packages/*.deb; do dpkg -x "$package" "$sysroot" || return 1; done
  rm -rf "$apt"
}

if [ "$(cat "$sysroot/unpacked.txt" 2> /dev/null)" != "${wanted[*]}" ]; then # written last: marks a complete folder
  mkdir -p "$(dirname "$log")"
  if ! unpack > "$log" 2>&1 < /dev/null; then
    echo "arm64_packages: Debian's arm64 packages could not be fetched (log: build/logs/arm64_packages.log)" >&2
    exit 1
  fi
  echo "${wanted[*]}" > "$sysroot/unpacked.txt"
fi
echo "$sysroot"
