#!/usr/bin/python3
"""Runs three programs under perf and under hotpath, and writes what each shows into docs/compared-with-samplers.md.

    bench/compare_samplers.py [--build FOLDER] [--write] [--seconds N]

The programs are examples: profile_cpu, profile_blocking_io and profile_async_io. Each works for N seconds or more
(10) three times: without hotpath in it, under `perf record` and under `hotpath run`; and with its macros, under
`hotpath run`. Prints the tables; --write replaces those between the markers of the page. Needs perf as root, a disk
below /var/tmp, and an idle machine. SPDX-License-Identifier: MIT
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "compared-with-samplers.md"
PROGRAMS = {"profile_cpu": ["heavy_work", "light_work"],
            "profile_blocking_io": ["create_test_file", "read_file", "fsync"],
            "profile_async_io": ["create_file", "read_file", "is_written", "is_read"]}
SHOWN = 5  # functions of perf that are not in the list above


def percent(share):
    return "-" if share is None else f"{share:.1f} %" if share < 9.95 else f"{share:.0f} %"


def seconds(ns):
    return "-" if ns is None else f"{ns / 1e9:.2f} s"


def table(titles, rows):
    return "\n".join([f"| {' | '.join(titles)} |", f"|{' --- |' * len(titles)}",
                      *(f"| {' | '.join(map(str, row))} |" for row in rows)])


class Machine:
    def __init__(self, build, folder):
        self.build, self.folder, self.hotpath = build, folder, build / "bin" / "hotpath"
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("HOTPATH")}
        self.env |= {"TMPDIR": str(folder), "HOTPATH_DIR": str(folder / "sessions")}

    def run(self, command):
        """Seconds elapsed."""
        begin = time.monotonic()
        subprocess.run([str(word) for word in command], env=self.env, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return time.monotonic() - begin

    def times(self, name, least):
        """How often the work is to be done to take so many seconds."""
        program, times = self.build / "examples" / f"{name}_off", 4
        while (took := min(self.run([program, times]) for _ in range(3))) < 1:
            times *= 2
        return int(times * least * 1.15 / took) + 1

    def perf(self, name, times):
        """Seconds elapsed, seconds of CPU time, and {function: (percent with callees, percent itself)}."""
        data = self.folder / "perf.data"
        took = self.run(["perf", "record", "-q", "-F", "499", "-e", "cpu-clock", "--call-graph", "dwarf,8192", "-o",
                         data,
                         self.build / "examples" / f"{name}_off", times])
        text = subprocess.run(["perf", "report", "-i", data, "--stdio", "--percent-limit", "0",
                               "-g", "none", "-t", "|", "--children", "-F", "overhead_children,overhead,sample,sym"],
                              capture_output=True, text=True, check=True).stdout
        shares, samples = {}, 0
        for line in text.splitlines():
            fields = line.split("|")
            if len(fields) == 4 and not line.startswith("#"):
                function = re.sub(r"^__(GI_)?(_*libc_)?(?=[a-z])|@.*| \(inlined\)$", "", fields[3].strip()[4:])
                total, own = shares.get(function, (0, 0))
                shares[function] = (max(total, float(fields[0].strip("% "))), own + float(fields[1].strip("% ")))
                samples += int(fields[2])
        return took, samples / 499, shares

    def measure(self, program, times):
        """The report of hotpath run, and seconds elapsed."""
        output = self.folder / "report.json"
        took = self.run([self.hotpath, "run", "--format", "json", "--output", output, "--section", "all", "--limit",
                         "0",
                         "--", self.build / "examples" / program, times])
        return took, json.loads(output.read_text())


def rows_of(report, section):
    return {row["name"]: row for row in report["sections"].get(section, {}).get("rows", [])}


def usage(report):
    """Seconds of CPU time and of waiting of all threads."""
    threads = report["sections"]["threads"]["rows"]
    return [seconds(sum(row.get(key) or 0 for row in threads)) for key in ("cpu_ns", "waited_ns")]


def compare(machine, name, least):
    """The tables of one program, as Markdown."""
    times = machine.times(name, least)
    perf_took, perf_cpu, shares = machine.perf(name, times)
    plain_took, plain = machine.measure(f"{name}_off", times)
    took, measured = machine.measure(name, times)
    found, timing, tasks = rows_of(plain, "functions"), rows_of(measured, "timing"), rows_of(measured, "tasks")
    names = PROGRAMS[name]
    rows = []
    for function in names:
        stack, zone = found.get(function, {}), timing.get(function) or tasks.get(function) or {}
        share = zone.get("total_ns")
        rows.append([f"`{function}`", percent(shares[function][0]) if function in shares else "not seen",
                     percent(stack.get("percent_total")) if stack else "not seen",
                     seconds(stack.get("total_waiting_ns")) if stack else "-",
                     zone.get("calls", "-"), seconds(share),
                     percent(share and 100 * share / measured["elapsed_ns"])])
    others = sorted(((own, function) for function, (_, own) in shares.items() if function not in names),
                    reverse=True)
    cpu, waited = usage(plain)
    return "\n\n".join([
        f"`{name} {times}`:",
        table(["function", "perf: CPU", "hotpath: CPU", "hotpath: waits", "macros: calls", "macros: time",
               "macros: of the run"], rows),
        table(["", "elapsed", "CPU time", "waiting"],
              [["perf record", f"{perf_took:.2f} s", f"{perf_cpu:.2f} s", "not seen"],
               ["hotpath run", f"{plain_took:.2f} s", cpu, waited],
               ["hotpath run, with macros", f"{took:.2f} s", *usage(measured)]]),
        "perf's functions with the most CPU time of their own: " +
        ", ".join(f"`{function}` {percent(own)}" for own, function in others[:SHOWN]) + ".",
        "What hotpath says first, without macros and with them:",
        "```text\n" + "\n".join(report["meta"]["headline"] or "-" for report in (plain, measured)) + "\n```"])


def write_into_page(name, text):
    page = PAGE.read_text()
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    PAGE.write_text(re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n{text}\n{end}", page, flags=re.S))


def about():
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return (f"Made by `bench/compare_samplers.py --write` on {time.strftime('%Y-%m-%d')}, {os.cpu_count()} CPUs "
            f"({cpu[1] if cpu else 'unknown'}), Linux {os.uname().release}, load of the machine before: "
            f"{os.getloadavg()[0]:.1f}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if shutil.which("perf") is None:
        print("perf is not installed")
        return 77
    made = {"about": about()}
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        machine = Machine(options.build.resolve(), Path(folder))
        for name in PROGRAMS:
            made[name] = compare(machine, name, options.seconds)
            print(made[name], end="\n\n", flush=True)
    for name, text in made.items() if options.write else ():
        write_into_page(name, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
