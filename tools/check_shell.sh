#!/bin/sh
# Checks all shell scripts with shellcheck.
set -eu
cd "$(dirname "$0")/.."
command -v shellcheck > /dev/null || { echo "shellcheck is not installed"; exit 77; }
find . -path ./build -prune -o -name '*.sh' -exec shellcheck dev .ci/run {} +
