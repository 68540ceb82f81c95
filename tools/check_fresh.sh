#!/bin/sh
# Checks that a fresh clone works on a fresh machine. Makes a minimal Debian in a temporary folder, with git and
# nothing else, and runs the first commands of the README there, from a clone of the last commit: ./dev demo, ./dev
# test, ./dev install, ./dev single; the tests as root and as an ordinary user, whose homes nobody else can enter;
# and a build by make. (Builds by Ninja and by make, at the top and by add_subdirectory, are among the tests:
# tests/install.)
#
# usage: tools/check_fresh.sh [--demo] [--archive FILE] [--keep] [--mirror URL] [SUITE]
#   --demo        ./dev demo only
#   --archive FILE  instead, an archive of programs of ./dev release (hotpath-VERSION-linux-x86_64.tar.gz): root
#                 and a user unpack and use it, at first without a compiler
#   --keep        keep the folder and print its path
#   --mirror URL  source of packages; by default that of this machine
#   SUITE         release of Debian or Ubuntu (default bookworm)
#
# Needs root, debootstrap, git, a reachable mirror and 3 GB; exits with 77 if something is missing.
#
# Everything happens in its own mount and process namespaces: mounts are never seen outside, nothing of this machine
# is mounted inside, and no process stays behind. So the folder can be removed from outside, whatever went wrong.
#
# shellcheck disable=SC2317 # steps are called by name
set -eu

certificates=/etc/ssl/certs/ca-certificates.crt
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

usage() { sed -n 's/^# \(usage: \)/\1/p; s/^#   /  /p' "$0"; }

cannot()
{
    echo "cannot make a fresh machine: $*" >&2
    exit 77
}

# mirror_of CODENAME: the address from which apt on this machine gets that release.
mirror_of()
{
    apt-get update --print-uris 2> /dev/null |
        sed -n "s|^'\(.*\)/dists/$1/\(In\)\{0,1\}Release' .*|\1|p" | head -n 1
}

# ---------------------------------------------------------------------------------------- inside the namespaces

results=

# step TITLE COMMAND...: runs it and records the result for the summary.
step()
{
    title=$1
    shift
    echo "== $title"
    began=$(date +%s)
    if "$@"; then result=ok; else result=FAILED; fi
    results="$results$result: $title ($(($(date +%s) - began)) s)
"
    [ $result = ok ]
}

# as USER COMMAND...: runs it on the fresh machine, in USER's home.
as()
{
    user=$1
    shift
    home=/home/$user
    [ "$user" = root ] && home=/root
    # shellcheck disable=SC2016 # $HOME is of the fresh machine
    chroot --userspec="$user" "$machine" /usr/bin/env -i HOME="$home" USER="$user" PATH="$path" TERM=dumb \
        sh -c 'cd "$HOME" && exec "$@"' sh "$@"
}

bootstrap()
{
    set -- --variant=minbase --include="$packages" --components="$components" "$suite" "$machine" "$mirror"
    [ -e "/usr/share/debootstrap/scripts/$suite" ] || set -- "$@" "$script" # a release newer than debootstrap
    debootstrap "$@" > "$work/debootstrap.log" 2>&1 || { tail -n 20 "$work/debootstrap.log"; return 1; }
    grep '^W: ' "$work/debootstrap.log" || true # such as: no key to check the mirror with
    # The new machine needs the same apt settings to reach its mirror.
    apt-config dump | grep -E '^Acquire::(https?|Check-Valid-Until|Retries)' \
        > "$machine/etc/apt/apt.conf.d/90reach" || true
    if [ -e "$machine$certificates" ] && [ -e "$certificates" ]; then cp "$certificates" "$machine$certificates"; fi
    mount -t proc proc "$machine/proc" &&
        mount -t sysfs -o ro sysfs "$machine/sys" &&
        mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$machine/dev/pts" &&
        mount -t tmpfs -o mode=1777 tmpfs "$machine/dev/shm" &&
        rm -f "$machine/dev/ptmx" && ln -s pts/ptmx "$machine/dev/ptmx"
}

clone()
{
    mv "$work/hotpath.bundle" "$machine/srv/hotpath.bundle" && chmod 644 "$machine/srv/hotpath.bundle" &&
        as root useradd --create-home visitor &&
        as root git clone --quiet --branch clone /srv/hotpath.bundle hotpath &&
        as visitor git clone --quiet --branch clone /srv/hotpath.bundle hotpath &&
        as root chmod 700 /root /home/visitor
}

# Nothing is installed and nothing can be: the packages are named, and nothing else happens.
demo_without_rights()
{
    ended=0
    as visitor hotpath/dev demo > "$work/demo.log" 2>&1 || ended=$?
    cat "$work/demo.log"
    [ "$ended" = 1 ] && grep -q ' cmake' "$work/demo.log" && ! as visitor test -e hotpath/build
}

demo()
{
    ended=0
    as "$1" hotpath/dev demo > "$work/demo.log" 2>&1 || ended=$?
    cat "$work/demo.log"
    [ "$ended" = 0 ] && grep -q '^| main .*100\.00%' "$work/demo.log" && grep -q '^clock ' "$work/demo.log"
}

# As hotpath.h begins: an installed hotpath is available to every user, by its name alone.
installed()
{
    as root hotpath/dev install > "$work/install.log" 2>&1 || { cat "$work/install.log"; return 1; }
    cat > "$machine/home/visitor/main.c" << 'END'
#include <hotpath.h>

static int parse(const char *text)
{
    HOTPATH_MEASURE();
    return text[0] == '\0';
}

int main(void)
{
    HOTPATH_MAIN();
    return parse("...");
}
END
    # shellcheck disable=SC2016 # for the fresh machine's shell
    as visitor sh -ec 'cc -DHOTPATH main.c -lhotpath -pthread && ./a.out
        cc -DHOTPATH main.c $(pkg-config --cflags --libs hotpath) && ./a.out && hotpath report' \
        > "$work/install.log" 2>&1 ||
        { cat "$work/install.log"; return 1; }
    [ "$(grep -c '^| parse .* 1 ' "$work/install.log")" = 3 ]
}

# The same program with the two files beside it.
two_files()
{
    as visitor hotpath/dev single two_files > "$work/single.log" 2>&1 || { cat "$work/single.log"; return 1; }
    as visitor sh -ec 'cd two_files && cc -DHOTPATH -I. ../main.c hotpath.c -pthread && ./a.out' \
        > "$work/single.log" 2>&1 ||
        { cat "$work/single.log"; return 1; }
    grep -q '^| parse .* 1 ' "$work/single.log"
}

# Without Ninja, as users who do not know ./dev build it.
by_make()
{
    if as visitor cmake -S hotpath -B by-make -G "Unix Makefiles" -DHOTPATH_BUILD_TESTS=OFF \
        > "$work/make.log" 2>&1 &&
        as visitor cmake --build by-make -j2 >> "$work/make.log" 2>&1; then
        as visitor by-make/bin/hotpath --version
    else
        tail -n 30 "$work/make.log"
        return 1
    fi
}

# unpacked USER PLACE PART: the archive, by the commands of its README.md.
unpacked()
{
    as "$1" mkdir -p "$2" work
    as "$1" tar -C "$2" --strip-components=1 -xzf /srv/archive.tar.gz || return 1
    as "$1" sh -c "cd work && sh /srv/unpacked.sh '$2' $3" > "$work/unpacked.log" 2>&1 ||
        { tail -n 40 "$work/unpacked.log"; return 1; }
}

build_tools()
{
    as root sh -ec 'apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
        --no-install-recommends gcc g++ libc6-dev make cmake pkg-config' > "$work/install.log" 2>&1 ||
        { tail -n 20 "$work/install.log"; return 1; }
}

archive_steps()
{
    mv "$work/archive.tar.gz" "$work/unpacked.sh" "$machine/srv" && chmod 644 "$machine/srv/"* &&
        as root useradd --create-home visitor
    step "root, in /opt: programs" unpacked root /opt/hotpath programs || status=1
    step "user, in his home: programs" unpacked visitor /home/visitor/hotpath programs || status=1
    step "packages for programs with macros" build_tools || { status=1; return; }
    step "root: programs with macros" unpacked root /opt/hotpath compiler || status=1
    step "user: programs with macros" unpacked visitor /home/visitor/hotpath compiler || status=1
}

inside()
{
    work=$1 suite=$2 mirror=$3 what=$4
    machine=$work/machine
    packages=git components=main script=sid
    [ "$what" != archive ] || packages=sqlite3
    case $mirror in *ubuntu*) components=main,universe script=gutsy ;; esac
    case $mirror in https:*) packages=$packages,ca-certificates ;; esac
    status=0
    step "a minimal $suite from $mirror" bootstrap || cannot "no $suite could be had from there"
    if [ "$what" = archive ]; then
        archive_steps
    elif step "a clone for root and one for a user" clone; then
        step "user without sudo, nothing installed: ./dev demo names the packages" demo_without_rights || status=1
        step "root: ./dev demo" demo root || status=1
        step "user without sudo, everything installed: ./dev demo" demo visitor || status=1
        if [ "$what" = all ]; then
            step "root: ./dev install" installed || status=1
            step "user: ./dev single" two_files || status=1
            step "root: ./dev test" as root hotpath/dev test || status=1
            step "user: a build by make" by_make || status=1
            step "user: ./dev test --quick" as visitor hotpath/dev test --quick || status=1
            step "user: ./dev test" as visitor hotpath/dev test || status=1
        fi
    else
        status=1
    fi
    echo "== summary"
    printf %s "$results"
    exit $status
}

if [ "${1:-}" = --inside ]; then
    shift
    inside "$@"
fi

# -------------------------------------------------------------------------------------- outside the namespaces

suite='' mirror='' what=all keep='' archive=''
while [ $# != 0 ]; do
    case $1 in
    --demo) what=demo ;;
    --archive) [ $# -gt 1 ] || { usage >&2; exit 2; }; what=archive archive=$2; shift ;;
    --keep) keep=1 ;;
    --mirror) [ $# -gt 1 ] || { usage >&2; exit 2; }; mirror=$2; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) [ -z "$suite" ] || { usage >&2; exit 2; }; suite=$1 ;;
    esac
    shift
done
suite=${suite:-bookworm}

[ "$(id -u)" = 0 ] || cannot "this needs root"
for program in debootstrap unshare git apt-config; do
    command -v $program > /dev/null || cannot "$program is not installed"
done
unshare --mount --pid --fork true 2> /dev/null || cannot "namespaces are not allowed here"
if [ -z "$mirror" ]; then
    # shellcheck source=/dev/null
    mirror=$(mirror_of "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")")
    [ "$mirror" ] || cannot "apt of this machine does not say from where; use --mirror"
fi
eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
[ -z "${http_proxy:-}" ] || export http_proxy
[ -z "${https_proxy:-}" ] || export https_proxy

work=$(mktemp -d "${TMPDIR:-/tmp}/hotpath-fresh-XXXXXX")
child=
cleanup()
{
    trap - EXIT
    # The first process of the namespace ends with unshare, and all others end with the first.
    if [ "$child" ]; then
        kill -KILL "$child" 2> /dev/null || true
        wait "$child" 2> /dev/null || true
    fi
    if [ "$keep" ]; then
        echo "kept: $work/machine"
    else
        rm -rf --one-file-system "$work" 2> /dev/null || { sleep 2; rm -rf --one-file-system "$work"; }
    fi
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

# A branch with a known name, even if HEAD is detached.
clone_into_a_bundle()
{
    git -C "$source" diff --quiet HEAD 2> /dev/null ||
        echo "note: changes that are not committed are not in the clone"
    git clone --quiet --bare --no-local "$source" "$work/hotpath.git"
    git -C "$work/hotpath.git" update-ref refs/heads/clone "$(git -C "$source" rev-parse HEAD)"
    git -C "$work/hotpath.git" bundle create --quiet "$work/hotpath.bundle" refs/heads/clone
    rm -rf "$work/hotpath.git"
}

source=$(cd "$(dirname "$0")/.." && pwd)
if [ "$archive" ]; then
    cp "$archive" "$work/archive.tar.gz"
    cp "$source/tests/install/unpacked.sh" "$work"
else
    clone_into_a_bundle
fi
chmod 755 "$work"
unshare --mount --propagation private --pid --fork --kill-child \
    sh "$0" --inside "$work" "$suite" "$mirror" "$what" < /dev/null &
child=$!
status=0
wait $child || status=$?
child=
exit $status
