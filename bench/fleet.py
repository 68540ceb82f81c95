#!/usr/bin/env python3
"""What it costs `hotpath serve` and `hotpath agent` to have the metrics of many sessions: CPU time per scrape, as a
share of one core if there is a scrape every 15 s, and resident memory; of the agent with its readers, memory that
they share counted once.

usage: fleet.py BUILD [--live N] [--finished N] [--scrapes N]

Live sessions are programs with 41 measured functions that work little: half of them are alone, half are started by
`hotpath run`. Finished ones are copies of the file of one, with a name each.
"""
import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

INTERVAL_S = 15
ACCEPT = ("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,"
          "text/plain;q=0.3")


def source():
    functions = [f"static void f{at}(void)\n{{\n    HOTPATH_MEASURE();\n    usleep({at} + 1);\n}}"
                 for at in range(40)]
    calls = "\n".join(f"        f{at}();" for at in range(40))
    return ('#define _DEFAULT_SOURCE\n#include <hotpath.h>\n#include <stdlib.h>\n#include <unistd.h>\n'
            + "\n".join(functions) + "\nstatic void turn(void)\n{\n    HOTPATH_MEASURE();\n" + calls + "\n}\n"
            "int main(int argc, char **argv)\n{\n    HOTPATH_MAIN();\n"
            "    for (int left = argc > 1 ? atoi(argv[1]) : 1; left > 0; left--) {\n        turn();\n"
            "        usleep(1000000);\n    }\n    return 0;\n}\n")


def copies(path, targets):
    """With the holes of the file: written out, each has some megabytes."""
    parts, end = [], 0
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        while end < size:
            try:
                begin = os.lseek(file.fileno(), end, os.SEEK_DATA)
            except OSError:
                break  # a hole up to its end
            end = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
            parts.append((begin, os.pread(file.fileno(), end - begin, begin)))
    room = shutil.disk_usage(targets[0].parent).free
    if sum(len(data) for _, data in parts) * len(targets) > room // 4:
        raise SystemExit(f"fleet.py: {len(targets)} sessions need too much of the space in {targets[0].parent}")
    for target in targets:
        with open(os.open(target, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.truncate(size)
            for begin, data in parts:
                os.pwrite(file.fileno(), data, begin)


class Server:
    def __init__(self, command, hotpath, env):
        self.process = subprocess.Popen([hotpath, command, "--port", "0"], env=env, stdout=subprocess.PIPE,
                                        text=True)
        address = self.process.stdout.readline().strip()
        if command == "agent":
            self.url = address + "/metrics"
            self.token = self.process.stdout.readline().strip().removeprefix("token: ")
        else:
            self.token = address.rsplit("token=", 1)[1]
            self.url = address.split("?")[0].rstrip("/") + "/metrics"

    def scrape(self, accept="text/plain"):
        """(CPU seconds of the server, bytes of the answer)"""
        before = self.cpu_s()
        request = urllib.request.Request(self.url, headers={"Authorization": f"Bearer {self.token}",
                                                            "Accept": accept})
        body = urllib.request.urlopen(request, timeout=120).read()
        return self.cpu_s() - before, body

    def processes(self):
        """It, and its readers."""
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True).stdout
        return [self.process.pid, *map(int, children.split())]

    def cpu_s(self):
        # Precise to the nanosecond, unlike stat.
        return sum(int(Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0])
                   for pid in self.processes() for task in os.listdir(f"/proc/{pid}/task")) * 1e-9

    def memory_mb(self):
        return sum(int(re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])
                   for pid in self.processes()) / 1024

    def end(self):
        self.process.terminate()
        self.process.wait()


def measure(hotpath, env, scrapes, title, accept="text/plain", settles=False, command="serve"):
    server = Server(command, hotpath, env)
    first, body = server.scrape(accept)
    if settles:  # what has just ended is read for some seconds more
        time.sleep(4)
        server.scrape(accept)
    costs = []
    for _ in range(scrapes):
        # It reads once a second at most; the agent more rarely if it takes more than 1 % of a core.
        time.sleep(1.1 if command == "serve" else INTERVAL_S)
        cost, body = server.scrape(accept)
        costs.append(cost)
    left_out = re.search(rb"\nhotpath_sessions_without_metrics (\d+)", body)
    print(f"| {title} | {first * 1e3:.0f} ms | {statistics.median(costs) * 1e3:.1f} ms "
          f"| {statistics.median(costs) / INTERVAL_S * 100:.2f} % | {server.memory_mb():.0f} MB "
          f"| {len(body) / 1024:.0f} KB | {int(left_out[1]) if left_out else '-'} |", flush=True)
    server.end()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("build", type=Path)
    options.add_argument("--live", type=int, default=100)
    options.add_argument("--finished", type=int, default=10000)
    options.add_argument("--scrapes", type=int, default=10)
    given = options.parse_args()
    hotpath = (given.build / "bin/hotpath").resolve()
    root = Path(__file__).resolve().parents[1]
    folder = Path(tempfile.mkdtemp(prefix="hotpath-fleet.", dir="/dev/shm"))
    env = {key: value for key, value in os.environ.items() if not key.startswith("HOTPATH")}
    programs = []
    try:
        (folder / "work.c").write_text(source())
        subprocess.run(["cc", "-O2", "-DHOTPATH", f"-I{root}/include", folder / "work.c", "-o", folder / "work",
                        given.build / "lib/libhotpath.a", "-lpthread"], check=True)
        print("load average:", Path("/proc/loadavg").read_text().strip())
        print("| sessions | first scrape | CPU per scrape | of one core | memory | answer | left out |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        live = env | {"HOTPATH_DIR": str(folder / "live"), "HOTPATH_OUTPUT_FORMAT": "none"}
        for at in range(given.live):
            before = [hotpath, "run", "--format", "none", "--"] if at % 2 else []
            # Services: ten programs have ten processes each.
            programs.append(subprocess.Popen([*before, folder / "work", "1000000"], stderr=subprocess.DEVNULL,
                                             env=live | {"HOTPATH_REPORT_LABEL": f"service {at % 10}"}))
        time.sleep(5)
        measure(hotpath, live, given.scrapes, f"{given.live} live, serve")
        measure(hotpath, live, given.scrapes, f"{given.live} live, protobuf", ACCEPT)
        measure(hotpath, live, given.scrapes, f"{given.live} live, agent", command="agent")
        one = env | {"HOTPATH_DIR": str(folder / "one"), "HOTPATH_OUTPUT_FORMAT": "none"}
        subprocess.run([folder / "work", "1"], env=one, check=True)
        made = next((folder / "one").iterdir())
        for count in [count for count in (given.finished // 100, given.finished // 10, given.finished,
                                          2 * given.finished) if count]:
            many = Path(tempfile.mkdtemp(prefix="hotpath-fleet."))  # on a disk: together they may be large
            try:
                copies(made, [many / f"{100000 + at}-1-0{made.suffix}" for at in range(count)])
                for command in ("serve", "agent"):
                    measure(hotpath, env | {"HOTPATH_DIR": str(many)}, given.scrapes,
                            f"{count} finished, {command}", settles=True, command=command)
            finally:
                shutil.rmtree(many)
    finally:
        for program in programs:
            program.send_signal(signal.SIGTERM)
        for program in programs:
            program.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
