#!/usr/bin/env python3
"""Measures every function of third-party programs, and compares with callgrind.

    tools/check_real_code.py [--build FOLDER] [--keep] [PROGRAM...]      lua5.4, libxml2, bash; all without an
    argument

Sources come from Debian's archive and are built in a temporary folder by the recipes of hotpath(7), with the
build of hotpath in FOLDER (build/release). For each program:

  - its own tests have the same results measured and unmeasured, line by line;
  - one run under hotpath counts as many calls of every function as callgrind sees in the same binary, without
    recording.

Functions are not inlined for the second part: callgrind cannot see inlined ones. Allowed differences are listed
below, with the reason. Takes a quarter of an hour, so it is not part of the other tests; exits with 77 if it
cannot be done. SPDX-License-Identifier: MIT
"""
import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NEEDED = ["apt-get", "tar", "make", "gcc", "pkg-config", "valgrind", "cmake"]


class Skip(Exception):
    pass


def run(command, **options):
    """Runs a command that must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


# ------------------------------------------------------------------------------------------------------ sources

def codename():
    facts = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    if facts.get("ID") != "debian" or "VERSION_CODENAME" not in facts:
        raise Skip("sources are taken from Debian's archive, for Debian only")
    return facts["VERSION_CODENAME"]


def download(package, folder):
    """The archive of the upstream sources. apt works in its own folder: nothing on the machine is changed."""
    apt = folder / "apt"
    if not apt.exists():
        for part in ("lists/partial", "archives/partial"):
            (apt / part).mkdir(parents=True)
        keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
        (apt / "sources.list").write_text(f"deb-src [signed-by={keys}] http://deb.debian.org/debian {codename()} "
                                          f"main\n")
        (apt / "conf").write_text(f'Dir::Etc::SourceList "{apt}/sources.list";\nDir::Etc::SourceParts '
                                  f'"/dev/null";\n'
                                  f'Dir::State::Lists "{apt}/lists";\nDir::Cache "{apt}";\n')
    env = os.environ | {"APT_CONFIG": str(apt / "conf")}
    for command in (["apt-get", "update"], ["apt-get", "source", "--download-only", package]):
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise Skip(f"the source of {package} cannot be had: {done.stderr.strip().splitlines()[-1:]}")
    return next(folder.glob(f"{package}_*.orig.tar.*"))


def unpack(archive, folder):
    folder.mkdir()
    run(["tar", "xf", archive, "-C", folder, "--strip-components=1"])
    return folder


# ----------------------------------------------------------------------------------------------------- programs

class Hotpath:
    """What is installed, and the flags that a user would take from it."""

    def __init__(self, build, folder):
        self.prefix = folder / "prefix"
        run(["cmake", "--install", build, "--prefix", self.prefix])
        self.env = os.environ | {"PKG_CONFIG_PATH": str(next(self.prefix.rglob("hotpath.pc")).parent)}
        self.cflags, self.libs = (run(["pkg-config", f"--variable=measure_all_{what}", "hotpath"],
                                      env=self.env).strip()
                                  for what in ("cflags", "libs"))
        self.rpath = f"-Wl,-rpath,{run(['pkg-config', '--variable=libdir', 'hotpath'], env=self.env).strip()}"


class Lua:
    package = "lua5.4"
    program = "src/lua"
    work = [HERE / "real_code" / "lua.lua"]
    excuses = {}

    @staticmethod
    def build(folder, hotpath):
        # Otherwise the seed of its hash depends on addresses and the time.
        cflags = "-O1 -g -fno-inline -D'luai_makeseed(L)=42'"
        libs = ""
        if hotpath is not None:
            cflags += f" {hotpath.cflags}"
            libs = f"{hotpath.libs} {hotpath.rpath}"
        run(["make", "linux", f"MYCFLAGS={cflags}", f"MYLIBS={libs}"], cwd=folder)

    @staticmethod
    def test(folder, env):
        """The package has no more than this; the upstream tests are a separate archive."""
        return {"make test": run(["make", "-s", "test"], cwd=folder, env=env)}


def configure(folder, hotpath, *options):
    """The recipe for autotools."""
    env = os.environ | {"CFLAGS": "-O1 -g -fno-inline"}
    if hotpath is not None:
        env = hotpath.env | {"CFLAGS": f"-O1 -g -fno-inline {hotpath.cflags}", "LDFLAGS": hotpath.rpath,
                             "LIBS": hotpath.libs}
    run(["./configure", *options], cwd=folder, env=env)
    run(["make", "-j2"], cwd=folder)


def result_of(command, folder, env):
    """The output and exit status of a test. Only the folder may differ."""
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=900)
    return f"{done.stdout}{done.stderr}exit {done.returncode}\n"


class Xml:
    """A shared library and a program, by libtool."""
    package = "libxml2"
    program = ".libs/xmllint"
    work = ["--valid", "--noent", "--format", "--xpath", "//i[contains(., '77')]/@n",
            HERE / "real_code" / "items.xml"]
    excuses = {}
    # Debian's archive lacks the files that the other upstream tests read.
    tests = ["testchar", "testdict", "testapi", "testrecurse"]

    @classmethod
    def build(cls, folder, hotpath):
        configure(folder, hotpath, "--without-python", "--without-lzma", "--without-icu")
        run(["make", "-j2", *cls.tests], cwd=folder)

    @classmethod
    def test(cls, folder, env):
        return {test: result_of([f"./{test}"], folder, env) for test in cls.tests}


class Bash:
    package = "bash"
    program = "bash"
    work = [HERE / "real_code" / "bash.bash"]
    excuses = {"trap_handler": "the kernel calls it, which callgrind does not count as a call"}
    # Times out after 10 us if it is slow enough; prints its process id; is the sum of all others.
    left_out = {"run-read", "run-execscript", "run-all", "run-minimal", "run-gprof"}

    @staticmethod
    def build(folder, hotpath):
        # What its own malloc calls depends on the addresses it gets.
        configure(folder, hotpath, "--without-bash-malloc")
        run(["make", "recho", "zecho", "printenv", "xcase"], cwd=folder)

    @classmethod
    def test(cls, folder, env):
        results = {}
        temporary = folder / "temporary"
        temporary.mkdir()
        env = env | {"BUILD_DIR": str(folder), "THIS_SH": str(folder / "bash"), "TMPDIR": str(temporary),
                     "BASH_TSTOUT": str(temporary / "output"),
                     "PATH": f"{folder}:{folder}/tests:{os.environ['PATH']}"}
        for name in ("BASH_ENV", "SHELLOPTS"):
            env.pop(name, None)
        for test in sorted(folder.glob("tests/run-*")):
            if test.name in cls.left_out:
                continue
            results[test.name] = result_of(["sh", test.name], folder / "tests", env).replace(str(folder), "FOLDER")
        return results


PROGRAMS = {program.package: program for program in (Lua, Xml, Bash)}

# ----------------------------------------------------------------------------------------------------- counting


def calls_of_hotpath(path):
    """By linkage name. Static functions of the same name in several files are added up, as below."""
    calls = collections.Counter()
    for row in json.loads(path.read_text())["sections"]["timing"]["rows"]:
        location = row.get("location")
        calls[location["function"] if location else row["name"]] += row["calls"]
    return calls


def calls_of_callgrind(path, folder):
    """Calls of functions in files of that folder. Names are written in full once, and by number from then on."""
    names = {"fn": {}, "ob": {}}
    calls = collections.Counter()
    here = there = callee = None

    def look_up(kind, text):
        number, name = re.fullmatch(r"(\(\d+\))(?: (.*))?", text).groups()
        if name is not None:
            names[kind][number] = name
        return names[kind][number]

    for line in path.read_text(errors="replace").splitlines():
        key, _, value = line.partition("=")
        if key == "ob":
            here = look_up("ob", value)
        elif key == "cob":
            there = look_up("ob", value)
        elif key == "fn":
            look_up("fn", value)
            there = None
        elif key == "cfn":
            callee = look_up("fn", value)
        elif key == "calls":
            if (there or here).startswith(f"{folder}/"):
                calls[re.sub(r"'\d+$", "", callee)] += int(value.split()[0])
            there = None
    return calls


def count(program, folder, temporary):
    """One run under each. Both get the same environment, including valgrind's additions: bash works on every
    variable."""
    image, report, profile = folder / program.program, temporary / "report.json", temporary / "callgrind"
    env = {"PATH": os.environ["PATH"], "HOME": "/", "PWD": "/", "SHLVL": "1", "HOTPATH": "0",
           "HOTPATH_DIR": str(temporary), "HOTPATH_LIMIT": "0", "HOTPATH_OUTPUT_FORMAT": "json",
           "HOTPATH_OUTPUT_PATH": str(report), "LD_LIBRARY_PATH": str(image.parent)}
    callgrind = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    seen = subprocess.run([*callgrind, "env"], env=env, cwd="/", capture_output=True, text=True, check=True).stdout
    outputs = []
    for before, variables in ((callgrind, env), ([], dict(line.split("=", 1) for line in seen.splitlines()) |
                                                 {"HOTPATH": "1"})):
        done = subprocess.run([*before, str(image), *map(str, program.work)], env=variables, cwd="/",
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        outputs.append((done.returncode, done.stdout))
    if outputs[0] != outputs[1]:
        sys.exit(f"{program.package}: the work did not end alike: {outputs}")
    return calls_of_hotpath(report), calls_of_callgrind(profile, folder)


# ------------------------------------------------------------------------------------------------------ checking

def check_tests(program, plain, measured, temporary):
    env = os.environ | {"HOTPATH": "0"}
    expected = program.test(plain, env)
    results = program.test(measured, env | {"HOTPATH": "1", "HOTPATH_OUTPUT_FORMAT": "none",
                                            "HOTPATH_DIR": str(temporary)})
    wrong = [name for name in expected if expected[name] != results[name]]
    for name in wrong:
        print(f"  {name} unmeasured:\n{expected[name]}  {name} measured:\n{results[name]}")
    print(f"{program.package}: {len(expected) - len(wrong)} of {len(expected)} tests end measured as unmeasured")
    return not wrong


def check_counts(program, measured, temporary):
    ours, theirs = count(program, measured, temporary)
    different = [name for name in sorted(ours) if ours[name] != theirs.get(name)]
    missing = [name for name in sorted(theirs) if name not in ours and re.match(r"[A-Za-z_]", name)]
    for name in different + missing:
        reason = program.excuses.get(name, "NOT EXPLAINED")
        print(f"  {name}: hotpath {ours.get(name)}, callgrind {theirs.get(name)}: {reason}")
    print(f"{program.package}: {len(ours) - len(different)} of {len(ours)} functions have the calls that callgrind "
          f"counts, "
          f"{sum(ours.values())} in all")
    return all(name in program.excuses for name in different + missing)


def check(program, hotpath, folder):
    archive = download(program.package, folder)
    print(f"{program.package}: {archive.name}", flush=True)
    temporary = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    try:
        plain = unpack(archive, folder / f"{program.package}-plain")
        measured = unpack(archive, folder / f"{program.package}-measured")
        program.build(plain, None)
        program.build(measured, hotpath)
        has_good_counts = check_counts(program, measured, temporary)
        return check_tests(program, plain, measured, temporary) and has_good_counts
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    arguments = parser.parse_args()
    unknown = set(arguments.programs) - set(PROGRAMS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(PROGRAMS)}")
    folder = Path(tempfile.mkdtemp(prefix="hotpath-real-"))
    try:
        missing = [tool for tool in NEEDED if shutil.which(tool) is None]
        if missing:
            raise Skip(f"not installed: {', '.join(missing)}")
        if not (arguments.build / "CMakeCache.txt").exists():
            raise Skip(f"there is no build in {arguments.build}; make one with ./dev build")
        hotpath = Hotpath(arguments.build.resolve(), folder)
        results = [check(PROGRAMS[name], hotpath, folder) for name in arguments.programs or PROGRAMS]
        return 0 if all(results) else 1
    except Skip as reason:
        print(f"skipped: {reason}")
        return 77
    finally:
        if arguments.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
