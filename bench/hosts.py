"""What real programs notice of `hotpath run --locks --path --io`: their results, and their CPU time.

    hosts.py BUILD [--pairs N] [--with FLAGS] [NAME...]

One run with hotpath and one without make a pair; which of them comes first changes from pair to pair. What is
compared is what a program writes and its exit status, and the CPU time of all its processes, without that of the
command hotpath itself. Servers get the same requests in each run. Programs that are not installed are left out.

The exit status is 1 if any program behaves differently. The CPU time is printed beside what it must be."""
import argparse
import contextlib
import os
import pathlib
import random
import shlex
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

MUST = 1.10
SECONDS = 600  # a run may take that long
# Writes the CPU time of what it ran into a file.
MEASURE = '"${@:2}"; status=$?; times > "$1"; exit $status'


class Failure(Exception):
    """A run that cannot be compared."""


# ------------------------------------------------------------------------------------------ data to work on

def made_text(lines):
    chance = random.Random(7)
    words = ["".join(chance.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(chance.randrange(2, 9)))
             for _ in range(5000)]
    return "\n".join(" ".join(chance.choice(words) for _ in range(9)) for _ in range(lines)) + "\n"


FILES = {
    "work.sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700000) "
                "SELECT i % 10, count(*), sum(i * i % 1000) FROM n GROUP BY 1;\n",
    "work.lua": "local t = {} for i = 1, 3000000 do t[i % 1000 + 1] = (t[i % 1000 + 1] or 0) + i end "
                "print(t[1], #t, string.rep('ab', 10))\n",
    "work.pl": "my %h; $h{$_ % 5000} += $_ for 1 .. 2000000; print join(',', map { $h{$_} } 1 .. 5), \"\\n\";\n",
    "work.php": "<?php $a = []; for ($i = 0; $i < 4000000; $i++) $a[$i % 1000] = ($a[$i % 1000] ?? 0) + $i; "
                "echo array_sum($a), \"\\n\";\n",
    "work.js": "const m = new Map(); for (let i = 0; i < 4e6; i++) m.set(i % 5000, (m.get(i % 5000) || 0) + i);\n"
               "console.log(m.size, m.get(7), JSON.stringify([...m].slice(0, 3)));\n",
    "work.scm": "(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (display (f 29)) (newline)\n",
    "work.m": "s = 0; for i = 1:300000 s = s + mod(i * 7, 13); end; printf('%d\\n', s);\n",
    "work.R": "x <- 0; for (i in 1:3000000) x <- x + i %% 7; cat(x, sum(sort(sin(1:300000)) > 0), '\\n')\n",
    "Work.java": "public class Work { public static void main(String[] a) throws Exception { long[] sum = {0, 0};"
                 " Thread[] t = new Thread[2]; for (int k = 0; k < 2; k++) { int id = k; t[k] = new Thread(() -> {"
                 " for (int i = 0; i < 60000000; i++) sum[id] += i % 7; }); t[k].start(); }"
                 " for (Thread x : t) x.join(); System.out.println(sum[0] + sum[1]); } }\n",
    "work.py": "import hashlib, json, threading\n"
               "found = [None] * 3\n"
               "def work(at):\n"
               "    data = {str(i): i * at for i in range(40000)}\n"
               "    for _ in range(4):\n"
               "        data = json.loads(json.dumps(data))\n"
               "    found[at] = hashlib.sha256(json.dumps(data).encode()).hexdigest()\n"
               "threads = [threading.Thread(target=work, args=(at,)) for at in range(3)]\n"
               "[t.start() for t in threads]; [t.join() for t in threads]; print(found)\n",
    "work.dot": "digraph g {\n" + "".join(f"n{i} -> n{i * 7 % 90}; n{i} -> n{i * 3 % 90};\n" for i in range(90)) +
                "}\n",
    "work.ps": "%!PS\n/Helvetica findfont 12 scalefont setfont\n" +
               "".join(f"newpath {i % 500} {i * 7 % 700} moveto {i * 3 % 500} {i * 11 % 700} lineto stroke\n"
                       for i in range(60000)) + "showpage\n",
    "work.c": "#include <stdio.h>\n" + "".join(
        f"int f{i}(int a) {{ int s = 0; for (int i = 0; i < a; i++) s += i * {i} % (a + 1); return s; }}\n"
        for i in range(700)) + "int main(void) { printf(\"%d\\n\", f7(9)); }\n",
    "nginx.conf": "daemon off; master_process on; worker_processes 2; pid nginx.pid; error_log error.log;\n"
                  "events {} http { access_log off; server { listen 127.0.0.1:PORT; root FOLDER; } }\n",
}

# ------------------------------------------------------------------------------------------ programs that end

COMMANDS = {
    "sqlite3": "sh -c 'exec sqlite3 :memory: < work.sql'",
    "python3": "/usr/bin/python3 work.py",
    "lua": "lua5.4 work.lua",
    "perl": "perl work.pl",
    "php": "php work.php",
    "node": "nodejs work.js",
    "java": "java Work.java",
    "guile": "guile --no-auto-compile work.scm",
    "octave": "octave-cli --no-history --no-init-file work.m",
    "R": "R --vanilla --slave -f work.R",
    "gawk": "gawk '{ for (i = 1; i <= NF; i++) n[$i]++ } END { print length(n), n[\"ab\"] }' text",
    "sort": "sort --parallel=2 -S 8M text",
    "pigz": "pigz -p 2 -9 -c -n text",
    "xz": "xz -T2 --block-size=1MiB -3 -c text",
    "zstd": "zstd -T2 -15 -q -c text",
    "7z": "7z a -mmt2 -mx3 -bso0 -bsp0 -stl made.7z text",
    "convert": "convert -size 900x900 plasma:fractal -seed 3 -blur 0x5 -resize 50% -format %wx%h info:",
    "gs": "gs -q -dBATCH -dNOPAUSE -sDEVICE=pngmono -sOutputFile=made.png work.ps",
    "dot": "dot -Tsvg work.dot",
    "gcc": "gcc -O2 -c work.c -o made.o",
    "git": "git -C SOURCE log --stat -n 400",
}


# ------------------------------------------------------------------------------------------ servers

def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, process):
    for _ in range(600):
        if process.poll() is not None:
            raise Failure(f"the server ended with status {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise Failure("the server does not listen")


def told(*command, **more):
    """What a client says."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, **more)
    if done.returncode != 0:
        raise Failure(f"{command[0]}: {done.stdout.decode(errors='replace')[-300:]}")
    return done.stdout


def ask_redis(port, folder, requests="20000"):
    told("redis-benchmark", "-p", str(port), "-n", requests, "-c", "20", "-q", "-r", "1000", "-t",
         "set,get,lpush,lpop,zadd")
    said = told("redis-cli", "-p", str(port), "eval",
                "for i = 1, 20000 do redis.call('hset', 'h', i % 999, i) end "
                "return redis.call('hmget', 'h', 1, 7, 998)", "0")
    told("redis-cli", "-p", str(port), "shutdown", "nosave")
    return said


def ask_threads_of_redis(port, folder):
    """They spin, so on a busy machine all takes long."""
    return ask_redis(port, folder, "1000")


def ask_nginx(port, folder):
    told("ab", "-q", "-n", "12000", "-c", "20", f"http://127.0.0.1:{port}/work.sql")
    said = told("curl", "-s", f"http://127.0.0.1:{port}/text")
    os.kill(int((folder / "nginx.pid").read_text()), 15)
    return said


def ask_memcached(port, folder):
    found = []
    with socket.create_connection(("127.0.0.1", port)) as client:
        lines = client.makefile("rb")
        for at in range(15000):
            client.sendall(b"set k%d 0 0 3\r\nabc\r\nget k%d\r\n" % (at % 50, at % 70))
            found.append(lines.readline())
            while not (line := lines.readline()).startswith(b"END"):
                found.append(line)
        client.sendall(b"shutdown\r\n")
    return b"".join(found)


def ask_postgres(port, folder):
    user = ["-h", "127.0.0.1", "-p", str(port), "-U", "postgres"]
    told("pgbench", "-i", "-s", "2", "-q", *user, "postgres")
    told("pgbench", "-n", "-c", "4", "-t", "700", *user, "postgres")
    said = told("psql", *user, "-At", "-c", "select count(*), sum(aid) from pgbench_accounts", "postgres")
    os.kill(int((folder / "data" / "postmaster.pid").read_text().split()[0]), 2)
    return said


def ask_mariadb(port, folder):
    client = ["mariadb", "--protocol=tcp", "-h", "127.0.0.1", "-P", str(port), "-u", "root"]
    said = told(*client, "-N", "-e", "create database d; use d; create table t (a int primary key, b int); "
                "insert into t select seq, seq % 7 from seq_1_to_60000; "
                "select b, count(*), sum(a) from t group by b; "
                "update t set b = a % 5; select b, sum(a) from t group by b; drop database d; shutdown;")
    return said


def prepare_postgres(folder):
    shutil.chown(folder, "postgres")
    initdb = next(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    told("runuser", "-u", "postgres", "--", str(initdb), "-A", "trust", "-D", str(folder / "data"))


def prepare_mariadb(folder):
    told("mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={folder / 'data'}",
         "--auth-root-authentication-method=normal", "--skip-test-db")


SERVERS = {  # command, what is asked, preparation
    "redis": ("redis-server --port PORT --save '' --enable-debug-command no", ask_redis, None),
    "redis-threads": ("redis-server --port PORT --save '' --io-threads 2 --enable-debug-command no",
                      ask_threads_of_redis, None),
    "nginx": ("nginx -p FOLDER -c nginx.conf -e error.log", ask_nginx, None),
    "memcached": ("memcached -A -u root -t 2 -l 127.0.0.1 -p PORT", ask_memcached, None),
    "postgres": ("/usr/lib/postgresql/VERSION/bin/postgres -D FOLDER/data -p PORT "
                 "-k FOLDER -c listen_addresses=127.0.0.1", ask_postgres, prepare_postgres),
    "mariadb": ("mariadbd --no-defaults --user=root --datadir=FOLDER/data --socket=FOLDER/s --port=PORT "
                "--bind-address=127.0.0.1 --innodb-buffer-pool-size=32M", ask_mariadb, prepare_mariadb),
}


# ------------------------------------------------------------------------------------------ runs

def cpu_seconds(path):
    """Of the children: the second line of bash's `times`."""
    def seconds(text):
        minutes, rest = text.rstrip("s").split("m")
        return 60 * int(minutes) + float(rest)
    return sum(map(seconds, path.read_text().split("\n")[1].split()))


def filled(text, folder, port):
    version = next(iter(sorted(os.listdir("/usr/lib/postgresql"), reverse=True)), "") \
        if os.path.isdir("/usr/lib/postgresql") else ""
    return text.replace("FOLDER", str(folder)).replace("PORT", str(port)).replace("VERSION", version) \
        .replace("SOURCE", str(pathlib.Path(__file__).parent.parent))


def run(name, hotpath, flags):
    """A run in a folder of its own: its output, exit status and CPU time."""
    with tempfile.TemporaryDirectory(prefix="hosts-") as made:
        folder, port = pathlib.Path(made), free_port()
        folder.chmod(0o777)
        for file, text in FILES.items():
            (folder / file).write_text(filled(text, folder, port))
        (folder / "text").write_text(TEXT)
        command, ask, prepare = SERVERS.get(name, (COMMANDS.get(name), None, None))
        if prepare is not None:
            prepare(folder)
        words = ["bash", "-c", MEASURE, "bash", str(folder / "times"), *shlex.split(filled(command, folder, port))]
        if hotpath:
            (folder / "runs").mkdir(0o700)
            words = [hotpath, "run", "--format", "none", "--dir", str(folder / "runs"), *flags, "--",
                     *words]
        if name == "postgres":  # which refuses to run as root
            for path in (folder / "runs", folder / "times") if hotpath else (folder / "times",):
                path.exists() or path.touch()
                shutil.chown(path, "postgres")
            words = ["runuser", "-u", "postgres", "--", *words]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HOTPATH")}
        environment |= {"LC_ALL": "C.UTF-8", "HOME": made, "XDG_CONFIG_HOME": made}
        with open(folder / "said", "w+b") as said, open(folder / "complained", "w+b") as complained:
            process = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=complained,
                                       env=environment)
            try:
                answer = b""
                if ask is not None:
                    wait_for(port, process)
                    answer = ask(port, folder)
                status = process.wait(SECONDS)
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
            said.seek(0)
            complained.seek(0)
            errors = complained.read()
            # What a server says of itself has times and process numbers.
            output = answer if ask is not None else said.read() + errors
        if not (folder / "times").exists():
            raise Failure(f"it was not measured: {errors[-300:]!r}")
        return output, status, cpu_seconds(folder / "times"), errors


def compare(name, hotpath, flags, pairs):
    """The ratios of CPU time, in order, or the first difference in words."""
    ratios = []
    for pair in range(pairs):
        order = [None, hotpath] if pair % 2 == 0 else [hotpath, None]
        runs = {which: run(name, which, flags) for which in order}
        for at, what in enumerate(("output", "exit status")):
            if runs[None][at] != runs[hotpath][at]:
                raise Failure(f"{what}: {runs[None][at][-200:] if at == 0 else runs[None][at]!r} without, "
                              f"{runs[hotpath][at][-200:] if at == 0 else runs[hotpath][at]!r} with; "
                              f"{runs[hotpath][3][-300:]!r}")
        ratios.append(runs[hotpath][2] / max(0.001, runs[None][2]))
    return sorted(ratios)


def is_installed(name):
    command = SERVERS.get(name, (COMMANDS.get(name),))[0]
    return shutil.which(filled(shlex.split(command)[0], "", "")) is not None


TEXT = made_text(100000)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("build")
    arguments.add_argument("names", nargs="*", metavar="NAME")
    arguments.add_argument("--pairs", type=int, default=5)
    arguments.add_argument("--with", dest="flags", default="--locks --path --io", metavar="FLAGS")
    chosen = arguments.parse_intermixed_args()
    hotpath = os.path.join(os.path.abspath(chosen.build), "bin", "hotpath")
    medians, failed = [], 0
    print(f"CPU time with `hotpath run {chosen.flags}` over that without, {chosen.pairs} pairs; load average "
          f"{os.getloadavg()[0]:.1f}\n\n| program | same output and status | median | least to most |\n"
          "| --- | --- | --- | --- |", flush=True)
    for name in chosen.names or [*COMMANDS, *SERVERS]:
        if not is_installed(name):
            print(f"| {name} | not installed | | |", flush=True)
            continue
        try:
            ratios = compare(name, hotpath, shlex.split(chosen.flags), chosen.pairs)
        except (Failure, OSError, subprocess.SubprocessError) as error:
            print(f"| {name} | NO: {error} | | |", flush=True)
            failed += 1
            continue
        medians.append(statistics.median(ratios))
        print(f"| {name} | yes | {medians[-1]:.2f} | {ratios[0]:.2f} to {ratios[-1]:.2f} |", flush=True)
    if medians:
        median = statistics.median(medians)
        print(f"\nmedian of {len(medians)} programs: {median:.3f} (must: at most {MUST:.2f}: "
              f"{'met' if median <= MUST else 'MISSED'}); {failed} behave differently; load average "
              f"{os.getloadavg()[0]:.1f}")
    sys.exit(1 if failed or not medians else 0)


if __name__ == "__main__":
    main()
