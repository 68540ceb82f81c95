"""Programs in every way in which hotpath can be part of a process, compared with the same without it: a table of
programs and modes."""
import os
import re
import shutil
import signal
import subprocess

from harness import HOTPATH, IS_GLIBC, IS_ROOT, PROGRAMS, TIMEOUT, WITHOUT_PERF, end

RUN = [str(HOTPATH), "run", "-f", "none", "--"]
REFUSED = [*WITHOUT_PERF, *RUN]
SAMPLED = {"HOTPATH_CPU": "1", "HOTPATH_CPU_RATE": "4999", "HOTPATH_OUTPUT_PATH": "/dev/null"}
BY_TIMERS = {**SAMPLED, "HOTPATH_CPU_ENGINE": "timers"}

# Variant of the program, command in front of it, environment.
MODES = {
    "static": ("_static", [], SAMPLED),
    "shared": ("", [], SAMPLED),
    "timers": ("_static", [], BY_TIMERS),
    "run": ("_off", RUN, {}),
    "run static": ("_static", RUN, {}),
    "run shared": ("", RUN, {}),
    "run timers": ("_static", RUN, {"HOTPATH_CPU_ENGINE": "timers"}),
    "refused": ("_off", REFUSED, {}),
    "refused static": ("_static", REFUSED, {}),
}


class Case:
    """A program of ours with arguments, built in all variants. `is_of_runs`: without `hotpath run`, a program with
    macros must say more itself to get through."""

    def __init__(self, program, *arguments, env=None, needs_root=False, is_of_runs=False):
        self.program, self.arguments = program, [str(argument) for argument in arguments]
        self.env, self.needs_root, self.is_of_runs = env or {}, needs_root, is_of_runs

    @property
    def name(self):
        return " ".join([self.program, *(argument.rsplit("/", 1)[-1] for argument in self.arguments)])

    def command(self, variant, before):
        return [*before, str(PROGRAMS / (self.program + variant)), *self.arguments]

    def has(self, variant, before):
        return (before or not self.is_of_runs) and (PROGRAMS / (self.program + variant)).exists()


class Command(Case):
    """A command that knows nothing of hotpath; `around` is in front of everything."""

    def __init__(self, name, command, around=(), **more):
        super().__init__(name, **more)
        self.whole, self.around = command, around

    def command(self, variant, before):
        return [*self.around, *before, *self.whole]

    def has(self, variant, before):
        return variant == "_off" and shutil.which((*self.around, *self.whole)[0]) is not None


def listed(program, **of_case):
    """All cases of a program that lists them."""
    path = PROGRAMS / (program + "_off")
    names = subprocess.run([path, "list"], capture_output=True, text=True, check=True).stdout.split() \
        if path.exists() else []
    return [Case(program, name, **of_case.get(name, {})) for name in names]


NO_REPORT = {"HOTPATH_OUTPUT_FORMAT": "none"}  # it would go to stderr, if its file cannot be opened
AT_ONCE = {"env": {"LD_BIND_NOW": "1"}}  # lazy binding of a function by the dynamic linker takes more than 2 KB


OF_ANOTHER_USER = """lines=$(runuser -u nobody -- sh -c 'ls / | head -1; true' 2>&1); echo "$lines" | wc -l"""
SUMS = "print(sum(i * i % 7 for i in range(2000000)))"


def can_run(case):
    """With musl, popen fails now and then if several threads call it, with and without hotpath."""
    return IS_GLIBC or case.name != "noticed popen_on_threads"


def all_cases():
    sampled = ["see_nothing", "directed_ones", "ignored_ones", "masks_through_exec", "cancel", "set_user",
               "freed_alternate", "busy_alternate", "vforks", "no_queue", "no_queue_with_own_io", "small_queue",
               "real_time"]
    return [
        *(case for case in listed("noticed", handler_on_small_stack=AT_ONCE) if can_run(case)),
        *listed("misused", jump_over_expect={"is_of_runs": True}),
        Case("noticed", "exec_in_sandbox", PROGRAMS / "ends_dynamic"),
        *(Case("sampled_host", case) for case in sampled),
        *(Case("sampled_host", "alternate", size) for size in (2048, 4096)),
        *(Case("sampled_host", "coroutines", size, **AT_ONCE) for size in (2048, 16384)),
        *(Case("sampled_host", "execs", 20, PROGRAMS / program) for program in ("ends_dynamic", "ends_static")),
        *(Case("confined", *case) for case in (["as", 200, 60], ["fsize", 100000], ["sigpending"])),
        Case("confined", "nofile", env=NO_REPORT),
        Case("confined", "chroot", env=NO_REPORT, needs_root=True),
        *(Case("confined", case, needs_root=True) for case in ("mlock", "setuid")),
        *(Case("sandboxed", case, is_of_runs=True)
          for case in ("at_once", "syscall", "listener", "twice", "early", "strict", "probe", "counter", "fork")),
        *(Case("vforked", case) for case in ("term", "exit", "threads")),
        *(Case("children", case) for case in ("_Fork", "vfork", "exec", "clone", "spawn", "daemon")),
        *(Case("longjmp", case) for case in ("over", "handler")),
        *(Case("thread_ends", case) for case in ("main", "detached", "destructors", "late")),
        *(Case("coroutines", case) for case in ("nested", "generator")),
        *(Case(program) for program in ("alarm_jump", "expressions", "jumps", "no_counter")),
        Command("echo without files", ["sh", "-c", "echo text"], around=["prlimit", "--fsize=0"]),
        *(Case("host", PROGRAMS / f"plugin{way}.so") for way in ("", "_static")),
        Command("pipe that is closed early", ["sh", "-c", "cat /dev/zero | head -c 100000 | wc -c"]),
        Command("shell of another user", ["sh", "-c", OF_ANOTHER_USER], needs_root=True),
        Command("python with an alternate stack", ["python3", "-X", "faulthandler", "-c", SUMS]),
    ]


# What still differs, and why; shown in the table, and no failure.
KNOWN = {}


class Outcome:
    def __init__(self, status, stdout, stderr):
        self.status, self.stdout = status, stdout
        # Numbers differ from run to run there.
        self.stderr = re.sub(r"\d+", "N", stderr)

    def without_the_line_of_run(self):
        lines = self.stderr.splitlines(True)
        is_said = lines and lines[-1].startswith(("hotpath: nothing was recorded", "hotpath: cannot store stacks"))
        return "".join(lines[:-1] if is_said else lines)

    def without_lines_of_ours(self):
        return "".join(line for line in self.stderr.splitlines(True) if not line.startswith("hotpath:"))


def run(box, command, env):
    folder = box.folder()
    plain = dict.fromkeys(("HOTPATH_OUTPUT_FORMAT", "HOTPATH_LIMIT", "HOTPATH_OUTPUT_PATH", "HOTPATH_REPORT"))
    process = subprocess.Popen(command, env=box.environment(folder, {**plain, **env}), cwd=folder,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    try:
        stdout, stderr = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Outcome("hangs", "", "")
    decode = lambda text: text.decode(errors="replace")
    return Outcome(end(process.returncode), decode(stdout), decode(stderr))


def difference(plain, found, is_unmodified):
    """None, or what a program has noticed. To one with macros, the library may say something itself; after others,
    `hotpath run` may say one line."""
    if found.status != plain.status:
        return f"{found.status} instead of {plain.status}: {found.stderr[-300:]!r}"
    if found.stdout != plain.stdout:
        return f"stdout {found.stdout[-300:]!r} instead of {plain.stdout[-300:]!r}"
    stderr = found.without_the_line_of_run() if is_unmodified else found.without_lines_of_ours()
    return None if stderr == plain.stderr else f"stderr {stderr[-300:]!r} instead of {plain.stderr[-300:]!r}"


class Table:
    def __init__(self):
        self.rows, self.differences = [], []

    def add(self, box, case):
        if not case.has("_off", RUN):
            self.rows.append((case.name, dict.fromkeys(MODES, "-")))
            return
        plain = run(box, case.command("_off", []), case.env)
        if plain.status == "exit 77" or (case.needs_root and not IS_ROOT):
            self.rows.append((case.name, dict.fromkeys(MODES, "-")))
            return
        assert plain.status != "exit 97", f"there is no case {case.name}"
        cells = {}
        for mode, (variant, before, env) in MODES.items():
            if not case.has(variant, before):
                cells[mode] = "-"
                continue
            found = run(box, case.command(variant, before), {**env, **case.env})
            what = None if found.status == "exit 77" else difference(plain, found, variant == "_off")
            cells[mode] = "-" if found.status == "exit 77" else "DIFFERS" if what else "same"
            if what and case.name in KNOWN:
                cells[mode] = "known"
            elif what:
                self.differences.append(f"{case.name}, {mode}: {what}")
        self.rows.append((case.name, cells))

    def __str__(self):
        width = max(len(name) for name, _ in self.rows)
        lines = [" ".join([" " * width, *(f"{mode:>14}" for mode in MODES)])]
        for name, cells in self.rows:
            lines.append(" ".join([f"{name:<{width}}", *(f"{cells[mode]:>14}" for mode in MODES)]))
        return "\n".join(lines)


def check(box, capsys, cases):
    table = Table()
    for case in cases:
        table.add(box, case)
    with capsys.disabled():
        print(f"\n{table}")
    assert not table.differences, "\n".join([f"{len(table.differences)} differences:", *table.differences])


# For ./dev test; the others are in test_host_modes_long.py.
FAST = ["noticed streams_on_pipes", "noticed numbers_of_descriptors", "noticed handler_on_small_stack",
        "noticed no_file_may_grow", "misused null_tasks", "misused jump_over_next",
        *(["noticed popen_on_threads"] if IS_GLIBC else [])]
