#!/usr/bin/env bash
# make_prometheus.sh DIR: prometheus and promtool in DIR/bin, and a stamp. Those on the PATH if there are any, else
# Debian's package, unpacked and not installed: no service is set up and nothing outside DIR changes.
set -euo pipefail

dir=$1
fail() {
  echo "keepwarm set-up: $1" >&2
  exit 2
}

rm -rf "$dir"
mkdir -p "$dir/bin"
dir=$(cd "$dir" && pwd)

if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
  ln -s "$(command -v prometheus)" "$(command -v promtool)" "$dir/bin/"
else
  command -v apt-get >/dev/null && command -v dpkg >/dev/null \
    || fail "prometheus and promtool are not on the PATH; install Prometheus 2.42 or newer"
  echo "keepwarm set-up: $dir, once, 20 MB" >&2
  cd "$dir"
  if ! apt-get download -qq prometheus >apt.log 2>&1; then
    # Without a list of packages, or with an old one.
    [ "$(id -u)" = 0 ] && apt-get update -qq >>apt.log 2>&1 && apt-get download -qq prometheus >>apt.log 2>&1 \
      || { tail -n 5 apt.log >&2; fail "Debian's package prometheus cannot be had; run: apt-get install prometheus"; }
  fi
  dpkg -x prometheus_*.deb unpacked
  mv unpacked/usr/bin/prometheus unpacked/usr/bin/promtool bin/
  rm -rf unpacked prometheus_*.deb
fi
"$dir/bin/promtool" --version >/dev/null 2>&1 || fail "$dir/bin/promtool does not run"
touch "$dir/.stamp"
