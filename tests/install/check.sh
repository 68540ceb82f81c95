#!/bin/sh
# Installs a build into an empty folder and builds outside users with it: C and C++, shared and static, through
# pkg-config and through CMake.
# usage: check.sh BUILD_DIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

quietly() { "$@" > log 2>&1 || { echo "$* fails"; cat log; exit 1; }; }
# Runs a program that should leave a report.
run()
{
    LD_LIBRARY_PATH=$library "$@" 2> report || { echo "$* fails"; cat report; exit 1; }
    grep -q '"work"' report || { echo "$*: no report"; cat report; exit 1; }
}

quietly cmake --install "$1" --prefix "$work/prefix"
library=$work/$(dirname "$(find prefix -name libhotpath.a)")
export HOTPATH_DIR="$work/sessions" HOTPATH_OUTPUT_FORMAT=json
mkdir -m 700 "$HOTPATH_DIR"

export PKG_CONFIG_PATH="$library/pkgconfig"
compile=$(pkg-config --cflags hotpath)
link=$(pkg-config --libs hotpath)
# shellcheck disable=SC2086 # lists of options
{
    cc -DHOTPATH $compile "$here/consumer.c" $link -o pc_shared
    c++ -DHOTPATH $compile -x c++ "$here/consumer.c" -x none $link -o pc_cxx
    cc -DHOTPATH $compile "$here/consumer.c" "$library/libhotpath.a" -pthread -o pc_static
    cc $compile "$here/consumer.c" -o off
}
for program in ./pc_shared ./pc_cxx ./pc_static; do run $program; done
./off

quietly cmake -S "$here" -B cmake -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix"
quietly cmake --build cmake
for program in cmake/shared cmake/shared_cxx cmake/static; do run $program; done

prefix/bin/hotpath --version
