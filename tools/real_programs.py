"""Third-party programs, with reproducible work for them: for check_real_runs.py.

Each work is a command, or a server with what its clients do. Inputs are made in the folder in which the program
runs. SPDX-License-Identifier: MIT
"""
import os
import shutil
import signal
import socket
import subprocess
import time

from check_real_allocs import C, CMAKE, HERE, PATIENCE, PERL, SQL, Skip, environment, repository

LINES = 900000  # most works take about a second of CPU time


class Server:
    """A server, and a function that sends it requests, ends it, and returns its answers."""

    def __init__(self, command, ask, has_log=False):
        self.command, self.ask = command, ask
        self.has_log = has_log  # contains the time and the process


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


# ----------------------------------------------------------------------------------------------------- servers

def connected(path, family):
    until = time.monotonic() + PATIENCE
    while True:
        connection = socket.socket(family)
        try:
            connection.connect(path)
            return connection
        except OSError:
            connection.close()
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def ask_redis(folder, process):
    with connected(str(folder / "socket"), socket.AF_UNIX) as connection, connection.makefile("rb") as answers:
        load = subprocess.run(["redis-benchmark", "-s", "socket", "-n", "100000", "-c", "20", "-q", "-t",
                               "set,get,lpush,incr"],
                              cwd=folder, capture_output=True)
        connection.sendall(b"GET counter:__rand_int__\r\nLLEN mylist\r\nDBSIZE\r\nSHUTDOWN NOSAVE\r\n")
        return bytes([load.returncode]) + answers.read()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask_pages(port, count, end):
    def ask(_, process):
        answer = b""
        for _ in range(count):
            with connected(("127.0.0.1", port), socket.AF_INET) as connection:
                connection.sendall(b"GET /page HTTP/1.0\r\n\r\n")
                with connection.makefile("rb") as file:
                    answer = file.read()
        process.send_signal(end)
        return answer.split(b"\r\n\r\n", 1)[1]
    return ask


def http_server(folder):
    port = free_port()
    numbers(folder, "page", 300)
    return Server(["/usr/bin/python3", "-c", "import http.server, socketserver, sys\n"
                   "class Quiet(http.server.SimpleHTTPRequestHandler):\n    log_message = lambda *_: None\n"
                   f"server = http.server.ThreadingHTTPServer(('127.0.0.1', {port}), Quiet)\n"
                   "try:\n    server.serve_forever()\nexcept KeyboardInterrupt:\n    pass\n"],
                  ask_pages(port, 3000, signal.SIGINT))


def nginx(folder):
    port = free_port()
    numbers(folder, "page", 300)
    places = " ".join(f"{kind}_temp_path {folder}/temporary;" for kind in (
        "client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root;" if os.getuid() == 0 else ""
    (folder / "conf").write_text(f"daemon off; {user} pid {folder}/pid; error_log stderr; worker_processes 2; "
                                 f"events {{ }}\n"
                                 f"http {{ {places} access_log off; gzip on; gzip_types *;\n"
                                 f"server {{ listen 127.0.0.1:{port}; root {folder}; }} }}\n")
    return Server(["/usr/sbin/nginx", "-p", str(folder), "-c", str(folder / "conf"), "-e", "stderr"],
                  ask_pages(port, 20000, signal.SIGQUIT), has_log=True)


def lighttpd(folder):
    port = free_port()
    numbers(folder, "page", 300)
    (folder / "conf").write_text(f'server.bind = "127.0.0.1"\nserver.port = {port}\nserver.document-root = '
                                 f'"{folder}"\n')
    return Server(["/usr/sbin/lighttpd", "-D", "-f", str(folder / "conf")], ask_pages(port, 20000, signal.SIGINT),
                  has_log=True)


def memcached(_):
    port = free_port()

    def ask(_, process):
        with connected(("127.0.0.1", port), socket.AF_INET) as connection, connection.makefile("rb") as answers:
            for _ in range(300):
                connection.sendall(b"".join(b"set k%d 0 0 40\r\n%040d\r\nget k%d\r\n" % (at, at, at)
                                            for at in range(1000)))
                got = [answers.readline() for _ in range(4000)]
        process.send_signal(signal.SIGTERM)
        return b"".join(got)
    return Server(["memcached", "-u", "root", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-t", "2"], ask)


def redis(_):
    return Server(["redis-server", "--port", "0", "--unixsocket", "socket", "--save", "", "--daemonize", "no",
                   "--loglevel", "warning"], ask_redis, has_log=True)


def openssl_server(folder):
    port = free_port()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key", "-out", "cert",
                    "-subj", "/CN=localhost", "-days", "2"], cwd=folder, check=True, capture_output=True)
    (folder / "page").write_text("page " * 1000)

    def ask(_, process):
        connected(("127.0.0.1", port), socket.AF_INET).close()
        got = b""
        for _ in range(100):
            got = subprocess.run(["curl", "-sk", f"https://127.0.0.1:{port}/page"], capture_output=True).stdout
        process.send_signal(signal.SIGTERM)
        return got
    if shutil.which("curl") is None:
        raise Skip("curl is not installed")
    return Server(["openssl", "s_server", "-quiet", "-accept", f"127.0.0.1:{port}", "-key", "key", "-cert", "cert",
                   "-WWW"], ask)


PROGRAMS = {
    "sqlite3": with_file("work.sql", SQL.replace("20000", "800000"), "sqlite3", "-init", "/dev/null", ":memory:",
                         ".read work.sql"),
    "redis-server": redis,
    "http.server": http_server,
    "nginx": nginx,
    "lighttpd": lighttpd,
    "memcached": memcached,
    "openssl s_server": openssl_server,
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


def work_of(name, folder):
    """A Server or a command; Skip if it is not installed."""
    work = PROGRAMS[name](folder)
    command = work.command if isinstance(work, Server) else work
    if shutil.which(command[0], path=environment(folder)["PATH"]) is None:
        raise Skip(f"{command[0]} is not installed")
    return work
