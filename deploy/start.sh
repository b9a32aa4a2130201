#!/usr/bin/env bash
# start.sh [baseline|canary|both]: check .env, then build what is missing and start the stack; returns when it is healthy.
set -euo pipefail
cd "$(dirname "$0")"

fail() {
  echo "keepwarm: $1" >&2
  exit 2
}

# NAME as docker compose will see it: from the shell, else from .env, whose lines are never run as a script.
value() {
  local line
  if [ -n "${!1+set}" ]; then
    printf %s "${!1}"
  else
    line=$(sed -n "s/^[[:space:]]*\(export \)\?$1[[:space:]]*=[[:space:]]*//p" .env | tail -n 1)
    line=${line%$'\r'}
    if [[ $line =~ ^\"([^\"]*)\" || $line =~ ^\'([^\']*)\' ]]; then
      printf %s "${BASH_REMATCH[1]}"
    else
      line=${line%%[[:space:]]#*}
      printf %s "${line%"${line##*[![:space:]]}"}"
    fi
  fi
}

profile=${1:-both}
case $profile in
  baseline | canary | both) ;;
  *) fail "no servers are called '$profile': say baseline, canary or both" ;;
esac
[ -f .env ] || fail "deploy/.env is missing: cp deploy/.env.example deploy/.env, and set GRAFANA_ADMIN_PASSWORD in it"

GRAFANA_ADMIN_PASSWORD=$(value GRAFANA_ADMIN_PASSWORD) VLLM_API_KEY=$(value VLLM_API_KEY) sh ./check-secrets.sh

docker compose version >/dev/null 2>&1 \
  || fail "docker with its compose plugin was not found; docs/how-to/gpu-server.md says how to install it"
files=(--file compose.yaml)
[ -z "$(value VLLM_SOURCE_DIR)" ] || files+=(--file compose.source.yaml)
# The canary waits for a healthy baseline, and a first start downloads the model: together up to an hour.
exec docker compose "${files[@]}" --profile "$profile" up --build --detach --wait --wait-timeout 3600
