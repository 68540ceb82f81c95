#!/usr/bin/env python3
"""Runs third-party programs by themselves and under `hotpath run`, and compares.

    tools/check_real_runs.py [--build FOLDER] [--rounds N] [--mode MODE]... [PROGRAM...]     all without an argument

The programs are Debian packages (real_programs.py) and servers under load (real_servers.py). For each of them
output, messages and exit status must be the same as by itself, in every mode of MODES: as usual, where perf is
refused, with frequent samples, and from outside only. Of a server, the answers to its clients and the lines of its
log are compared; numbers in a log do not count. The report must have what is known of the load, and the session,
allocations and functions of processes that have changed their user.

Then the CPU time of all processes, including hotpath's own, is measured in alternation: of several rounds the least
counts, since other programs on the machine can only add to it. The median of all ratios must be at most 1.05.

Takes half an hour, so it is not part of the other tests. What is not installed is skipped, and the packages are
named at the end. Exits with 77 if no program can be tried, and with 1 if something is different or slower.
SPDX-License-Identifier: MIT
"""
import argparse
import json
import os
import pwd
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from check_real_allocs import HERE, PATIENCE, Skip, environment, fresh, print_table
from real_programs import COMMANDS, Missing, program
from real_servers import SERVERS, Clients, Server

PROGRAMS = SERVERS | COMMANDS
MOST = 1.05
SHORTEST = 0.4  # seconds of CPU time; in shorter runs the fixed cost dominates, which bench measures
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where sessions usually are
MODES = {"run": [], "refused": [], "dense": ["--cpu-rate", "4999", "--alloc-stacks", "4096"], "safe": ["--safe"]}


def work_of(name, folder):
    work = PROGRAMS[name](folder)
    if not isinstance(work, Server):
        work[0] = program(work[0])
    return work


def descendants(pid):
    parents = {}
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit():
                parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass  # it has ended
    found, waiting = [], [pid]
    while waiting:
        parent = waiting.pop()
        children = [child for child, its in parents.items() if its == parent]
        found, waiting = found + children, waiting + children
    return found


def of_user(pids, user):
    def effective(pid):
        try:
            return int(re.search(r"^Uid:\s+\d+\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M).group(1))
        except (OSError, AttributeError):
            return None
    number = pwd.getpwnam(user).pw_uid
    return [pid for pid in pids if effective(pid) == number]


def lines_of_log(data, noise):
    """Each kind of line once: processes log in any order, with times and numbers."""
    lines = {re.sub(rb"\b0x[0-9a-f]+|\d+", b"N", line) for line in data.splitlines()}
    return b"\n".join(sorted(line for line in lines if noise is None or re.search(noise, line) is None))


class Result:
    """How a run ended, its output and its CPU time."""

    def __init__(self, before, work, env, folder):
        self.clients, self.pids, self.error = None, [], None
        is_server = isinstance(work, Server)
        command = [*before, *(work.command if is_server else work)]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=err, start_new_session=True)  # some servers kill their group
            answers = self.serve(process, work, folder) if is_server else b""
            status = self.wait(process)
            out, err = (file.seek(0) or file.read() for file in (out, err))
        if is_server:
            self.ended = {"status": status, "answers": answers, "log": lines_of_log(out + err, work.noise)}
        else:
            self.ended = {"status": status, "output": out, "messages": err}

    def serve(self, process, server, folder):
        try:
            server.wait_until_it_listens(process)
            self.clients = Clients(server.address, folder)
            answers = server.load(self.clients)
            self.pids = of_user([process.pid, *descendants(process.pid)], server.user) if server.user else []
            server.stop(process)
            return answers
        except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
            self.error = f"{type(error).__name__}: {error}"
            os.kill(process.pid, signal.SIGTERM)
            return self.error.encode()

    def wait(self, process):
        """The exit status. What does not end is killed, which is a difference, too."""
        until = time.monotonic() + PATIENCE
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid != 0:
                process.returncode = status
                self.seconds = usage.ru_utime + usage.ru_stime
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > until:
                for one in [*descendants(process.pid), process.pid]:
                    os.kill(one, signal.SIGKILL)
                until = float("inf")
            time.sleep(0.005)


def brief(value):
    text = repr(value)
    return text if len(text) < 400 else f"{text[:180]} ... {text[-180:]} ({len(text)})"


def first_difference(here, there):
    if not isinstance(here, bytes):
        return here, there
    ours, theirs = here.splitlines(), there.splitlines()
    if set(ours) != set(theirs):
        return [line for line in ours if line not in theirs][:3], [line for line in theirs if line not in ours][:3]
    return here, there


def differences(ours, alone):
    """Words, and what they mean."""
    for word, here in ours.ended.items():
        if here != alone.ended[word]:
            with_us, without = first_difference(here, alone.ended[word])
            yield word, f"{word}: {brief(with_us)} instead of {brief(without)}"


def read_report(hotpath, path):
    """Of a run or one session."""
    return json.loads(subprocess.run([hotpath, "report", path, "--format", "json", "--limit", "0"],
                                     capture_output=True, check=True).stdout)


def rows_of(report, section):
    return report["sections"].get(section, {}).get("rows", [])


def wrong_about_user(hotpath, report, result, user, sessions):
    """Processes of the other user: each has a session, they have allocated, and they appear by themselves."""
    if not result.pids:
        yield f"no process of {user}"
    outside = {row["pid"] for row in rows_of(report, "processes") if row["state"] == "outside"}
    files = {pid: list(sessions.glob(f"*.run/{pid}-*.hotpath")) for pid in result.pids}
    lacking = [pid for pid in result.pids if pid in outside or not files[pid]]
    if lacking:
        yield f"{len(lacking)} of {len(result.pids)} processes of {user} have no session"
    blocks = sum(read_report(hotpath, file)["sections"]["alloc-bytes"]["totals"]["allocations"]
                 for pid in result.pids for file in files[pid])
    if blocks == 0:
        yield f"no allocation of {user}"


def wrong_in_report(hotpath, mode, work, result, sessions):
    """What is not as the load was."""
    [folder] = sessions.glob("*.run")
    report = read_report(hotpath, folder)
    if not rows_of(report, "functions") and result.seconds > SHORTEST:
        yield "no function"
    if mode == "safe":
        return
    lost = {what for what, count in report["trust"]["lost"].items() if count > 0}
    expected = getattr(work, "lost", set())
    if mode == "refused":  # processes are found in /proc, if they live long enough
        lost, expected = lost - {"processes"}, expected - {"processes"}
    if lost != expected:
        yield f"lost: {', '.join(sorted(lost)) or 'nothing'}"
    if not isinstance(work, Server):
        return
    if mode == "dense" and not rows_of(report, "alloc-functions"):
        yield "no function that allocates"
    if work.truth is not None:
        yield from work.truth(report, result.clients)
    if work.user is not None:
        yield from wrong_about_user(hotpath, report, result, work.user, sessions)


class Checker:
    def __init__(self, build, folder, sessions):
        self.hotpath, self.folder, self.sessions = (build / "bin" / "hotpath").resolve(), folder, sessions
        self.without_perf = (build / "programs" / "without_perf").resolve()
        for path, target in ((self.hotpath, "hotpath"), (self.without_perf, "without_perf"),
                             (build / "lib" / "libhotpath_preload.so", "hotpath_preload")):
            if not path.exists():
                raise Skip(f"{path} is not built; build {target}")

    def result(self, name, before=()):
        """A run, and its work."""
        work = work_of(name, fresh(self.folder / "work"))
        env = environment(self.folder / "work") | {"HOTPATH_DIR": str(fresh(self.sessions))}
        return Result(before, work, env, self.folder / "work"), work

    def before(self, mode):
        return [*([self.without_perf] if mode == "refused" else []), self.hotpath, "run", "--format", "none",
                *MODES[mode], "--"]

    def check_modes(self, name, modes):
        """Words by mode; what they mean is printed."""
        alone, _ = self.result(name)
        found = {}
        if alone.error is not None:
            print(f"  {name}, by itself: {alone.error}: {brief(alone.ended)}", flush=True)
            return dict.fromkeys(modes, "FAILS BY ITSELF")
        for mode in modes:
            ours, work = self.result(name, self.before(mode))
            wrong = [*differences(ours, alone), *(("report", text) for text in wrong_in_report(
                self.hotpath, mode, work, ours, self.sessions))]
            for _, text in wrong:
                print(f"  {name}, {mode}: {text}", flush=True)
            found[mode] = ", ".join(dict.fromkeys(word for word, _ in wrong)).upper() or "same"
        return found

    def measure(self, name, rounds):
        """CPU time by itself and with hotpath, and whether the runs were the same."""
        seconds, is_same = {"alone": [], "ours": []}, True
        for turn in range(rounds):
            results = {}
            for who in ("alone", "ours") if turn % 2 else ("ours", "alone"):
                results[who], _ = self.result(name, self.before("run") if who == "ours" else [])
                seconds[who].append(results[who].seconds)
            for _, text in differences(results["ours"], results["alone"]):
                print(f"  {name}, round {turn}: {text}", flush=True)
                is_same = False
        return *(min(seconds[who], default=0) for who in ("alone", "ours")), is_same

    def check(self, name, modes, rounds):
        """A row of the table, the ratio (None: too short) and whether all is the same."""
        found = self.check_modes(name, modes)
        alone, ours, is_same = self.measure(name, rounds)
        ratio = ours / alone if alone >= SHORTEST else None
        row = (name, f"{alone:.3f} s", f"{ours:.3f} s", f"{ratio:.3f}" if ratio else "too short" if rounds else "-",
               "" if is_same else "DIFFERENT", *found.values())
        return row, ratio, is_same and set(found.values()) <= {"same"}


def check_all(names, modes, rounds, checker):
    rows, ratios, is_same, missing = [("program", "alone", "hotpath run", "ratio", "", *modes)], [], [], set()
    for name in names:
        try:
            row, ratio, is_alike = checker.check(name, modes, rounds)
        except Skip as reason:
            print(f"{name}: skipped: {reason}", flush=True)
            missing |= {reason.package} if isinstance(reason, Missing) else set()
            continue
        rows.append(row)
        print("  ".join(row), flush=True)  # it takes long
        ratios += [ratio] if ratio is not None else []
        is_same.append(is_alike)
    if missing:
        print(f"To try all: apt-get install {' '.join(sorted(missing))}")
    if not is_same:
        raise Skip("no program could be tried")
    print()
    print_table(rows)
    median = statistics.median(ratios) if ratios else None
    said = f"median ratio {median:.3f} of {len(ratios)}, at most {MOST}" if median else "no ratio"
    print(f"{len(is_same)} programs, {is_same.count(False)} different; {said}")
    return all(is_same) and (median is None or median <= MOST)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    parser.add_argument("--rounds", type=int, default=5, help="for the CPU time; 0 compares only")
    parser.add_argument("--mode", action="append", choices=MODES, help="all without")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    arguments = parser.parse_args()
    unknown = set(arguments.programs) - set(PROGRAMS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(PROGRAMS)}")
    with tempfile.TemporaryDirectory(prefix="hotpath-runs-", ignore_cleanup_errors=True) as folder, \
            tempfile.TemporaryDirectory(prefix="hotpath-runs-", dir=MEMORY, ignore_cleanup_errors=True) as sessions:
        os.chmod(folder, 0o755)  # servers read their files as another user
        try:
            checker = Checker(arguments.build, Path(folder), Path(sessions) / "sessions")
            is_good = check_all(arguments.programs or list(PROGRAMS), arguments.mode or list(MODES),
                                arguments.rounds, checker)
            return 0 if is_good else 1
        except Skip as reason:
            print(f"skipped: {reason}")
            return 77


if __name__ == "__main__":
    sys.exit(main())
