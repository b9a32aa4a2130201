#!/usr/bin/env bash
# side_by_side.sh FIRST SECOND: two targets of make at the same time, the second's output after the first's.
# Fails if either does, and after both, so that every failure is seen.
set -euo pipefail
set -m # each is a process group of its own: Ctrl-C ends both, with all that they started

log=$(mktemp)
make "$2" >"$log" 2>&1 &
second=$!
# shellcheck disable=SC2317 # called by the trap
end() {
  kill -- "-$second" 2>/dev/null || true
  rm -f "$log"
}
trap end EXIT

failed=0
make "$1" || failed=1
echo "$1 is done; waiting for $2, whose output follows"
wait "$second" || failed=1
cat "$log"
exit "$failed"
