#!/usr/bin/env bash
# Installs the pinned NVRTC and disassembler from PyPI into build/nvrtc, once, and prints the
# library's path. They compile and disassemble CUDA kernels without a CUDA toolkit. Without access
# to PyPI: one line, status 1.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder="$root/build/nvrtc"
wanted=(nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-nvdisasm==13.5.37)
library="$folder/packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
log="$root/build/logs/nvrtc.log"

if [ "$(cat "$folder/installed.txt" 2> /dev/null)" != "${wanted[*]}" ]; then # written last: marks a complete folder
  mkdir -p "$(dirname "$log")"
  rm -rf "$folder"
  if ! { "${PYTHON:-python3}" -m venv "$folder/venv" > "$log" 2>&1 &&
    timeout 300 "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --only-binary :all: \
      --timeout 10 --retries 1 --no-deps --target "$folder/packages" "${wanted[@]}" >> "$log" 2>&1 < /dev/null; }; then
    rm -rf "$folder"
    echo "nvrtc: ${wanted[*]} could not be installed from PyPI (log: build/logs/nvrtc.log)" >&2
    exit 1
  fi
  rm -rf "$folder/venv"
  echo "${wanted[*]}" > "$folder/installed.txt"
fi
echo "$library"
