#!/usr/bin/env bash
# make_venv.sh DIR [pip options]: a virtual environment with this package, editable, and a stamp when it is complete.
set -euo pipefail

dir=$1
shift
python=${PYTHON:-python3}
cd "$(dirname "$0")/.."

fail() {
  echo "keepwarm set-up: $1" >&2
  exit 2
}

command -v "$python" >/dev/null || fail "$python was not found; install Python 3.11 or newer: apt-get install -y python3-venv"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
  || fail "$("$python" --version) is too old, 3.11 or newer is needed; name another one: make PYTHON=python3.12"

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null \
    || fail "$python cannot make virtual environments; run: apt-get install -y python3-venv"
  echo "keepwarm set-up: installing python3-venv" >&2
  { apt-get update -qq && apt-get install -y -qq python3-venv; } >/dev/null
fi

echo "keepwarm set-up: $dir, once, for a minute or so" >&2
rm -f "$dir/.stamp"
# An environment whose interpreter is gone or that was moved is made again from nothing.
"$dir/bin/python" -c '' 2>/dev/null || rm -rf "$dir"
[ -d "$dir" ] || "$python" -m venv "$dir"
# Dependency groups (PEP 735) need pip 25.1, Debian 12 brings 23.
"$dir/bin/python" -m pip install -qq --disable-pip-version-check --upgrade 'pip>=25.1'
"$dir/bin/python" -m pip install -qq --disable-pip-version-check --root-user-action ignore --editable . "$@"
touch "$dir/.stamp"
