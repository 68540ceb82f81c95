"""Locks of unmodified programs, with `hotpath run --locks`: numbers that the program knows itself, and functions
that behave as without hotpath. `lock_truth` prints how often its locks were used and waited for, and for how long
by its own clock; `lock_rules` prints a line for each function, type of lock and situation."""
import json
import os
import platform
import re
import shutil
import subprocess
from ctypes.util import find_library
from pathlib import Path

import pytest

from command import Cli, wait_until
from harness import (BUILD, EXAMPLES, HOTPATH, IS_GLIBC, IS_LONG, PROGRAMS, SOURCE, TIMEOUT, WITHOUT_PERF, Box,
                     Report, crossed, full, near, with_glibc, without_emulator, without_sanitizer)
from test_serve import Server

pytestmark = [without_emulator("it has other thread pointers"),
              without_sanitizer("the library of such a build can be preloaded into nothing else")]

KNOWS_CALLERS = platform.machine() == "x86_64" and IS_GLIBC  # musl-gcc makes no index of the tables for exceptions
WRAPPED = ("hold_wrapped", "hold_another") if KNOWS_CALLERS else ()  # they use locks by a function
LIBRARY = BUILD / "lib" / "libhotpath_locks.so.0"
WITHOUT = BUILD / "lib" / "libhotpath_preload.so.0"


def run(box, program, *options, env=None, before=(), arguments=()):
    report = box.folder() / "report.json"
    return box.run(HOTPATH, "run", "-f", "json", "-o", report, "--section", "locks,blocked-by", "--limit", "0",
                   *options, "--", PROGRAMS / program, *arguments, env=env, before=list(before)), report


def run_linked(box, program, *options, arguments=()):
    """Without `hotpath run`: a program with the hooks in it, and the report of its session."""
    wishes = {"--lock-holds": "HOTPATH_LOCK_HOLDS", "--locks": "HOTPATH_LOCKS"}
    folder, report = box.folder(), box.folder() / "report.json"
    result = box.run(PROGRAMS / program, *arguments, env={
        "HOTPATH": "1", "HOTPATH_DIR": str(folder), **{wishes[at]: "1" for at in options}})
    [session] = [path for path in folder.glob("*.hotpath") if path.with_suffix(".locks").exists()] or [None]
    report.write_text(box.run(HOTPATH, "report", "-f", "json", "--section", "locks,blocked-by", "--limit", "0",
                              session).stdout)
    return result, report


def truth_of(text):
    return {name: (int(locked), int(contended), float(ms) * 1e6)
            for name, locked, contended, ms, *_ in (line.split() for line in text.splitlines())}


def holds_of(text):
    """Bounds of the time that locks were held, and of the longest hold, in nanoseconds."""
    return {name: [float(ms) * 1e6 for ms in bounds]
            for name, _, _, _, *bounds in (line.split() for line in text.splitlines()) if bounds}


def rows_of(box, report, section="locks"):
    return Report(json.loads(report.read_text())).rows(section)


@pytest.fixture(scope="module", params=["lock_truth", pytest.param("lock_truth_linked", marks=full), pytest.param(
    "lock_truth_wrap", marks=with_glibc("musl calls itself by the hooks"))])
def truth(request):
    """One run of each program for all that is known of it."""
    box = Box()
    result, report = (run_linked if request.param.endswith("linked") else run)(box, request.param, "--locks")
    listed = rows_of(box, report)
    rows = {row.name: row for row in listed}
    for place in ("make_lock", "reuse_memory", "wait_for_child", *WRAPPED):
        made = [row for row in listed if re.match(rf"(made|used) in {place}\b", row.name) and
                (row.kind == "condition") == (place == "reuse_memory")]
        assert len(made) == 1, place
        rows[place] = made[0]
    assert json.loads(report.read_text())["sections"]["locks"]["totals"]["unseen_ns"] == 0  # all is counted
    told = truth_of(result.stdout)
    if request.param.endswith("linked"):
        del told["of_child"]  # without a run, a child has a session of its own, or none
    yield told, rows, rows_of(box, report, "blocked-by")
    box.remove()


def test_counts_and_waits_are_those_of_the_program(truth):
    told, rows, _ = truth
    for name, (locked, contended, ns) in told.items():
        if name not in rows and not KNOWS_CALLERS:
            continue
        row = rows[name]
        if name in ("ready", "reuse_memory"):
            assert (row.kind, row.locked, row.waits) == ("condition", None, contended), name
        else:
            assert row.locked == locked, name
            assert row.contended == contended or contended < 0, name  # -1: as it happens
        if contended >= 0:
            assert near(row.wait_ns, ns, 2), f"{name}: {row.wait_ns} ns, by the program's clock {ns} ns"
    assert rows["make_lock"].instances == 1000
    assert rows["limited"].timeouts == rows["limited"].waits > 0
    assert rows["guard"].queue_max == 3


def test_a_wait_is_blamed_or_latency(truth):
    _, rows, blocks = truth
    for name in ("forced", "modern", "shelf", "guard", "limited", "ready", "tickets", "passed"):
        row = rows[name]
        assert near(row.blocked_ns + row.wakeup_ns + row.unknown_ns, row.wait_ns, 1), row
        assert near(sum(block.blocked_ns for block in blocks if block.lock == name), row.blocked_ns, 1), name
        assert row.blocked_ns > row.wait_ns / 2, row  # each was held, or not signaled, for twenty milliseconds
    assert rows["limited"].wakeup_ns == 0


def test_functions_that_wait_and_those_that_block(truth):
    _, rows, blocks = truth
    found = {(block.name, block.holder, block.lock) for block in blocks}
    assert {("wait_forced", "give_forced", "forced"), ("write_shelf", "give_shelf", "shelf"),
            ("wait_limited", "give_limited", "limited"), ("wait_modern", "give_modern", "modern"),
            ("wait_ready", "signal_ready", "ready"), ("wait_ticket", "post_ticket", "tickets"),
            ("join_queue", "join_queue", "guard"), ("wait_passed", "pass_on", "passed")} <= found
    assert rows["forced"].held_by == "give_forced" and rows["forced"].waited_in == "wait_forced"


@pytest.mark.skipif(not KNOWS_CALLERS, reason="callers are known on x86-64 only")
def test_functions_that_are_only_there_to_lock_are_passed_over(truth):
    """my_lock and my_unlock are called by several functions: these are named, by the first one the lock."""
    _, rows, blocks = truth
    found = {(block.name, block.holder, block.lock) for block in blocks}
    assert {("wait_wrapped", "give_wrapped", rows["hold_wrapped"].name),
            ("wait_another", "give_another", rows["hold_another"].name)} <= found
    assert not re.search(r"\bmy_(un)?lock\b", f"{list(rows)} {found}")


def test_unusual_waits(truth):
    told, rows, _ = truth
    assert rows["left"].queue_max == 1  # a wait that was left by a jump is none any more
    if "of_child" in told:  # a handler forked while its thread waited
        assert (rows["of_child"].waits, rows["of_child"].wait_ns) == (0, 0)
    other = rows["wait_for_child"]  # held by another process
    assert near(other.unknown_ns, told["wait_for_child"][2], 5) and other.wakeup_ns < other.unknown_ns / 10


def idle_time(cpu):
    """By the kernel: the idle time of a CPU, and all its time."""
    line = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith(f"cpu{cpu} "))
    times = [int(number) for number in line.split()[1:9]]
    return times[3] + times[4], sum(times)


@with_glibc("taskset of this machine has it")
@pytest.mark.parametrize("is_busy", [False, True], ids=["quiet", "busy"])
def test_waits_while_a_cpu_was_free(box, is_busy):
    """A holder sleeps; the program has one CPU, which others may use meanwhile, as the kernel knows."""
    cpu = max(os.sched_getaffinity(0))
    spinner = subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"]) if is_busy else None
    report, before = box.folder() / "report.json", idle_time(cpu)
    try:
        box.run(HOTPATH, "run", "-f", "json", "-o", report, "--section", "locks", "--locks", "--",
                "taskset", "-c", str(cpu), PROGRAMS / "critical_off", "convoy", "sleep")
    finally:
        if spinner is not None:
            spinner.kill()
            spinner.wait()
    idle, whole = (after - first for after, first in zip(idle_time(cpu), before))
    row = {row.name: row for row in rows_of(box, report)}["cache_lock"]
    assert near(row.free_cpu_ns, row.wait_ns * row.percent_free_cpu / 100, 1)
    assert abs(row.percent_free_cpu - 100 * idle / whole) < 35, (row.percent_free_cpu, idle, whole)
    if is_busy:
        assert row.percent_free_cpu < 5


@pytest.mark.parametrize("kind", ["lock", "atomic"])
def test_locks_that_are_not_seen(box, kind):
    """Made of futexes: samples find waiting that hooks did not count, and the section says so."""
    _, report = run(box, "raw_futex", "--locks", arguments=[kind], env={"HOTPATH_DIR": str(box.path)})
    section = json.loads(report.read_text())["sections"]["locks"]
    assert not [row for row in section["rows"] if row["waited_in"] == "wait_raw"]
    assert 0.5 < section["totals"]["unseen_ns"] / (12 * 30e6) < 2
    stored = max(box.path.glob("*.run"), key=lambda path: path.stat().st_mtime)
    told = box.run(HOTPATH, "report", "-f", "table", "--section", "locks", stored).stdout
    note, said = " ".join(told.split()), "ms, by samples, for locks that are not seen"
    assert f"{said}: made of futexes" in note and f"{said}; " in note.split("clock ")[-1]  # the last line, too


def is_between(least, value, most, percent=2):
    return least * (1 - percent / 100) <= value <= most * (1 + percent / 100)


@pytest.mark.parametrize("program", ["lock_truth", pytest.param("lock_truth_wrap", marks=[full, with_glibc(
    "musl calls itself by the hooks")])])
def test_every_hold_is_timed(box, program):
    """Of mutexes, spinlocks and those who write; the program reads its clock inside of each hold, and around it."""
    result, report = run(box, program, "--locks", "--lock-holds")
    told, rows = truth_of(result.stdout), {row.name: row for row in rows_of(box, report)}
    assert rows["counted"].holds == rows["counted"].locked == told["counted"][0]
    for row in rows.values():
        bars = row.hold_histogram_ns or []
        assert sum(holds for *_, holds in bars) == row.holds, row
        assert not bars or bars[-1][0] <= row.hold_max_ns <= bars[-1][1], row
    assert rows[next(name for name in rows if name.startswith("made in make_lock"))].holds >= 1000
    holds = holds_of(result.stdout)
    assert holds.keys() == {"forced", "kept", "written", "turned", "retained", "nested", "lent"}
    for name, (least, most, longest_least, longest_most) in holds.items():
        row = rows[name]
        assert row.holds == told[name][0] // (2 if name == "nested" else 1), row
        assert is_between(least / row.holds, row.hold_mean_ns, most / row.holds), (row, least, most)
        assert is_between(longest_least, row.hold_max_ns, longest_most), (row, longest_least, longest_most)


def test_memory_does_not_grow_with_the_number_of_locks(box):
    """A million of them: those beyond the room of the table are counted together, and none is lost."""
    result, report = run(box, "lock_truth", "--locks", arguments=["crowd"], env={"HOTPATH_DIR": str(box.path)})
    told, rows = truth_of(result.stdout), rows_of(box, report)
    crowd = next(row for row in rows if row.name.startswith("used in use_half"))
    others = next(row for row in rows if row.name == "<other>")
    assert 0.9 * 65536 < crowd.instances <= 65536 and crowd.locked == 2 * crowd.instances
    assert crowd.locked + others.locked == told["crowd"][0]
    stored = max(box.path.glob("*.run"), key=lambda path: path.stat().st_mtime)
    file = next(stored.glob("*.locks")).stat()
    assert max(file.st_size, 512 * file.st_blocks) <= 8 << 20
    without = truth_of(plain(box, "lock_truth", "crowd"))["kb"][0]
    assert told["kb"][0] - without < (8 + 2 + 1) << 10


@pytest.mark.skipif(not (PROGRAMS / "lock_truth_cxx").exists(), reason="needs a C++ compiler")
def test_locks_of_cxx(box):
    """Counts, waits and names of what libstdc++ makes of pthread's functions, inlined or in its library."""
    result, report = run(box, "lock_truth_cxx", "--locks")
    told, rows = truth_of(result.stdout), {row.name: row for row in rows_of(box, report)}
    blocks = rows_of(box, report, "blocked-by")
    if KNOWS_CALLERS:
        # Its unlocking is a jump from its end, so its callers are seen there: whichever call comes first names it.
        name = next(name for name in rows
                    if re.match(r"used in (counter::add|count_together|operator\(\)):\d+$", name))
        rows["counter::add"] = rows.pop(name)
        texts = [text for row in rows.values() for text in (row.name, row.held_by, row.waited_in)]
        texts += [text for block in blocks for text in (block.name, block.holder)]
        assert not re.search(r"\bstd::|__gthread", str(texts))
    for name, (locked, contended, ns) in told.items():
        if name not in rows and not KNOWS_CALLERS:
            continue
        row = rows[name]
        assert row.locked == (None if row.kind == "condition" else locked), name
        if contended >= 0:
            assert (row.waits - row.timeouts if row.locked is not None else row.waits) == contended, name
            assert row.contended in (None, contended) and near(row.wait_ns, ns, 2), name
    assert rows["stock::catalog"].kind == "rwlock" and rows["stock::notice"].timeouts == 1
    assert rows["stock::ledger"].timeouts == rows["stock::shelf"].contended
    assert {("wait_shelf", "give_shelf", "stock::shelf"), ("write_catalog", "give_catalog", "stock::catalog"),
            ("wait_for_delivery", "deliver", "stock::delivery"),
            ("wait_ledger", "give_ledger", "stock::ledger")} <= {
                (block.name, block.holder, block.lock) for block in blocks}




def plain(box, program, *arguments):
    return box.run(PROGRAMS / program, *arguments, env={"HOTPATH_DIR": None}).stdout


HOLDS = {"sampled": ["--locks"], "every": ["--locks", "--lock-holds", "--path"]}
PERF = {"perf": [], "refused": WITHOUT_PERF}


@pytest.mark.parametrize("holds, perf", [("every", "perf"), *(pytest.param(*both, marks=full) for both in (
    ("sampled", "perf"), ("sampled", "refused"), ("every", "refused")))])
def test_same_as_the_plain_functions(box, holds, perf):
    expected = plain(box, "lock_rules").splitlines()
    found = run(box, "lock_rules", *HOLDS[holds], before=PERF[perf])[0].stdout.splitlines()
    differences = [f"{b}, without hotpath: {a}" for a, b in zip(expected, found) if a != b]
    assert len(expected) > 1000 and not differences and len(expected) == len(found), "\n".join(differences[:20])


@full  # linking takes longest
def test_same_in_a_static_program(box):
    """With the hooks in it, in a run and without one."""
    expected = plain(box, "lock_rules").splitlines()
    assert plain(box, "lock_rules_wrap").splitlines() == expected
    assert run(box, "lock_rules_wrap", "--locks", "--path")[0].stdout.splitlines() == expected


@full
def test_same_in_programs_that_are_linked_with_it(box):
    expected = plain(box, "lock_rules").splitlines()
    assert plain(box, "lock_rules_linked").splitlines() == expected
    assert run_linked(box, "lock_rules_linked", "--locks")[0].stdout.splitlines() == expected


def test_a_program_that_is_linked_with_it_counts_once_in_a_run(box):
    """That preloads another library with the same hooks, whose calls come first."""
    result, report = run(box, "lock_truth_linked", "--locks", "--io")
    rows = {row.name: row for row in rows_of(box, report)}
    told = {name: locked for name, (locked, _, _) in truth_of(result.stdout).items() if name in rows}
    assert len(told) > 3 and {name: rows[name].locked or 0 for name in told} == told
    holders = {row.holder for row in rows_of(box, report, "blocked-by")}
    assert "give_forced" in holders and not [name for name in holders if name and "pthread" in name]


def test_a_program_that_is_linked_with_it(box):
    """Without a run: its session has its locks while it runs, too, and takes their file with it."""
    folder, keep = box.folder(), {"HOTPATH": "1", "HOTPATH_LOCKS": "1", "HOTPATH_KEEP": "0"}
    program = subprocess.Popen([PROGRAMS / "lock_truth_linked", "live"], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, env=box.environment(folder, keep))

    def waits():
        [session] = list(folder.glob("*.hotpath")) or [None]
        told = session and box.run(HOTPATH, "report", "-f", "json", "--section", "locks", session).stdout
        rows = json.loads(told)["sections"]["locks"]["rows"] if told else []
        return sum(row["waits"] for row in rows if (row["name"], row["held_by"]) == ("forced", "give_forced"))

    wait_until(lambda: waits() > 0)
    program.communicate(b"\n", timeout=TIMEOUT)
    [first] = list(folder.glob("*.locks"))
    box.run(PROGRAMS / "lock_rules_linked", "maps", env={**keep, "HOTPATH_DIR": str(folder)})
    assert not first.exists(), "the next session takes its place"
    [session] = list(folder.glob("*.hotpath"))
    session.with_suffix(".locks").touch()
    box.run(HOTPATH, "clean", "--dir", folder)
    assert not [*folder.glob("*.hotpath"), *folder.glob("*.locks")]


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                          check=True).stdout
    return {line.split()[2].split("@")[0] for line in text.splitlines() if line.split()[1] in "TWi"}


def test_every_lock_function_is_called(box):
    called = set(re.findall(r": (\w+)\(", plain(box, "lock_rules"))) | {"mtx_destroy", "cnd_destroy", "cnd_wait"}
    missing = exported(LIBRARY) - exported(WITHOUT) - called
    assert not missing, f"add calls to tests/programs/lock_rules.c of: {', '.join(sorted(missing))}"


def test_without_the_option_nothing_is_in_the_way(box):
    maps = run(box, "lock_rules", arguments=["maps"])[0].stdout
    assert "libhotpath_preload" in maps and "libhotpath_locks" not in maps
    maps = run(box, "lock_rules", "--locks", arguments=["maps"])[0].stdout
    assert "libhotpath_locks" in maps and "libhotpath_preload" not in maps


@pytest.mark.parametrize("allocator", ["jemalloc", pytest.param("tcmalloc_minimal", marks=full),
                                       pytest.param("mimalloc", marks=full)])
def test_other_allocators(box, allocator):
    library = find_library(allocator)
    if library is None:
        pytest.skip(f"no {allocator} here")
    result, report = run(box, "lock_truth", "--locks", env={"LD_PRELOAD": library})
    rows = {row.name: row for row in rows_of(box, report)}
    for name, (locked, _, _) in truth_of(result.stdout).items():
        if name in rows and name != "ready":
            assert rows[name].locked == locked, name


@pytest.mark.parametrize("program", ["critical", "critical_off"])
def test_counted_locks_stand_in_place_of_samples(box, program):
    """In the first sentence and in all rows, with measured functions and without."""
    report = box.folder() / "report.json"
    box.run(HOTPATH, "run", "-f", "json", "-o", report, "--locks", "--limit", "0", "--",
            PROGRAMS / program, "convoy", "sleep" if program == "critical" else "compute")
    report = json.loads(report.read_text())
    sections = {name: section["rows"] for name, section in report["sections"].items()}
    sentence, known = report["meta"]["headline"], "cache_lock"
    if program == "critical":
        assert "waiting (lock cache_lock held in rebuild)" in sentence
        row = next(row for row in sections["bottlenecks"] if row["name"] == "rebuild")
        assert row["waits_for"] == "lock cache_lock held in rebuild" and known in row["why"]
        row = next(row for row in sections["waits"] if row["name"] == "rebuild" and row["cause"] == "lock")
        assert (row["what"], row["other"]) == ("cache_lock, held in rebuild", "rebuild")
    else:
        assert re.search(r"for cache_lock in rebuild, held by rebuild "
                         r"\(\d+ % of that, [\d.]+ ms at a time\)", sentence)
        assert "not recorded" not in sentence and "its holder" not in sentence
        row = next(row for row in sections["functions"] if row["name"] == "rebuild")
        assert (row["waits_for"], row["held_in"]) == ("lock cache_lock held in rebuild", "rebuild")
    assert not [text for text in re.findall(r'"(?:lock )?held in [^"]*"', json.dumps(sections))]
    block = next(row for row in sections["blocked-by"] if row["lock"] == known)
    assert (block["name"], block["holder"]) == ("rebuild", "rebuild")
    if IS_GLIBC:  # programs of musl-gcc cannot be unwound from the C library
        waiters = block["waiter_stack"].split(";")
        assert waiters[-1] == "rebuild" and "run_convoy" in waiters  # not further: into what waits for it
        assert block["stacks"].startswith("waits in run_convoy > rebuild; held in run_convoy > rebuild")
        frames = block["holder_stack"].split(";")  # at work, or asleep, with the lock
        assert "rebuild" in frames[:-1] and frames.index("run_convoy") < frames.index("rebuild")


def test_report_of_a_stored_run(box):
    result, report = run(box, "lock_truth", "--locks", env={"HOTPATH_DIR": str(box.path)})
    stored = max(box.path.glob("*.run"), key=lambda path: path.stat().st_mtime)
    again = box.run(HOTPATH, "report", "-f", "json", "--section", "locks", "--limit", "0", stored).stdout
    rows = {row["id"]: row for row in json.loads(again)["sections"]["locks"]["rows"]}
    for row in rows_of(box, report):
        assert rows[row.id]["locked"] == row.locked
    assert result.status == 0


def test_locks_of_a_program_that_runs(box):
    """The server's answers change while it runs; the console names the lock and who holds it."""
    cli = Cli(box)
    program = cli.start("run", "--format", "none", "--locks", "--", PROGRAMS / "lock_truth", "live",
                        stdin=subprocess.PIPE)
    server = None

    def waits():
        answer = server.get("/report.json", section="locks")
        rows = json.loads(answer.text)["sections"]["locks"]["rows"] if answer.status == 200 else []
        return sum(row["waits"] for row in rows if row["name"] == "forced")

    try:
        wait_until(lambda: list(Path(cli.folder).glob("**/*.locks")))
        server = Server(cli)
        wait_until(lambda: waits() > 0)
        before = waits()
        wait_until(lambda: waits() > before)
        wait_until(lambda: re.search(r"wait_forced .*lock .*forced +give_forced",
                                     cli("console", "--script", "-", "--size", "140x30", "lock_truth",
                                         input="7 screen").stdout))
    finally:
        program.communicate("\n", timeout=TIMEOUT)
        if server is not None:
            server.end()


def test_broken_files_are_no_harm(box):
    run(box, "lock_truth", "--locks", env={"HOTPATH_DIR": str(box.path)})
    stored = max(box.path.glob("*.run"), key=lambda path: path.stat().st_mtime)
    file = next(stored.glob("*.locks"))
    whole = file.read_bytes()
    for size in (0, 100, 4096, 5000, len(whole) // 2) if IS_LONG else (100, 5000):
        file.write_bytes(whole[:size])
        box.run(HOTPATH, "report", "--section", "locks,blocked-by", stored)
    noise = bytes((byte * 7 + at) % 256 for at, byte in enumerate(whole[4096:200000]))
    file.write_bytes(whole[:4096] + noise + whole[200000:])
    box.run(HOTPATH, "report", "--section", "locks,blocked-by", stored)


@full
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
@pytest.mark.parametrize("flags", [["--locks"], ["--locks", "--path"]], ids=["locks", "path"])
def test_helgrind_finds_nothing_new(box, flags):
    """A program of conditions and mutexes that is right; nothing of ours is reported either."""
    done = subprocess.run([HOTPATH, "run", "-f", "none", *flags, "--", "valgrind", "--tool=helgrind", "-q",
                           PROGRAMS / "lock_truth"], capture_output=True, text=True, timeout=TIMEOUT,
                          env=box.environment(box.folder(), {"HOTPATH_OUTPUT_PATH": None}))
    if "debuginfo reader: Possibly corrupted debuginfo file" in done.stderr:
        pytest.skip("this valgrind cannot read what this compiler wrote for debuggers")
    assert done.returncode == 0
    assert "libhotpath" not in done.stderr and "hp_lock" not in done.stderr


@pytest.mark.full
def test_thread_sanitizer_finds_nothing_new(box):
    """A program that was built with it finds the same, one planted error, with hooks in front of its own."""
    program = box.path / "lock_truth_tsan"
    built = subprocess.run(["cc", "-fsanitize=thread", "-O1", "-g", "-pthread", "-D_GNU_SOURCE", SOURCE / "tests" /
                            "programs" / "lock_truth.c", "-o", program], capture_output=True)
    if built.returncode != 0 or shutil.which("setarch") is None:
        pytest.skip("this compiler has no ThreadSanitizer")

    def errors(*command):
        done = subprocess.run(["setarch", "-R", *command, program], capture_output=True, text=True, timeout=TIMEOUT,
                              env=box.environment(box.folder(), {"HOTPATH_OUTPUT_PATH": None}))
        assert done.stdout.count("forced 30 15") == 1
        return sorted(re.findall(r"^SUMMARY: .* in \w+", done.stderr, re.M))

    expected = errors()
    assert len(expected) == 1 and "in pass_on" in expected[0]
    for flags in (["--locks"], ["--locks", "--path"]):
        assert errors(HOTPATH, "run", "-f", "none", *flags, "--") == expected


def test_macros(box):
    """Locks that the program names, and one that it makes itself: in a program with libhotpath, and its child."""
    result, report = run(box, "own_locks", "--locks")
    told, rows = truth_of(result.stdout), {(row.name, row.kind): row for row in rows_of(box, report)}
    for name, kind in (("jobs", "mutex"), ("late", "mutex"), ("own", "own"), ("byte", "own"),
                       ("tickets", "semaphore")):
        row = rows[name, kind]
        assert (row.locked, row.contended) == told[name][:2], name
    own = rows["own", "own"]
    assert near(own.wait_ns, told["own"][2], 2)
    assert near(own.blocked_ns + own.wakeup_ns + own.unknown_ns, own.wait_ns, 1)
    assert (own.held_by, own.waited_in) == ("hold_own", "wait_own") and own.blocked_ns > own.wait_ns / 2
    assert rows["jobs", "mutex"].instances == 4  # three, one of them in the child, too
    assert rows["gave_up", "own"].timeouts == rows["gave_up", "own"].waits == 1
    assert rows["bell", "condition"].waits == 1
    assert not any(name == "gone" for name, _ in rows)


def test_static_programs(box):
    """Without hooks in it, macros do nothing, and hotpath says what is missing."""
    result, report = run(box, "own_locks_static", "--locks")
    assert "locks of" in result.stderr and "libhotpath_locks_wrap.a" in result.stderr
    assert json.loads(report.read_text())["sections"].get("locks", {}).get("rows", []) == []
    assert truth_of(result.stdout).keys() == truth_of(plain(box, "own_locks")).keys()
    assert "locks of" not in run(box, "lock_truth_wrap", "--locks")[0].stderr


def test_macros_without_locks(box):
    result, report = run(box, "own_locks")
    assert json.loads(report.read_text())["sections"].get("locks", {}).get("rows", []) == []
    assert truth_of(result.stdout).keys() == truth_of(plain(box, "own_locks")).keys()


@with_glibc("libdw, which names inlined functions, is for it")
@pytest.mark.parametrize("example, lock, waiter, holder, queue", [
    ("lock_contention", "table", "find_item", "rebuild", 1),
    ("convoy", "journal_lock", "append", "append", 3)])
def test_examples_name_the_lock(box, example, lock, waiter, holder, queue):
    _, report = run(box, EXAMPLES / example, "--locks")
    row = {row.name: row for row in rows_of(box, report)}[lock]
    assert (row.waited_in, row.held_by) == (waiter, holder) and row.queue_max >= queue
    first = rows_of(box, report, "blocked-by")[0]
    assert (first.name, first.holder, first.lock) == (waiter, holder, lock)
