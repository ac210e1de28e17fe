# shellcheck shell=bash
# Sourced by other scripts: prints each stage with its time. Its output goes to build/logs/.

logs="${root:?}/build/logs"
mkdir -p "$logs"

say() { printf '%s\n' "$*"; }

took() { awk -v ns="$(($(date +%s%N) - $1))" 'BEGIN {printf "  (%.1f s)\n", ns / 1e9}'; }

# quiet NAME COMMAND...: runs it with its output in build/logs/NAME.log, and prints the log's end
# on failure.
quiet() {
  local name=$1 start status=0
  shift
  say "\$ $*"
  start=$(date +%s%N)
  "$@" > "$logs/$name.log" 2>&1 < /dev/null || status=$?
  took "$start"
  if [ "$status" -ne 0 ]; then
    tail -n 60 "$logs/$name.log" >&2
    say "$name failed with status $status; the whole log is build/logs/$name.log" >&2
  fi
  return "$status"
}

# loud COMMAND...: the same, for commands whose output is meant for the user.
loud() {
  local start status=0
  say "\$ $*"
  start=$(date +%s%N)
  "$@" < /dev/null || status=$?
  took "$start"
  return "$status"
}
