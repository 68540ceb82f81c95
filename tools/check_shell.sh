#!/bin/sh
# Are all shell scripts free of what shellcheck warns of?
set -eu
cd "$(dirname "$0")/.."
command -v shellcheck > /dev/null || { echo "shellcheck is not installed"; exit 77; }
find . -path ./build -prune -o -name '*.sh' -exec shellcheck dev .ci/run {} +
