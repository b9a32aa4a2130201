#!/usr/bin/env bash
# make_router_venv.sh DIR: vllm-router and what it asks for, in an environment of its own, so that none of vLLM's
# packages moves; a stamp when it is complete. It speaks to the servers over HTTP and needs nothing of ours.
set -euo pipefail

dir=$1
python=${PYTHON:-python3}

fail() {
  echo "keepwarm set-up: $1" >&2
  exit 2
}

command -v "$python" >/dev/null || fail "$python was not found; install Python 3.11 or newer: apt-get install -y python3-venv"
echo "keepwarm set-up: $dir, once, 130 MB" >&2
rm -rf "$dir"
"$python" -m venv "$dir" || fail "$python cannot make virtual environments; run: apt-get install -y python3-venv"
# From source it would need a Rust compiler, so only the wheel will do.
"$dir/bin/python" -m pip install -q --disable-pip-version-check --root-user-action ignore \
  --only-binary vllm-router vllm-router==0.1.17 >"$dir/pip.log" 2>&1 \
  || { tail -n 5 "$dir/pip.log" >&2; fail "vllm-router 0.1.17 cannot be installed; it needs Linux on x86_64 and a package index that has it"; }
"$dir/bin/python" -m pip check --disable-pip-version-check >/dev/null || fail "vllm-router's requirements contradict each other: $dir/bin/python -m pip check"
"$dir/bin/vllm-router" --help >/dev/null || fail "$dir/bin/vllm-router does not run"
touch "$dir/.stamp"
