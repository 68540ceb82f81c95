"""Other CPU samplers on the same loop (cpu_cost.c). Reports which are not installed.

All run the same binary, without a session of ours. Each yields the command prefix and the environment variables.
"""
import ctypes.util
import os

from peers import Missing, need


def perf(folder, *options):
    need("perf")
    return ["perf", "record", "-q", "-F", "997", *options, "-o", os.path.join(folder, "perf.data"), "--"], {}


def gperftools(folder):
    library = ctypes.util.find_library("profiler")
    if library is None:
        raise Missing("libprofiler is not installed (Debian: google-perftools)")
    return [], {"LD_PRELOAD": library, "CPUPROFILE": os.path.join(folder, "cpu"), "CPUPROFILE_FREQUENCY": "997"}


PEERS = (
    ("perf record -F 997 -e cpu-clock", lambda folder: perf(folder, "-e", "cpu-clock")),
    ("perf record -F 997 -e cpu-clock -g", lambda folder: perf(folder, "-e", "cpu-clock", "-g")),
    ("gperftools, CPUPROFILE_FREQUENCY=997", gperftools),
)
