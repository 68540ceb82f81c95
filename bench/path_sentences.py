#!/usr/bin/env python3
"""How often the first sentence with --path names what decides: tests/programs/critical.c, with measured functions
and without, computing and sleeping, RUNS times each. Prints a table and their sum, and writes all sentences to
a file; the exit status is 1 if one is wrong.

usage: path_sentences.py BUILD [--runs N] [--spin N] [--only PROGRAM] [--out FILE] [--before COMMAND]

--spin N: beside N programs that compute. --before: put before each command, such as "chrt -f 10".
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

# What has to be named, and what must not be. As in docs/critical-path.md.
TRUTH = {"fork_join": "long_job", "pipeline2": "produce", "pipeline5": "stage_c", "server": "query_database",
         "convoy": "rebuild", "readers": "write_all", "handover": "scan_table", "housekeeper": "compress",
         "pool": "fetch", "dependency": "look_up_price", "log": "flush_log"}
BESIDE = re.compile(r"\b(housekeeper|short_job|prepare|look_up|open_table|use_table|sweep|render)\b")


def sentence_of(options, program, command):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "run.json")
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HOTPATH")}
        environment["HOTPATH_DIR"] = folder
        hotpath = [*options.before.split(), os.path.join(options.build, "bin", "hotpath")]
        done = subprocess.run([*hotpath, "run", "--path", "--locks", "-f", "json", "-o", report, "--", *command],
                              cwd=folder, env=environment, capture_output=True, text=True)
        try:
            with open(report, encoding="utf-8") as file:
                return json.load(file)["meta"]["headline"] or f"no sentence: {done.stderr.strip()}"
        except (OSError, ValueError) as error:
            return f"no report: {error}; status {done.returncode}: {done.stderr.strip()}"


def is_right(program, sentence):
    first = sentence.split(". The function with")[0]
    return re.search(rf"\b{TRUTH[program]}\b", first) is not None and BESIDE.search(first) is None


def run_all(options, out):
    """Returns how many were right, of how many."""
    all_right = all_runs = 0
    for program in options.only.split(",") if options.only else TRUTH:
        cells = []
        for binary in ("critical", "critical_off"):
            for work in ("compute", "sleep"):
                right = 0
                for _ in range(options.runs):
                    path = os.path.join(options.build, "programs", binary)
                    sentence = sentence_of(options, program, [path, program, work])
                    right += is_right(program, sentence)
                    verdict = "right" if is_right(program, sentence) else "WRONG"
                    print(verdict, program, binary, work, sentence, sep="\t", file=out, flush=True)
                cells.append(f"{right} of {options.runs}")
                all_right, all_runs = all_right + right, all_runs + options.runs
        print(f"| `{program}` | {' | '.join(cells)} |", flush=True)
    return all_right, all_runs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--spin", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", default="/dev/null")
    parser.add_argument("--before", default="")
    options = parser.parse_args()
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.spin)]
    print("| program | with zones, computing | sleeping | unmodified, computing | sleeping |")
    print("| --- | --- | --- | --- | --- |")
    try:
        with open(options.out, "w", encoding="utf-8") as out:
            right, runs = run_all(options, out)
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
    load = os.getloadavg()[0]
    print(f"\n{right} of {runs} right; {options.spin} busy programs beside them; load average {load:.1f}")
    sys.exit(0 if right == runs else 1)


if __name__ == "__main__":
    main()
