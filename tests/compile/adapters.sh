#!/bin/sh
# Compiles a source with the adapters' headers with warnings about C in C++, on and off. Boost.Asio takes most of
# the time: without --full, g++ compiles its adapter only in tests/programs, with these warnings.
#
# usage: adapters.sh COMPILER INCLUDE_DIR SOURCE    exit status 77: the compiler is not installed
set -eu
compiler=$1 include=$2 source=$3
command -v "$compiler" > /dev/null || { echo "$compiler is not installed"; exit 77; }
without=
if [ "$compiler" = g++ ] && ! [ "${HOTPATH_TEST_LONG:-}" ]; then without=-DWITHOUT_ASIO; fi
glib=$(pkg-config --cflags gio-2.0 2> /dev/null | sed 's/-I/-isystem /g' || :)
for mode in -DHOTPATH -UHOTPATH; do
    # shellcheck disable=SC2086 # a list of options
    "$compiler" -std=c++20 "$mode" -fsyntax-only -Wall -Wextra -Wold-style-cast -Wpedantic -Wconversion -Wshadow \
        -Werror -I"$include" $without $glib "$source"
done
