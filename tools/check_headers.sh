#!/bin/sh
# Checks that every internal header, the public one, and every adapter that needs no library compile by themselves,
# so that the order of includes never matters; and that the parts of the public header are refused without it.
# A header that is the first line of a source needs no compiler here: the build shows that it compiles by itself.
# usage: check_headers.sh COMPILER
set -eu
cd "$(dirname "$0")/.."
for folder in src/*/ src/*/*/; do set -- "$@" -iquote "$folder"; done
status=0
# Of each source that every build compiles, the name in its first directive, if that is an include.
first=$(awk '/^#/ { if ($1 == "#include") print $2; nextfile }' src/*/*.c src/*/*/*.c | sort -u)
for header in src/*/*.h src/*/*/*.h; do
    case "$first" in *"\"${header##*/}\""*) continue ;; esac
    "$@" -std=gnu11 -DHOTPATH=1 -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c -include "$header" /dev/null ||
        status=1
done
for header in include/hotpath/adapter.h include/hotpath/pool.h; do # the others need their libraries
    for mode in 0 1; do
        "$1" -std=c11 -DHOTPATH=$mode -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only \
            -x c -include "$header" /dev/null || status=1
    done
done
for mode in 0 1; do # without -Iinclude: it finds its parts beside itself
    "$1" -std=c11 -DHOTPATH=$mode -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c -include include/hotpath.h \
        /dev/null || status=1
done
for part in results inline off; do
    "$1" -fsyntax-only -x c "include/hotpath/$part.h" 2>&1 | grep -q 'error: .*include <hotpath.h>, which' ||
        { echo "include/hotpath/$part.h: not refused without hotpath.h"; status=1; }
done
exit $status
