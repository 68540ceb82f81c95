#!/usr/bin/python3
"""(draft)"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from check_real_allocs import HERE, Skip, environment, fresh
from headline_programs import PROGRAMS, Outside
from real_programs import FOLDERS, program as path_of

PATIENCE = 120


def variables(folder):
    return environment(folder) | {"PATH": os.pathsep.join(FOLDERS), "LC_ALL": "C.UTF-8"}


def listens(port):
    with open("/proc/net/tcp", encoding="utf-8") as file:
        return any(f":{port:04X} 00000000:0000 0A" in line for line in file)


class Run:
    """A program at work, with what runs outside of it."""

    def __init__(self, entry, folder, before=()):
        made = entry.work(folder)
        self.command, self.outside = made if isinstance(made, tuple) else (made, None)
        self.command[0] = path_of(self.command[0])
        self.env, self.folder, self.before, self.others = variables(folder), folder, list(before), []

    def start_others(self):
        self.others = [subprocess.Popen(command, env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                       for command in self.outside.commands]

    def wait_for_port(self):
        until = time.monotonic() + PATIENCE / 4
        while not listens(self.outside.port) and time.monotonic() < until:
            time.sleep(0.01)

    def run(self):
        """The exit status, seconds elapsed, and seconds of CPU time."""
        if self.outside and self.outside.first:
            self.start_others()
            self.wait_for_port()
        begin = time.monotonic()
        with open(self.folder / "stdout", "wb") as out, open(self.folder / "stderr", "wb") as err:
            process = subprocess.Popen([*self.before, *self.command], env=self.env, cwd=self.folder,
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            if self.outside and not self.outside.first:
                self.wait_for_port()
                self.start_others()
            for other in self.others:
                other.wait(PATIENCE)
            if self.outside and self.outside.stop:
                self.terminate(process)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, time.monotonic() - begin, usage.ru_utime + usage.ru_stime

    def terminate(self, process):
        """The program itself, also below perf or strace."""
        if not self.before:
            process.send_signal(signal.SIGTERM)
            return
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        for pid in children or [process.pid]:
            os.kill(int(pid), signal.SIGTERM)


def evidence(entry, folder, output):
    """What perf, strace and the clock say of a program."""
    status, elapsed, cpu = Run(entry, fresh(folder)).run()
    lines = [f"== {entry.name}: status {status}, {elapsed:.2f} s, {cpu:.2f} s CPU time"]
    data = output / "perf.data"
    Run(entry, fresh(folder), ["perf", "record", "-q", "-F", "149", "-e", "cpu-clock", "--call-graph", "dwarf,8192", "-o", str(data), "--"]).run()
    found = subprocess.run(["perf", "report", "--no-inline", "-i", str(data), "--stdio", "--percent-limit", "0", "-g",
                            "none", "-t", "|", "--children", "-F", "overhead_children,overhead,comm,dso,sym"],
                           capture_output=True, text=True, errors="replace", timeout=120).stdout
    rows = [line.split("|") for line in found.splitlines() if line.count("|") == 4 and not line.startswith("#")]
    rows = [(float(a.strip("% ")), float(b.strip("% ")), c.strip(), d.strip(), e.strip()[4:]) for a, b, c, d, e in rows]
    sums = {}
    for _, own, comm, library, _ in rows:
        for key in (comm, f"{comm} {library}"):
            sums[key] = sums.get(key, 0) + own
    lines.append("  libraries: " + "; ".join(f"{share:.0f} {key}" for key, share in
                                             sorted(sums.items(), key=lambda pair: -pair[1])[:12] if share > 3))
    lines.append("  self: " + "; ".join(f"{own:.0f} {name} ({comm} {library})" for _, own, comm, library, name in
                                        sorted(rows, key=lambda row: -row[1])[:8] if own > 2))
    lines.append("  with callees: " + "; ".join(f"{share:.0f} {name} ({comm} {library})" for share, own, comm, library, name
                 in sorted(rows, key=lambda row: -row[0])[:60] if share > 20 and not name.startswith("0x")))
    if not re.search("disk|socket|idle|lock|proc", entry.state):
        return "\n".join(lines)
    Run(entry, fresh(folder), ["strace", "-c", "-f", "-w", "-o", str(output / "strace")]).run()
    rows = (output / "strace").read_text().splitlines()[2:8]
    lines.append("  strace: " + "; ".join(" ".join(row.split()) for row in rows))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--evidence", action="store_true")
    parser.add_argument("--part", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headlines-") as temp:
        for entry in PROGRAMS:
            if chosen.part and PROGRAMS.index(entry) % 2 != chosen.part - 1:
                continue
            if chosen.names and entry.name not in chosen.names:
                continue
            try:
                output = fresh(Path(temp) / "out")
                print(evidence(entry, Path(temp) / "work", output), flush=True)
            except Skip as error:
                print(f"== {entry.name}: skipped: {error}", flush=True)
            except Exception as error:
                print(f"== {entry.name}: ERROR {error!r}", flush=True)


main()
