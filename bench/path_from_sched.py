#!/usr/bin/env python3
"""The critical path of a process by the kernel's scheduler, to compare with hotpath's: backwards from the end of
its first thread; where that was woken by another thread of the process, on in that thread.

usage: perf record -a -e sched:sched_switch,sched:sched_waking -o FILE -- COMMAND
       perf script -i FILE --ns -F tid,time,event,trace | path_from_sched.py PROGRAM

PROGRAM: the name of its threads, as in the field comm. Prints how long the path ran, was ready to run, and waited
for something that no thread of the program ended, and for how long it was in each thread.
"""

import bisect
import collections
import re
import sys

LINE = re.compile(r"^\s*(\d+)\s+(\d+)\.(\d+):\s+sched:(sched_switch|sched_waking):\s+(.*)$")
SWITCH = re.compile(r"prev_comm=(.*?) prev_pid=(\d+) .*?prev_state=(\S+) ==> next_comm=(.*?) next_pid=(\d+)")
WAKING = re.compile(r"comm=(.*?) pid=(\d+)")


def read(program):
    """For each thread: [time, "run" | "ready" | "wait", who woke it]."""
    states, known = collections.defaultdict(list), set()
    for line in sys.stdin:
        match = LINE.match(line)
        if not match:
            continue
        tid, now = int(match[1]), int(match[2]) * 10**9 + int(match[3])
        if match[4] == "sched_switch":
            before, prev, state, after, following = SWITCH.search(match[5]).groups()
            for name, thread in ((before, prev), (after, following)):
                if name == program:
                    known.add(int(thread))
            states[int(prev)].append((now, "ready" if state.startswith("R") else "wait", 0))
            states[int(following)].append((now, "run", 0))
        else:
            thread = int(WAKING.search(match[5])[2])
            if states[thread] and states[thread][-1][1] == "wait":
                states[thread].append((now, "ready", tid))
            elif not states[thread]:
                states[thread].append((now, "ready", tid))
    return {tid: states[tid] for tid in known}


def walk(states, tid):
    times = {thread: [state[0] for state in states[thread]] for thread in states}
    now = times[tid][-1]
    by_state, by_thread, hops = collections.Counter(), collections.Counter(), 0
    end = now
    while True:
        at = bisect.bisect_left(times[tid], now) - 1
        if at < 0:
            break
        since, state, waker = states[tid][at]
        by_state[state] += now - since
        by_thread[tid] += now - since
        now = since
        if state == "ready" and waker in states and waker != tid and times[waker][0] < since:
            tid, hops = waker, hops + 1
    return end - now, by_state, by_thread, hops


def main():
    states = read(sys.argv[1])
    first = min(states)
    length, by_state, by_thread, hops = walk(states, first)
    print(f"path {length / 1e6:.1f} ms, {hops} times on to a waker: " + ", ".join(
        f"{state} {100 * ns / length:.1f} %" for state, ns in by_state.most_common()))
    for tid, ns in by_thread.most_common(8):
        print(f"  thread {'first' if tid == first else tid - first}: {100 * ns / length:.1f} %")


if __name__ == "__main__":
    main()
