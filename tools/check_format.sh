#!/bin/sh
# Checks that C and C++ are formatted by clang-format, and that no line of a source has more than 116 columns. --fix
# formats them; long lines are wrapped by hand. Versions of clang-format differ in details, so only one is accepted.
set -eu
cd "$(dirname "$0")/.."
status=0
tools/check_columns.py || status=1
version=14
format=$(command -v clang-format-$version || command -v clang-format || true)
if ! [ "$format" ] || ! "$format" --version | grep -q "version $version\."; then
    echo "clang-format $version is not installed"
    [ $status = 0 ] && exit 77
    exit 1
fi
[ "${1:-}" = --fix ] && action=-i || action="--dry-run -Werror"
# shellcheck disable=SC2086 # a list of options
find include src tests examples bench fuzz tools -name '*.[ch]' -o -name '*.cc' -o -name '*.hpp' | sort |
    tr '\n' '\0' | xargs -0 "$format" $action || status=1
exit $status
