"""What it costs to unwind stacks and to name addresses, compared with other symbolizers on the same addresses."""
import os
import re
import shutil
import subprocess
import time

FRAME_NS = 333  # three million frames a second
ADDRESS_NS = 5000  # two hundred thousand addresses a second
STACKS, ADDRESSES = 200, 5000
DEEP = "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nwhile True: f(15)"
OTHERS = (("eu-addr2line", ["eu-addr2line", "-i", "-f", "-e"]), ("llvm-symbolizer", ["llvm-symbolizer", "--obj"]),
          ("addr2line of binutils", ["addr2line", "-i", "-f", "-e"]))


def middle(values):
    return sorted(values)[len(values) // 2]


def frame_row(program, gate):
    """Stacks of a recursive interpreter, each taken once and unwound a few times."""
    process = subprocess.Popen(["/usr/bin/python3", "-c", DEEP])
    time.sleep(0.5)
    try:
        text = subprocess.run([program, "time", str(process.pid), str(STACKS)], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, universal_newlines=True).stdout
    finally:
        process.kill()
        process.wait()
    rates = [float(rate) for rate in re.findall(r"^unwinding +([\d.]+) M", text, re.M)]
    title = "a frame of python3's stack"
    if not rates:
        return (title, "-", "not measured: no permission to read another process", "%d" % FRAME_NS, "unknown")
    ns = 1e3 / middle(rates)
    whole = re.search(r"([\d.]+) % reach the start", text).group(1)
    return (title, "%.0f" % ns, "%s %% of %d stacks reach the start" % (whole, STACKS), "%d" % FRAME_NS,
            gate.verdict(title, ns, FRAME_NS, None))


def other_row(name, command, file, addresses):
    if shutil.which(command[0]) is None:
        return (name, "-", "not installed", "", "")
    best = None
    for _ in range(3):
        begin = time.monotonic()
        full = command[:-1] + ["--obj=" + file] if command[-1] == "--obj" else command + [file]
        subprocess.run(full, input=addresses, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       universal_newlines=True)
        spent = time.monotonic() - begin
        best = spent if best is None else min(best, spent)
    return (name, "%.0f" % (best / ADDRESSES * 1e9), "the whole program, best of three", "", "")


def rows(build, gate, has_peers):
    program, file = os.path.join(build, "bench", "stacks"), os.path.abspath(os.path.join(build, "bin", "hotpath"))
    found = [("what", "ns each", "how", "must", "verdict"), frame_row(program, gate)]
    done = subprocess.run([program, "names", file, str(ADDRESSES)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    rates = {kind: [float(rate) for rate in re.findall(r"^%s +(\d+) addresses" % kind, done.stdout, re.M)]
             for kind in ("cold", "warm")}
    title = "an address of hotpath: function, inlined functions, lines"
    warm = 1e9 / middle(rates["warm"])
    found.append((title, "%.0f" % warm, "cached", "%d" % ADDRESS_NS, gate.verdict(title, warm, ADDRESS_NS, None)))
    found.append(("the same", "%.0f" % (1e9 / rates["cold"][0]),
                  "first time, including reading the debug information", "", ""))
    if has_peers:
        found += [other_row(name, command, file, done.stderr) for name, command in OTHERS]
    return found
