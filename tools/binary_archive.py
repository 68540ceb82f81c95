#!/usr/bin/env python3
"""Makes an archive of programs and libraries: unpack it and run hotpath, without a compiler.

usage: binary_archive.py [--mirror URL] TARGET FOLDER
  TARGET  x86_64, aarch64: for glibc 2.31 (Debian 11, Ubuntu 20.04) and newer; musl: this machine with musl
  FOLDER  where hotpath-VERSION-linux-TARGET.tar.gz is written; it is built in build/archive

For glibc the C library and the others are those of Debian 11: its packages are fetched by apt, checked with
Debian's keys, and unpacked into build/archive, without root. The libraries that `hotpath` opens are put beside it,
with their licences. Nothing in the archive may need a newer glibc.

Needs apt-get and a mirror of Debian (by default that of this machine), dpkg-deb, make, cmake, ninja, readelf, and
the compiler (TARGET-linux-gnu-gcc, musl-gcc). Exits with 77 if something is missing.
"""

import argparse
import gzip
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
SUITE, OLDEST_GLIBC = "bullseye", (2, 31)
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
PACKAGES = ("libc6-dev", "libncurses-dev", "libdw-dev", "zlib1g-dev", "libstdc++6")
# What hotpath opens when it needs it (docs/architecture.md). What it is linked with is found by itself.
OPENED = ("libdw.so.1", "libmicrohttpd.so.12", "libz.so.1", "libstdc++.so.6")
# That of Debian 11 is too old, and needs GnuTLS: compiled from a newer source, without TLS, which hotpath has not.
HTTPD, HTTPD_SUITE = "libmicrohttpd", "bookworm"
OF_GLIBC = re.compile(r"(libc|libm|libpthread|libdl|librt|ld-linux[\w-]*)\.so\.\d$")


def cannot(reason):
    print(f"cannot make the archive: {reason}", file=sys.stderr)
    sys.exit(77)


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def run(log, *command, folder=SOURCE):
    """A command that has to succeed. What it writes goes into a file, and is shown if it fails."""
    with open(log, "wb") as file:
        done = subprocess.run([str(word) for word in command], cwd=folder, stdout=file, stderr=subprocess.STDOUT,
                              check=False)
    if done.returncode != 0:
        end = "\n".join(log.read_text(errors="replace").splitlines()[-40:])
        sys.exit(f"{end}\nfailed: {' '.join(map(str, command))}")


# ------------------------------------------------------------------------------------------ files of an old Debian

def mirror_of_this_machine():
    """The address from which apt gets this machine's own packages."""
    codename = re.search(r"^VERSION_CODENAME=(\w+)$", Path("/etc/os-release").read_text(), re.M)
    found = codename and re.search(rf"^'(\S+)/dists/{codename.group(1)}/(In)?Release' ",
                                   output("apt-get", "update", "--print-uris"), re.M)
    if not found:
        cannot("apt of this machine does not say from where it gets packages; use --mirror")
    return found.group(1)


class Sysroot:
    """Packages of Debian, unpacked into one folder, and a compiler for these."""

    def __init__(self, place, machine, mirror):
        self.place, self.machine = place, machine
        self.root, self.archives = place / "root", place / "cache/archives"
        self.triple = f"{machine}-linux-gnu"
        self.compiler = place / "bin" / f"{self.triple}-gcc"
        self.httpd = place / "httpd"  # its source
        if not (place / "complete").exists():
            shutil.rmtree(place, ignore_errors=True)
            self.fetch(mirror or mirror_of_this_machine())
            self.unpack()
            self.take_kernel_headers()
            self.write_compiler()
            self.compile_httpd()
            (place / "complete").touch()
        self.package_of = {}  # by path from the root
        for archive in sorted(self.archives.glob("*.deb")):
            for line in output("dpkg-deb", "--contents", archive).splitlines():
                name = line.split(maxsplit=5)[5].split(" -> ")[0]
                if not name.endswith("/"):
                    self.package_of[name[2:]] = archive

    def fetch(self, mirror):
        """With folders, lists and keys of its own, and the settings by which this machine reaches its mirror."""
        for folder in ("etc", "state/lists/partial", "cache/archives/partial"):
            (self.place / folder).mkdir(parents=True)
        (self.place / "status").touch()
        (self.place / "etc/sources.list").write_text(f"deb [signed-by={KEYS}] {mirror} {SUITE} main\n"
                                                     f"deb-src [signed-by={KEYS}] {mirror} {HTTPD_SUITE} main\n")
        settings = {
            "Dir::Etc": self.place / "etc", "Dir::State": self.place / "state", "Dir::Cache": self.place / "cache",
            "Dir::State::status": self.place / "status", "APT::Architecture": DEBIAN[self.machine],
            "APT::Architectures": DEBIAN[self.machine], "APT::Sandbox::User": "root", "Debug::NoLocking": "true"}
        apt = ("apt-get", "-q", *(f"-o{name}={value}" for name, value in settings.items()))
        run(self.place / "update.log", *apt, "update")
        run(self.place / "fetch.log", *apt, "install", "--yes", "--download-only", "--no-install-recommends",
            *PACKAGES)
        run(self.place / "fetch-source.log", *apt, "source", "--download-only", HTTPD, folder=self.place)

    def unpack(self):
        for archive in self.archives.glob("*.deb"):
            run(self.place / "unpack.log", "dpkg-deb", "--extract", archive, self.root)
        for link in self.root.rglob("*"):
            if link.is_symlink() and os.readlink(link).startswith("/"):
                target = os.path.relpath(f"{self.root}{os.readlink(link)}", link.parent)
                link.unlink()
                link.symlink_to(target)

    def take_kernel_headers(self):
        """Those of this machine, which are newer: what a kernel cannot do is found out when hotpath runs."""
        for name in ("linux", "asm", "asm-generic"):
            places = [Path(place, name) for place in (f"/usr/{self.triple}/include", f"/usr/include/{self.triple}",
                                                      "/usr/include") if Path(place, name).exists()]
            if not places:
                cannot(f"the kernel's headers for {self.triple} are not installed")
            for folder in (self.root / "usr/include" / self.triple, self.root / "usr/include"):
                if (folder / name).exists():
                    shutil.rmtree(folder / name)
                    shutil.copytree(places[0], folder / name)

    def write_compiler(self):
        """gcc of this machine, which looks into folders of this machine even with --sysroot: so all are given."""
        own = output(self.compiler.name, "-print-file-name=include").strip()
        headers = f"-nostdinc -isystem {own} -isystem $root/usr/include/{self.triple} -isystem $root/usr/include"
        libraries = f"-B$root/usr/lib/{self.triple} -L$root/usr/lib/{self.triple} -L$root/lib/{self.triple}"
        self.compiler.parent.mkdir()
        self.compiler.write_text(f"#!/bin/sh\nroot='{self.root}'\nexec {shutil.which(self.compiler.name)} "
                                 f'--sysroot="$root" {headers} {libraries} "$@"\n')
        self.compiler.chmod(0o755)

    def compile_httpd(self):
        [archive] = self.place.glob(f"{HTTPD}_*.orig.tar.*z*")
        self.httpd.mkdir()
        run(self.place / "unpack.log", "tar", "--strip-components=1", "-xf", archive, "-C", self.httpd)
        run(self.place / "configure.log", "./configure", f"--host={self.triple}", f"CC={self.compiler}",
            "CFLAGS=-O2 -fstack-protector-strong -D_FORTIFY_SOURCE=2", "LDFLAGS=-Wl,-z,relro,-z,now",
            "--disable-https", "--disable-static", "--disable-doc", "--disable-examples", "--disable-curl",
            folder=self.httpd)
        run(self.place / "make.log", "make", "-C", self.httpd / "src/microhttpd", "libmicrohttpd.la")
        shutil.copy(self.httpd / "src/include/microhttpd.h", self.root / "usr/include")
        library = self.root / "usr/lib" / self.triple / "libmicrohttpd.so.12"
        shutil.copy(self.httpd / "src/microhttpd/.libs/libmicrohttpd.so.12", library)
        run(self.place / "strip.log", f"{self.triple}-strip", library)

    def library(self, name):
        """The file, the name of its package, what is said of it, and its licence."""
        for folder in (f"usr/lib/{self.triple}", f"lib/{self.triple}"):
            if (self.root / folder / name).exists():
                file = (self.root / folder / name).resolve()
                return file, *self.facts(self.package_of.get(str(file.relative_to(self.root))))
        sys.exit(f"{name} is in no package of {' '.join(PACKAGES)}")

    def facts(self, archive):
        if archive is None:
            [source] = self.place.glob(f"{HTTPD}_*.orig.tar.*z*")
            return (HTTPD, f"built with --disable-https from {source.name} of the source package {HTTPD}",
                    self.httpd / "COPYING")
        package, facts = output("dpkg-deb", "--show", "--showformat=${Package}\n${Package} ${Version}; source "
                                "package: ${source:Package} ${source:Version}", archive).split("\n")
        return package, facts, (self.root / f"usr/share/doc/{package}/copyright").resolve()


# --------------------------------------------------------------------------------------------------------- contents

def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def elf_files(folder):
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink() and is_elf(path)]


def needed_by(file):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", file))


def add_libraries(tree, sysroot):
    """What `hotpath` is linked with and opens, and all that these need, with their licences."""
    wanted, folder = [*needed_by(tree / "bin/hotpath"), *OPENED], tree / "lib/hotpath"
    said = {}
    while wanted:
        name = wanted.pop()
        if OF_GLIBC.match(name) or (folder / name).exists():
            continue
        file, package, facts, licence = sysroot.library(name)
        shutil.copyfile(file, folder / name)
        wanted += needed_by(file)
        said.setdefault(facts, []).append(name)
        licences = tree / "share/doc/hotpath/libraries" / package
        licences.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(licence, licences / "copyright")
    return said


def problems(tree):
    """Files that would not run on an old system, or without others of this machine."""
    for file in elf_files(tree):
        versions = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", output("readelf", "-VW", file))
        newest = max((tuple(map(int, version)) for version in versions), default=(0, 0))
        if newest > OLDEST_GLIBC:
            yield f"{file}: needs glibc {newest[0]}.{newest[1]}"
        for name in needed_by(file):
            if not OF_GLIBC.match(name) and not list(tree.glob(f"lib/**/{name}")) and name != "libc.so":
                yield f"{file}: needs {name}, which is not in the archive"


def write_documents(tree, version, libraries, kind):
    """Lines that begin with glibc: or musl: are for that kind of archive."""
    text = (SOURCE / "packaging/archive/README.md").read_text().replace("@VERSION@", version)
    text = re.sub(rf"^(?!{kind})(glibc|musl): .*\n", "", text, flags=re.M)
    text = re.sub(rf"^{kind}: ", "", text, flags=re.M)
    hello, = re.findall(r"^```c\n(/\* hello\.c \*/\n.*?)^```$", (SOURCE / "README.md").read_text(), re.M | re.S)
    (tree / "share/doc/hotpath/hello.c").write_text(hello)
    rows = "".join(f"- {', '.join(sorted(names))}: {facts}\n" for facts, names in sorted(libraries.items()))
    (tree / "README.md").write_text(text.replace("@LIBRARIES@\n\n", rows + "\n" if rows else ""))


def pack(tree, archive, moment):
    """The same files give the same bytes."""
    def owned_by_root(item):
        item.uid = item.gid = 0
        item.uname = item.gname = ""
        item.mtime = moment
        item.mode = 0o755 if item.isdir() or item.mode & 0o100 else 0o644
        return item
    with open(archive, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for path in [tree, *sorted(tree.rglob("*"))]:
                tar.add(path, path.relative_to(tree.parent), recursive=False, filter=owned_by_root)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--mirror")
    parser.add_argument("target", choices=[*DEBIAN, "musl"])
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    target = arguments.target
    compiler = "musl-gcc" if target == "musl" else f"{target}-linux-gnu-gcc"
    fetched_by = () if target == "musl" else ("apt-get", "dpkg-deb", "make")
    for program in (compiler, "cmake", "ninja", "readelf", *fetched_by):
        if not shutil.which(program):
            cannot(f"{program} is not installed")

    if target != "musl" and not KEYS.exists():
        cannot(f"Debian's keys are missing (package debian-archive-keyring): {KEYS}")
    header = (SOURCE / "include/hotpath.h").read_text()
    version = re.search(r'^#define HOTPATH_VERSION "(.*)"', header, re.M).group(1)
    name = f"hotpath-{version}-linux-" + (f"{platform.machine()}-musl" if target == "musl" else target)
    place = SOURCE / "build/archive"
    build, tree = place / target, place / "trees" / name
    build.mkdir(parents=True, exist_ok=True)
    if target == "musl":
        how = [f"-DCMAKE_TOOLCHAIN_FILE={SOURCE}/cmake/toolchain-musl.cmake"]
    else:
        sysroot = Sysroot(place / f"{SUITE}-{target}", target, arguments.mirror)
        how = ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={target}",
               f"-DCMAKE_C_COMPILER={sysroot.compiler}", f"-DCMAKE_FIND_ROOT_PATH={sysroot.root}",
               *(f"-DCMAKE_FIND_ROOT_PATH_MODE_{what}=ONLY" for what in ("LIBRARY", "INCLUDE", "PACKAGE")),
               "-DHOTPATH_OWN_LIBRARIES=ON"]
    run(build / "configure.log", "cmake", "--preset", "package", "-B", build, "-DCMAKE_INSTALL_PREFIX=/opt/hotpath",
        "-DCMAKE_INSTALL_LIBDIR=lib", *how)
    run(build / "build.log", "cmake", "--build", build)
    shutil.rmtree(tree, ignore_errors=True)
    run(build / "install.log", "cmake", "--install", build, "--prefix", tree)
    for file in elf_files(tree):  # the demo's functions have names in its own profile
        run(build / "strip.log", "strip" if target == "musl" else f"{target}-linux-gnu-strip",
            "--strip-debug" if file.name == "orders" else "--strip-unneeded", file)
    shutil.copy(SOURCE / "LICENSE", tree)
    if target == "musl":
        write_documents(tree, version, {}, "musl")
    else:
        write_documents(tree, version, add_libraries(tree, sysroot), "glibc")
    found = list(problems(tree))
    if found:
        sys.exit("\n".join(found))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    pack(tree, arguments.folder / f"{name}.tar.gz", int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
    print(arguments.folder / f"{name}.tar.gz")


if __name__ == "__main__":
    main()
