#!/usr/bin/env python3
"""Compares what libhotpath exports with what its headers declare, and checks what the library needs.

usage: check_exports.py ROOT LIBHOTPATH.SO LIBHOTPATH.A LIBHOTPATH_ALLOC.SO LIBHOTPATH_ALLOC.A
LIBHOTPATH_ALLOC_WRAP.A
           PROGRAM SINGLE/HOTPATH.C COMPILER...

The headers are those of ROOT: hotpath.h with its parts, and the entry points of hooks. Besides these functions
there are hotpath_v1_runtime, by which copies of the library find each other, and
the two functions that compilers call with -finstrument-functions. The libraries that count allocations have the
malloc family, and the function by which several of them agree; the preloaded one also has the functions by which
a program sandboxes itself, starts threads, waits, runs event loops, and moves data through descriptors and
queues. The files in single/ export what the archives do, and the program nothing.

The libraries call no cancellation point of the C library: a thread of the program that was cancelled would end in
the middle of the recorder, with its lock. Hooks call those of the program through pointers.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # the next import would leave a __pycache__ in the source tree
from amalgamate import parts_of_header  # noqa: E402

BESIDE_THE_HEADER = {"hotpath_v1_runtime", "__cyg_profile_func_enter", "__cyg_profile_func_exit"}
FAMILY = {"malloc", "calloc", "realloc", "reallocarray", "free", "free_sized", "free_aligned_sized",
          "posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc"}
ALLOC = FAMILY | {"hotpath_v1_alloc_yield"}
SANDBOXES = {"prctl", "syscall", "execve", "execv", "execvp", "execvpe", "fexecve", "execveat", "execl", "execle",
             "execlp", "posix_spawn", "posix_spawnp", "system", "popen", "wordexp"}
IDENTITIES = {"setuid", "setgid", "seteuid", "setegid", "setreuid", "setregid", "setresuid", "setresgid",
              "setgroups", "initgroups", "chroot", "unshare", "setns"}
THREADS = {"pthread_create", "thrd_create", "pthread_join", "thrd_join", "sigaltstack", "hotpath_v1_stack_sampler"}
WAITS = {"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect", "__io_uring_get_cqe",
         "io_uring_wait_cqes", "io_uring_wait_cqe_timeout", "io_uring_submit_and_wait",
         "io_uring_submit_and_wait_timeout"}
TRANSFERS = {"read", "write", "readv", "writev", "eventfd_read", "eventfd_write", "splice", "sendfile",
             "sendfile64", "send", "sendto", "sendmsg", "sendmmsg", "recv", "recvfrom", "recvmsg", "recvmmsg",
             "mq_send", "mq_timedsend", "mq_receive", "mq_timedreceive"}
CLOSES = {"dlclose"}
DESCRIPTORS = {"close", "close_range", "closefrom", "dup2", "dup3", "fcntl", "fcntl64", "ioctl", "socketpair",
               "pipe", "pipe2", "eventfd", "mq_close"}
QUEUES = {f"g_async_queue_{verb}{way}" for verb, ways in {
    "push": ["", "_front", "_sorted"], "pop": [""], "try_pop": [""], "timeout_pop": [""]}.items()
          for stem in ways for way in (stem, f"{stem}_unlocked")}
FORTIFIED = {"__poll_chk", "__ppoll_chk", "__read_chk", "__recv_chk", "__recvfrom_chk"}  # glibc only
STREAMS = ({name + way for way in ("", "_unlocked")
            for name in ("fwrite", "fputs", "fputc", "putc", "putchar", "fflush", "fread", "fgets", "fgetc", "getc",
                         "getchar")}
           | {f"__{name}{way}_chk" for name in ("fread", "fgets") for way in ("", "_unlocked")}
           | {f"{list_}{name}printf" for list_ in ("", "v") for name in ("", "f", "d")}
           | {f"__{list_}{name}printf_chk" for list_ in ("", "v") for name in ("", "f", "d")}
           | {f"{standard}{list_}{name}scanf" for standard in ("", "__isoc99_", "__isoc23_") for list_ in ("", "v")
              for name in ("", "f")}
           | {"puts", "_IO_putc", "__overflow", "_IO_getc", "__uflow", "__underflow", "getline", "getdelim",
              "__getdelim", "fclose", "pclose", "freopen", "freopen64"})  # likewise
LOOPS = {"uv_run", "event_base_loop", "event_base_dispatch", "ev_run", "g_main_loop_run",
         "g_main_context_iteration"}
# Those of POSIX and Linux that a library could have a use for, also those that only may be.
CANCELLATION_POINTS = re.compile(
    r"(__)?((accept4?|connect|creat|f?open|openat|fdopen|freopen|close|f?close|fcntl|lockf"
    r"|p?readv?2?|p?writev?2?|recv|recvfrom|recvmm?sg|send|sendto|sendmm?sg|splice|tee|sendfile|copy_file_range"
    r"|fsync|fdatasync|msync|sync_file_range|(posix_)?fallocate|p?poll|p?select|epoll_p?wait2?"
    r"|nanosleep|clock_nanosleep|u?sleep|pause|sigsuspend|sigwait|sigwaitinfo|sigtimedwait|sigpause"
    r"|wait|wait[34]|waitpid|waitid|system|popen|pclose|sem_(timed|clock)?wait|pthread_join|pthread_testcancel"
    r"|pthread_cond_(timed|clock)?wait|mq_(timed)?(send|receive)|msgsnd|msgrcv|getrandom|opendir|readdir|closedir"
    r"|fdopendir|seekdir|scandir|v?[fd]?printf|f?puts|f?putc|fwrite|fread|f?getc|f?gets|getline|getdelim|fflush"
    r"|fseeko?|ftello?|rewind|v?f?scanf|perror|v?syslog|tmpfile|tcdrain)(64|_time64|_unlocked|_chk|_nocancel)*)")
ALLOWED_LIBRARIES = re.compile(r"libhotpath\.so|libc\.so|libpthread\.so|ld-linux|libc\.musl")


def headers(root):
    return [root / "include/hotpath.h", *parts_of_header(root), root / "src/record/core/hook_entries.h"]


def lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def exported(*options):
    """Without C++'s new and delete, whose names differ between machines, and without versions."""
    found = {line.split()[-1].split("@")[0] for line in lines("nm", "--defined-only", "--extern-only", *options)
             if len(line.split()) == 3 and line.split()[1] != "A"}  # names of versions
    return {name for name in found if not re.match("_Z(nw|na|dl|da)", name)}


def cancellation_points(*options):
    needed = {line.split()[1].split("@")[0] for line in lines("nm", "--undefined-only", *options)
              if line.startswith(" ")}
    return {name for name in needed if CANCELLATION_POINTS.fullmatch(name)}


# The linker of binutils 2.40 lists the ends of a section as dynamic symbols, although they are hidden.
HIDDEN = {"__start_hotpath_text", "__stop_hotpath_text"}


def of_two_files(source, compiler, *options):
    """As a library: hidden variables do not count."""
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        subprocess.run([*compiler, "-std=gnu11", "-O0", "-fPIC", "-shared", "-w", *options, source, "-o",
                        file.name], check=True)
        return exported("-D", file.name) - HIDDEN


def compare_two_files(source, compiler, static, alloc_static, alloc_wrap):
    """What it exports without an option is among what it exports with each, so it is asked alone in long tests."""
    ways = [("-DHOTPATH", [static]), ("-DHOTPATH_ALLOC", [static, alloc_static]),
            ("-DHOTPATH_ALLOC_WRAP", [static, alloc_wrap])]
    for option, archives in ways if "HOTPATH_TEST_LONG" in os.environ else ways[1:]:
        names, truth = of_two_files(source, compiler, option), set().union(*map(exported, archives))
        yield from (f"{source} {option}: exports {name}" for name in names - truth)
        yield from (f"{source} {option}: does not export {name}" for name in truth - names)


def main():
    root, shared, static, alloc_shared, alloc_static, alloc_wrap, program, two_files, *compiler = sys.argv[1:]
    declared = {name for header in headers(Path(root)) for name in re.findall(
        r"^(?:extern )?HOTPATH_API_ [^;{}]*?\b(hotpath_\w+)(?:\(| HOTPATH_TLS_)", header.read_text(), re.M)}
    problems = []
    for file, names in ((shared, exported("-D", shared)), (static, exported(static))):
        problems += [f"{file}: exports {name}, which is in no header" for name in names - declared -
                     BESIDE_THE_HEADER]
        problems += [f"{file}: does not export {name}" for name in declared - names]
    preloaded = ALLOC | SANDBOXES | IDENTITIES | THREADS | WAITS | LOOPS | TRANSFERS | DESCRIPTORS | QUEUES | CLOSES
    for file, names, truth in ((alloc_shared, exported("-D", alloc_shared) - FORTIFIED - STREAMS, preloaded),
                               (alloc_static, exported(alloc_static), ALLOC),
                               (alloc_wrap, exported(alloc_wrap), {f"__wrap_{name}" for name in FAMILY})):
        problems += [f"{file}: exports {name}" for name in names - truth]
        problems += [f"{file}: does not export {name}" for name in truth - names]
    for file, options in ((shared, ["-D"]), (static, []), (alloc_shared, ["-D"]), (alloc_static, [])):
        problems += [f"{file}: calls {name}, a cancellation point" for name in cancellation_points(*options, file)]
    for file in (shared, alloc_shared):
        for line in lines("objdump", "-p", file):
            needed = re.match(r"\s*NEEDED\s+(\S+)", line)
            if needed and not ALLOWED_LIBRARIES.match(needed.group(1)):
                problems.append(f"{file}: needs {needed.group(1)}")
    problems += [f"{program}: exports {name}" for name in exported("-D", program)]
    problems += compare_two_files(two_files, compiler, static, alloc_static, alloc_wrap)
    print("\n".join(sorted(problems)) or f"exports: {len(declared)} names, as in the headers")
    return bool(problems) or not declared


if __name__ == "__main__":
    sys.exit(main())
