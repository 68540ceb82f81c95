"""Third-party programs, with reproducible work for them: for check_real_runs.py.

Each work is a command. Inputs are made in the folder in which the program runs. Servers are in real_servers.py.
SPDX-License-Identifier: MIT
"""
import glob
import os
import shutil

from check_real_allocs import C, CMAKE, HERE, PERL, SQL, Skip, repository

LINES = 900000  # most works take about a second of CPU time
FOLDERS = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", *sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)]

# Packages of Debian whose name is not that of the program.
PACKAGES = {"ab": "apache2-utils", "cut": "coreutils", "diff": "diffutils", "dnsmasq": "dnsmasq-base",
            "factor": "coreutils", "find": "findutils", "initdb": "postgresql", "mariadb": "mariadb-client",
            "mariadb-install-db": "mariadb-server", "mariadb-slap": "mariadb-client", "mariadbd": "mariadb-server",
            "mosquitto_pub": "mosquitto-clients", "mosquitto_sub": "mosquitto-clients", "named": "bind9",
            "ninja": "ninja-build", "node": "nodejs", "objdump": "binutils", "od": "coreutils",
            "pg_isready": "postgresql-client", "pgbench": "postgresql", "php-fpm8.2": "php8.2-fpm",
            "postgres": "postgresql", "psql": "postgresql-client", "redis-benchmark": "redis-tools",
            "scp": "openssh-client", "setpriv": "util-linux", "sha256sum": "coreutils", "sort": "coreutils",
            "ssh": "openssh-client", "ssh-keygen": "openssh-client", "sshd": "openssh-server", "tac": "coreutils",
            "varnishd": "varnish", "wc": "coreutils", "xz": "xz-utils"}


class Missing(Skip):
    """A program is not installed."""

    def __init__(self, name):
        self.package = PACKAGES.get(name, name)
        super().__init__(f"{name} is not installed; the package is {self.package}")


def program(name):
    """Its path; Missing if it is not installed."""
    path = shutil.which(name, path=os.pathsep.join(FOLDERS))
    if path is None:
        raise Missing(os.path.basename(name))
    return path


def numbers(folder, name="work", lines=LINES):
    path = folder / name
    path.write_text("".join(f"{line * 7919 % 100003} line {line % 97} of {line}\n" for line in range(lines)))
    return path


def with_input(*command):
    def work(folder):
        numbers(folder)
        return list(command)
    return work


def plain(*command):
    return lambda folder: list(command)


def with_file(name, text, *command):
    def work(folder):
        (folder / name).write_text(text)
        return list(command)
    return work


# ------------------------------------------------------------------------------------------------------ works

def git_of(*words):
    def work(folder):
        repository(folder)
        return ["git", "--no-pager", *words]
    return work


def make_of(folder):
    (folder / "Makefile").write_text("all: " + " ".join(f"t{at}" for at in range(60000)) + "\n\t@echo done\n" +
                                     "".join(f"t{at}: Makefile\n\t@:\n" for at in range(60000)))
    return ["make", "-s", "-n", "all"]


def ninja_of(folder):
    (folder / "build.ninja").write_text("rule r\n  command = :\n" +
                                        "".join(f"build t{at}: r\n" for at in range(200000)))
    return ["ninja", "-n"]


def diff_of(folder):
    numbers(folder, "one", 1800000)
    (folder / "two").write_text((folder / "one").read_text().replace("97", "79"))
    return ["diff", "one", "two"]


def compiler(*command):
    return with_file("work.c", C, *command)


def groff_of(folder):
    shutil.copy(HERE.parent / "man" / "hotpath.7", folder)
    return ["groff", "-man", "-Tutf8", *["hotpath.7"] * 30]


JSON = "[" + ",".join(f'{{"id":{at},"name":"n{at * 7919 % 1009}","tags":["a","b{at % 7}"]}}'
                      for at in range(90000)) + "]"
AWK = "{ sum[$1 % 101] += $5; n[$3]++ } END { for (k in sum) s += sum[k] * k; print s, length(n) }"
BASH = "s=0; for ((i = 0; i < 1000000; i++)); do ((s += i * 7 % 13)); a[i % 100]=$s; done; echo $s ${a[42]}"
M4 = "define(`f', `ifelse($1, 0, 0, `eval($1 + f(decr($1)))')')" + "f(60)\n" * 1500
PYTHON = ("import re\nwords = {}\nfor n in range(3000000):\n    words.setdefault(str(n * 7919 % 10007), "
          "[]).append(n)\n"
          "print(len(words), sum(len(re.findall('[13579]', w)) for w in words))\n")
DASH = "i=0; while [ $i -lt 1200000 ]; do i=$((i + 1)); done; echo $i"


COMMANDS = {
    "sqlite3": with_file("work.sql", SQL.replace("20000", "800000"), "sqlite3", "-init", "/dev/null", ":memory:",
                         ".read work.sql"),
    "git log": git_of("log", "-p", "--stat"),
    "git fsck": git_of("fsck", "--full"),
    "perl": plain("perl", "-e", PERL.replace("20000", "7000000")),
    "python3": plain("/usr/bin/python3", "-S", "-c", PYTHON),
    "lua": with_file("work.lua", "local t = {} for i = 1, 3e7 do t[i % 1000] = i * 7 % 13 end print(t[42])",
                     "lua5.4", "work.lua"),
    "gcc": compiler("gcc", "-O2", "-S", "-o", "-", "work.c"),
    "g++": compiler("g++", "-O2", "-x", "c++", "-S", "-o", "-", "work.c"),
    "clang": compiler("clang", "-O2", "-S", "-o", "-", "work.c"),
    "cmake": with_file("work.cmake", CMAKE.replace("2000", "60000"), "cmake", "-P", "work.cmake"),
    "make": make_of,
    "ninja": ninja_of,
    "xz": with_input("xz", "-3", "-T2", "--block-size=1MiB", "--keep", "--stdout", "work"),
    "gzip": with_input("gzip", "-9nc", "work"),
    "bzip2": with_input("bzip2", "-kc", "work"),
    "zstd": with_input("zstd", "-q", "-12", "-T1", "-c", "work"),
    "sort": with_input("sort", "--parallel=2", "-n", "-k2", "-S", "8M", "-T", ".", "work"),
    "mawk": with_input("mawk", AWK, *["work"] * 8),
    "gawk": with_input("gawk", AWK, *["work"] * 4),
    "sed": with_input("sed", "-E", "s/([0-9]+) line ([0-9]+)/\\2 \\1/;/7 of/d", "work"),
    "grep": with_input("grep", "-nE", "(19|91).*line [0-9]*7 of .*3$", *["work"] * 20),
    "tac": with_input("tac", *["work"] * 10),
    "wc": with_input("wc", "-wm", *["work"] * 15),
    "cut": with_input("cut", "-d", " ", "-f", "1,3", *["work"] * 30),
    "od": with_input("od", "-An", "-tx1", "work"),
    "sha256sum": with_input("sha256sum", *["work"] * 20),
    "factor": plain("factor", *[str((1 << 119) - at) for at in range(1, 30)]),
    "find": plain("find", "/usr/lib", "/usr/share", "-name", "*.h", "-size", "+1"),
    "tar": plain("tar", "-cf", "-", "-C", "/usr/include", "."),
    "diff": diff_of,
    "bash": plain("bash", "-c", BASH),
    "dash": plain("dash", "-c", DASH),
    "jq": with_file("work.json", JSON, "jq", "-c", "group_by(.name) | map({n: .[0].name, c: length}) | .[:20]",
                    "work.json"),
    "openssl": with_input("openssl", "enc", "-aes-256-cbc", "-pbkdf2", "-iter", "1000000", "-S", "0011223344556677",
                          "-k", "k", "-in", "work"),
    "bc": with_file("work.bc", "scale=1500\n4*a(1)\nquit\n", "bc", "-ql", "work.bc"),
    "m4": with_file("work.m4", M4, "m4", "work.m4"),
    "objdump": plain("objdump", "-d", "/usr/bin/bash"),
    "groff": groff_of,
    "node": plain("node", "-e",
                  "let m = new Map(); for (let i = 0; i < 2e7; i++) m.set(i * 7919 % 10007, i); "
                  "console.log(m.size)"),
}
