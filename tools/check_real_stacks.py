#!/usr/bin/python3
"""Compares stacks of third-party programs with those of eu-stack: stops them at random times and runs both.

usage: check_real_stacks.py BUILD_FOLDER [COUNT]

Run it when something changes in src/stacks/unwind. It needs elfutils (eu-stack), gcc, clang, sqlite3, python3, git,
perl. Exit status 1 if stacks differ where eu-stack reached the start, or too few of ours do.
"""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FUNCTION = "int f%d(int x) { int a[16]; for (int i = 0; i < 16; i++) a[i] = x * i %% %d; return a[x & 15]; }\n"
SOURCE = "#include <stdio.h>\n" + "".join(FUNCTION % (n, n + 2) for n in range(3000))
SQL = ("with recursive c(x) as (select 1 union all select x + 1 from c where x < 100000000) "
       "select count(*), sum(x % 7), group_concat(x) from c group by x % 1000 order by 2;")
PYTHON = ("import re, json\ndef f(n): return n if n < 2 else f(n - 1) + f(n - 2)\n"
          "while True: f(15); json.dumps([{'a': i} for i in range(100)]); re.findall('(a+)+b', 'aaaaaaaab' * 20)")
PERL = ("sub f { my $n = shift; $n < 2 ? $n : f($n - 1) + f($n - 2) } "
        "while (1) { f(12); join ',', sort map { $_ % 17 } 1 .. 500 }")
ENOUGH = {"sqlite3": 98, "python3": 98, "git": 98, "perl": 98, "gcc": 95, "clang": 95}


def commands(folder):
    source = os.path.join(folder, "source.c")
    with open(source, "w") as file:
        file.write(SOURCE)
    cc1 = subprocess.check_output(["gcc", "-print-prog-name=cc1"], universal_newlines=True).strip()
    return {
        "sqlite3": ["sqlite3", ":memory:", SQL],
        "python3": ["/usr/bin/python3", "-c", PYTHON],
        "perl": ["perl", "-e", PERL],
        "git": ["git", "log", "--all", "-p", "--stat"],
        "gcc": [cc1, "-quiet", "-O2", source, "-o", "/dev/null"],
        "clang": ["clang", "-cc1", "-O2", "-emit-obj", "-o", "/dev/null", "-x", "c",
                  "-internal-isystem", "/usr/include", "-internal-isystem", "/usr/include/x86_64-linux-gnu",
                  "-internal-isystem", "/usr/lib/llvm-14/lib/clang/14.0.6/include", source],
    }


def parse(text, pattern):
    """{thread: ([addresses], is whole)}"""
    threads, current = {}, None
    for line in text.splitlines():
        found = re.match(r"(?:TID|thread) (\d+):(?:.*end: (\w+))?", line)
        if found:
            current = threads.setdefault(int(found.group(1)), [[], found.group(2)])
            continue
        found = re.match(pattern, line)
        if found and current is not None:
            current[0].append(int(found.group(1), 16))
    return threads


def look(show, pid):
    ours = subprocess.run([show, "show", str(pid)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          universal_newlines=True).stdout
    theirs = subprocess.run(["eu-stack", "-n", "1000", "-p", str(pid)], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, universal_newlines=True).stdout
    return parse(ours, r"(0x[0-9a-f]+) "), parse(theirs, r"#\d+ +(0x[0-9a-f]+)")


def is_stopped(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "Tt"
    except OSError:
        return False


def sample(show, command, count, start):
    """Stacks, those that reach the start, those that equal eu-stack's, and how they differ."""
    total, whole, same, longer, differences, process = 0, 0, 0, 0, [], None
    while total < count:
        if process is None or process.poll() is not None:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.05)
        time.sleep(start.uniform(0.001, 0.03))
        if process.poll() is not None:
            continue
        process.send_signal(signal.SIGSTOP)
        for _ in range(1000):
            if is_stopped(process.pid):
                break
            time.sleep(0.001)
        ours, theirs = look(show, process.pid)
        process.send_signal(signal.SIGCONT)
        for thread, (frames, end) in ours.items():
            others = theirs.get(thread, ([], None))[0]
            if not others:
                continue
            total += 1
            whole += end == "start"
            if frames == others:
                same += 1
            elif len(frames) > len(others) and frames[:len(others)] == others:
                longer += 1
            else:
                differences.append((end, frames, others))
    process.kill()
    process.wait()
    return total, whole, same, longer, differences


def main():
    if shutil.which("eu-stack") is None:
        raise SystemExit("eu-stack is missing: install elfutils")
    show = os.path.join(sys.argv[1], "bench", "stacks")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    start, bad = random.Random(1), False
    with tempfile.TemporaryDirectory() as folder:
        for name, command in commands(folder).items():
            if shutil.which(command[0]) is None:
                print("%-8s is not installed" % name)
                continue
            total, whole, same, longer, differences = sample(show, command, count, start)
            print("%-8s %4d stacks, %5.1f %% reach the start; %d as eu-stack's, %d go further, %d differ"
                  % (name, total, 100 * whole / total, same, longer, len(differences)), flush=True)
            for end, frames, others in differences[:3]:
                at = next((i for i, (a, b) in enumerate(zip(frames, others)) if a != b),
                          min(len(frames), len(others)))
                print("    end %s, %d and %d frames, the same up to %d: %s %s" % (
                    end, len(frames), len(others), at, [hex(f) for f in frames[at - 1:at + 2]],
                    [hex(f) for f in others[at - 1:at + 2]]))
            bad |= 100 * whole / total < ENOUGH[name]
    sys.exit(bad)


if __name__ == "__main__":
    main()
