#!/bin/sh
# Off means gone: a source with the macros, compiled with hotpath off, gives the same object file, byte for byte, as
# the same source without them. And, so that this can be believed: with hotpath on it does not.
#
# usage: check.sh COMPILER SOURCE INCLUDE_DIR OPTION...       exit status 77: the compiler is not installed
set -eu
compiler=$1 file=$2 include=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
command -v "$compiler" > /dev/null || { echo "$compiler is not installed"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# All versions have one name and one folder, since these end up in the object file. Two things of the source itself
# are kept out of the debug information: columns (what comes out of a macro has the column where the macro stands)
# and, with DWARF 4, the checksum that clang makes of the source.
case " $* " in *" -g "*) set -- "$@" -gdwarf-4 -gno-column-info ;; esac
compile() { "$compiler" "$@" -I"$include" -c "$file"; }
same() { cmp "$1" "$2" || { echo "$compiler $*: not the same"; exit 1; }; }

cp "$here/$file" .
compile "$@" -o off.o
compile "$@" -DHOTPATH=0 -o zero.o
compile "$@" -DHOTPATH=1 -o on.o
/usr/bin/python3 "$here/strip.py" --keep-include < "$here/$file" > "$file"
compile "$@" -o unused.o
/usr/bin/python3 "$here/strip.py" < "$here/$file" > "$file"
if grep -n HOTPATH_ "$file"; then echo "strip.py left these behind"; exit 1; fi
compile "$@" -o plain.o

same zero.o off.o
same unused.o off.o

# The header alone adds no code but, as any header does, a few base types to gcc's debug information. Without -g
# there is nothing to strip, and whole files are compared here too.
case " $* " in *" -g "*) ;; *) same plain.o off.o ;; esac
for object in plain off on; do objcopy --strip-debug $object.o $object.code; done
same plain.code off.code
if cmp -s plain.code on.code; then echo "the comparison cannot fail: on and off are alike"; exit 1; fi
