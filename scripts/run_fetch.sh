#!/usr/bin/env bash
# run_fetch.sh PYTHON DIR: fill DIR with the tokenizers that the tests use, whatever language the fetch script is in.
set -euo pipefail

python=$1
dir=$2
mkdir -p "$dir"
for script in scripts/fetch_test_tokenizers.*; do
  case $script in
    *.py) "$python" "$script" "$dir" ;;
    *.mjs | *.js) node "$script" "$dir" ;;
    *.sh) bash "$script" "$dir" ;;
  esac
done
touch "$dir/.stamp"
