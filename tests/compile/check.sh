#!/bin/sh
# Compiles sources that use all of the header, free of warnings, and looks at what they leave to be linked.
#
# usage: check.sh COMPILER STANDARD on|off INCLUDE_DIR SOURCE...    exit status 77: the compiler is not installed
set -eu
compiler=$1 standard=$2 mode=$3 include=$4
shift 4
command -v "$compiler" > /dev/null || { echo "$compiler is not installed"; exit 77; }

object=$(mktemp)
trap 'rm -f "$object"' EXIT
warnings="-Wall -Wextra -Wshadow -Wconversion -Wundef -Wcast-qual -Wpointer-arith -pedantic -Werror"

case $mode in
on) variants="-DHOTPATH:-O0 -DHOTPATH=1:-O2" ;;
off) variants="-UHOTPATH:-O0 -DHOTPATH=0:-O2" ;;
esac

measured=no
for source; do
    for variant in $variants; do
        # shellcheck disable=SC2086 # a list of options
        "$compiler" -std="$standard" $warnings "${variant%:*}" "${variant#*:}" -g -fPIC -I"$include" -c "$source" \
            -o "$object"
        undefined=$(nm -u "$object")
        case $mode:$undefined in
        off:*hotpath*) echo "$source: off, yet it needs: $undefined"; exit 1 ;;
        on:*hotpath_v1_enter*) measured=yes ;;
        esac
        case $mode:${HOTPATH_IS_GLIBC-1}:$undefined in # without glibc it has to be so
        on:1:*__tls_get_addr*) echo "$source: the thread's head is not initial-exec"; exit 1 ;;
        esac
    done
done
if [ "$mode" = on ] && [ $measured = no ]; then echo "on, yet nothing is measured"; exit 1; fi
