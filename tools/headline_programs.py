"""Programs of Debian, with what a person says first about each of them: for check_headlines.py.

The truth was written from perf, gdb, strace and sources before hotpath ran on any of these, and is not changed to
fit. If an entry was wrong, `edited` says what it was and why it changed. Packages for debugging must not be
installed (libc6-dbg, which valgrind needs, only adds names of libc). SPDX-License-Identifier: MIT
"""
import os
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Callable

from check_real_allocs import CMAKE, PERL, SQL, Skip, environment
from real_programs import FOLDERS, numbers, plain, with_file, with_input

# What a state is called in a sentence is in check_headlines.py:
#   cpu         some CPUs, but not all of them      lock        waits for locks
#   all         all CPUs                            processes   starting processes is the cost
#   idle        nothing to do                       short       processes too short to sample
#   disk, socket, page, pipe                        waits for it


@dataclass
class Program:
    name: str
    work: Callable  # makes the input in a folder and returns the command, or (command, outside)
    state: str  # several, with | between them, if a person would accept each
    names: list  # regular expressions; a sentence that has one of them names what matters. None: the state is all
    because: str  # where the truth comes from
    program: str = ""  # of several processes, the one that matters: a regular expression
    packages: str = ""  # if they are not called like the program
    in_page: bool = False  # whether the rules were made with it at hand
    held_back: bool = False  # not for improving the rules: it says how good they are for programs they do not know
    edited: str = ""  # what this entry was before, and the reason


@dataclass
class Outside:
    """What runs beside the program, not under hotpath: a server, or clients of one."""
    commands: list
    port: int = 0  # the commands start when something listens there
    stop: bool = True  # send SIGTERM to the program when the commands have ended
    first: bool = False  # the commands start first, and are stopped at the end


def script(text):
    return with_file("work.sh", text, "sh", "work.sh")


def input_and_script(text, lines=900000):
    def work(folder):
        numbers(folder, lines=lines)
        (folder / "work.sh").write_text(text)
        return ["sh", "work.sh"]
    return work


def first_found(*names):
    for name in names:
        path = shutil.which(name, path=os.pathsep.join(FOLDERS))
        if path:
            return path
    raise Skip(f"{names[0]} is not installed")


# ----------------------------------------------------------------------------------------------------- inputs

def c_source(functions, seed=1):
    """Functions that a compiler has to work on: loops, switches, structures, calls."""
    rng = random.Random(seed)
    text = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>",
            "struct item { int kind, count; double weight; char name[32]; struct item *next; };"]
    for at in range(functions):
        cases = "".join(f"        case {case * 3 + at % 3}: sum += item->count * {rng.randrange(1, 99)} "
                        f"+ (sum >> {rng.randrange(1, 9)}); break;\n" for case in range(rng.randrange(3, 9)))
        text.append(f"long f{at}(struct item *item, int depth)\n{{\n    long sum = depth;\n"
                    f"    for (int i = 0; i < depth * {rng.randrange(2, 9)}; i++) {{\n        switch "
                    f"(item->kind) {{\n"
                    f"{cases}        default: sum ^= (long)(item->weight * {rng.random():.4f});\n        }}\n"
                    f"        if (item->next && strcmp(item->name, \"n{at}\") > 0)\n            item = "
                    f"item->next;\n"
                    f"        sum += {f'f{rng.randrange(at)}(item, depth - 1)' if at else 'depth'};\n    }}\n"
                    f"    return sum;\n}}\n")
    text.append(f"int main(void)\n{{\n    struct item item = {{0}};\n    return (int)f{functions - 1}(&item, "
                f"1);\n}}\n")
    return "\n".join(text)


CXX = "#include <algorithm>\n#include <iostream>\n#include <map>\n#include <regex>\n#include <string>\n" + "".join(
    f"template <int N> struct s{n} {{ std::map<int, std::vector<std::string>> m; int f() {{ std::regex "
    f"r(\"a{n}\"); "
    f"return N + (int)m.size() + std::regex_match(\"b\", r); }} }};\nint g{n}() {{ return s{n}<1>().f(); }}\n"
    for n in range(3)) + "int main() { return g0(); }\n"


def many_sources(folder, count, functions):
    for at in range(count):
        (folder / f"part{at}.c").write_text(c_source(functions, at).replace("int main", f"int main{at}"))


def make_of(folder):
    many_sources(folder, 8, 50)
    (folder / "Makefile").write_text("all: " + " ".join(f"part{at}.o" for at in range(8)) +
                                     "\n%.o: %.c\n\t@gcc -O2 -c -o $@ $<\n")
    return ["make", "-j2"]


def ninja_of(folder):
    many_sources(folder, 8, 50)
    (folder / "build.ninja").write_text("rule cc\n  command = gcc -O1 -g -c -o $out $in\n" + "".join(
        f"build part{at}.o: cc part{at}.c\n" for at in range(8)))
    return ["ninja", "-j2"]


def make_of_nothing(folder):
    """Many rules whose command hardly does anything, as in a recursive build that is up to date."""
    (folder / "Makefile").write_text("all: " + " ".join(f"t{at}" for at in range(500)) +
                                     "\nt%:\n\t@/bin/true $@\n")
    return ["make", "-j2"]


def picture(folder, width=3000, height=2000):
    """A PPM with gradients and some noise."""
    row = bytes((x * 7 + c * 31) % 256 for x in range(width) for c in range(3))
    noise = random.Random(5).randbytes(width * 3)
    with open(folder / "work.ppm", "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (width, height))
        for y in range(height):
            shift = y * 3 % len(row)
            file.write(row[shift:] + row[:shift] if y % 4 else noise[shift:] + noise[:shift])


def with_picture(*command, width=3000, height=2000):
    def work(folder):
        picture(folder, width, height)
        return list(command)
    return work


def sound(folder, seconds=60):
    """A WAV: some tones and noise."""
    rng = random.Random(7)
    one = b"".join(int(8000 * ((at * 441 % 44100) / 44100 - 0.5) + 4000 * ((at * at % 997) / 997 - 0.5)
                       + rng.randrange(-500, 500)).to_bytes(2, "little", signed=True) * 2 for at in range(44100))
    size = len(one) * seconds
    with open(folder / "work.wav", "wb") as file:
        file.write(b"RIFF" + (size + 36).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little") +
                   b"\1\0\2\0" + (44100).to_bytes(4, "little") + (176400).to_bytes(4,
                                                                                   "little") + b"\4\0\x10\0data" +
                   size.to_bytes(4, "little"))
        for _ in range(seconds):
            file.write(one)


def with_sound(*command, seconds=60):
    def work(folder):
        sound(folder, seconds)
        return list(command)
    return work


def pdf(folder, pages=12):
    """Pages of text and lines."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>",
               f"<< /Type /Pages /Count {pages} /Kids [{' '.join(f'{4 + 2 * at} 0 R' for at in range(pages))}] >>",
               "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    for page in range(pages):
        lines = "".join(f"BT /F1 9 Tf 40 {800 - 12 * line} Td (line {line * 7919 % 1009} of page {page}: the quick "
                        f"brown fox) Tj ET\n{line} {line * 9} m {500 - line} {line * 13 % 800} l S\n"
                        for line in range(60))
        objects += [f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * page} 0 R "
                    "/Resources << /Font << /F1 3 0 R >> >> >>",
                    f"<< /Length {len(lines)} >>\nstream\n{lines}endstream"]
    text, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(text))
        text += f"{number} 0 obj\n{body}\nendobj\n"
    start = len(text)
    text += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n" + "".join(f"{at:010} 00000 n \n" for at in places)
    (folder / "work.pdf").write_text(text + f"trailer << /Size {len(objects) + 1} /Root 1 0 R "
                                            f">>\nstartxref\n{start}\n"
                                     "%%EOF\n")


def with_pdf(*command, pages=12):
    def work(folder):
        pdf(folder, pages)
        return list(command)
    return work


def repository(folder, commits=60, lines=4000):
    """A repository whose files change a little in each commit."""
    def git(*words):
        subprocess.run(["git", *words], cwd=folder, env=environment(folder), check=True, stdout=subprocess.DEVNULL)
    rng = random.Random(3)
    text = [f"line {at} {rng.random()}" for at in range(lines)]
    git("init", "-q", "-b", "main", ".")
    for number in range(commits):
        for _ in range(200):
            text[rng.randrange(lines)] = f"changed {number} {rng.random()}"
        (folder / "file").write_text("\n".join(text))
        git("add", "-A")
        git("commit", "-q", "-m", f"change {number}")


def git_of(*words, commits=60, lines=4000):
    def work(folder):
        repository(folder, commits, lines)
        return ["git", "--no-pager", *words]
    return work


def twice(*command):
    """It has run before, so what it reads from the disk is in memory."""
    def work(folder):
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return list(command)
    return work


def many_files(folder, count=2000, size=2000):
    for at in range(count):
        path = folder / "tree" / f"d{at % 50}" / f"f{at}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes((at * 7 + b) % 251 for b in range(10)) * (size // 10))


def with_files(*command, count=2000, size=2000):
    def work(folder):
        many_files(folder, count, size)
        return list(command)
    return work


def xml(folder, items):
    (folder / "work.xml").write_text("<list>" + "".join(
        f"<item id='{at}'><name>n{at * 7919 % 1009}</name><value>{at % 97}</value></item>" for at in range(items)) +
        "</list>")


XSL = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:template match="/list"><out><xsl:for-each select="item"><xsl:sort select="name"/><xsl:sort select="value"
data-type="number"/><i><xsl:value-of select="concat(name, '-', count(preceding-sibling::item[position() &lt; 60]
))"/>
</i></xsl:for-each></out></xsl:template></xsl:stylesheet>"""


def xsltproc_of(folder):
    xml(folder, 7000)
    (folder / "work.xsl").write_text(XSL)
    return ["xsltproc", "work.xsl", "work.xml"]


def json_of(folder):
    (folder / "work.json").write_text("[" + ",".join(
        f'{{"id":{at},"name":"n{at * 7919 % 1009}","tags":["a","b{at % 7}"]}}' for at in range(150000)) + "]")
    return ["jq", "-c", "group_by(.name) | map({n: .[0].name, c: length}) | .[:20]", "work.json"]


def dot_of(folder):
    rng = random.Random(11)
    (folder / "work.dot").write_text("digraph g {\n" + "".join(
        f"n{at} -> n{rng.randrange(at)};\nn{at} -> n{rng.randrange(at)};\n" for at in range(1, 900)) + "}\n")
    return ["dot", "-Tsvg", "-o", "out.svg", "work.dot"]


def diff_of(folder):
    """`head` and `cut` make what diff reads from pipes, as with <(...) in a shell."""
    numbers(folder, "one", 1500000)
    (folder / "two").write_text((folder / "one").read_text().replace("97", "79"))
    (folder / "work.bash").write_text("diff <(head -n 1400000 one) <(head -n 1400000 two) | tail -n 1\nexit 0\n")
    return ["bash", "work.bash"]


def ffmpeg_of(folder):
    del folder
    return ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=duration=8:size=640x360:rate=25", "-c:v",
            "libx264",
            "-threads", "1", "-preset", "medium", "-y", "out.mp4"]


def java_source(classes):
    return "import java.util.*;\npublic class Work {\n" + "".join(
        f"  static class C{n}<T extends Comparable<T>> {{ Map<String, List<T>> m = new TreeMap<>(); int f(T x) {{ "
        f"m.computeIfAbsent(\"k{n}\", k -> new ArrayList<>()).add(x); return "
        f"m.values().stream().mapToInt(List::size)"
        f".sum(); }} }}\n" for n in range(classes)) + "  public static void main(String[] a) {}\n}\n"


def javac_of(folder):
    (folder / "Work.java").write_text(java_source(60))
    return ["javac", "Work.java"]


JAVA = """import java.util.*;
public class Work {
  static long mix(long[] a, long seed) {
    for (int i = 0; i < a.length; i++) { seed ^= seed << 13; seed ^= seed >>> 7; seed ^= seed << 17;
      a[i] += seed % 1009; }
    return seed;
  }
  public static void main(String[] args) {
    long[] a = new long[1 << 16]; long seed = 42;
    for (int i = 0; i < 5000; i++) seed = mix(a, seed);
    System.out.println(seed + a[7]);
  }
}
"""


def java_of(folder):
    (folder / "Work.java").write_text(JAVA)
    subprocess.run([first_found("javac"), "Work.java"], cwd=folder, check=True)
    return ["java", "-cp", ".", "Work"]


def tsc_of(folder):
    (folder / "work.ts").write_text("".join(
        f"interface I{n}<T> {{ a: T; b: I{max(n - 1, 0)}<T> | null; }}\nexport function f{n}<T>(x: I{n}<T>, y: "
        f"T): T {{ "
        f"const m = new Map<string, T>(); m.set('k{n}', y); return m.get('k{n}') ?? x.a; }}\n" for n in range(300)))
    return ["tsc", "--noEmit", "--target", "es2020", "work.ts"]


# ------------------------------------------------------------------------------------------------------ scripts

PYTHON_ZLIB = """import threading, zlib
data = b''.join(b'%d line %d\\n' % (n * 7919 % 100003, n) for n in range(300000))
def work():
    for _ in range(6): zlib.compress(data, 6)
threads = [threading.Thread(target=work) for _ in range(2)]
for t in threads: t.start()
for t in threads: t.join()
"""

PYTHON_PURE = """words = {}
for n in range(3500000):
    words.setdefault(n * 7919 % 10007, []).append(n)
print(len(words))
"""

PYTHON_POOL = """import multiprocessing
def work(n):
    total = 0
    for i in range(400000):
        total += (i * n) % 7
    return total
if __name__ == '__main__':
    with multiprocessing.Pool(2) as pool:
        print(sum(pool.map(work, range(40), chunksize=1)))
"""

PYTHON_SOCKET = """import socket, time
client = socket.create_connection(('127.0.0.1', 48211))
total = 0
while data := client.recv(4096):
    total += len(data)
print(total)
"""

PYTHON_SLOW_SERVER = """import socket, time
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(('127.0.0.1', 48211))
server.listen()
client, _ = server.accept()
for _ in range(40):
    time.sleep(0.04)
    client.sendall(b'x' * 1000)
"""

PYTHON_BIG = """import re
text = ' '.join('word%d,%d' % (n % 1000, n * 7919 % 10007) for n in range(400000))
for _ in range(5):
    found = re.findall(r'word([0-9]*[13579]),([0-9]+)', text)
print(len(found))
"""

PYTHON_SORT = """import random
random.seed(1)
rows = [(random.random(), str(n)) for n in range(250000)]
for _ in range(5):
    a = sorted(rows)
    b = sorted(rows, key=lambda r: r[1])
"""

PYTHON_SQLITE = """import sqlite3
db = sqlite3.connect('work.db')
db.execute('create table t (a integer primary key, b text)')
db.commit()
for n in range(300):
    db.execute('insert into t values (?, ?)', (n, 'x' * 100))
    db.commit()
"""

PERL_REGEX = ("my $text = join ' ', map { \"w$_ \" . ($_ * 7919 % 100003) } 1 .. 300000; my $n = 0; "
              "for (1 .. 16) { $n++ while $text =~ /(\\d+)3 w\\d*7\\b/g; } print \"$n\\n\";")
PERL_SYSTEM = "for my $n (1 .. 400) { system('/bin/true') } print \"done\\n\";"
PERL_MEMORY = "my $n = 0; for (1 .. 4) { my $x = 'a' x 400_000_000; $n += length $x; undef $x; } print \"$n\\n\";"
LUA = "local t = {} for i = 1, 4e7 do t[i % 1000] = i * 7 % 13 end print(t[42])"
LUA_SORT = ("math.randomseed(1) local t = {} for i = 1, 900000 do t[i] = math.random() end "
            "table.sort(t, function(a, b) return a < b end) print(t[1])")
PHP = ("$t = []; for ($i = 0; $i < 45000000; $i++) { $t[$i % 1000] = ($i * 7) % 13; } echo $t[42], PHP_EOL;")
RUBY = "t = {}; 9_000_000.times { |i| t[i * 7919 % 10007] = i }; puts t.size"
NODE = ("function mix(a) { let s = 42; for (let r = 0; r < 2500; r++) for (let i = 0; i < a.length; i++) "
        "{ s = (s * 1103515245 + 12345) & 0x7fffffff; a[i] += s % 1009; } return s; } "
        "console.log(mix(new Float64Array(100000)));")
GUILE = ("(define (build n) (let loop ((i 0) (l '())) (if (= i n) l (loop (+ i 1) (cons (* i 1.5) l))))) "
         "(let loop ((r 0)) (if (< r 60) (begin (apply max (map (lambda (x) (+ x 1)) (build 100000))) (loop (+ r "
         "1)))))")
R = "set.seed(1); a <- matrix(rnorm(810000), 900); for (i in 1:3) b <- a %*% a; print(dim(b))"
OCTAVE = "s = 0; for i = 1:700000, s = s + mod(i * 7, 13); end; disp(s)"
BASH_FORKS = "for ((i = 0; i < 200; i++)); do x=$(/bin/true; echo $i); done; echo $x"
BASH_LOOP = "s=0; for ((i = 0; i < 600000; i++)); do ((s += i * 7 % 13)); a[i % 100]=$s; done; echo $s"
SLEEPS = "for n in 1 2 3 4 5 6 7 8; do sleep 0.2; done\necho done\n"
READ_LOOP = "cat work | while read -r a b; do c=$a; done\n"
PIPELINE = ("cat work | tr a-z A-Z | cut -d ' ' -f 1,3 | grep -v 99 | sort -k 1 | uniq -c | sed 's/^ *//' | "
            "tail -n 3\n")
FLOCKS = """# Four workers take turns: each holds the lock while it works
for worker in 1 2 3 4; do
    for turn in 1 2 3; do flock lockfile sh -c 'i=0; while [ $i -lt 150000 ]; do i=$((i + 1)); done'; done &
done
wait
"""
REDIS = """redis-server --port 48216 --save '' --daemonize no > /dev/null &
server=$!
until redis-cli -p 48216 ping > /dev/null 2>&1; do sleep 0.05; done
redis-benchmark -p 48216 -q -n 90000 -c 20 -t set,get > /dev/null
kill $server
wait
"""
NGINX_CONF = """daemon off; worker_processes 1; pid nginx.pid; error_log error.log;
events { }
http { access_log off; server { listen 127.0.0.1:48217; root .; } }
"""
BC = "scale=1800\n4*a(1)\nquit\n"
POSTSCRIPT = "%!PS\n" + "".join(
    f"/Helvetica findfont 9 scalefont setfont {20 + at % 50 * 10} {at * 7 % 800} moveto (line {at}) show\n"
    f"{at % 600} {at * 3 % 800} moveto {at * 11 % 600} {at * 5 % 800} lineto stroke\n"
    f"{'showpage' if at % 200 == 199 else ''}\n"
    for at in range(3000)) + "showpage\n"


def postgres(*benchmark):
    """A fresh cluster, the server in the foreground, pgbench as a client outside of the run."""
    def work(folder):
        initdb, server = first_found("initdb"), first_found("postgres")
        folder.chmod(0o755)
        folder.parent.chmod(0o755)
        data = folder / "data"
        data.mkdir()
        shutil.chown(data, "postgres", "postgres")
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        options = ["-D", str(data), "-c", "port=48218", "-c", "listen_addresses=127.0.0.1", "-c",
                   f"unix_socket_directories={data}", "-c", "log_min_messages=fatal", "-c", "jit=off"]
        subprocess.run([*as_user, initdb, "-D", str(data), "-A", "trust", "--no-sync"], cwd=data, check=True,
                       stdout=subprocess.DEVNULL)
        bench = [*as_user, "pgbench", "-h", "127.0.0.1", "-p", "48218", "-U", "postgres"]
        (data / "load.sh").write_text(
            f"until pg_isready -q -h 127.0.0.1 -p 48218; do sleep 0.05; done\n"
            f"{' '.join(bench)} -q -i -s 2 postgres >/dev/null 2>&1\n"
            f"{' '.join(bench)} {' '.join(benchmark)} postgres >/dev/null 2>&1\n")
        return [*as_user, server, *options], Outside([["sh", str(data / "load.sh")]], port=48218)
    return work


def nginx_of(folder):
    first_found("nginx")
    first_found("ab")
    (folder / "index.html").write_text("hello " * 100)
    (folder / "nginx.conf").write_text(NGINX_CONF)
    (folder / "work.sh").write_text("nginx -p . -c nginx.conf -e error.log & server=$!\nsleep 0.3\n"
                                    "ab -q -n 20000 -c 10 http://127.0.0.1:48217/index.html > /dev/null 2>&1\n"
                                    "kill $server; wait\n")
    return ["sh", "work.sh"]


def memcached_of(folder):
    del folder
    return (["memcached", "-u", "nobody", "-p", "48219", "-l", "127.0.0.1"],
            Outside([["/usr/bin/python3", "-c",
                      "import socket, time\ns = socket.create_connection(('127.0.0.1', 48219))\n"
                      "for n in range(30):\n    s.sendall(b'set k%d 0 0 2\\r\\nab\\r\\n' % n); s.recv(99); "
                      "time.sleep(0.05)\n"]], port=48219))


def memcached_loaded(folder):
    """Requests without a pause, so that the server's threads always have one to read."""
    (folder / "load.py").write_text(
        "import socket, sys, threading\n"
        "request = b''.join(b'set k%d 0 0 10\\r\\n0123456789\\r\\nget k%d\\r\\n' % (n, n) for n in range(200))\n"
        "def run():\n    s = socket.create_connection(('127.0.0.1', 48220))\n    f = s.makefile('rb')\n"
        "    for _ in range(2000):\n        s.sendall(request)\n        left = 200\n        while left:\n"
        "            left -= f.readline() == b'END\\r\\n'\n"
        "threads = [threading.Thread(target=run) for _ in range(2)]\n"
        "for t in threads: t.start()\nfor t in threads: t.join()\n")
    return (["memcached", "-u", "nobody", "-p", "48220", "-l", "127.0.0.1"],
            Outside([["/usr/bin/python3", str(folder / "load.py")]], port=48220))


def http_server_idle(folder):
    del folder
    return (["/usr/bin/python3", "-m", "http.server", "48221", "--bind", "127.0.0.1"],
            Outside([["sleep", "1.5"]], port=48221))


def slow_download(folder):
    (folder / "server.py").write_text(PYTHON_SLOW_SERVER)
    (folder / "client.py").write_text(PYTHON_SOCKET)
    return (["/usr/bin/python3", "client.py"],
            Outside([["/usr/bin/python3", str(folder / "server.py")]], port=48211, stop=False, first=True))


def python_of(name, text):
    return with_file(name, text, "/usr/bin/python3", name)


def random_file(folder, size, name="work"):
    (folder / name).write_bytes(random.Random(9).randbytes(size))


def dd_bytes(folder):
    random_file(folder, 1200000)
    return ["dd", "if=work", "of=out", "bs=1", "status=none"]


def linked(folder):
    """Many object files with many symbols, for the linker."""
    many_sources(folder, 30, 60)
    for at in range(30):
        text = (folder / f"part{at}.c").read_text().replace(" f", f" p{at}_f").replace(f" p{at}_for", " for")
        (folder / f"part{at}.c").write_text(text)
        subprocess.run(["gcc", "-g", "-O0", "-c", f"part{at}.c"], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    return ["ld", "-r", "-o", "out.o", *[f"part{at}.o" for at in range(30)]]



def program(name, work, state, names, because="", **more):
    return Program(name, work, state, names, because, **more)


PROGRAMS = [
    # ------------------------------------------------------------------- programs of the page with the rules
    program("g++ -O2", with_file("work.cc", CXX, "g++", "-O2", "-c", "-o", "work.o", "work.cc"), "cpu",
            ["execute_one_pass", "execute_pass_list", "cgraph_node::expand", "finalize_compilation_unit"],
            "perf: cc1plus 99 %, execute_one_pass 67 % with callees, no function above 3 % itself",
            program="cc1plus", in_page=True),
    program("make -j2", make_of, "all", ["execute_one_pass", "execute_pass_list", "cgraph_node::expand",
                                         "finalize_compilation_unit"],
            "perf: cc1 98 %, execute_one_pass 85 % with callees; two of them at a time", program=r"cc1\b",
            in_page=True),
    program("ninja -j2", ninja_of, "all", ["execute_one_pass", "execute_pass_list", "cgraph_node::expand",
                                           "finalize_compilation_unit"],
            "perf: cc1 95 %, as 5 %, execute_one_pass 84 % with callees", program=r"cc1\b", packages="ninja-build",
            in_page=True),
    program("clang++", with_file("work.cc", CXX, "clang++", "-O2", "-c", "-o", "work.o", "work.cc"), "cpu",
            ["EmitBackendOutput", "PassManager", "libLLVM", "runOnModule"],
            "perf: libLLVM 66 %, libclang-cpp 21 %, EmitBackendOutput calls two pass managers with 36 % and 22 %",
            packages="clang", in_page=True),
    program("xz | md5sum", input_and_script("xz -2 -T1 -c work | md5sum\n", 500000), "cpu", ["lzma_code",
                                                                                             "liblzma"],
            "perf: xz 100 %, lzma_code 99 % with callees; md5sum reads a pipe", program="xz", in_page=True),
    program("pdftoppm", with_pdf("pdftoppm", "-png", "-r", "150", "work.pdf", "page", pages=4), "cpu",
            [r"\bdeflate", "libz"], "perf: deflate 90 %, below png_write_row", packages="poppler-utils",
            in_page=True),
    program("gs", with_file("work.ps", POSTSCRIPT, "gs", "-q", "-dNOPAUSE", "-dBATCH", "-sDEVICE=png16m", "-r150",
                            "-sOutputFile=p%d.png", "work.ps"), "cpu", [r"\bdeflate", "libz", "png_write_row"],
            "perf: png_write_row 88 % with callees, deflate 58 %, libpng's own filters 31 %",
            packages="ghostscript",
            in_page=True),
    program("python threads", python_of("work.py", PYTHON_ZLIB), "all", [r"\bdeflate", "libz", "zlib_compress"],
            "perf: deflate 93 % with callees, in two threads (zlib releases the lock of the interpreter)",
            packages="python3", in_page=True),
    program("7z", with_input("7z", "a", "-mx1", "-mmt1", "-bd", "out.7z", "work"), "cpu",
            ["LzmaEnc", "Lzma2Enc", r"7z\.so", "NLzma"],
            "perf: LzmaEnc_CodeOneMemBlock in 7z.so 100 % with callees", packages="p7zip-full", in_page=True),
    program("dot", dot_of, "cpu", ["rank2", "dot_position", "dot_mincross", "libgvc", "dot_layout"],
            "perf: dot_layout 86 %; network simplex (rank2 in libgvc) and dot_mincross have it",
            packages="graphviz",
            in_page=True),
    program("ffmpeg", ffmpeg_of, "cpu", ["libx264", "x264_"],
            "perf: libx264 69 %, x264_8_trellis_coefn 53 % itself",
            in_page=True),
    program("pipeline of 8", input_and_script(PIPELINE, 700000), "cpu", ["sort"],
            "perf: sort 57 %, sed 18 %, uniq 7 %, cut 6 %, grep 6 %; sort must have read all before it writes",
            program="sort", in_page=True),
    program("diff", diff_of, "cpu", ["diff", "own code"],
            "perf: diff 89 %, its own code 81 %, 44 % at one address; head 11 %", program="diff",
            packages="diffutils",
            in_page=True),
    program("xargs -P", input_and_script("seq 400 | xargs -P 2 -n 1 /bin/true\n", 10), "processes", None,
            "strace: 400 execve; CPU time 0.5 ms per process", in_page=True),
    program("bash, 200 forks", plain("bash", "-c", BASH_FORKS), "processes", None,
            "strace: 400 clone, 201 execve; CPU time 0.3 ms per process", in_page=True),
    program("tsc", tsc_of, "cpu|all", ["V8|v8", "JIT", "JavaScript", "PlatformWorkerThread", "CompileNext",
                                       "OptimizeGraph"],
            "perf: node 100 %, 59 % of it in V8's compiler threads (CompileNext), 8 % compiled code",
            packages="node-typescript", in_page=True, edited="had the program node, but there is one process"),
    program("memcached, idle", memcached_of, "idle", None,
            "by construction: 30 requests, one each 50 ms; 0.01 s of CPU time in 2 s", in_page=True),
    program("redis", script(REDIS), "cpu|all", ["kernel", "epoll_ctl", "system call"],
            "perf: redis-benchmark 57 %, redis-server 44 %; 75 % in the kernel, epoll_ctl first",
            program="redis-benchmark", in_page=True),
    program("nginx", nginx_of, "cpu|all", ["kernel", "connect", "system call"],
            "perf: ab 61 %, nginx 39 %; 85 % in the kernel, connect first with 23 %", program=r"\bab\b",
            packages="nginx-light", in_page=True),
    program("sed", with_input("sed", "-E", "s/([0-9]+) line ([0-9]+)/\\2 \\1/;/7 of/d", "work"), "cpu",
            ["re_search"], "perf: re_search_internal in libc 87 % with callees, 20 % itself", in_page=True),
    program("javac", javac_of, "cpu|all", ["JIT", "[Cc]ompile"],
            "perf: libjvm's compiler threads 54 %, compiled Java code 26 %", packages="openjdk-17-jdk-headless",
            in_page=True),
    program("guile", with_file("work.scm", GUILE, "guile", "--no-auto-compile", "work.scm"), "cpu|all",
            ["libgc", "GC_", "Scheme", "run time", "JIT"],
            "perf: libgc 38 % (of which half in its marker thread), code compiled at run time 32 %, libguile 24 %",
            packages="guile-3.0", in_page=True),
    # ------------------------------------------------------------------------------------------- other programs
    program("gzip", with_input("gzip", "-9nc", "work"), "cpu", ["gzip", "own code"],
            "perf: its own code 99 %, which has no symbols; 47 % at one address"),
    program("bzip2", with_input("bzip2", "-kc", "work"), "cpu", ["BZ2_", "libbz2"],
            "perf: BZ2_compressBlock 92 % with callees, BZ2_blockSort 71 %"),
    program("zstd", with_input("zstd", "-q", "-12", "-T1", "-c", "work"), "cpu", ["zstd", "own code"],
            "perf: its own code 98 % (libzstd is linked in, without symbols), in a thread", held_back=True),
    program("pigz", with_input("pigz", "-p", "2", "-c", "work"), "all", [r"\bdeflate", "libz"],
            "perf: deflate in libz 95 % with callees, in two threads"),
    program("brotli", with_input("brotli", "-q", "6", "-c", "work"), "cpu", ["Brotli", "brotli", "own code"],
            "perf: BrotliEncoderCompressStream 100 % with callees, 16 % in the kernel below it", held_back=True),
    program("sqlite3", with_file("work.sql", SQL.replace("20000", "800000"), "sqlite3", "-init", "/dev/null",
                                 ":memory:", ".read work.sql"), "cpu", ["sqlite3VdbeExec", "sqlite3_step",
                                                                        "libsqlite3"],
            "perf: sqlite3VdbeExec 100 % with callees, 22 % itself"),
    program("python3 sqlite3, commits", python_of("work.py", PYTHON_SQLITE), "disk",
            ["sqlite3", "fdatasync", "pysqlite", "work\\.db"],
            "strace: 1204 fdatasync have most of the time; 0.1 s of CPU time", packages="python3"),
    program("python3", python_of("work.py", PYTHON_PURE), "cpu", ["_PyEval_EvalFrameDefault", "interprets"],
            "perf: below _PyEval_EvalFrameDefault, 20 % itself; the work is the Python code"),
    program("python3 re", python_of("work.py", PYTHON_BIG), "cpu",
            ["_PyEval_EvalFrameDefault", "interprets", "sre_", "python3"],
            "perf: python3.11 62 %, libc 36 % (malloc 25 % with callees), all below _PyEval_EvalFrameDefault",
            held_back=True),
    program("python3 sorted", python_of("work.py", PYTHON_SORT), "cpu",
            ["_PyEval_EvalFrameDefault", "interprets", "list_sort", "PyObject_Vectorcall"],
            "perf: two addresses of python3 (in list.sort, from its source) have 40 %, called by "
            "PyObject_Vectorcall 88 %", held_back=True),
    program("python3 Pool", python_of("work.py", PYTHON_POOL), "all", ["_PyEval_EvalFrameDefault", "interprets"],
            "perf: two workers, _PyEval_EvalFrameDefault 32 % itself, 99 % with callees", program="python3"),
    program("python3 recv", slow_download, "socket|idle", ["recv", "socket"],
            "strace: recvfrom has 98 % of the time; the server sends something each 40 ms"),
    program("http.server, idle", http_server_idle, "idle", None,
            "strace: poll has 98 % of the time; nobody connects; 0.05 s of CPU time in 1.5 s", packages="python3"),
    program("perl", plain("perl", "-e", PERL.replace("20000", "5000000")), "cpu",
            ["Perl_hv_common", "Perl_pp_helem", "interprets", "Perl_runops_standard"],
            "perf: Perl_pp_helem 53 % with callees, of it Perl_hv_common 32 % itself; memmove 21 %",
            held_back=True),
    program("perl regex", plain("perl", "-e", PERL_REGEX), "cpu", ["Perl_regexec_flags", "Perl_pp_match",
                                                                   "interprets"],
            "perf: Perl_pp_match 70 % with callees, all of it Perl_regexec_flags"),
    program("perl system", plain("perl", "-e", PERL_SYSTEM), "processes", None,
            "strace: 400 wait4, 401 execve have 90 % of the time; CPU time 0.5 ms per process"),
    program("perl memory", plain("perl", "-e", PERL_MEMORY), "cpu",
            ["mem(?:move|cpy)", "page fault", "Perl_sv_setsv_flags", "Perl_pp_sassign"],
            "perf: memmove below Perl_sv_setsv_flags 81 % with callees, 60 % in the page faults of its target",
            edited="had only memmove: in libc, memcpy is another name of the same code"),
    program("lua sort", with_file("work.lua", LUA_SORT, "lua5.4", "work.lua"), "cpu",
            ["lua_", "interprets", "own code"], "perf: lua5.4 100 %, lua_geti 15 % itself, below lua_pcallk",
            packages="lua5.4", held_back=True),
    program("luajit", with_file("work.lua", LUA.replace("4e7", "3e8"), "luajit", "work.lua"), "cpu",
            ["JIT", "run time", "no file", "interprets Lua", "[Cc]ompiled"],
            "perf: code in anonymous memory 61 %, luajit itself 39 %"),
    program("php", plain("php", "-r", PHP), "cpu", ["execute_ex", "interprets", "zend_"],
            "perf: execute_ex 97 % with callees, a handler without a name 48 % itself", packages="php-cli"),
    program("ruby", plain("ruby", "-e", RUBY), "cpu", ["rb_vm_exec", "interprets", "rb_hash_aset", "libruby"],
            "perf: rb_vm_exec 98 % with callees, of it rb_hash_aset 44 %", held_back=True),
    program("node", plain("node", "-e", NODE), "cpu", ["JIT", "JavaScript", "run time", "no file", r"\bmix\b",
                                                       "[Cc]ompiled"],
            "perf: code in anonymous memory 97 %: the function mix, compiled by V8", packages="nodejs"),
    program("java", java_of, "cpu", ["JIT", "Java", "run time", "no file", r"\bmix\b", "[Cc]ompiled"],
            "perf: code in anonymous memory 98 %: the method mix, compiled by the JVM",
            packages="openjdk-17-jdk-headless", held_back=True),
    program("R", plain("Rscript", "-e", R), "cpu", ["dgemm", "libblas"], "perf: dgemm_ in libblas 86 % itself",
            packages="r-base-core"),
    program("octave", plain("octave-cli", "--no-init-file", "--eval", OCTAVE.replace("700000", "300000")), "cpu",
            ["octave::tree_", "interprets", "liboctinterp"],
            "perf: octave::tree_evaluator 96 % with callees, evaluate_n 77 %, find_function 40 %",
            packages="octave", held_back=True),
    program("jq", json_of, "cpu", ["jv_group", "jq_next", "jv_copy", "qsort_r", "libjq", "jv_sort"],
            "perf: jv_group 67 % with callees, of it qsort_r 58 %; jv_copy 39 % itself"),
    program("cmake", with_file("work.cmake", CMAKE.replace("2000", "60000"), "cmake", "-P", "work.cmake"), "cpu",
            ["mem(?:move|cpy)", "page fault", "basic_string", "_M_mutate", "_M_append", "cmake"],
            "perf: memmove 76 % with callees, called by std::string's append; 51 % in page faults below it",
            edited="had only memmove: in libc, memcpy is another name of the same code"),
    program("bc", with_file("work.bc", BC, "bc", "-ql", "work.bc"), "cpu", ["bc", "own code"],
            "perf: its own code 96 %, which has no symbols", held_back=True),
    program("openssl", with_input("openssl", "enc", "-aes-256-cbc", "-pbkdf2", "-iter", "2000000", "-S",
                                  "0011223344556677", "-k", "k", "-in", "work", "-out", "out"), "cpu",
            ["PKCS5_PBKDF2_HMAC", "HMAC_Final", "libcrypto"],
            "perf: PKCS5_PBKDF2_HMAC 97 % with callees, HMAC_Final 57 %, HMAC_CTX_copy 35 %"),
    program("sha256sum", with_input("sha256sum", *["work"] * 20), "cpu", ["sha256sum", "own code"],
            "perf: its own code 94 %, which has no symbols", packages="coreutils", held_back=True),
    program("sort", with_input("sort", "--parallel=2", "-k2", "-S", "64M", "-T", ".", "-o", "out", "work"),
            "cpu|all",
            ["memcmp", "strcoll", "sort", "own code"],
            "perf: libc 44 % (memcmp 28 %, below strcoll), its own code 41 %", packages="coreutils"),
    program("mawk", with_input("mawk", "{ sum[$1 % 101] += $5; n[$3]++ } END { for (k in sum) s += sum[k] * k; "
                               "print s, length(n) }", *["work"] * 4), "cpu",
            ["mawk", "own code", "interprets"],
            "perf: its own code 57 %, libc 30 % (strtod 27 %), libm 12 % (fmod)", held_back=True),
    program("grep", with_input("grep", "-cE", "([0-9])line \\1|([0-9])[0-9]* of .*\\2\\2\\2$", "work"),
            "cpu", ["re_search", "re_match", "check_matching"],
            "perf: re_search_internal in libc 96 % with callees, 22 % itself",
            edited="had no check_matching: it is inlined in re_search_internal, as perf without --no-inline says"),
    program("objdump", plain("objdump", "-d", "/usr/bin/bash"), "cpu",
            ["vfprintf", "printf", "libopcodes", "bfd_map_over_sections", "print_insn"],
            "perf: libc 66 % (vfprintf 56 % with callees), libopcodes 22 %, all below bfd_map_over_sections",
            packages="binutils", held_back=True),
    program("git repack", git_of("repack", "-a", "-d", "-f", "-q", "--window=250", commits=40), "cpu|all",
            ["git", "own code"], "perf: git's own code 74 %, without symbols, in threads; libz 20 %"),
    program("xsltproc", xsltproc_of, "cpu", ["xmlXPath", "xsltValueOf", "libxml2"],
            "perf: xmlXPathCompiledEval 99 % with callees (called by xsltValueOf), xmlXPathNextPrecedingSibling "
            "20 %"),
    program("flac", with_sound("flac", "-s", "-8", "-f", "-o", "out.flac", "work.wav", seconds=300), "cpu",
            ["FLAC__", "libFLAC"], "perf: libFLAC 83 %, below FLAC__stream_encoder_process", held_back=True),
    program("lame", with_sound("lame", "--quiet", "work.wav", "out.mp3", seconds=120), "cpu", ["lame_",
                                                                                               "libmp3lame"],
            "perf: libmp3lame 93 %, without names", held_back=True),
    program("oggenc", with_sound("oggenc", "-Q", "-o", "out.ogg", "work.wav", seconds=120), "cpu",
            ["vorbis_analysis", "libvorbis", "_vp_"], "perf: libvorbis 86 %, vorbis_analysis 74 % with callees",
            packages="vorbis-tools", held_back=True),
    program("cjpeg", with_picture("cjpeg", "-optimize", "-progressive", "-outfile", "out.jpg", "work.ppm",
                                  width=6000,
                                  height=4000), "cpu", ["jpeg_", "libjpeg"],
            "perf: libjpeg 94 %, jpeg_finish_compress 79 % with callees", packages="libjpeg-turbo-progs"),
    program("convert", with_picture("convert", "work.ppm", "-blur", "0x8", "out.ppm", width=1800, height=1200),
            "all|cpu",
            ["Morphology", "BlurImage", "libMagickCore"],
            "perf: MorphologyApply in libMagickCore 91 % with callees, by GOMP_parallel", packages="imagemagick"),
    program("maxima", plain("maxima", "--very-quiet", "--batch-string=for i:1 thru 3 do expand((a+b+c+d+i)^22)$"),
            "cpu", ["maxima", "own code", "[Ll]isp"], "perf: maxima's own code 91 %, without symbols",
            held_back=True),
    program("find", twice("find", "/usr/lib", "/usr/share", "/usr/include", "-name", "*.h", "-size", "+1"),
            "cpu",
            ["newfstatat", "fstatat", "kernel", "fts_read", "getdents", "system call", "find"],
            "perf: kernel 65 %, of it newfstatat 23 %; no other call comes near", packages="findutils",
            edited="ran once only: where these folders had not been read lately, find did wait for the disk"),
    program("dd, one byte", dd_bytes, "cpu", ["system call", r"\bwrite\b", r"\bread\b"],
            "by construction: 1.2 million reads and writes of one byte", packages="coreutils"),
    program("dd, dsync", plain("dd", "if=/dev/zero", "of=out", "bs=4096", "count=5000", "oflag=dsync",
                               "status=none"),
            "disk", [r"\bwrite", "out", "dd"], "strace: write has 95 % of the time; each waits for the disk "
                                               "(O_DSYNC)",
            packages="coreutils"),
    program("yes | head", plain("sh", "-c", "yes | head -c 6000000000 > /dev/null"), "all|cpu",
            ["pipe", "kernel", "write", "read"], "perf: head 60 %, yes 40 %, 83 % of both in read and write of "
                                                 "the pipe",
            program="head|yes", packages="coreutils"),
    program("read loop", input_and_script(READ_LOOP, 250000), "cpu|all", ["read", "system call"],
            "perf: dash, 70 % below read: its builtin reads a pipe one byte at a time (source: readcmd)",
            program=r"\bsh\b|dash"),
    program("sleeps", script(SLEEPS), "idle|child", None, "by construction: 1.6 s of sleep"),
    program("clang-format", with_file("work.c", c_source(1500), "clang-format", "work.c"), "cpu",
            ["clang::format", "libclang-cpp"], "perf: clang::format::TokenAnalyzer::process 93 % with callees",
            held_back=True),
    program("tar | gzip", with_files("sh", "-c", "tar -cf - tree tree tree tree tree tree tree tree | gzip -9 > "
                                                 "out.tgz",
                                     count=6000, size=8000), "cpu|all", ["gzip", "own code"],
            "perf: gzip's own code 57 %, tar's system calls 38 % with files of 2 kB, less with larger ones",
            program="gzip"),
    program("bash loop", plain("bash", "-c", BASH_LOOP), "cpu", ["interprets", "evalexp", "execute_command",
                                                                 "bash"],
            "perf: bash 63 %, libc 37 %, all below execute_command_internal, evalexp 56 %"),
    program("make, nothing", make_of_nothing, "processes", None, "strace: 500 clone3; CPU time 0.6 ms per process"),
    program("find -exec", with_files("find", "tree", "-type", "f", "-exec", "/bin/true", "{}", ";", count=400),
            "processes", None, "strace: 401 execve; CPU time 0.5 ms per process", packages="findutils",
            held_back=True),
    program("xargs gzip", with_files("sh", "-c", "find tree -type f | xargs -P 2 -n 8 gzip -9", count=200,
                                     size=900000), "all|cpu", ["gzip", "own code"],
            "perf: gzip's own code 93 %, in 25 processes, two at a time", program="gzip", held_back=True),
    program("rsync", with_files("rsync", "-a", "tree/", "copy/", count=15000), "cpu|all|disk",
            ["open", "kernel", "system call"], "perf: kernel 98 %, open 86 % (ext4_create)", program="rsync"),
    program("flock", script(FLOCKS.replace("150000", "100000")), "cpu|lock",
            ["interprets", "dash", r"\bsh\b", "flock"],
            "perf: sh 100 %, its loop; strace: flock waits most of the time, as one holds the lock at a time",
            program=r"\bsh\b|dash|flock"),
    program("sysbench mutex", plain("sysbench", "mutex", "--threads=4", "--mutex-num=1", "--mutex-locks=1500000",
                                    "--mutex-loops=300", "run"), "all|cpu", ["sysbench", "own code"],
            "perf: a loop in its own code 83 %, pthread_mutex_lock 13 %; strace: 500 waits for the lock in 1.6 "
            "million", held_back=True),
    program("fio", plain("fio", "--name=work", "--rw=randwrite", "--bs=4k", "--size=8m", "--io_size=12m",
                         "--ioengine=sync", "--fsync=1", "--thread", "--output=out"), "disk", ["fsync", "fio",
                                                                                               "work"],
            "strace: 3072 fsync; 0.25 s of CPU time in 5 s", held_back=True),
    program("memcached, loaded", memcached_loaded, "cpu|all", ["sendmsg", "system call", "kernel"],
            "perf: sendmsg 58 %, below event_base_loop; its own code 16 %"),
    program("postgres, reads", postgres("-n", "-S", "-c", "2", "-t", "6000"), "cpu|all",
            ["postgres", "PostgresMain", "own code"],
            "perf: postgres' own code 55 %, kernel 38 %, PostgresMain 76 % with callees", held_back=True),
    program("postgres, commits", postgres("-n", "-N", "-c", "1", "-t", "500"), "disk|cpu", ["postgres", "fdatasync",
                                                                                        "pg_wal"],
            "strace: 518 fdatasync; sources: each transaction waits for one of the log",
            edited="was disk alone, by strace on a loaded machine; on a quiet one, 0.5 of 0.7 s are CPU time"),
]
