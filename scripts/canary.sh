#!/usr/bin/env bash
# canary.sh run|tune PYTHON MODEL OUT [OPTION...]: the canary, or the tuning of its scan limit, on the real vLLM of that
# environment and this machine's CPUs: some ten minutes, or half an hour. 127 usable blocks of 16 tokens, a hot prefix of
# 800 tokens, 80 one-use prompts of 810: what leaves stock LRU nothing of it.
set -euo pipefail

command=$1
python=$2
model=$3
out=$4

exec "$python" -m keepwarm canary "$command" \
  --local-model "$model" --python "$python" --blocks 128 --block-size 16 \
  --hot-tokens 800 --flood-tokens 810 --flood 1,2,4,8,16,40,80 \
  --out "$out" "${@:5}"
