"""Servers of Debian under load: for check_real_runs.py.

Each function makes what a server needs in the folder in which it runs, and returns a Server. Clients are those of
Debian, or small ones here, which count what they send and get. SPDX-License-Identifier: MIT
"""
import http.server
import os
import pwd
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time
from contextlib import contextmanager
from ftplib import FTP

from check_real_allocs import PATIENCE, Skip
from real_programs import numbers, program

LOCAL = "127.0.0.1"


class Server:
    """A command that listens at an address: a path, or a host and port.

    load(clients) sends requests and returns the answers, which must be the same each time. `user`: who its
    processes are after they have given up root. `end`: a signal, or a function that makes it end. `truth(report,
    clients)` yields what is wrong in the report of a run. `lost`: what it says is lost. `noise`: lines of its log
    that come by chance."""

    def __init__(self, command, address, load, user=None, end=signal.SIGTERM, truth=None, lost=(), noise=None,
                 udp=False):
        self.command, self.address, self.load, self.user, self.end = command, address, load, user, end
        self.truth, self.lost, self.noise, self.udp = truth, set(lost), noise, udp

    def wait_until_it_listens(self, process):
        until = time.monotonic() + PATIENCE / 4
        while not listens(self.address, self.udp):
            has_ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            if has_ended or time.monotonic() > until:
                raise RuntimeError(f"{self.command[0]} {'has ended' if has_ended else 'does not listen'}")
            time.sleep(0.02)

    def stop(self, process):
        if callable(self.end):
            self.end()
        else:
            os.kill(process.pid, self.end)  # not by send_signal, which takes the status


def listens(address, udp=False):
    """Without a connection: some servers count or log them. A path may have been renamed."""
    if isinstance(address, str):
        with open("/proc/net/unix", encoding="utf-8") as file:
            return os.path.exists(address) and any(" 00010000 " in line and f" {address}" in line for line in file)
    with open("/proc/net/udp" if udp else "/proc/net/tcp", encoding="utf-8") as file:
        rows = [line.split() for line in file]
    return any(row[1].endswith(f":{address[1]:04X}") and (udp or row[3] == "0A") for row in rows)


class Clients:
    """Connections to a server, and the bytes that went through them."""

    def __init__(self, address, folder):
        self.address, self.folder, self.sent, self.got, self.connections = address, folder, 0, 0, 0

    @contextmanager
    def connection(self):
        is_path = isinstance(self.address, str)
        with socket.socket(socket.AF_UNIX if is_path else socket.AF_INET) as plain:
            plain.settimeout(PATIENCE)
            plain.connect(self.address)
            self.connections += 1
            with plain.makefile("rb") as answers:
                yield Connection(self, plain, answers)

    def ask(self, request):
        """One connection, one request; all that comes back."""
        with self.connection() as connection:
            connection.send(request)
            return connection.rest()

    def run(self, *command, **more):
        """A client of Debian; its output."""
        done = subprocess.run([program(command[0]), *command[1:]], cwd=self.folder, capture_output=True,
                              timeout=PATIENCE, stdin=subprocess.DEVNULL, **more)
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]}: status {done.returncode}: {done.stderr.decode(errors='replace')}")
        return done.stdout


class Connection:
    def __init__(self, clients, plain, answers):
        self.clients, self.plain, self.answers = clients, plain, answers

    def counted(self, data):
        self.clients.got += len(data)
        return data

    def send(self, data):
        self.clients.sent += len(data)
        self.plain.sendall(data)

    def line(self):
        return self.counted(self.answers.readline())

    def read(self, count):
        return self.counted(self.answers.read(count))

    def rest(self):
        return self.counted(self.answers.read())

    def page(self, request):
        """Status and body of an answer of HTTP 1.1, on a connection that stays open."""
        self.send(request)
        status, length = self.line(), 0
        while (line := self.line()).strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return status + self.read(length)


# ----------------------------------------------------------------------------------------------------- common parts

def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind((LOCAL, 0))
        return probe.getsockname()[1]


def only_root(user):
    """The name of a user that the server changes to."""
    if os.getuid() != 0:
        raise Skip("needs root, to change its user")
    try:
        return pwd.getpwnam(user).pw_name
    except KeyError:
        raise Skip(f"there is no user {user}") from None


def give(path, user):
    """The path and all in it, to a user."""
    who = pwd.getpwnam(user)
    for folder, _, files in os.walk(path):
        os.chown(folder, who.pw_uid, who.pw_gid)
        for name in files:
            os.chown(os.path.join(folder, name), who.pw_uid, who.pw_gid, follow_symlinks=False)


def owned(folder, name, user):
    (folder / name).mkdir()
    give(folder / name, user)
    return folder / name


def made_once(folder, name, make):
    """A copy of what make(path) makes the first time."""
    original = folder.parent / f"{name}.made"
    if not original.exists():
        make(original)
    subprocess.run(["cp", "-a", original, folder / name], check=True)
    return folder / name


def site(folder):
    """A page that every user can read, in a folder of its own."""
    (folder / "www").mkdir()
    numbers(folder / "www", "page", 300)
    return folder / "www"


REQUEST = b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n"


def load_pages(count, connections=4):
    def load(clients):
        found = set()
        for _ in range(connections):
            with clients.connection() as connection:
                found.update(connection.page(REQUEST) for _ in range(count // connections))
        for _ in range(200):
            found.add(clients.ask(REQUEST.replace(b"1.1", b"1.0")).split(b"\r\n\r\n", 1)[1])
        return b"".join(sorted(found))
    return load


def load_ab(count, *options):
    """ab's own words: requests, failures, length of a page."""
    def load(clients):
        address = f"http://{clients.address[0]}:{clients.address[1]}/page"
        said = clients.run("ab", "-q", "-n", str(count), "-c", "8", *options, address)
        clients.connections += count
        page = clients.ask(REQUEST.replace(b"1.1", b"1.0"))
        return page.split(b"\r\n\r\n", 1)[1] + b"".join(
            re.findall(rb"(?:Complete|Failed|Non-2xx|HTML|Document L).*\n", said))
    return load


def wants_bytes(path):
    """The bytes of all connections to a path, as clients counted them."""
    def truth(report, clients):
        rows = [row for row in report["sections"].get("channels", {}).get("rows", [])
                if row["name"].startswith(f"unix socket {path}") and row["instance"] is None]
        found = [(row["received_bytes"], row["sent_bytes"]) for row in rows]
        if found != [(clients.sent, clients.got)]:
            yield f"bytes of {path}: {found} instead of {(clients.sent, clients.got)}"
    return truth


def wants_events(report, clients):
    """At least one per connection."""
    events = sum(row["events"] for row in report["sections"].get("loops", {}).get("rows", []))
    if events < clients.connections:
        yield f"{events} events for {clients.connections} connections"


def wants_processes(report, clients):
    found = sum(row["processes"] for row in report["sections"]["processes"]["rows"])
    if found < clients.connections:
        yield f"{found} processes for {clients.connections} connections"


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return set(file.read().split())


def certificate(folder):
    def make(path):
        path.mkdir()
        subprocess.run([program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key",
                        "-out", "cert", "-subj", "/CN=localhost", "-days", "20"],
                       cwd=path, check=True, capture_output=True)
        (path / "both").write_bytes((path / "key").read_bytes() + (path / "cert").read_bytes())
        for file in path.iterdir():
            file.chmod(0o644)
    return made_once(folder, "tls", make)


# ------------------------------------------------------------------------------------------------------ databases

def redis(folder):
    path = str(folder / "socket")

    def load(clients):
        clients.run("redis-benchmark", "-s", path, "-n", "100000", "-c", "20", "-q", "-t",
                    "set,get,lpush,incr")
        with clients.connection() as connection:
            connection.send(b"GET counter:__rand_int__\r\nLLEN mylist\r\nDBSIZE\r\n")
            answer = b"".join(connection.line() for _ in range(4))
            connection.send(b"INFO stats\r\n")
            length = connection.line()
            info = connection.read(int(length[1:]) + 2)
            count = {key.decode(): int(value) for key, value in re.findall(rb"(total_\w+):(\d+)", info)}
            last = b"SHUTDOWN NOSAVE\r\n"
            connection.send(last)
            connection.rest()
        clients.sent = count["total_net_input_bytes"] + len(last)  # redis counts itself
        clients.got = count["total_net_output_bytes"] + len(length) + len(info)
        return answer + b" %(total_commands_processed)d" % {
            key.encode(): value for key, value in count.items()}
    return Server([program("redis-server"), "--port", "0", "--unixsocket", path, "--save", "", "--daemonize", "no",
                   "--loglevel", "warning"], path, load, end=lambda: None, truth=wants_bytes(path))


def memcached(folder):
    user, path = only_root("nobody"), str(owned(folder, "run", "nobody") / "socket")

    def load(clients):
        with clients.connection() as connection:
            for _ in range(300):
                connection.send(b"".join(b"set k%d 0 0 40\r\n%040d\r\nget k%d\r\n" % (at, at, at)
                                         for at in range(1000)))
                got = [connection.line() for _ in range(4000)]
        return b"".join(got)
    return Server([program("memcached"), "-u", user, "-s", path, "-a", "777", "-t", "2"], path, load, user=user,
                  truth=wants_bytes(path))


def postgres(folder):
    user = only_root("postgres")
    binary = program("postgres")
    as_user = [program("setpriv"), f"--reuid={user}", f"--regid={user}", "--init-groups"]

    def make(path):
        path.mkdir()
        give(path, user)
        subprocess.run([*as_user, program("initdb"), "-D", path, "-A", "trust", "-N"], check=True,
                       capture_output=True, cwd="/")
    data, place = made_once(folder, "postgres", make), owned(folder, "run", user)
    to_it = ["-h", str(place), "-U", user]

    def load(clients):
        said = []
        while subprocess.run([program("pg_isready"), "-q", *to_it], check=False).returncode == 1:
            time.sleep(0.02)  # it listens before it has started up
        clients.run("pgbench", *to_it, "-i", "-q", "postgres")
        for options in (["-t", "500"], ["-t", "25", "-C"], ["-S", "-t", "2000"]):
            found = clients.run("pgbench", *to_it, "-n", "-c", "4", "--random-seed=7", *options, "postgres")
            said += re.findall(rb"number of (?:tr|fail).*\n", found)
        clients.connections = 100
        return b"".join(said) + clients.run(
            "psql", *to_it, "-At", "-c", "select count(*) from pgbench_history", "-c",
            "select sum(abalance) = (select sum(delta) from pgbench_history) from pgbench_accounts", "postgres")
    return Server([*as_user, binary, "-D", str(data), "-k", str(place), "-c", "listen_addresses=",
                   "-c", "autovacuum=off"], f"{place}/.s.PGSQL.5432", load, user=user, truth=wants_processes,
                  noise=rb"is starting up")


def mariadb(folder):
    user = only_root("mysql")
    binary = program("mariadbd")

    def make(path):
        path.mkdir()
        give(path, user)
        subprocess.run([program("mariadb-install-db"), "--no-defaults", f"--user={user}", f"--datadir={path}",
                        "--innodb-log-file-size=4M", "--auth-root-authentication-method=normal",
                        "--skip-test-db"], check=True, capture_output=True, cwd="/")
    data, place = made_once(folder, "mariadb", make), owned(folder, "run", user)
    path = str(place / "socket")
    to_it = ["--no-defaults", "-S", path, "-u", "root"]
    create = "create table t(a int auto_increment primary key, b varchar(80))"
    query = ("insert into t(b) values (repeat('x', 70)), ('y'); select count(*) >= 2, max(b) from t "
             "where b like 'y%' and a < 300")

    def load(clients):
        said = clients.run("mariadb-slap", *to_it, "--concurrency=4", "--iterations=1", "--number-of-queries=4000",
                           f"--create={create}", f"--query={query}", "--delimiter=;", "--no-drop",
                           "--create-schema=work")
        sums = clients.run("mariadb", *to_it, "-BN", "work", "-e",
                           "select count(*), count(distinct b), sum(length(b)) from t; checksum table t")
        status = clients.run("mariadb", *to_it, "-BN", "-e", "show global status like 'Bytes\\_%'")
        clients.sent, clients.got = (int(count) for count in re.findall(rb"\d+", status))  # mariadb counts itself
        return sums + re.findall(rb"Number of clients.*\n", said)[0]

    def truth(report, clients):
        """Its status lacks the answer with the status, and the end of that connection."""
        [row] = [row for row in report["sections"]["channels"]["rows"] if row["name"] == f"unix socket {path}"
                 and row["instance"] is None]
        found = (row["received_bytes"] - clients.sent, row["sent_bytes"] - clients.got)
        if not all(0 <= more < 1000 for more in found):
            yield f"bytes of {path}: {found} more than {(clients.sent, clients.got)}"
    return Server([binary, "--no-defaults", f"--user={user}", f"--datadir={data}", f"--socket={path}",
                   "--skip-networking", "--innodb-log-file-size=4M", f"--pid-file={place}/pid"], path, load,
                  user=user, truth=truth)


# ------------------------------------------------------------------------------------------------------ web servers

def http_server(folder):
    port = free_port()
    site(folder)
    return Server([program("/usr/bin/python3"), "-c", "import http.server, socketserver, sys\n"
                   "class Quiet(http.server.SimpleHTTPRequestHandler):\n    log_message = lambda *_: None\n"
                   f"server = http.server.ThreadingHTTPServer(('{LOCAL}', {port}), Quiet)\n"
                   "import os; os.chdir('www')\n"
                   "try:\n    server.serve_forever()\nexcept KeyboardInterrupt:\n    pass\n"],
                  (LOCAL, port), load_ab(3000), end=signal.SIGINT)


def nginx(folder):
    user, path, root = only_root("www-data"), str(folder / "socket"), site(folder)
    places = " ".join(f"{kind}_temp_path {folder}/temporary;" for kind in (
        "client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "conf").write_text(f"daemon off; user {user}; pid {folder}/pid; error_log stderr; "
                                 f"worker_processes 2; events {{ }}\n"
                                 f"http {{ {places} access_log off; keepalive_requests 100000;\n"
                                 f"server {{ listen unix:{path}; root {root}; }} }}\n")

    def load(clients):
        """Before and after it has replaced its workers."""
        before, master = load_pages(12000)(clients), int((folder / "pid").read_text())
        old = children_of(master)
        os.kill(master, signal.SIGHUP)
        until = time.monotonic() + PATIENCE / 4
        while (now := children_of(master)) & old or len(now) < len(old):
            if time.monotonic() > until:
                raise RuntimeError(f"workers {now & old} do not end")
            time.sleep(0.02)
        return before + load_pages(12000)(clients)
    return Server([program("nginx"), "-p", str(folder), "-c", str(folder / "conf"), "-e", "stderr"], path,
                  load, user=user, end=signal.SIGQUIT, truth=wants_bytes(path))


APACHE = """ServerName localhost
ServerRoot {folder}
Listen {here}:{port}
PidFile {folder}/pid
User www-data
Group www-data
ErrorLog /dev/stderr
DocumentRoot {folder}/www
LoadModule mpm_{kind}_module /usr/lib/apache2/modules/mod_mpm_{kind}.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule deflate_module /usr/lib/apache2/modules/mod_deflate.so
LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so
Mutex file:{folder}/lock default
SetOutputFilter DEFLATE
StartServers 2
"""


def apache(kind):
    def work(folder):
        user, port = only_root("www-data"), free_port()
        site(folder)
        owned(folder, "lock", user)
        (folder / "conf").write_text(APACHE.format(folder=folder, here=LOCAL, port=port, kind=kind))
        return Server([program("apache2"), "-f", str(folder / "conf"), "-D", "FOREGROUND"], (LOCAL, port),
                      load_ab(4000, "-H", "Accept-Encoding: gzip"), user=user)
    return work


def lighttpd(folder):
    user, port, root = only_root("www-data"), free_port(), site(folder)
    (folder / "conf").write_text(f'server.bind = "{LOCAL}"\nserver.port = {port}\nserver.document-root = "{root}"\n'
                                 f'server.username = "{user}"\nserver.groupname = "{user}"\n')
    return Server([program("lighttpd"), "-D", "-f", str(folder / "conf")], (LOCAL, port), load_ab(20000), user=user,
                  end=signal.SIGINT, truth=wants_events)


def haproxy(folder):
    user, path = only_root("haproxy"), str(folder / "socket")
    (folder / "conf").write_text(
        f"global\n  user {user}\n  group {user}\n  chroot {owned(folder, 'empty', user)}\n  nbthread 2\n"
        "defaults\n  mode http\n  timeout client 60s\n  timeout connect 60s\n  timeout server 60s\n"
        f"frontend f\n  bind unix@{path} mode 777\n  http-request return status 200 content-type text/plain "
        'string "a page of haproxy"\n')
    return Server([program("haproxy"), "-db", "-W", "-f", str(folder / "conf")], path, load_pages(20000), user=user,
                  end=signal.SIGUSR1, truth=wants_bytes(path))


class Origin:
    """A server of ours, for proxies."""

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version, wbufsize = "HTTP/1.1", 1 << 16

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

            def do_GET(self):  # pylint: disable=invalid-name
                body = b"page " * 2000
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "max-age=1000")
                self.end_headers()
                self.wfile.write(body)
        self.server = http.server.ThreadingHTTPServer((LOCAL, 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def squid(*options, is_followed):
    """With --foreground the server is a process that is executed while its real user is still root: as with a
    setuid program, the dynamic linker preloads nothing."""
    def work(folder):
        user, port, origin = only_root("proxy"), free_port(), Origin()
        place = owned(folder, "run", user)
        (folder / "conf").write_text(
            f"http_port {LOCAL}:{port}\nhttp_access allow all\ncache_effective_user {user}\n"
            f"pid_filename {place}/pid\ncache_log {place}/log\naccess_log none\ncache_mem 16 MB\n"
            f"visible_hostname localhost\nnetdb_filename none\nshutdown_lifetime 0 seconds\n"
            f"coredump_dir {place}\nlogfile_rotate 0\npinger_enable off\n")

        def load(clients):
            found = set()
            with clients.connection() as connection:
                for at in range(8000):
                    found.add(connection.page(b"GET http://%s:%d/%d HTTP/1.1\r\nHost: %s\r\n\r\n" %
                                              (LOCAL.encode(), origin.port, at % 50, LOCAL.encode())))
            return b"".join(sorted(found))
        return Server([program("squid"), *options, "-d1", "-f", str(folder / "conf")], (LOCAL, port), load,
                      user=user if is_followed else None, lost=() if is_followed else ["processes"])
    return work


def varnish(folder):
    user, port = only_root("vcache"), free_port()
    program("gcc")
    (folder / "vcl").write_text('vcl 4.1;\nbackend none none;\nsub vcl_recv { return (synth(200, "OK")); }\n'
                                'sub vcl_synth { set resp.body = "a page of varnish"; return (deliver); }\n')
    owned(folder, "run", user)
    return Server([program("varnishd"), "-F", "-a", f"{LOCAL}:{port}", "-f", str(folder / "vcl"), "-n",
                   str(folder / "run"), "-j", f"unix,user={user}", "-s", "malloc,16m", "-p",
                   "thread_pool_min=10"],
                  (LOCAL, port), load_pages(12000), user=user)


def fast_cgi(kind, content):
    return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content


def php_fpm(folder):
    user, path = only_root("www-data"), str(folder / "socket")
    (folder / "page.php").write_text("<?php $a = []; for ($i = 0; $i < 5000; $i++)"
                                     " $a[\"k$i\"] = str_repeat('x', $i % 9);"
                                     " echo count($a), ' ', strlen(implode($a)), \"\\n\";")
    (folder / "page.php").chmod(0o644)
    (folder / "conf").write_text(f"[global]\nerror_log = /dev/stderr\ndaemonize = no\n[www]\nuser = {user}\n"
                                 f"listen = {path}\nlisten.mode = 0666\npm = static\npm.max_children = 2\n")
    settings = {"SCRIPT_FILENAME": folder / "page.php", "REQUEST_METHOD": "GET", "SCRIPT_NAME": "/page.php"}
    pairs = b"".join(bytes([len(key), len(str(value))]) + f"{key}{value}".encode()
                     for key, value in settings.items())
    request = fast_cgi(1, struct.pack(">HB5x", 1, 0)) + fast_cgi(4, pairs) + fast_cgi(4, b"") + fast_cgi(5, b"")

    def load(clients):
        return b"".join(sorted({clients.ask(request) for _ in range(3000)}))
    return Server([program("php-fpm8.2"), "-n", "-F", "-y", str(folder / "conf")], path, load, user=user,
                  truth=wants_bytes(path))


# ------------------------------------------------------------------------------------------------------- encrypted

def curl_pages(count):
    def load(clients):
        found = {clients.run("curl", "-sk", f"https://{LOCAL}:{clients.address[1]}/page") for _ in range(count)}
        return b"".join(sorted(found))
    return load


def openssl_server(folder):
    port = free_port()
    certificate(folder)
    (folder / "page").write_text("page " * 1000)
    return Server([program("openssl"), "s_server", "-quiet", "-accept", f"{LOCAL}:{port}", "-key", "tls/key",
                   "-cert", "tls/cert", "-WWW"], (LOCAL, port), curl_pages(100))


def stunnel(folder):
    user, port, origin, tls = only_root("nobody"), free_port(), Origin(), certificate(folder)
    (folder / "conf").write_text(f"foreground = yes\nsyslog = no\npid =\nsetuid = {user}\nsetgid = nogroup\n"
                                 f"[web]\naccept = {LOCAL}:{port}\nconnect = {LOCAL}:{origin.port}\n"
                                 f"cert = {tls}/both\n")

    def load(clients):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        found = set()
        for _ in range(100):
            with clients.connection() as plain, context.wrap_socket(plain.plain.dup()) as secure, \
                    secure.makefile("rb") as answers:
                connection = Connection(clients, secure, answers)
                found.update(connection.page(REQUEST) for _ in range(20))
        return b"".join(sorted(found))
    return Server([program("stunnel4"), str(folder / "conf")], (LOCAL, port), load, user=user,
                  noise=rb"s_connect|Connection closed|SSL_accept|transport|TLS (accepted|socket)")


def sshd(folder):
    user, port = only_root("sshd"), free_port()
    binary = program("sshd")

    def make(path):
        path.mkdir(mode=0o700)
        for name in ("host", "client"):
            subprocess.run([program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", path / name], check=True)
    keys = made_once(folder, "keys", make)
    os.makedirs("/run/sshd", exist_ok=True)
    (folder / "conf").write_text(
        f"ListenAddress {LOCAL}\nPort {port}\nHostKey {keys}/host\nAuthorizedKeysFile {keys}/client.pub\n"
        f"StrictModes no\nPermitRootLogin yes\nUsePAM no\nPidFile none\nPrintMotd no\nMaxStartups 100\n"
        "Subsystem sftp internal-sftp\nLogLevel ERROR\n")
    numbers(folder, "file", 100000)

    def load(clients):
        options = ["-F", "none", "-i", f"{keys}/client", "-o", "StrictHostKeyChecking=no", "-o",
                   "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]
        there = [*options, "-p", str(port), f"root@{LOCAL}"]
        said = {clients.run("ssh", *there, "echo there; id -un; wc -l < /etc/passwd") for _ in range(8)}
        clients.connections += 16
        for _ in range(8):
            said.add(clients.run("scp", "-q", *options, "-P", str(port), f"root@{LOCAL}:{folder}/file",
                                 str(folder / "copy")))
        return b"".join(sorted(said)) + (folder / "copy").read_bytes()[-100:]
    return Server([binary, "-D", "-e", "-f", str(folder / "conf")], (LOCAL, port), load, user=None,
                  truth=wants_processes)


# ---------------------------------------------------------------------------------------------------------- names

def question(name, number, kind=1):
    labels = b"".join(bytes([len(part)]) + part for part in name.encode().split(b".")) + b"\0"
    return struct.pack(">HHHHHH", number, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">HH", kind, 1)


def load_names(count):
    """Questions by UDP. Answers without their number."""
    def load(clients):
        found = set()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
            plain.settimeout(10)
            plain.connect(clients.address)
            is_ready = False
            while not is_ready:  # it listens before it knows names
                plain.send(question("host0.work.test", 0))
                is_ready = plain.recv(2000)[3] & 15 == 0
            for number in range(count):
                plain.send(question(f"host{number % 50}.work.test", number % 65536))
                found.add(plain.recv(2000)[2:])
        return b"".join(sorted(found))
    return load


def dnsmasq(folder):
    user, port = only_root("nobody"), free_port(socket.SOCK_DGRAM)
    (folder / "conf").write_text("".join(f"address=/host{at}.work.test/10.0.0.{at}\n" for at in range(50)))
    return Server([program("dnsmasq"), "-k", "-u", user, "-p", str(port), "--no-resolv", "--no-hosts", "-C",
                   str(folder / "conf"), "--listen-address", LOCAL, "--bind-interfaces", "--log-facility=-",
                   "--pid-file"], (LOCAL, port), load_names(20000), user=user, udp=True)


def unbound(folder):
    user, port = only_root("unbound"), free_port(socket.SOCK_DGRAM)
    root = owned(folder, "root", user)
    (folder / "conf").write_text(
        f'server:\n  interface: {LOCAL}\n  port: {port}\n  do-daemonize: no\n  username: "{user}"\n'
        f'  chroot: "{root}"\n  directory: "{root}"\n  use-syslog: no\n  pidfile: ""\n  num-threads: 2\n'
        '  module-config: "iterator"\n  local-zone: "work.test." static\n'
        + "".join(f'  local-data: "host{at}.work.test. A 10.0.0.{at}"\n' for at in range(50)) +
        "remote-control:\n  control-enable: no\n")
    return Server([program("unbound"), "-d", "-c", str(folder / "conf")], (LOCAL, port), load_names(20000),
                  user=user, udp=True)


def named(folder):
    user, port = only_root("bind"), free_port(socket.SOCK_DGRAM)
    place = owned(folder, "run", user)
    (folder / "zone").write_text("$TTL 60\n@ IN SOA ns.work.test. root.work.test. 1 60 60 60 60\n@ IN NS ns\n"
                                 "ns IN A 10.0.1.1\n" +
                                 "".join(f"host{at} IN A 10.0.0.{at}\n" for at in range(50)))
    (folder / "conf").write_text(
        f'options {{ directory "{place}"; pid-file none; listen-on port {port} {{ {LOCAL}; }};'
        f' listen-on-v6 {{ none; }}; recursion no; session-keyfile "{place}/key"; managed-keys-directory "{place}";'
        f' dnssec-validation no; }};\ncontrols {{ }};\nzone "work.test"'
        f' {{ type primary; file "{folder}/zone"; }};\n')
    return Server([program("named"), "-g", "-n", "2", "-u", user, "-c", str(folder / "conf")], (LOCAL, port),
                  load_names(20000), user=user, udp=True)


# ----------------------------------------------------------------------------------------------- files and messages

def rsync_daemon(folder):
    user, port, root = only_root("nobody"), free_port(), folder / "files"
    root.mkdir()
    for at in range(60):
        numbers(root, f"file{at}", 3000)
    (folder / "conf").write_text(f"use chroot = yes\nuid = {user}\ngid = nogroup\nlog file = /dev/stderr\n"
                                 f"[files]\npath = {root}\nread only = yes\n")

    def load(clients):
        said = b""
        for at in range(8):
            said += clients.run("rsync", "-rzt", "--stats", f"rsync://{LOCAL}:{port}/files/", f"{folder}/copy{at}")
        clients.connections = 8
        same = subprocess.run(["diff", "-r", root, folder / "copy7"], capture_output=True, check=False)
        return b"".join(re.findall(rb"(?:Number of files|Total file size).*\n", said)) + same.stdout
    return Server([program("rsync"), "--daemon", "--no-detach", "--address", LOCAL, "--port", str(port), "--config",
                   str(folder / "conf")], (LOCAL, port), load, end=signal.SIGTERM, truth=wants_processes)


def vsftpd(folder):
    only_root("ftp")
    port, root = free_port(), folder / "files"
    root.mkdir(mode=0o755)
    numbers(root, "file", 20000)
    (folder / "empty").mkdir()
    (folder / "conf").write_text(
        f"listen=YES\nlisten_address={LOCAL}\nlisten_port={port}\nbackground=NO\nanonymous_enable=YES\n"
        f"anon_root={root}\nsecure_chroot_dir={folder}/empty\nftp_username=ftp\nnopriv_user=nobody\n"
        "xferlog_enable=NO\nno_anon_password=YES\n")

    def load(clients):
        found = set()
        for _ in range(30):
            with FTP() as ftp:
                ftp.connect(LOCAL, port, timeout=PATIENCE)
                ftp.login()
                for _ in range(5):
                    pieces = []
                    ftp.retrbinary("RETR file", pieces.append)
                    found.add(b"".join(pieces))
                found.add(" ".join(ftp.nlst()).encode())
                ftp.quit()
        clients.connections = 30
        return b"".join(sorted(found))
    return Server([program("vsftpd"), str(folder / "conf")], (LOCAL, port), load, truth=wants_processes)


def mosquitto(folder):
    user, port = only_root("mosquitto"), free_port()
    (folder / "conf").write_text(f"listener {port} {LOCAL}\nallow_anonymous true\nuser {user}\npersistence false\n"
                                 "log_dest stderr\nlog_type error\nlog_type warning\nset_tcp_nodelay true\n"
                                 "max_queued_messages 0\n")
    lines = b"".join(b"message %d of a sensor\n" % at for at in range(20000))

    def load(clients):
        to_it = ["-h", LOCAL, "-p", str(port), "-t", "work", "-q", "1"]
        listener = subprocess.Popen([program("mosquitto_sub"), *to_it, "-C", "20001"], stdout=subprocess.PIPE)
        first = b""
        with threading_reader(listener.stdout) as got:
            while not first:  # until it has subscribed
                clients.run("mosquitto_pub", *to_it, "-m", "first")
                time.sleep(0.05)
                first = b"".join(got)[:6]
            subprocess.run([program("mosquitto_pub"), *to_it, "-l"], input=lines, check=True, timeout=PATIENCE)
            listener.wait(PATIENCE)
        return b"\n".join(line for line in b"".join(got).splitlines() if line != b"first")[:500000]
    return Server([program("mosquitto"), "-c", str(folder / "conf")], (LOCAL, port), load, user=user)


@contextmanager
def threading_reader(pipe):
    got = []

    def read():
        while piece := os.read(pipe.fileno(), 65536):
            got.append(piece)
    reader = threading.Thread(target=read)
    reader.start()
    yield got
    reader.join()
    pipe.close()


def beanstalkd(folder):
    user = only_root("nobody")
    path = str(owned(folder, "run", user) / "socket")

    def load(clients):
        answer = b""
        with clients.connection() as connection:
            for _ in range(100):
                connection.send(b"put 1 0 60 40\r\n%040d\r\n" % 7 * 300)
                answer = b"".join(connection.line() for _ in range(300))
                connection.send(b"reserve\r\n" * 300)
                names = [(connection.line().split()[1], connection.line())[0] for _ in range(300)]
                connection.send(b"".join(b"delete %s\r\n" % name for name in names))
                answer += b"".join(connection.line() for _ in range(300))
        return answer
    return Server([program("beanstalkd"), "-u", user, "-l", f"unix:{path}"], path, load, user=user,
                  truth=wants_bytes(path))


SERVERS = {
    "redis-server": redis, "memcached": memcached, "postgres": postgres, "mariadb": mariadb,
    "http.server": http_server, "nginx": nginx, "apache2 event": apache("event"),
    "apache2 prefork": apache("prefork"), "lighttpd": lighttpd, "haproxy": haproxy,
    "squid": squid("-N", is_followed=True), "squid with a kid": squid("--foreground", is_followed=False),
    "varnish": varnish, "php-fpm": php_fpm, "openssl s_server": openssl_server, "stunnel": stunnel, "sshd": sshd,
    "dnsmasq": dnsmasq, "unbound": unbound, "named": named, "rsync daemon": rsync_daemon, "vsftpd": vsftpd,
    "mosquitto": mosquitto, "beanstalkd": beanstalkd,
}
