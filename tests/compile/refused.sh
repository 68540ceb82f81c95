#!/bin/sh
# Expressions that HOTPATH_EXPR cannot support are refused, with a message that says why. Without any of its cases
# the source compiles. A case compiles with hotpath off, so it is the macro that refuses it, and must not compile
# with hotpath on.
#
# usage: refused.sh COMPILER STANDARD INCLUDE_DIR SOURCE    exit status 77: the compiler is not installed
set -eu
compiler=$1 standard=$2 include=$3 source=$4
command -v "$compiler" > /dev/null || { echo "$compiler is not installed"; exit 77; }

errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
compile() { "$compiler" -std="$standard" -I"$include" -fsyntax-only "$@" "$source" 2> "$errors"; }

compile -DHOTPATH || { cat "$errors"; echo "what is to be kept is refused"; exit 1; }
cases=$(sed -n 's/^#ifdef REFUSED_\([a-z_]*\) .*/\1/p' "$source")
for case in $cases; do
    words=$(sed -n "s|^#ifdef REFUSED_$case /\* \(.*\) \*/|\1|p" "$source")
    compile -D"REFUSED_$case" || { cat "$errors"; echo "$case: refused even without hotpath"; exit 1; }
    if compile -DHOTPATH -D"REFUSED_$case"; then echo "$case: not refused"; exit 1; fi
    grep -qE "error: .*($words)|note: .*($words)" "$errors" ||
        { cat "$errors"; echo "$case: not for the reason: $words"; exit 1; }
done
[ "$cases" ] || { echo "no cases"; exit 1; }
