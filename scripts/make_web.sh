#!/usr/bin/env bash
# make_web.sh STATIC: build the dashboard and put it into STATIC, where the package ships it. Node 20 or newer; the
# packages that package-lock.json names are installed beside it, and nothing of them ships but what the build made.
set -euo pipefail

static=$1
cd "$(dirname "$0")/.."

fail() {
  echo "keepwarm set-up: $1" >&2
  exit 2
}

command -v node >/dev/null && command -v npm >/dev/null \
  || fail "node and npm were not found; install Node 20 or newer: https://nodejs.org"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] \
  || fail "node $(node --version) is too old, 20 or newer is needed"

echo "keepwarm set-up: the dashboard, for half a minute or so" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export NEXT_TELEMETRY_DISABLED=1 CI=1
cd web
if ! cmp -s package-lock.json node_modules/.keepwarm-lock.json; then
  npm ci --no-progress >"$log" 2>&1 || { tail -n 20 "$log" >&2; fail "npm ci failed in web/"; }
  cp package-lock.json node_modules/.keepwarm-lock.json
fi
npm run --silent build >"$log" 2>&1 || { tail -n 40 "$log" >&2; fail "the dashboard does not build"; }
cd ..
rm -rf "$static"
cp -r web/out "$static"
