#!/usr/bin/env bash
# make_chromium.sh DIR: chromium in DIR/bin, and a stamp. The one on the PATH if there is one, else Debian's package:
# it needs many shared libraries, so it is installed and not unpacked.
set -euo pipefail

dir=$1
fail() {
  echo "keepwarm set-up: $1" >&2
  exit 2
}

rm -rf "$dir"
mkdir -p "$dir/bin"
dir=$(cd "$dir" && pwd)

on_the_path() {
  command -v chromium || command -v chromium-browser || command -v google-chrome
}

if ! found=$(on_the_path); then
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null \
    || fail "chromium is not on the PATH; install it: apt-get install -y chromium"
  echo "keepwarm set-up: installing chromium, once, 300 MB" >&2
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } \
    >"$dir/apt.log" 2>&1 \
    || { tail -n 5 "$dir/apt.log" >&2; fail "Debian's package chromium cannot be had; run: apt-get install chromium"; }
  found=$(on_the_path) || fail "chromium was installed and is not on the PATH"
fi
ln -s "$found" "$dir/bin/chromium"

# That it starts says nothing: libraries may be missing that only a page needs.
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
timeout 60 "$dir/bin/chromium" --headless --no-sandbox --disable-gpu --user-data-dir="$profile" \
  --dump-dom 'data:text/html,<p>keep<b>warm</b></p>' 2>"$dir/chromium.log" | grep -q '<p>keep<b>warm</b></p>' \
  || { tail -n 3 "$dir/chromium.log" >&2; fail "$found does not show a page; reinstall it: apt-get install chromium"; }
touch "$dir/.stamp"
