#!/bin/sh
# Checks that every internal header, and every adapter that needs no library, compiles by itself, so that the order
# of includes never matters. usage: check_headers.sh COMPILER
set -eu
cd "$(dirname "$0")/.."
for folder in src/*/ src/*/*/; do set -- "$@" -iquote "$folder"; done
status=0
for header in src/*/*.h src/*/*/*.h; do
    "$@" -std=gnu11 -DHOTPATH=1 -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c -include "$header" /dev/null ||
        status=1
done
for header in include/hotpath/adapter.h include/hotpath/pool.h; do # the others need their libraries
    for mode in 0 1; do
        "$1" -std=c11 -DHOTPATH=$mode -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only \
            -x c -include "$header" /dev/null || status=1
    done
done
exit $status
