#!/usr/bin/env bash
# demo.sh KEEPWARM TRAFFIC OUT: diagnose the example's recorded traffic, say where the report is, simulate caches for it,
# and put beside it what the dashboard shows besides.
set -euo pipefail

keepwarm=$1
traffic=$2
out=$3

rm -rf "$out"
mkdir -p "$(dirname "$out")"
"$keepwarm" diagnose "$traffic" --out "$out"

echo
echo "Which cache would serve it, as it is? (The kernels of three policies are compiled first, once.)"
echo
"$keepwarm" simulate cache "$traffic" --capacity-blocks 256,1024,4096

echo
echo "Results for the dashboard, in $out:"
"$(dirname "$keepwarm")/python" -m scripts.results "$out" --diagnosed

cat <<NEXT

That was the recorded traffic of examples/helpdesk, whose README says which defects it really has.
  Report: $PWD/$out/report.html (one file, it needs no network: open it in a browser)
  Your own traffic (docs/how-to/record.md says how to record it):
    $keepwarm diagnose YOUR-TRACE.jsonl --out out/mine
    $keepwarm simulate cache YOUR-TRACE.jsonl --curve
  In the hints above, keepwarm is $keepwarm
  All of it in the dashboard, with the measured evidence and the canary:
    $keepwarm serve $out
NEXT
