#!/bin/sh
# Does every internal header compile by itself, so that the order of includes never matters?
# usage: check_headers.sh COMPILER
set -eu
cd "$(dirname "$0")/.."
for folder in src/*/; do set -- "$@" -iquote "$folder"; done
status=0
for header in src/*/*.h; do
    "$@" -std=gnu11 -DHOTPATH=1 -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c -include "$header" /dev/null ||
        status=1
done
exit $status
