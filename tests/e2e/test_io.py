"""I/O of unmodified programs, with `hotpath run --io`: numbers that the program knows itself, those that strace
sees in the same run, and functions that behave as without hotpath. `io_truth` prints what it has read and written;
`io_rules` prints a line for each function and situation."""
import errno
import json
import random
import re
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter

import pytest

from command import Cli, wait_until
from harness import (BUILD, EXAMPLES, HOTPATH, IS_GLIBC, PROGRAMS, TIMEOUT, WITHOUT_PERF, between, with_glibc,
                     without_emulator, without_sanitizer)
from test_locks import exported, plain, rows_of
from test_serve import Server

pytestmark = [without_emulator("it has other thread pointers"),
              without_sanitizer("the library of such a build can be preloaded into nothing else")]

of_the_system = with_glibc("which other programs of this machine use")
LIBRARY = BUILD / "lib" / "libhotpath_io.so.0"
WITHOUT = BUILD / "lib" / "libhotpath_preload.so.0"
RUN = [HOTPATH, "run", "--io", "-f", "json", "--section", "io,io-by", "--limit", "0"]


def run(box, *command, before=(), env=None, io=("--io",)):
    report = box.folder() / "report.json"
    return box.run(HOTPATH, "run", *io, "-f", "json", "-o", report, "--section", "io,io-by", "--limit", "0",
                   "--percentiles", "50,90", "--", *command, env=env, before=list(before)), report


def by_name(rows):
    return {(row.name.rpartition("/")[2], row.op): row for row in rows}


# -------------------------------------------------------------------------------------------- the program's numbers

@pytest.mark.parametrize("perf", ["perf", "refused"])
def test_numbers_are_those_of_the_program(box, perf):
    """Threads that reuse descriptors, copies, passed ones, children, handlers that interrupt counting."""
    result, report = run(box, PROGRAMS / "io_truth", before=WITHOUT_PERF if perf == "refused" else ())
    rows = by_name(rows_of(box, report, "io"))
    told = [re.fullmatch(r"(.+) ([a-z]+)((?: \d+){4})", line) for line in result.stdout.splitlines()]
    told = [(line[1], line[2], *map(int, line[3].split())) for line in told if line]
    assert len(told) > 30
    if not IS_GLIBC:  # whose streams alone can be seen
        told = [line for line in told if "buffered" not in line[0] or line[1] == "open"]
    for name, op, *numbers in told:
        row = rows[name, op]
        assert [row.ops, row.moved_bytes, row.errors, row.again] == numbers, (name, op)
    if IS_GLIBC:  # ten bytes to a command, and what is printed here
        pipes = rows["pipe", "write"]
        assert (pipes.ops, pipes.moved_bytes) == (2, 10 + len(result.stdout))
    assert rows["write_bytes", "write"].size_median_bytes == 1
    assert rows["write_bytes", "read"].size_median_bytes == 512
    assert rows["fail", "read"].error_names == "EBADF 7"
    assert [row.error_names for row in rows.values() if row.op == "connect" and row.errors] == ["ECONNREFUSED 1"]
    times_are_bounded(rows["slow", "read"], *map(int, re.search("^waits (.+)", result.stdout, re.M)[1].split()))


def times_are_bounded(row, least_span, most_span, *bounds):
    """The program knows of each call how long it was at least and at most."""
    least, most = sorted(bounds[0::2]), sorted(bounds[1::2])
    assert between(sum(least), row.time_ns, sum(most)) and between(least[-1], row.max_ns, most[-1])
    assert between(sum(least) / 10, row.mean_ns, sum(most) / 10)
    for percentile in 50, 90:
        at = percentile // 10 - 1
        assert between(0.93 * least[at], row.values[f"p{percentile}_ns"], 1.07 * most[at]), percentile
    assert between(1e9 * row.moved_bytes / most_span, row.rate_bytes, 1e9 * row.moved_bytes / least_span)


@with_glibc("libdw, which names inlined functions, is for it")
def test_functions(box):
    _, report = run(box, PROGRAMS / "io_truth")
    found = {(row.name, row.file.rpartition("/")[2], row.op) for row in rows_of(box, report, "io-by")}
    assert {("write_bytes", "write_bytes", "write"), ("read_blocks", "write_bytes", "read"),
            ("fail", "fail", "read"), ("print", "unbuffered", "write"), ("reuse", "thread1", "open"),
            ("use_copies", "copied", "write"),
            ("on_signal", "handled", "write"), ("use_handler", "handled", "write")} <= found


# --------------------------------------------------------------------------------------------------- the same calls

def test_same_as_the_plain_functions(box):
    expected = [line.replace(" ", "") for line in plain(box, "io_rules").splitlines()]
    found = [line.replace(" ", "") for line in run(box, PROGRAMS / "io_rules")[0].stdout.splitlines()]
    differences = [f"{b}, without hotpath: {a}" for a, b in zip(expected, found) if a != b]
    assert not differences and len(expected) == len(found), "\n".join(differences[:20])
    assert len(expected) > (700 if IS_GLIBC else 600)


def test_every_function_is_called(box):
    called = set(re.findall(r": (\w+)\(", plain(box, "io_rules")))
    called |= {"SSL_read", "SSL_write", "SSL_read_ex", "SSL_write_ex"}  # test_tls
    missing = exported(LIBRARY) - exported(WITHOUT) - called
    assert not missing, f"add calls to tests/programs/io_rules.c of: {', '.join(sorted(missing))}"


@of_the_system
def test_without_the_option_nothing_is_in_the_way(box):
    for io, library in ((), "preload"), (["--io"], "io"), (["--io", "--locks"], "locks_io"):
        maps = run(box, "cat", "/proc/self/maps", io=io)[0].stdout
        assert set(re.findall(r"libhotpath_(\w+)\.so", maps)) == {library}


# ----------------------------------------------------------------------------------------------------------- strace

CALLS = {"read": "read", "pread64": "read", "readv": "read",
         "write": "write", "pwrite64": "write", "writev": "write",
         "recvfrom": "recv", "recvmsg": "recv", "sendto": "send", "sendmsg": "send", "sendfile": "sendfile",
         "accept": "accept", "accept4": "accept", "fsync": "sync", "fdatasync": "sync", "connect": "connect"}
MOVING = {"read", "write", "recv", "send", "sendfile"}


def what_strace_saw(folder, wanted):
    """Ops and bytes of each operation, of descriptors whose path or address `wanted` matches."""
    seen = Counter()
    for file in folder.glob("trace.*"):
        for line in file.read_text(errors="replace").splitlines():
            found = re.match(r"(\w+)\(\d+<(.*?)>[,)].*= (-?\d+)", line)
            if found and found[1] in CALLS and re.match(wanted, found[2]):
                op, moved = CALLS[found[1]], int(found[3])
                seen[op, "ops"] += 1
                seen[op, "bytes"] += max(moved, 0) if op in MOVING else 0
    return seen


def what_we_saw(report, is_wanted):
    seen = Counter()
    for row in report["sections"]["io"]["rows"]:
        if is_wanted(row) and row["op"] in CALLS.values():
            seen[row["op"], "ops"] += row["ops"]
            seen[row["op"], "bytes"] += row["moved_bytes"]
    return +seen


with_strace = pytest.mark.skipif(shutil.which("strace") is None or subprocess.run(
    ["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode != 0, reason="needs strace")


def traced(folder, *command):
    return ["strace", "-ff", "-yy", "-qq", "-e", "trace=" + ",".join(CALLS), "-e", "signal=none", "-o",
            folder / "trace", *RUN, "-o", folder / "report.json", "--", *command]


def start(box, folder, *command):
    return subprocess.Popen(traced(folder, *command), env=box.environment(folder, {}),
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)


PYTHON = """
import os, socket, sys
folder = sys.argv[1]
with open(folder + "/file", "wb") as file:
    for at in range(500):
        file.write(b"x" * (at * 7))
with open(folder + "/file", "rb") as file:
    while file.read(1000):
        pass
fd = os.open(folder + "/file", os.O_RDWR)
for at in range(50):
    os.pwrite(fd, b"abc", at * 10)
    os.pread(fd, 100, at)
    os.readv(fd, [bytearray(3), bytearray(5)])
os.fsync(fd)
one, other = socket.socketpair()
for at in range(20):
    one.send(b"hello")
    other.recv(100)
"""


@of_the_system
@with_strace
def test_python_as_strace_sees_it(box):
    folder = box.folder()
    assert start(box, folder, sys.executable, "-c", PYTHON, str(folder)).wait(TIMEOUT) == 0
    report = json.loads((folder / "report.json").read_text())
    expected = what_strace_saw(folder, re.escape(f"{folder}/file") + "|UNIX")
    found = what_we_saw(report, lambda row: row["name"] == f"{folder}/file" or row["kind"] == "socket")
    found.pop(("connect", "ops"), None), expected.pop(("connect", "ops"), None)
    assert +expected == found and expected["send", "ops"] == 20 and expected["read", "ops"] > 100


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def ask(port, text, times):
    for _ in range(times):
        with socket.create_connection(("127.0.0.1", port), TIMEOUT) as connection:
            connection.sendall(text)
            connection.settimeout(TIMEOUT)
            while len(connection.recv(65536)) == 65536:
                pass


def is_up(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def compare_server(folder, file):
    """Its connections, and a file in that folder."""
    report = json.loads((folder / "report.json").read_text())
    path = re.escape(str(folder)) + "/" + file
    expected = what_strace_saw(folder, f"TCP|{path}")
    found = what_we_saw(report, lambda row: row["kind"] == "peer" or re.match(path, row["name"]))
    assert +expected == found, (expected, found)
    return found


@of_the_system
@with_strace
@pytest.mark.full
@pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis")
def test_redis_as_strace_sees_it(box):
    folder, port = box.folder(), free_port()
    server = start(box, folder, "redis-server", "--port", str(port), "--save", "", "--dir", str(folder),
                   "--appendonly", "yes")
    wait_until(lambda: is_up(port))
    ask(port, b"SET key value\r\nGET key\r\n", 50)
    ask(port, b"SHUTDOWN NOSAVE\r\n", 1)
    server.wait(TIMEOUT)
    found = compare_server(folder, "appendonlydir/.*aof$")
    assert found["read", "ops"] >= 50 and found["write", "bytes"] > 500 and found["accept", "ops"] >= 50
    assert found["sync", "ops"] > 0


NGINX = """
daemon off; worker_processes 2; pid {folder}/pid; error_log {folder}/error;
events {{ worker_connections 64; }}
http {{ access_log {folder}/access; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  sendfile on; server {{ listen 127.0.0.1:{port}; root {folder}; }} }}
"""


@of_the_system
@with_strace
@pytest.mark.full
@pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx")
def test_nginx_as_strace_sees_it(box):
    folder, port = box.folder(), free_port()
    folder.chmod(0o755)
    (folder / "page").write_text("x" * 100000)
    (folder / "conf").write_text(NGINX.format(folder=folder, port=port) + "")
    server = start(box, folder, "nginx", "-c", str(folder / "conf"), "-g", "user root;")
    wait_until(lambda: is_up(port))
    ask(port, b"GET /page HTTP/1.0\r\n\r\n", 1100)
    time.sleep(0.2)
    subprocess.run(["kill", "-QUIT", (folder / "pid").read_text().strip()], check=True)
    server.wait(TIMEOUT)
    found = compare_server(folder, "access")
    assert found["sendfile", "bytes"] > 0 and found["recv", "ops"] >= 1100


# ------------------------------------------------------------------------------------------- the share that is seen

def bytes_of(folder, op, names):
    seen = 0
    for file in folder.glob("trace.*"):
        for line in file.read_text(errors="replace").splitlines():
            found = re.match(rf"(\w+)\(\d+<(.*?)>[,)].*= (\d+)$", line)
            if found and CALLS.get(found[1]) == op and any(name in found[2] for name in names):
                seen += int(found[3])
    return seen


@of_the_system
@with_strace
@pytest.mark.parametrize("command", [["sort", "in", "-o", "out"], ["sed", "s/1/2/w out", "in"],
                                     ["sh", "-c", "sed 's/1/2/w out' in; sort in -o sorted; sleep 0.2; echo"]],
                         ids=lambda command: command[0])
def test_the_share_that_was_seen(box, command):
    """Of what the program itself reads and writes, by strace: how much is in rows of ours. The kernel adds to the
    numbers of a shell those of its children, when it has waited for them; `echo` makes it ask. The dynamic linker
    reads some 5 KB in each process: few beside the input."""
    folder = box.folder()
    (folder / "in").write_text("".join(f"{at * 7919 % 100003} is a line\n" for at in range(120000)))
    with open(folder / "stdout", "wb") as out:
        subprocess.run(traced(folder, *command), env=box.environment(folder, {}), stdout=out, cwd=folder,
                       check=True, timeout=TIMEOUT)
    section = json.loads((folder / "report.json").read_text())["sections"]["io"]
    names = [str(folder)]
    for op, counted in ("read", "read_bytes"), ("write", "written_bytes"):
        share = 100 * section["totals"][f"seen_{counted}"] / max(section["totals"][f"kernel_{counted}"], 1)
        truth = bytes_of(folder, op, names) - bytes_of(folder, op, [f"{folder}/report", ".run/"])
        ours = sum(row["moved_bytes"] for row in section["rows"] if row["op"] == op and str(folder) in row["name"])
        if truth > 0:
            assert abs(share - 100 * ours / truth) < 1, (op, truth, ours)


# ------------------------------------------------------------------------------------------------------------- rest

def test_report_of_a_stored_run(box):
    _, report = run(box, PROGRAMS / "io_truth", env={"HOTPATH_DIR": str(box.path)})
    stored = max(box.path.glob("*.run"), key=lambda path: path.stat().st_mtime)
    again = json.loads(box.run(HOTPATH, "report", "-f", "json", "--section", "io", "--limit", "0", stored).stdout)
    rows = again["sections"]["io"]["rows"]
    assert [row["ops"] for row in rows] == [row.ops for row in rows_of(box, report, "io")]


def test_broken_files_are_no_harm(box):
    run(box, PROGRAMS / "io_truth", env={"HOTPATH_DIR": str(box.path)})
    stored = max(box.path.glob("*.run"), key=lambda path: path.stat().st_mtime)
    file = max(stored.glob("*.io"), key=lambda path: path.stat().st_size)
    whole = file.read_bytes()
    for size in (0, 100, 4096, 5000, len(whole) // 2):
        file.write_bytes(whole[:size])
        box.run(HOTPATH, "report", "--section", "io,io-by", stored)
    noise = bytes((byte * 7 + at) % 256 for at, byte in enumerate(whole[4096:700000]))
    file.write_bytes(whole[:4096] + noise + whole[700000:])
    box.run(HOTPATH, "report", "--section", "io,io-by", stored)


@of_the_system
def test_more_files_than_rows(box):
    script = "import os\nfor at in range(1100):\n os.close(os.open(f'/tmp/none{os.getpid()}.{at}', os.O_CREAT)); " \
             "os.unlink(f'/tmp/none{os.getpid()}.{at}')"
    _, report = run(box, sys.executable, "-c", script)
    rows = rows_of(box, report, "io")
    other = [row for row in rows if row.name == "<other>" and row.op == "open"]
    assert len({(row.kind, row.name) for row in rows}) <= 1001 and other[0].ops >= 100
    assert sum(row.ops for row in rows if row.op == "open") >= 1100


CLIENTS = """
import socket
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1])
for at in range(30):
    with socket.create_connection(listening.getsockname()) as client, listening.accept()[0] as served:
        client.sendall(b"question")
        assert served.recv(100) == b"question"
"""


@of_the_system
def test_clients_have_one_row_whatever_their_ports(box):
    """The kernel has chosen all ports here, that of the server too."""
    result, report = run(box, sys.executable, "-c", CLIENTS)
    port = int(result.stdout)
    peers = [row for row in rows_of(box, report, "io") if row.kind == "peer"]
    found = {(row.name, row.op): (row.ops, row.moved_bytes) for row in peers}
    assert found == {(f"port {port}", "accept"): (30, 0), (f"127.0.0.1:{port}", "connect"): (30, 0),
                     (f"127.0.0.1:{port}", "send"): (30, 240), (f"127.0.0.1 to port {port}", "recv"): (30, 240)}


LATE = """
import select, socket
listening = socket.create_server(("127.0.0.1", 0), backlog=0)
first = socket.create_connection(listening.getsockname()) # there is no room for another one
late = socket.socket()
late.setblocking(False)
print(listening.getsockname()[1], late.connect_ex(listening.getsockname()))
try:
    late.send(b"too early")
except BlockingIOError:
    print("not yet")
listening.accept()
select.select([], [late], []) # the kernel asks again after a second
late.send(b"hello")
"""


@of_the_system
def test_a_socket_has_its_name_when_it_is_connected(box):
    result, report = run(box, sys.executable, "-c", LATE)
    port, status, *said = result.stdout.split()
    assert int(status) == errno.EINPROGRESS and said == ["not", "yet"]
    rows = [row for row in rows_of(box, report, "io") if row.op == "send"]
    found = {row.name: (row.ops, row.moved_bytes, row.again) for row in rows}
    assert found == {"no peer": (1, 0, 1), f"127.0.0.1:{port}": (1, 5, 0)}


TLS = """
import socket, ssl, sys, threading
folder = sys.argv[1]
port = int(sys.argv[2])
server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
server.load_cert_chain(folder + "/cert.pem", folder + "/key.pem")
client = ssl.create_default_context(cafile=folder + "/cert.pem")
listening = socket.create_server(("127.0.0.1", port))
def serve():
    with server.wrap_socket(listening.accept()[0], server_side=True) as secure:
        taken = 0
        while taken < 3000:
            taken += len(secure.recv(1000))
        secure.send(b"y")
        assert secure.recv(1) == b"" # the end, in order
        secure.unwrap()
thread = threading.Thread(target=serve)
thread.start()
with client.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="localhost") as secure:
    for at in range(30):
        secure.send(b"x" * 100)
    assert secure.recv(1) == b"y"  # closed before all is read, the connection would be reset
    secure.unwrap()
thread.join()
there, back = ssl.MemoryBIO(), ssl.MemoryBIO() # without a descriptor
one, other = client.wrap_bio(there, back, server_hostname="localhost"), server.wrap_bio(back, there, True)
for secure in one, other, one, other:
    try:
        secure.do_handshake()
    except ssl.SSLWantReadError:
        pass
for at in range(3):
    try:
        other.read(100)
        assert False
    except ssl.SSLWantReadError:
        pass
one.write(b"x" * 7)
assert other.read(100) == b"x" * 7
"""


def port_below_those_of_clients():
    while True:
        with socket.socket() as found:
            try:
                found.bind(("127.0.0.1", random.randrange(20000, 32000)))
                return found.getsockname()[1]
            except OSError:
                pass


@of_the_system
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_tls(box):
    folder = box.folder()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "key.pem",
                    "-out", folder / "cert.pem", "-days", "2", "-subj", "/CN=localhost"],
                   capture_output=True, check=True)
    port = port_below_those_of_clients()
    _, report = run(box, sys.executable, "-c", TLS, folder, str(port))
    rows = {(row.name, row.op): row for row in rows_of(box, report, "io")}
    server, client = f"127.0.0.1:{port}", f"127.0.0.1 to port {port}"
    assert [rows[server, "tls_write"].ops, rows[server, "tls_write"].moved_bytes] == [30, 3000]
    assert rows[client, "tls_read"].moved_bytes == 3000
    assert rows[server, "write"].moved_bytes >= 3000 + 30 * (5 + 1 + 16)  # each with a header, a kind and a tag
    assert [rows["TLS", op].moved_bytes for op in ("tls_read", "tls_write")] == [7, 7]
    assert not [row for (_, op), row in rows.items() if op.startswith("tls") and row.errors]
    assert rows[client, "tls_read"].ops >= 4  # the last one has found the end
    assert (rows["TLS", "tls_read"].ops, rows["TLS", "tls_read"].again) == (4, 3)


def test_macros(box):
    """Labels, and operations that cannot be seen, in a program with libhotpath; and its zones."""
    result, report = run(box, PROGRAMS / "own_io")
    rows = by_name(rows_of(box, report, "io"))
    for line in result.stdout.splitlines():
        name, op, ops, moved = line.split()
        row = rows[name, op]
        assert (row.kind, row.ops, row.moved_bytes) == ("label", int(ops), int(moved))
    zones = {(row.file, row.op): row.zone for row in rows_of(box, report, "io-by")}
    assert zones["journal", "write"] == "write_journal" and zones["index", "read"] is None
    totals = json.loads(report.read_text())["sections"]["io"]["totals"]
    assert totals["kernel_read_bytes"] < 1000000  # what the program told of is not the kernel's


def test_macros_without_io(box):
    result, report = run(box, PROGRAMS / "own_io", io=())
    assert json.loads(report.read_text())["sections"].get("io", {}).get("rows", []) == []
    assert result.stdout == plain(box, "own_io")


@with_glibc("libdw, which names inlined functions, is for it")
def test_example(box):
    def headline(*arguments):
        done = box.run(HOTPATH, "run", "--io", "--", EXAMPLES / "one_byte_reads_off", *arguments)
        return done.report.values["meta"]["headline"]

    assert re.search(r"(emit_char writes 1 byte at a time to copy|next_char reads 1 byte at a time from original): "
                     r"\d+ % of the CPU time is in _*(write|read)", headline())
    assert "at a time" not in (headline("buffered") or "")
    _, report = run(box, EXAMPLES / "one_byte_reads")
    found = {(row.name, row.zone, row.op): row for row in rows_of(box, report, "io-by")}
    assert found["emit_char", "copy_bytes", "write"].ops == 200000
    assert found["next_char", "copy_bytes", "read"].size_median_bytes == 1


LIVE = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
end = time.time() + 120
while time.time() < end and not os.path.exists(sys.argv[1] + ".end"):
    os.write(fd, b"x")
    time.sleep(0.001)
"""


def test_io_of_a_program_that_runs(box):
    """The server's answers change while it runs; the console shows the same table."""
    cli, path = Cli(box), box.folder() / "live.out"
    program = cli.start("run", "--format", "none", "--io", "--", sys.executable, "-c", LIVE, path)
    server = None

    def ops():
        answer = server.get("/report.json", section="io")
        rows = json.loads(answer.text)["sections"]["io"]["rows"] if answer.status == 200 else []
        return sum(row["ops"] for row in rows if row["name"] == str(path) and row["op"] == "write")

    try:
        wait_until(path.exists)
        server = Server(cli)
        wait_until(lambda: ops() > 0)
        before = ops()
        wait_until(lambda: ops() > before)
        wait_until(lambda: re.search(r"live.out +write ", cli("console", "--script", "-", "--size", "180x40",
                                                              "python3", input="5 screen").stdout))
    finally:
        path.with_name("live.out.end").touch()
        program.communicate(timeout=TIMEOUT)
        if server is not None:
            server.end()
