"""CPU time per function: programs that know by the thread's own clock what their functions use, and hosts that must
not notice."""
import json
import math
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from harness import (HOTPATH, PROGRAMS, SANITIZER, SOURCE, TIMEOUT, Report, crossed, full, near, perf_is_allowed,
                     with_glibc, without_emulator, without_sanitizer, without_thread_sanitizer)
from test_alloc_programs import Bench, PERL, PYTHON, SQL, Redis, need

pytestmark = [without_emulator("it has clocks and signals of its own"),
              without_thread_sanitizer("it puts signals off until the next call into the C library")]

SCHEMA = json.loads((SOURCE / "docs" / "report.schema.json").read_text())
ENGINES = ["auto", "timers"]
TICK_NS = 10_000_000  # the longest tick of any kernel


def cpu_run(box, *args, env=None, program="cpu", **more):
    result = box.run(program, *args, env={"HOTPATH_CPU": "1", **(env or {})}, **more)
    jsonschema.validate(result.report.values, SCHEMA)
    return result


def cpu_of(report, name):
    """Nanoseconds; 0 if there is no such row."""
    rows = [row for row in report.rows("cpu") if row.name == name]
    assert len(rows) <= 1
    return rows[0].cpu_ns if rows else 0


def totals(report):
    return report.section("cpu")["totals"]


def has_perf(report):
    return totals(report)["perf_samples"] > 0


def is_left_alone(result):
    """A thread that is switched often does without perf (sample_sources.c): so does one whose CPU others take every
    fraction of a millisecond. Far from that bound, perf is used."""
    return result.told["switches"] * 1e9 / result.told["all"] < 1000


def need_perf(report):
    """If the kernel offers perf to us, it must be used."""
    if not perf_is_allowed():
        pytest.skip("perf is refused here, and timers are in step with the scheduler")
    assert has_perf(report)


def check_sums(result):
    """Rows add up to the total, which is the process's clock; the begin and end of the session are not in the
    program's truth."""
    rows, total = result.report.rows("cpu"), totals(result.report)
    assert sum(row.cpu_ns for row in rows) == total["cpu_ns"] == total["user_ns"] + total["kernel_ns"]
    assert sum(row.user_ns for row in rows) == total["user_ns"]
    assert sum(row.samples for row in rows) == total["samples"]
    assert near(total["cpu_ns"], result.told["all"], 2, plus=3_000_000), (total, result.told)


# ------------------------------------------------------------------------------------------------------------ truth

@pytest.mark.parametrize("engine", ["auto", pytest.param("timers", marks=full)])
def test_sums_match_the_thread_clock(box, engine):
    result = cpu_run(box, "split", 300, env={"HOTPATH_CPU_ENGINE": engine})
    check_sums(result)
    work = cpu_of(result.report, "heavy") + cpu_of(result.report, "light") + cpu_of(result.report, "split")
    assert near(work, result.told["all"], 2, plus=TICK_NS)


@pytest.mark.parametrize("engine", ENGINES)
def test_system_calls_are_credited_in_full(box, engine):
    result = cpu_run(box, "calls", 250, env={"HOTPATH_CPU_ENGINE": engine})
    check_sums(result)
    assert near(cpu_of(result.report, "calls"), result.told["calls"], 2, plus=TICK_NS)
    if not SANITIZER:
        assert result.row("calls", "cpu").kernel_ns > result.told["calls"] / 2


@without_sanitizer("what it costs is not in the program's truth")
@pytest.mark.parametrize("ms", [800, pytest.param(2500, marks=full)])
def test_kernel_time_goes_to_the_function_that_spent_it(box, ms):
    """perf samples user mode only, and ticks do not tell the mode."""
    result = cpu_run(box, "modes", ms)
    check_sums(result)
    need_perf(result.report)
    told, of = result.told, totals(result.report)
    truth = told["thinks"] / told["all"]
    share = cpu_of(result.report, "thinks") / of["cpu_ns"]
    bound = 4 * math.sqrt(truth * (1 - truth) / (of["samples"] - of["perf_samples"])) + 0.01
    assert abs(share - truth) < bound, (share, truth, bound, of)
    assert result.row("thinks", "cpu").kernel_ns < bound * of["cpu_ns"]


def check_rows_are_within_walls(report):
    walls = {row.name: row.self_ns for row in report.rows("timing")}
    for row in report.rows("cpu"):
        assert row.name not in walls or row.cpu_ns <= walls[row.name] + 1, (row.name, row.cpu_ns, walls[row.name])


@without_sanitizer("what it costs is not in the program's truth")
def test_round_periods(box):
    """Ten milliseconds are ten samples and some ticks: one tick in the kernel part of each was missed nearly
    always. On a quiet machine ticks can miss the kernel part for a whole run, so it starts at three phases of them,
    and one success is required."""
    for phase in ("0", "700", "1400"):
        result = cpu_run(box, "rounds", 1500, phase, env={"HOTPATH_COLUMNS": "all"})
        check_sums(result)
        check_rows_are_within_walls(result.report)
        need_perf(result.report)
        told = result.told
        # Wide: with five times as many threads as CPUs, perf sees up to a third less than there is.
        assert near(cpu_of(result.report, "computes"), told["computes"], 25), (result.report.rows("cpu"), told)
        assert cpu_of(result.report, "reads") < 4 * told["reads"], (result.report.rows("cpu"), told)
        row = result.row("reads", "cpu")
        found = row.cpu_ns > told["reads"] / 3 and row.kernel_ns > told["reads"] / 4
        if found:
            break
    assert found, (result.report.rows("cpu"), told)
    assert result.row("computes", "cpu").kernel_ns < told["computes"] / 3


@pytest.mark.parametrize("case, engine", crossed(["split", "modes", "recursion", "short"], ENGINES))
def test_cpu_time_is_at_most_wall_time(box, case, engine):
    report = cpu_run(box, case, 20 if case == "short" else 200, env={"HOTPATH_CPU_ENGINE": engine}).report
    check_rows_are_within_walls(report)


def error_of_count(report, share):
    """By how much a share may be off: the error of a count of samples, and the kernel's part, which is divided by
    ticks."""
    of = totals(report)
    return 4 * math.sqrt(share * (1 - share) / of["perf_samples"]) + of["kernel_ns"] / of["cpu_ns"] + 0.01


def taken_away(report, rate):
    """The part of the samples that were missing, or came without CPU time: a hypervisor that gives the CPU to
    others causes both. They can be anywhere. (None, if the program is alone.)"""
    of = totals(report)
    return abs(1 - of["perf_samples"] / ((of["cpu_ns"] - of["kernel_ns"]) * rate / 1e9))


def check_split(box, ms, rate, points=None):
    result = cpu_run(box, "split", ms, env={"HOTPATH_CPU_RATE": rate}, timeout=TIMEOUT + ms / 50)
    check_sums(result)
    need_perf(result.report)
    truth = result.told["heavy"] / result.told["all"]
    samples = totals(result.report)["perf_samples"]
    share = cpu_of(result.report, "heavy") / totals(result.report)["cpu_ns"]
    bound = error_of_count(result.report, truth) if points is None else points / 100
    bound += taken_away(result.report, rate)
    assert abs(share - truth) < bound, (share, truth, bound, samples)
    return samples


@without_sanitizer("what it costs is not in the program's truth")
def test_shares_within_the_sampling_error(box):
    check_split(box, 600, 1997)


def test_a_function_that_sleeps_uses_nothing(box):
    report = cpu_run(box, "asleep", 400).report
    assert cpu_of(report, "sleeps") < 0.25 * cpu_of(report, "heavy")
    assert report.row("sleeps").total_ns > 200_000_000


@pytest.mark.parametrize("program", [pytest.param("cpu", marks=full), pytest.param("cpu_static", marks=full),
                                     "stripped"])
def test_inlined_functions_are_credited(box, program):
    """Also in a stripped program."""
    path = PROGRAMS / program
    if program == "stripped":
        path = box.path / "cpu"
        subprocess.run(["strip", "--strip-all", "-o", path, PROGRAMS / "cpu_static"], check=True)
    result = cpu_run(box, "inlined", 200, program=path)
    check_sums(result)
    assert near(cpu_of(result.report, "tiny"), result.told["tiny"], 3, plus=TICK_NS)


def test_every_function_measured(box):
    result = cpu_run(box, program="cpu_hooks", env={"HOTPATH": "1"})
    both = cpu_of(result.report, "burn") + cpu_of(result.report, "lighter")
    assert near(both, result.told["burn"] + result.told["lighter"], 3, plus=TICK_NS)
    if has_perf(result.report) and not SANITIZER:
        truth = result.told["burn"] / (result.told["burn"] + result.told["lighter"])
        assert abs(cpu_of(result.report, "burn") / both - truth) < error_of_count(result.report, truth) + 0.02


def test_recursion_counts_once(box):
    """Inclusive: both are on the stack nearly all the time, and neither has more than there was."""
    inclusive = cpu_run(box, "recursion", 250, env={"HOTPATH_CPU_INCLUSIVE": "1"})
    told, report = inclusive.told, inclusive.report
    assert near(cpu_of(report, "ping"), told["ping"], 3, plus=TICK_NS)
    if has_perf(report) and not SANITIZER:
        # Outside all pongs is the first piece of the outermost ping: two of nine parts.
        assert abs(cpu_of(report, "pong") / told["ping"] - 7 / 9) < error_of_count(report, 7 / 9) + 0.03
    exclusive = cpu_run(box, "recursion", 150)
    check_sums(exclusive)
    assert near(cpu_of(exclusive.report, "ping") + cpu_of(exclusive.report, "pong"), exclusive.told["ping"], 3,
                plus=TICK_NS)


def test_inclusive_time_is_own_plus_callees(box):
    report = cpu_run(box, "split", 200, env={"HOTPATH_CPU_INCLUSIVE": "1", "HOTPATH_COLUMNS": "all"}).report
    rows = {row.name: row for row in report.rows("cpu")}
    assert rows["split"].all_cpu_ns == rows["split"].cpu_ns == sum(
        rows[name].own_cpu_ns for name in ("split", "heavy", "light"))
    assert rows["heavy"].all_cpu_ns == rows["heavy"].own_cpu_ns


@without_sanitizer("guards may be anywhere")
def test_time_after_longjmp_is_not_credited_to_left_zones(box):
    result = cpu_run(box, "longjmp", 200)
    # While it reads the clock, the C library's frame may be where that of the zone was.
    assert cpu_of(result.report, "leaves") < result.told["jumps"] / 20 + TICK_NS
    assert near(cpu_of(result.report, "jumps") + cpu_of(result.report, "leaves"), result.told["jumps"], 3,
                plus=TICK_NS)


@pytest.mark.parametrize("engine", ["auto", pytest.param("timers", marks=full)])
def test_short_threads_are_fully_counted(box, engine):
    result = cpu_run(box, "short", 25, env={"HOTPATH_CPU_ENGINE": engine})
    check_sums(result)
    assert near(cpu_of(result.report, "short life"), result.told["short"], 2, plus=TICK_NS)


def check_even(box, ms):
    result = cpu_run(box, "even", ms, env={"HOTPATH_BY": "thread"}, timeout=TIMEOUT + ms / 20)
    rows = {row.thread["name"]: row.cpu_ns for row in result.report.rows("cpu") if row.name == "even"}
    told = {key: value for key, value in result.told.items() if key.startswith("even")}
    assert set(rows) == set(told) and len(told) == 8
    for name, truth in told.items():
        assert near(rows[name], truth, 3, plus=4_000_000), (rows, told)
    assert near(sum(rows.values()), sum(told.values()), 3)


def test_equal_threads_get_equal_time(box):
    check_even(box, 90)


def test_time_before_the_first_zone(box):
    result = cpu_run(box, "before", 150)
    check_sums(result)
    assert near(cpu_of(result.report, "<outside>"), result.told["nobody"], 5, plus=TICK_NS)
    assert near(cpu_of(result.report, "heavy"), result.told["heavy"], 5, plus=TICK_NS)


def test_rate(box):
    """Twenty times as many are requested. The kernel decides roughly how many come."""
    runs = [cpu_run(box, "split", 250, env={"HOTPATH_CPU_RATE": rate}) for rate in (97, 1997)]
    few, many = (totals(run.report) for run in runs)
    if many["perf_samples"] > 0 and is_left_alone(runs[1]):
        assert many["samples"] > 5 * few["samples"] > 0
    assert many["samples"] >= few["samples"] > 0


# -------------------------------------------------------------------------------------------- live, paused, killed

def hotpath(box, *arguments, folder):
    done = subprocess.run([HOTPATH, *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT,
                          env=box.environment(folder, {"HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_OUTPUT_PATH": None}))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_paused_time_is_not_credited(box):
    process = box.start("cpu", "phases", 150, env={"HOTPATH_CPU": "1"}, stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    told = []

    def phase():
        process.stdin.write(b"go\n")
        process.stdin.flush()
        told.append(int(process.stdout.readline().split()[1]))

    phase()
    hotpath(box, "off", process.pid, folder=process.folder)
    phase()
    hotpath(box, "on", process.pid, folder=process.folder)
    phase()
    result = box.finish(process)
    assert result.status == 0
    # Clocks are read by timers, once in about 10 ms and a tick: what passed before each change is on the wrong
    # side.
    assert near(cpu_of(result.report, "heavy"), told[0] + told[2], 3, plus=3 * TICK_NS)
    assert near(totals(result.report)["cpu_ns"], told[0] + told[2], 3, plus=3 * TICK_NS)


def test_report_of_a_live_process(box):
    process = box.start("cpu", "for_ever", env={"HOTPATH_CPU": "1"})
    try:
        assert process.stdout.readline() == b"ready\n"
        seen = []
        while len(seen) < 3 or seen[-1] < 50:
            report = Report(json.loads(hotpath(box, "report", "--format", "json", process.pid,
                                               folder=process.folder)))
            jsonschema.validate(report.values, SCHEMA)
            seen.append(totals(report)["samples"])
            assert seen == sorted(seen)
            rows = report.rows("cpu")
            assert sum(row.cpu_ns for row in rows) == totals(report)["cpu_ns"]
    finally:
        process.kill()
        process.communicate()


def kill_at_random(box, count, seed):
    moments = random.Random(seed)
    sampled = 0
    for _ in range(count):
        process = box.start("cpu", "for_ever", env={"HOTPATH_CPU": "1", "HOTPATH_CPU_RATE": "10000"})
        assert process.stdout.readline() == b"ready\n"
        time.sleep(moments.random() * 0.15)
        process.kill()
        process.communicate()
        (session,) = process.folder.glob("*.hotpath")
        report = box.read(session)
        sampled += totals(report)["samples"] > 0
        assert sum(row.samples for row in report.rows("cpu")) == totals(report)["samples"]
    assert sampled >= count / 2


def test_samples_survive_sigkill(box):
    kill_at_random(box, 8, seed=1)


@full
def test_sessions_come_and_go(box):
    """The handler never touches a session that has ended."""
    folder = box.folder()
    result = box.run("cpu", "restarts", 200, env={"HOTPATH_OUTPUT_PATH": "/dev/null"}, folder=folder)
    assert result.told["sessions"] == 200


# --------------------------------------------------------------------------------------------- hosts are not harmed

HOSTS = ["actions", "handler_before", "reset", "urgent", "interrupted", "masks", "block_with_handler",
         "handler_while_blocked", "wait_for_signals", "read_signals", "other_signals", "sleep_tightly",
         "keep_errno", "vforks", "spawns", "fork_among_threads", "execs", "descriptors"]

def check_host(box, case, engine, env=None):
    return box.same("cpu_host", case, env={"HOTPATH_CPU": "1", "HOTPATH_CPU_RATE": "4999",
                                           "HOTPATH_CPU_ENGINE": engine, **(env or {})})


@pytest.mark.parametrize("case, engine", crossed(HOSTS, ENGINES))
def test_host_does_not_notice(box, case, engine):
    if case == "fork_among_threads" and SANITIZER:
        pytest.skip("a sanitizer's allocator may be locked in a child that is forked among threads")
    measured = check_host(box, case, engine)
    if case not in ("execs", "interrupted"):
        assert totals(measured.report)["samples"] > 0


def test_1000_forks(box):
    """Children that record have their own sessions."""
    report = check_host(box, "forks", "auto", {"HOTPATH_KEEP": "2000"}).report
    assert report.row("crunch").calls >= 1000


REFUSALS = {"no_files": "ulimit -n 1024", "no_perf": "PERFMON", "no_pending": None, "no_locked": None,
            "no_timers": None, "neither": "PERFMON"}


@pytest.mark.parametrize("case", sorted(REFUSALS))
@without_sanitizer("it needs what is refused")
def test_sampling_engines_refused_by_the_kernel(box, case):
    """The report says so, and the sums are still right."""
    measured = check_host(box, case, "auto", {"HOTPATH_OUTPUT_PATH": None, "HOTPATH_OUTPUT_FORMAT": None,
                                              "HOTPATH_REPORT": "cpu"})
    trust = measured.stderr.splitlines()[-1]
    assert "CPU time by" in trust, measured.stderr
    if REFUSALS[case]:
        assert "refused" in trust and REFUSALS[case] in trust, trust
    total = [line for line in measured.stderr.splitlines() if line.startswith("Total: ")][0]
    assert total.split()[2] == "ms,", total
    assert near(float(total.split()[1]) * 1e6, measured.aside["all"], 2, plus=3_000_000), total


def test_reserved_sessions_are_not_sampled(box):
    measured = check_host(box, "work", "auto", {"HOTPATH_RESERVE": "1"})
    assert "cpu" not in measured.report.values["sections"] or not measured.report.rows("cpu")
    assert [line for line in measured.lines if "HOTPATH_RESERVE" in line and "not sampled" in line]
    assert len(measured.lines) == 1


@full
@with_glibc("gdb stops at musl's signal, which it does not know for the C library's own")
@without_sanitizer("gdb and it do not go together everywhere")
def test_under_gdb(box):
    need("gdb")
    done = box.run(Path(shutil.which("gdb")), "-nx", "-batch", "-ex", "run", "-ex", "print $_exitcode", "--args",
                   str(PROGRAMS / "cpu_host"), "actions", env={"HOTPATH_CPU": "1", "HOTPATH_CPU_RATE": "4999"},
                   status=None)
    plain = box.run("cpu_host_off", "actions")
    if "ptrace" in done.stderr or "Operation not permitted" in done.stderr:
        pytest.skip("nothing may be traced here")
    assert "$1 = 0" in done.stdout and "SIG3" not in done.stdout
    assert [line for line in plain.stdout.splitlines() if line not in done.stdout.splitlines()] == []
    assert totals(done.report)["samples"] > 0


@without_sanitizer("strace and it do not go together everywhere")
def test_under_strace(box):
    need("strace")
    plain = box.run("cpu_host_off", "masks")
    traced = box.run("cpu_host", "masks", env={"HOTPATH_CPU": "1"}, before=["strace", "-f", "-o", "/dev/null"],
                     status=None)
    if "ptrace" in traced.stderr or "not permitted" in traced.stderr:
        pytest.skip("nothing may be traced here")
    assert traced.status == 0 and traced.stdout == plain.stdout


@without_sanitizer("two copies of the library are two of each instrumented variable")
@pytest.mark.parametrize("program, plugin", crossed(["cpu", "cpu_static"], ["plugin_static.so", "plugin.so"]))
def test_copies_of_the_library(box, program, plugin):
    """The handler belongs to one copy, the thread is known to another."""
    result = cpu_run(box, "plugin", 200, PROGRAMS / plugin, program=program, env={"HOTPATH_CPU_RATE": "1997"})
    check_sums(result)
    assert near(cpu_of(result.report, "plugin_call"), result.told["plugin_call"], 3, plus=TICK_NS)
    assert result.row("plugin_call", "cpu").samples > 0
    if is_left_alone(result):
        assert has_perf(result.report) == has_perf(cpu_run(box, "split", 200).report)


# --------------------------------------------------------------------------------------------- third-party programs

programs_of_others = [without_sanitizer("they are programs of this machine"),
                      with_glibc("they are programs of this machine")]

BASH = r"""trap 'echo urgent' URG; trap 'echo end; exit 4' EXIT; trap - TRAP; trap '' PROF
for i in $(seq 300); do x=$((x + i * i)); y+=$(echo $i); done; echo $x ${#y}
kill -URG $$; ( trap - URG; kill -URG $BASHPID; echo child ); sleep 0.01 & wait $!; echo $?
read -t 0.05 z < <(sleep 1); echo "read $?"
coproc cat; echo hi >&"${COPROC[1]}"; read -r w <&"${COPROC[0]}"; echo "$w"
trap; false"""


@pytest.fixture
def bench(box):
    return Bench(box)


@without_sanitizer("it takes its time before main")
def test_time_before_main_is_counted(box):
    """That of the dynamic linker, which no session could see."""
    report = box.path / "report.json"
    done = subprocess.run([HOTPATH, "run", "--format", "json", "--output", report, "--", PROGRAMS / "cpu",
                           "split", "50"], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    values = json.loads(report.read_text())
    jsonschema.validate(values, SCHEMA)
    section = values["sections"]["cpu"]
    assert [row["cpu_ns"] for row in section["rows"] if row["name"] == "<startup>"][0] > 0
    assert sum(row["cpu_ns"] for row in section["rows"]) == section["totals"]["cpu_ns"]


class TestProgramsOfOthers:
    pytestmark = programs_of_others
    options = ["--cpu", "--cpu-rate", "4999"]

    @full
    def test_bash(self, bench):
        need("bash")
        bench.same("bash", "-c", BASH, options=[*self.options, "--no-children"])  # one outlives it

    def test_sqlite3(self, bench):
        need("sqlite3")
        bench.same("sqlite3", "file.db", stdin=SQL, options=self.options)

    def test_python(self, bench):
        bench.same(sys.executable, "-c", PYTHON, options=[*self.options, "--no-children"])  # it prints LD_PRELOAD

    def test_perl(self, bench):
        need("perl")
        bench.same("perl", "-e", PERL + "$SIG{URG} = sub { print 'urgent' }; kill URG => $$;", options=self.options)

    def test_git(self, bench):
        need("git")
        script = """set -e
            git init -q -b main . && git config user.name A && git config user.email a@example.org
            export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
            for i in 1 2 3; do seq $i 3000 > file$i; git add . && git commit -qm "commit $i"; done
            git repack -adq && git fsck && git log --stat | cat &&
            git diff HEAD~2 | wc && git blame file2 | tail -3"""
        bench.same("sh", "-c", script, options=self.options)

    def test_redis(self, box):
        report = box.path / "report.json"
        with Redis(box, [HOTPATH, "run", "--format", "json", "--output", report, *self.options, "--"]) as redis:
            assert "rror" not in redis.benchmark("set,get,lpush,mset")
        total = json.loads(report.read_text())["sections"]["cpu"]["totals"]
        assert total["cpu_ns"] > 0 and total["samples"] == 0, "without zones there is nothing to tell apart"
