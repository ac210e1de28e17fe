#!/usr/bin/env bash
# Installs the pinned onnx, onnxruntime and numpy of examples/models/requirements.txt into
# build/venv, once. Without access to PyPI: one line, status 1, within half a minute.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv="$root/build/venv"
wanted="$root/examples/models/requirements.txt"
log="$root/build/logs/venv.log"

cmp -s "$wanted" "$venv/installed.txt" && exit 0 # written last: marks a complete venv

mkdir -p "$(dirname "$log")"
rm -rf "$venv"
pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --only-binary :all:)
if "${PYTHON:-python3}" -m venv "$venv" > "$log" 2>&1 &&
  timeout 300 "${pip[@]}" --timeout 10 --retries 1 -r "$wanted" >> "$log" 2>&1 < /dev/null; then
  cp "$wanted" "$venv/installed.txt"
else
  rm -rf "$venv"
  echo "venv: onnx and onnxruntime could not be installed from PyPI (log: build/logs/venv.log)" >&2
  exit 1
fi
