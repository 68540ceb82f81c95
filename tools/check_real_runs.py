#!/usr/bin/env python3
"""Runs third-party programs by themselves and under `hotpath run`, in alternation, and compares.

    tools/check_real_runs.py [--build FOLDER] [--rounds N] [PROGRAM...]      all without an argument

The programs are Debian packages, including servers under load (real_programs.py). For each of them output,
messages and exit status must be the same as by itself. The CPU time is that of all processes, including
hotpath's own: of several rounds the least counts, since other programs on the machine can only add to it. The
median of all ratios must be at most 1.05. Takes some minutes, so it is not part of the other tests; exits with
77 if no program can be tried, and with 1 if something is different or slower. SPDX-License-Identifier: MIT
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from check_real_allocs import HERE, Skip, environment, fresh, print_table
from real_programs import PROGRAMS, Server, work_of

MOST = 1.05
SHORTEST = 0.4  # seconds of CPU time; in shorter runs the fixed cost dominates, which bench measures


class Result:
    """How a run ended, its output and its CPU time."""

    def __init__(self, before, work, env, folder):
        is_server = isinstance(work, Server)
        command = [*before, *(work.command if is_server else work)]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=err)
            answer = work.ask(folder, process) if is_server else b""
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
            self.seconds = usage.ru_utime + usage.ru_stime
            said = [b"" if is_server and work.has_log else file.seek(0) or file.read() for file in (out, err)]
            self.ended = (os.waitstatus_to_exitcode(status), answer, *said)


def differences(ours, alone):
    return [word for word, here, there in zip(("status", "answers", "output", "messages"), ours.ended, alone.ended)
            if here != there]


def check(name, hotpath, rounds, folder):
    """A row of the table, the ratio (None: too short) and whether all is the same."""
    env = environment(folder / "work") | {"HOTPATH_DIR": str(fresh(folder / "sessions"))}
    before, seconds, found = [str(hotpath), "run", "--format", "none", "--"], {"alone": [], "ours": []}, set()
    for turn in range(-1, rounds):  # the first one warms up caches and is not counted
        results = {}
        for who in ("alone", "ours") if turn % 2 else ("ours", "alone"):
            work = work_of(name, fresh(folder / "work"))
            results[who] = Result(before if who == "ours" else [], work, env, folder / "work")
            if turn >= 0:
                seconds[who].append(results[who].seconds)
        found.update(differences(results["ours"], results["alone"]))
    least = {who: min(all_of_them) for who, all_of_them in seconds.items()}
    ratio = least["ours"] / least["alone"] if least["alone"] >= SHORTEST else None
    row = (name, f"{least['alone']:.3f} s", f"{least['ours']:.3f} s", f"{ratio:.3f}" if ratio else "too short",
           f"DIFFERENT: {', '.join(sorted(found))}" if found else "same")
    return row, ratio, not found


def check_all(names, hotpath, rounds, folder):
    rows, ratios, is_same = [("program", "alone", "hotpath run", "ratio", "")], [], []
    for name in names:
        try:
            row, ratio, is_alike = check(name, hotpath, rounds, folder)
        except Skip as reason:
            print(f"{name}: skipped: {reason}", flush=True)
            continue
        rows.append(row)
        print("  ".join(row), flush=True)  # it takes long
        ratios += [ratio] if ratio is not None else []
        is_same.append(is_alike)
    if not is_same:
        raise Skip("no program could be tried")
    print()
    print_table(rows)
    median = statistics.median(ratios) if ratios else None
    said = f"median ratio {median:.3f} of {len(ratios)}, at most {MOST}" if median else "all too short for a ratio"
    print(f"{len(is_same)} programs, {is_same.count(False)} different; {said}")
    return all(is_same) and (median is None or median <= MOST)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    arguments = parser.parse_args()
    unknown = set(arguments.programs) - set(PROGRAMS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(PROGRAMS)}")
    folder = Path(tempfile.mkdtemp(prefix="hotpath-runs-"))
    try:
        hotpath = (arguments.build / "bin" / "hotpath").resolve()
        if not hotpath.exists():
            raise Skip(f"{hotpath} is not built")
        return 0 if check_all(arguments.programs or list(PROGRAMS), hotpath, arguments.rounds, folder) else 1
    except Skip as reason:
        print(f"skipped: {reason}")
        return 77
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
