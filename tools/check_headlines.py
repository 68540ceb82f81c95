#!/usr/bin/python3
"""Compares the first sentence of `hotpath run PROGRAM` with what a person says first about the program.

    tools/check_headlines.py [--build FOLDER] [--spinners N] [--keep FOLDER] [--held-back | --all] [PROGRAM...]
    tools/check_headlines.py --evidence [PROGRAM...]     what perf, strace and the clock say: to write a truth

The programs are those of headline_programs.py, with what is true of them; tests/e2e/headlines.py judges. A sentence
is misleading if the same report, or the clock, contradicts it (tests/e2e/contradictions.py). --spinners: with so
many busy processes beside it: the sentence may then say "short of CPU", and nothing else may change. --keep:
report.json, and folded stacks of CPU time and of waits, in a folder for each program.

Takes eight minutes on an idle machine with two CPUs, so it is not part of the other tests. What is not installed is
skipped, and the packages are named at the end. Exits with 77 if no program can be tried, and with 1 if fewer than
five sixths are right or one is misleading. SPDX-License-Identifier: MIT
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import contextmanager
from pathlib import Path

from check_real_allocs import HERE, Skip, environment, fresh
from headline_programs import PROGRAMS
from real_programs import FOLDERS, program as path_of

sys.path.insert(0, str(HERE.parent / "tests" / "e2e"))
import contradictions  # noqa: E402
import headlines  # noqa: E402

PATIENCE = 120  # seconds, for one run
VERDICTS = ("right", "vague", "wrong", "misleading", "failed")


def variables(folder):
    return environment(folder) | {"PATH": os.pathsep.join(FOLDERS), "LC_ALL": "C.UTF-8"}


def listens(port):
    with open("/proc/net/tcp", encoding="utf-8") as file:
        return any(f":{port:04X} 00000000:0000 0A" in line for line in file)


class Run:
    """A program at work, with what runs outside of it."""

    def __init__(self, entry, folder, before=(), env=None):
        made = entry.work(folder)
        self.command, self.outside = made if isinstance(made, tuple) else (made, None)
        self.command[0] = path_of(self.command[0])
        self.env, self.folder, self.before, self.others = variables(folder) | (env or {}), folder, list(before), []

    def start_others(self):
        self.others = [subprocess.Popen(command, env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                       for command in self.outside.commands]

    def wait_for_port(self):
        until = time.monotonic() + PATIENCE / 4
        while not listens(self.outside.port) and time.monotonic() < until:
            time.sleep(0.01)

    def run(self):
        """The exit status, seconds elapsed, and seconds of CPU time of all processes."""
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
        status, usage = self.wait(process)
        return status, time.monotonic() - begin, usage.ru_utime + usage.ru_stime

    def wait(self, process):
        until = time.monotonic() + PATIENCE
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid != 0:
                process.returncode = os.waitstatus_to_exitcode(status)
                return process.returncode, usage
            if time.monotonic() > until:
                self.terminate(process)
                until = float("inf")
            time.sleep(0.005)

    def terminate(self, process):
        """The program itself, also below perf, strace or hotpath."""
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        for pid in (children if self.before else []) or [process.pid]:
            os.kill(int(pid), signal.SIGTERM)


# ----------------------------------------------------------------------------------------------------- evidence

def shares_by_perf(entry, folder, output):
    """Lines about programs and libraries, about functions, and about functions with callees."""
    data = output / "perf.data"
    Run(entry, fresh(folder), ["perf", "record", "-q", "-F", "149", "-e", "cpu-clock", "--call-graph", "dwarf,8192",
                               "-o", str(data), "--"]).run()
    found = subprocess.run(["perf", "report", "--no-inline", "-i", str(data), "--stdio", "--percent-limit", "0",
                            "-g",
                            "none", "-t", "|", "--children", "-F", "overhead_children,overhead,comm,dso,sym"],
                           capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=True).stdout
    rows = [line.split("|") for line in found.splitlines() if line.count("|") == 4 and not line.startswith("#")]
    rows = [(float(total.strip("% ")), float(own.strip("% ")), f"({comm.strip()} {library.strip()})",
             name.strip()[4:])
            for total, own, comm, library, name in rows]
    sums = {}
    for _, own, where, _ in rows:
        sums[where] = sums.get(where, 0) + own
    largest = sorted(sums.items(), key=lambda pair: -pair[1])[:12]
    yield "libraries", [f"{share:.0f} {where}" for where, share in largest if share > 3]
    yield "self", [f"{own:.0f} {name} {where}" for _, own, where, name in
                   sorted(rows, key=lambda row: -row[1])[:8] if own > 2]
    yield "with callees", [f"{total:.0f} {name} {where}" for total, _, where, name in
                           sorted(rows, key=lambda row: -row[0])[:60] if total > 20 and not name.startswith("0x")]


def show_evidence(entry, folder, output):
    status, elapsed, cpu = Run(entry, fresh(folder)).run()
    print(f"== {entry.name}: status {status}, {elapsed:.2f} s, {cpu:.2f} s CPU time")
    for title, parts in shares_by_perf(entry, folder, output):
        print(f"  {title}: {'; '.join(parts)}")
    if entry.state in ("cpu", "all"):
        return
    Run(entry, fresh(folder), ["strace", "-c", "-f", "-w", "-o", str(output / "strace")]).run()
    rows = (output / "strace").read_text().splitlines()[2:8]
    print("  strace: " + "; ".join(" ".join(row.split()) for row in rows), flush=True)


# -------------------------------------------------------------------------------------------------------- judge

class Judge:
    def __init__(self, build, temp, keep):
        self.hotpath = (build / "bin" / "hotpath").resolve()
        if not self.hotpath.exists():
            raise Skip(f"{self.hotpath} is not built")
        self.work, self.sessions, self.report = temp / "work", temp / "sessions", temp / "report.json"
        self.keep = keep

    def measure(self, entry):
        """The report, and the seconds that the run took, by the clock and of CPU time."""
        before = [str(self.hotpath), "run", "--format", "json", "--output", str(self.report), "--section", "all",
                  "--limit", "0", "--"]
        self.report.unlink(missing_ok=True)
        run = Run(entry, fresh(self.work), before, {"HOTPATH_DIR": str(fresh(self.sessions))})
        status, elapsed, cpu = run.run()
        if not self.report.exists():
            said = (self.work / "stderr").read_text(errors="replace")[-200:]
            raise RuntimeError(f"no report; status {status}: {said}")
        return json.loads(self.report.read_text()), elapsed, cpu

    def judge(self, entry):
        """The verdict, why, and the sentence."""
        with headlines.Neighbours() as neighbours:
            report, elapsed, cpu = self.measure(entry)
        line = report["meta"].get("headline") or ""
        if self.keep:
            self.keep_of(entry)
        found = [*contradictions.in_report(report), *headlines.against_clock(line, elapsed, cpu, os.cpu_count())]
        if found:
            return "misleading", found[0], line
        verdict, why = headlines.judge(line, entry.state, entry.names, entry.program, neighbours.are_busy)
        return verdict, why, line

    def keep_of(self, entry):
        folder = self.keep / re.sub(r"\W+", "-", entry.name)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.report, folder / "report.json")
        [session] = self.sessions.glob("*.run")
        for of in ("cpu", "waits"):
            with open(folder / f"{of}.folded", "wb") as file:
                subprocess.run([self.hotpath, "export", "-f", "folded", "--of", of, session], stdout=file,
                               stderr=subprocess.DEVNULL)


@contextmanager
def spinners(count):
    """Busy processes beside the programs."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def try_entry(judge, entry):
    try:
        return judge.judge(entry)
    except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
        return "failed", f"{type(error).__name__}: {error}", ""


def print_verdict(entry, verdict, why, line):
    print(f"{entry.name:26} {verdict.upper() if verdict != 'right' else verdict:11}"
          f"{textwrap.shorten(why, 200)}")
    print(textwrap.fill(line, 112, initial_indent="    ", subsequent_indent="    "), flush=True)


def print_totals(verdicts, missing):
    print(f"\n{len(verdicts)} programs: " + ", ".join(
        f"{list(verdicts.values()).count(verdict)} {verdict}" for verdict in VERDICTS))
    for verdict in VERDICTS[1:]:
        names = [name for name, its in verdicts.items() if its == verdict]
        if names:
            print(f"  {verdict}: {', '.join(names)}")
    if missing:
        print(f"not installed: {', '.join(sorted(missing))}")


def chosen_entries(options):
    unknown = set(options.names) - {entry.name for entry in PROGRAMS}
    if unknown:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; there are: {', '.join(entry.name for entry in PROGRAMS)}")
    if options.names:
        return [entry for entry in PROGRAMS if entry.name in options.names]
    return [entry for entry in PROGRAMS if options.all or entry.held_back == options.held_back]


def check(options, temp):
    verdicts, missing = {}, set()
    judge = Judge(options.build, temp, options.keep)
    with spinners(options.spinners):
        for entry in chosen_entries(options):
            try:
                verdict, why, line = try_entry(judge, entry)
            except Skip as error:
                missing.add(entry.packages or getattr(error, "package", entry.name))
                continue
            verdicts[entry.name] = verdict
            print_verdict(entry, verdict, why, line)
    print_totals(verdicts, missing)
    if not verdicts:
        return 77
    values = list(verdicts.values())
    return 0 if values.count("right") * 6 >= len(values) * 5 and "misleading" not in values else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="PROGRAM")
    parser.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    parser.add_argument("--spinners", type=int, default=0, metavar="N")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("--held-back", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--evidence", action="store_true")
    options = parser.parse_args()
    # Not /dev/shm: some programs wait for a disk.
    with tempfile.TemporaryDirectory(prefix="headlines-", dir="/var/tmp") as temp:
        if not options.evidence:
            return check(options, Path(temp))
        for entry in chosen_entries(options):
            try:
                show_evidence(entry, Path(temp) / "work", fresh(Path(temp) / "out"))
            except Skip as error:
                print(f"== {entry.name}: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
