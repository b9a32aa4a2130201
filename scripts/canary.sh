#!/usr/bin/env bash
# canary.sh PYTHON MODEL OUT: the canary on the real vLLM of that environment, on this machine's CPUs, some ten minutes.
# 127 usable blocks of 16 tokens, a hot prefix of 800, 80 one-use prompts of 810: what leaves stock LRU nothing.
set -euo pipefail

python=$1
model=$2
out=$3

rm -rf "$out"
echo "keepwarm canary: three servers one after another, 80 requests each; the record goes to $out" >&2
"$python" -m keepwarm canary run \
  --local-model "$model" --python "$python" --blocks 128 --block-size 16 \
  --hot-tokens 800 --flood-tokens 810 --flood 1,2,4,8,16,40,80 \
  --out "$out" "${@:4}"
