#!/usr/bin/env bash
# start.sh [N] [hints]: check .env, then build what is missing and start N replicas (2 to 8) behind the router, with
# `hints` the recording proxy, too; returns when all are healthy.
set -euo pipefail
cd "$(dirname "$0")"

fail() {
  echo "keepwarm: $1" >&2
  exit 2
}

replicas=${1:-2}
[[ $replicas =~ ^[2-8]$ ]] || fail "'$replicas' is no number of replicas: say 2 to 8"
case ${2:-} in
  '') profiles=() ;;
  hints) profiles=(--profile hints) ;;
  *) fail "'$2' is not known: say hints, or nothing" ;;
esac
[ -f .env ] || fail "deploy/fleet/.env is missing: cp deploy/fleet/.env.example deploy/fleet/.env, and set KEEPWARM_CONTROL_TOKEN in it"
token=${KEEPWARM_CONTROL_TOKEN-$(sed -n 's/^KEEPWARM_CONTROL_TOKEN=//p' .env | tail -n 1)}
[[ $token =~ ^[A-Za-z0-9+/=_.-]{16,}$ ]] \
  || fail "KEEPWARM_CONTROL_TOKEN in deploy/fleet/.env is a placeholder or has fewer than 16 characters (openssl rand -hex 32 makes one)"

workers=() controls=()
for ((n = 0; n < replicas; n++)); do
  workers+=("http://127.0.0.1:$((8000 + n))")
  controls+=("http://127.0.0.1:$((8100 + n))")
  ((n < 2)) || profiles+=(--profile "replica-$n")
done
export FLEET_WORKER_URLS="${workers[*]}"
FLEET_CONTROL_URLS=$(IFS=,; echo "${controls[*]}")
export FLEET_CONTROL_URLS

docker compose version >/dev/null 2>&1 \
  || fail "docker with its compose plugin was not found; docs/how-to/gpu-server.md says how to install it"
exec docker compose ${profiles[@]+"${profiles[@]}"} up --build --detach --wait --wait-timeout 3600
