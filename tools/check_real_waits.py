#!/usr/bin/python3
"""Compares stacks of waiting threads, in third-party programs, with those of gdb: ours are read from outside,
without stopping anything, then gdb stops the process and reads its own.

usage: check_real_waits.py BUILD_FOLDER

Run it when something changes in src/stacks/unwind or in how waiting threads are sampled. It needs gdb, and uses
those of the programs that are installed. Exit status 1 if fewer than nine of ten stacks reach the start, or one
that does differs from gdb's.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ENOUGH = 90
PYTHON = ("import threading, time, select, queue, socket, os\n"
          "def run(f): threading.Thread(target=f, daemon=True).start()\n"
          "q, e, l, (r, w) = queue.Queue(), threading.Event(), threading.Lock(), os.pipe()\n"
          "l.acquire()\n"
          "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()\n"
          "for f in (q.get, e.wait, l.acquire, s.accept, lambda: os.read(r, 1), lambda: time.sleep(1000),\n"
          "          lambda: select.select([r], [], []), lambda: sorted([1, 2], key=lambda x: q.get())): run(f)\n"
          "for _ in range(8): run(lambda: [q.get() for _ in range(3)])\n"
          "os.waitpid(os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', '1000'), 0)")
WORKS = {"redis-server": ["redis-server", "--port", "0", "--unixsocket", "socket", "--save", "",
                          "--io-threads", "4"],
         "python3": ["/usr/bin/python3", "-c", PYTHON],
         "perl": ["perl", "-e", "sub f { my $n = shift; $n ? f($n - 1) : sleep 1000 } f(20)"],
         "bash": ["bash", "-c", "f() { read x; }; g() { f; }; g"],
         "dash": ["dash", "-c", "f() { read x; }; f"],
         "sqlite3": ["sqlite3", "-batch", ":memory:"],
         "git": ["git", "cat-file", "--batch"],
         "cat": ["cat"], "sort": ["sort"], "sleep": ["sleep", "1000"], "make": ["make", "-f", "-"],
         "tail": ["tail", "-f", "/dev/null"], "gdb": ["gdb", "-nx", "-q"],
         "node": ["node", "-e", "setInterval(() => {}, 1000000)"],
         "tmux": ["tmux", "-D", "-L", "hotpath-check"],
         "ssh-agent": ["ssh-agent", "-D"], "bc": ["bc"], "sed": ["sed", "s/a/b/"], "awk": ["awk", "{ print }"],
         "xz": ["xz", "-c"], "dd": ["dd"], "tee": ["tee"],
         "flock": ["sh", "-c", "exec flock -x /dev/null sleep 1000"]}


def start(command, folder):
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def ours(show, pid):
    """{thread: ([addresses], how it ended)}"""
    text = subprocess.run([show, "waiting", str(pid)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          universal_newlines=True).stdout
    threads, frames = {}, None
    for line in text.splitlines():
        head = re.match(r"thread (\d+): .*end: (\w+)", line)
        if head:
            frames = []
            threads[int(head.group(1))] = (frames, head.group(2))
        elif frames is not None and line.startswith("0x"):
            frames.append(int(line.split()[0], 16))
    return threads


# Physical frames only: gdb also shows inlined functions, and functions known to have made a tail call.
IN_GDB = """
import gdb
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame, found = gdb.newest_frame(), []
    while frame is not None and len(found) < 1000:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            found.append(hex(frame.pc()))
        frame = frame.older()
    print("THREAD", thread.ptid[1] or thread.ptid[0], *found)
"""


def theirs(pid, folder):
    """{thread: [addresses]}"""
    script = os.path.join(folder, "frames.py")
    with open(script, "w") as file:
        file.write(IN_GDB)
    text = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-p", str(pid),
                           "-x", script],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True).stdout
    rows = [line.split() for line in text.splitlines() if line.startswith("THREAD ")]
    return {int(row[1]): [int(address, 16) for address in row[2:]] for row in rows}


def compare(name, show, process, folder):
    time.sleep(1)
    if process.poll() is not None:
        print(f"{name:13} has ended, status {process.returncode}")
        return 0, 0, 0, 0
    found, others = ours(show, process.pid), theirs(process.pid, folder)
    both = {thread: others[thread] for thread in found if others.get(thread)}
    whole = sum(found[thread][1] == "start" for thread in both)
    same, wrong = 0, []
    for thread, other in both.items():
        frames, end = found[thread]
        if frames == other or frames[:len(other)] == other:  # ours may go on where gdb stops, at _start
            same += 1
        elif end == "start":
            wrong.append((thread, frames, other))
    print(f"{name:13} {len(both):3} threads, {whole:3} reach the start, {same:3} as gdb's")
    for thread, frames, other in wrong:
        at = next((i for i, (a, b) in enumerate(zip(frames, other)) if a != b), min(len(frames), len(other)))
        print(f"    {thread}: {len(frames)} and {len(other)} frames, the same up to {at}: "
              f"{[hex(f) for f in frames[max(at - 1, 0):at + 2]]} {[hex(f) for f in other[max(at - 1, 0):at + 2]]}")
    return len(both), whole, same, len(wrong)


def main():
    show = os.path.abspath(os.path.join(sys.argv[1], "bench", "stacks"))
    if shutil.which("gdb") is None:
        print("gdb is not installed")
        return 77
    sums = [0, 0, 0, 0]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=False)
        for name, command in WORKS.items():
            if shutil.which(command[0]) is None:
                continue
            process = start(command, folder)
            try:
                sums = [a + b for a, b in zip(sums, compare(name, show, process, folder))]
            finally:
                process.kill()
                process.wait()
    total, whole, same, wrong = sums
    print(f"{'all':13} {total:3} threads, {whole:3} reach the start ({100 * whole / max(total, 1):.0f} "
          f"%), {same:3} as gdb's, {wrong} differ")
    return 0 if total > 0 and 100 * whole >= ENOUGH * total and wrong == 0 else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main())
