#!/bin/sh
# Checks that every source is formatted by clang-format. --fix formats them. Versions differ in details, so only one
# is accepted.
set -eu
cd "$(dirname "$0")/.."
version=14
format=$(command -v clang-format-$version || command -v clang-format || true)
if ! [ "$format" ] || ! "$format" --version | grep -q "version $version\."; then
    echo "clang-format $version is not installed"
    exit 77
fi
[ "${1:-}" = --fix ] && action=-i || action="--dry-run -Werror"
# shellcheck disable=SC2086 # a list of options
find include src tests examples bench fuzz -name '*.[ch]' -o -name '*.cc' -o -name '*.hpp' | sort | tr '\n' '\0' |
    xargs -0 "$format" $action
