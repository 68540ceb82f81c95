"""Whether the first sentence of a report says what is known to be true.

A truth has a state, names of what has the time, and the program, if there are several. A sentence is

    right   it has the state, and one of the names
    vague   it has the state, but names nothing
    wrong   another state, another program, or another function

For tests/e2e/test_bottleneck_programs.py and tools/check_headlines.py."""
import os
import re
import resource
import time

# What a sentence says of the whole run: sentences about unmodified programs, and those about measured functions.
STATES = {
    "cpu": r"CPU-bound(?! on all)|Busy for (?:[5-9]\d|100) %|cpu-bound|allocation-heavy|busy for",
    "all": r"CPU-bound on all|CPU-bound, (?:1\.[3-9]|[2-9]\.\d|\d\d\.\d) of|cpu-bound",
    "idle": r"\b[Ii]dle for|\bIdle: ",
    "child": r"waits for a child for",
    "consumer": r"the consumer \S+ is the bottleneck",
    "disk": r"Waiting for the disk|waiting \(disk|mainly for disk",
    "socket": r"Waiting for (?:a|the) socket|waiting \(socket",
    "page": r"Waiting for (?:a|the) page|waiting \(page",
    "lock": r"Lock contention|waiting \(lock",
    "sleep": r"waiting \((?:sleep|timer)",
    "processes": r"Starting processes|too short to sample",
}
SHORT_OF_CPU = r"Short of CPU|starved for CPU|waiting \(a free CPU"  # true of a busy machine only
RAN = re.compile(r"\bRan (\d+(?:\.\d+)?) (ms|s) of (\d+(?:\.\d+)?) (ms|s)")
HINT = re.compile(r"\.? (?:Install debug symbols|Install .*-dbgsym|Start it with|Set |Use )[^\n]*")
NAMED = re.compile(r"(?:takes|has) \d+ %|bottleneck is (?!outside)|hottest function")


def states_of(line):
    """A program that ran for less than half of the time is not said to use a CPU."""
    found = [state for state, words in STATES.items() if re.search(words, line)]
    ran = RAN.search(line)
    if ran:
        used, elapsed = (float(ran[at]) * (1 if ran[at + 1] == "s" else 0.001) for at in (1, 3))
        found += ["cpu"] if used >= 0.5 * elapsed else []
    return found


class Neighbours:
    """How much else ran on this machine during a `with`: in CPUs. More than half a CPU, and a program may be short
    of CPU, whatever it is otherwise."""

    def __enter__(self):
        self.begin = self.now()
        return self

    def __exit__(self, *_):
        elapsed, busy, ours = (after - before for after, before in zip(self.now(), self.begin))
        self.cpus = max(busy - ours, 0) / elapsed
        self.are_busy = self.cpus > 0.5

    @staticmethod
    def now():
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _, _, irq, softirq = map(int, file.readline().split()[1:8])
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (time.monotonic(), (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK"),
                usage.ru_utime + usage.ru_stime)


def judge(line, state, names=None, program=None, is_busy=False):
    """right, vague or wrong, and why. `state` may have several, separated by |; names and program are regular
    expressions. Names of None: the state is all that matters. `is_busy`: other programs ran, too."""
    if not line:
        return "wrong", "there is no sentence"
    line = HINT.sub("", line)
    is_short = is_busy and re.search(SHORT_OF_CPU, line)
    states = {*state.split("|"), *(["cpu"] if is_busy and "all" in state else [])}
    if not is_short and not states & set(states_of(line)):
        return "wrong", f"the state is {state}, not {' or '.join(states_of(line)) or 'any of this sentence'}"
    if is_short and state == "idle":
        return "right", ""  # what it does when it has a CPU
    if names is None or any(re.search(name, line) for name in names):
        if program and not re.search(program, line):
            return "vague", f"the program is {program}"
        return "right", ""
    if program and re.search(r"\(\d+ %\) share|of the CPU time of", line) and not re.search(program, line):
        return "wrong", f"the program is {program}"
    if NAMED.search(line) and not re.search(r"no single function|spread over", line):
        return "wrong", f"it names something else than {', '.join(names[:4])}"
    return "vague", f"it names none of {', '.join(names[:4])}"


def against_clock(line, elapsed, cpu, cpus):
    """What the sentence says that the clock, and the CPU time of all processes, do not: seconds."""
    idle = re.search(r"\b[Ii]dle for (\d+) %", line or "")
    if idle and cpu > elapsed * (1 - int(idle[1]) / 100) * cpus + 0.1 * elapsed + 0.05:
        yield f"{cpu:.2f} s of CPU time in {elapsed:.2f} s on {cpus} CPUs"
    if "CPU-bound on one CPU" in (line or "") and not 0.5 * elapsed < cpu < 1.6 * elapsed + 0.2:
        yield f"{cpu:.2f} s of CPU time in {elapsed:.2f} s is not one CPU"
    if "CPU-bound on all" in (line or "") and cpu < 0.7 * elapsed * cpus - 0.1:
        yield f"{cpu:.2f} s of CPU time in {elapsed:.2f} s is not all {cpus} CPUs"
    ran = re.search(r"\b[Rr]an (\d+(?:\.\d+)?) (ms|s)\b", line or "")
    if ran and float(ran[1]) / (1000 if ran[2] == "ms" else 1) > 1.05 * cpu + 0.05:
        yield f"{cpu:.2f} s of CPU time, hotpath's own included"
