#!/bin/sh
# Makes the Debian package, installs it, uses it with nothing but the installed files, removes it, and checks that
# nothing is left. All of that happens in a copy-on-write image of this system (overlayfs in a mount namespace of
# its own), so a failure cannot affect the system itself.
#
# usage: package.sh WORK_DIR    the package is built there; exit status 77: not possible here
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$1
cannot() { echo "skipped: $*"; exit 77; }

if [ "${2:-}" != inside ]; then
    [ "$(id -u)" = 0 ] || cannot "only root can install a package"
    for program in dpkg dpkg-shlibdeps file unshare; do
        command -v $program > /dev/null || cannot "$program is not installed"
    done
    cd "$source" # where presets are looked for
    { cmake --preset package -B "$build" && cmake --build "$build" && rm -f "$build"/*.deb &&
        cmake --build "$build" --target package; } > "$build.log" 2>&1 || { cat "$build.log"; exit 1; }
    /usr/bin/python3 "$source/tools/check_hardened.py" "$build"
    unshare --mount --propagation private true 2> /dev/null || cannot "no mount namespace can be had"
    exec unshare --mount --propagation private "$0" "$build" inside
fi

# From here on mounts are ours alone and end with us.
stage=$build/stage
mkdir -p "$stage"
mount -t tmpfs stage "$stage" || cannot "no tmpfs can be mounted"
mkdir "$stage/upper" "$stage/work" "$stage/root"
mount -t overlay -o "lowerdir=/,upperdir=$stage/upper,workdir=$stage/work" root "$stage/root" ||
    cannot "no overlayfs here"
mount --rbind /dev "$stage/root/dev"
mount --rbind /proc "$stage/root/proc"

mkdir "$stage/root/hotpath-test"
cp "$build"/hotpath_*.deb "$source/tests/install/consumer.c" "$stage/root/hotpath-test"
cp "$stage/root/hotpath-test/consumer.c" "$stage/root/hotpath-test/consumer.cc"
cat > "$stage/root/hotpath-test/all" << 'END'
set -eu
cd /hotpath-test
export HOTPATH_DIR=/hotpath-test/sessions HOTPATH_OUTPUT_FORMAT=json
mkdir -m 700 sessions
fail() { echo "$*"; exit 1; }
# Runs a program whose report should have these calls: consumer.c.
run()
{
    "$@" 2> report || { cat report; fail "$* fails"; }
    for row in '"name":"main","calls":1,' '"name":"work","calls":1000,' '"name":"last","calls":1,'; do
        grep -q "$row" report || { cat report; fail "$*: no row $row"; }
    done
}

! dpkg-query -W hotpath > /dev/null 2>&1 || fail "the package hotpath is installed on this machine; remove it first"
dpkg -i hotpath_*.deb > log 2>&1 || { cat log; fail "dpkg -i fails"; }
dpkg -s hotpath | grep -q '^Depends: libc6 (>= ' || fail "the package does not say which libc it needs"
dpkg -s hotpath | grep -q '^Maintainer: .*@' || fail "the package has no maintainer"
dpkg -s hotpath | grep -q '^Section: devel' || fail "the package has no section"
dpkg -V hotpath || fail "not everything is as it was packed"
ldconfig -p | grep -q 'libhotpath\.so\.0 ' || fail "ldconfig has not been run"

cc -DHOTPATH consumer.c -lhotpath -o it && run ./it
ldd ./it | grep -q 'libhotpath\.so\.0 => /' || fail "the program does not have the shared library"
c++ -DHOTPATH consumer.cc -lhotpath -o it && run ./it
cc -DHOTPATH consumer.c -static -lhotpath -o it && run ./it
cc -DHOTPATH -I /usr/share/hotpath consumer.c /usr/share/hotpath/hotpath.c -pthread -o it && run ./it
if command -v pkg-config > /dev/null; then
    # shellcheck disable=SC2046 # a list of options
    cc -DHOTPATH consumer.c $(pkg-config --cflags --libs hotpath) -o it && run ./it
fi
hotpath report | grep -q '"work"' || fail "hotpath report fails"
if command -v man > /dev/null; then
    man -w hotpath > /dev/null && man -w 3 hotpath > /dev/null || fail "no man page"
fi

dpkg -L hotpath > files
dpkg -r hotpath > log 2>&1 || { cat log; fail "dpkg -r fails"; }
! dpkg -s hotpath 2> /dev/null | grep '^Status: .* installed' || fail "the package is still there"
while read -r file; do
    if [ -f "$file" ] || [ -L "$file" ]; then fail "$file is left"; fi
done < files
! ldconfig -p | grep hotpath || fail "ldconfig still knows the library"
dpkg -P hotpath > log 2>&1 || { cat log; fail "dpkg -P fails"; } # what dpkg itself remembered
! dpkg -s hotpath > /dev/null 2>&1 || fail "dpkg still knows the package"
END
chroot "$stage/root" sh /hotpath-test/all

# What differs from the system as it was: the bookkeeping of dpkg, man and ldconfig, and no file but those.
cd "$stage/upper"
left=$(find . -type f ! -path './hotpath-test/*' ! -path './tmp/*' ! -path './var/lib/dpkg/*' \
    ! -path './var/cache/*' ! -path './var/log/*' ! -path './etc/ld.so.cache')
[ -z "$left" ] || { echo "left behind:"; echo "$left"; exit 1; }
left=$(find . -path ./hotpath-test -prune -o -name '*hotpath*' -print)
[ -z "$left" ] || { echo "left behind:"; echo "$left"; exit 1; }
echo "package: installed, used and removed without a trace"
