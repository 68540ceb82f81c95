#!/bin/sh
# Checks the library and the program with clang-tidy (.clang-tidy). usage: check_tidy.sh BUILD_DIR
set -eu
cd "$(dirname "$0")/.."
command -v clang-tidy > /dev/null || { echo "clang-tidy is not installed"; exit 77; }
find src -name '*.c' -print0 | xargs -0 -P "$(nproc)" -n 1 clang-tidy --quiet -p "$1"
