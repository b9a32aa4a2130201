#!/usr/bin/env bash
# demo.sh KEEPWARM TRAFFIC OUT: diagnose the example's recorded traffic and say where the report is.
set -euo pipefail

keepwarm=$1
traffic=$2
out=$3

rm -rf "$out"
mkdir -p "$(dirname "$out")"
"$keepwarm" diagnose "$traffic" --out "$out"

cat <<NEXT

Report: $PWD/$out/report.html
Next steps:
  1. Open the report in a browser: one file, it needs no network.
  2. Look at one request:   $keepwarm explain $traffic REQUEST
  3. Read about a cause:    $keepwarm causes clock
  4. Diagnose your own recording: $keepwarm diagnose YOUR-TRACE.jsonl --out out/mine
     (docs/how-to/record.md says how to record one)
NEXT
