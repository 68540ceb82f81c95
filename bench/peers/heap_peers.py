"""Other heap profilers on the same pairs of malloc and free (alloc_cost.c). Reports which are not installed.

All run the same binary, without a session of ours. Each yields the command prefix and the environment variables.
"""
import ctypes.util
import os

from peers import Missing, need


def heaptrack(folder):
    need("heaptrack")
    return ["heaptrack", "-o", os.path.join(folder, "heaptrack")], {}


def gperftools(folder):
    library = ctypes.util.find_library("tcmalloc")
    if library is None:
        raise Missing("libtcmalloc is not installed (Debian: google-perftools)")
    return [], {"LD_PRELOAD": library, "HEAPPROFILE": os.path.join(folder, "heap")}


def valgrind(folder, tool):
    need("valgrind")
    return ["valgrind", "-q", "--tool=" + tool, "--%s-out-file=%s" % (tool, os.path.join(folder, tool))], {}


HEAPTRACK = "heaptrack"
PEERS = (
    (HEAPTRACK, heaptrack),
    ("gperftools' heap profiler (HEAPPROFILE)", gperftools),
    ("valgrind --tool=massif", lambda folder: valgrind(folder, "massif")),
    ("valgrind --tool=dhat", lambda folder: valgrind(folder, "dhat")),
)
