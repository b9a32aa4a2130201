#!/bin/sh
# check-secrets.sh [COMMAND...]: refuse placeholder secrets, else run COMMAND. start.sh calls it before anything
# starts, and the Grafana container before Grafana, so `docker compose up` alone does not get past it either.
set -eu

refuse() {
  echo "keepwarm: $1; put another value into deploy/.env (openssl rand -base64 24 makes one)" >&2
  exit 2
}

check() {
  case $(printf %s "$2" | tr '[:upper:]' '[:lower:]' | tr -d '_ -') in
    changeme* | replaceme* | example* | placeholder* | password* | passwd* | secret* | admin* | grafana* | todo* | xxx* | '<'* | '$'*)
      refuse "$1 is a placeholder" ;;
  esac
  [ "${#2}" -ge 8 ] || refuse "$1 has fewer than 8 characters"
}

[ -n "${GRAFANA_ADMIN_PASSWORD:-}" ] || refuse "GRAFANA_ADMIN_PASSWORD is empty"
check GRAFANA_ADMIN_PASSWORD "$GRAFANA_ADMIN_PASSWORD"
[ -z "${VLLM_API_KEY:-}" ] || check VLLM_API_KEY "$VLLM_API_KEY"

[ $# = 0 ] || exec "$@"
