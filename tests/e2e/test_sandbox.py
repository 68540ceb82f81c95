"""Programs that sandbox themselves while `hotpath run` watches: hotpath works without what the sandbox forbids."""
import pytest

from command import cli  # noqa: F401 (a fixture)
from test_loops import of_preload
from harness import EMULATOR, IS_GLIBC, PROGRAMS, crossed, full, with_glibc, without_sanitizer

pytestmark = pytest.mark.skipif(bool(EMULATOR), reason="not under an emulator: it would have to start another")


@pytest.mark.parametrize("case", [[], ["fork"]], ids=["itself", "child"])
@pytest.mark.parametrize("flags", [[], ["--no-cpu"], ["--no-preload"]], ids=["usual", "no-cpu", "no-preload"])
@with_glibc("with musl the handler of samples asks the kernel which thread it is in")
@without_sanitizer("it makes system calls of its own")
def test_program_survives_its_sandbox(cli, flags, case):
    done = cli.run(*flags, PROGRAMS / "sandboxed", *case, status=None)
    if done.status == 77:
        pytest.skip("no seccomp here")
    assert (done.status, done.stdout) == (0, "survived\n")
    # Counted without a system call, or under <other>. Unannounced, the file has what room was left.
    unrecorded = done.report.lost.get("depth", 0) if flags == ["--no-preload"] else 0
    assert done.report.calls("dive") + unrecorded == 301 + 2000 * 4
    assert done.report.calls("work") > 3000


def survivor(cli, *arguments):
    done = cli.run(*arguments, status=None)
    if done.status == 77:
        pytest.skip("no such thing here")
    assert (done.status, done.stdout) == (0, "survived\n")
    return done.report


@pytest.mark.parametrize("program", ["sandboxed", "sandboxed_static", "sandboxed_off"])
@pytest.mark.parametrize("how", ["at_once", "syscall", "listener", "twice", "early", "strict", "counter"])
@without_sanitizer("it makes system calls of its own")
def test_program_survives_sandboxes_that_allow_only_write_and_exit(cli, program, how):
    """Only write and exit are allowed: asking the kernel first whether that is so would be fatal."""
    report = survivor(cli, PROGRAMS / program, how)
    if how == "early" and not IS_GLIBC:  # a child has a session from its first zone on, which is too late here
        # Not followed, or too brief to be: the child used about as much CPU time as the limit between the two.
        assert "sandbox" not in report.trust
        assert (report.lost, report.trust.get("brief_processes")) in (({"processes": 1}, None), ({}, 1))
        return
    assert ("sandbox" in report.trust) == (how != "counter")
    if program != "sandboxed_off" and how in ("at_once", "syscall", "listener", "twice"):
        assert report.calls("dive") == 301 + 2000 * 4
        assert report.calls("work") == 6000
    elif program != "sandboxed_off" and how != "early":
        assert report.calls("work") == 3000  # and none if there is no clock


@pytest.mark.parametrize("program", ["sandboxed", "sandboxed_static", "sandboxed_off"])
@without_sanitizer("it makes system calls of its own")
def test_program_started_in_a_sandbox_is_not_recorded(cli, program):
    """It cannot know what is forbidden there, so nothing is done; and the report says that it was not followed."""
    report = survivor(cli, PROGRAMS / program, "exec")
    assert report.calls("dive") == 0


@without_sanitizer("it makes system calls of its own")
def test_program_started_in_a_sandbox_asks_for_no_counter_of_the_cpu(cli):
    """The user's wish: else `hotpath run` passes it on only where there is such a counter."""
    report = survivor(cli, "env", "HOTPATH_CLOCK=instructions:pmu", PROGRAMS / "sandboxed", "exec")
    assert report.calls("dive") == 0


@without_sanitizer("it makes system calls of its own")
def test_a_refused_sandbox_changes_nothing(cli):
    report = survivor(cli, PROGRAMS / "sandboxed", "probe")
    assert "sandbox" not in report.trust
    assert report.calls("dive") == 301 + 2000 * 4 and report.lost == {}
    assert report.section("cpu")["totals"]["samples"] > 0


@pytest.mark.parametrize("program", ["sandboxed", "sandboxed_static", "sandboxed_off"])
@pytest.mark.parametrize("who", ["thread", "child"])
@without_sanitizer("it reads the time itself")
def test_threads_and_children_that_inherit_a_forbidden_counter(cli, program, who):
    """Threads and children inherit it from the kernel, without having requested it."""
    report = survivor(cli, PROGRAMS / program, who)
    assert report.calls("dive") == 0


@pytest.mark.parametrize("program, how", crossed(
    ["sandboxed_threads", "sandboxed_threads_static", "sandboxed_threads_off"], ["all", "own"]))
@without_sanitizer("it makes system calls of its own")
def test_threads_in_one_sandbox(cli, program, how):
    """Others compute on, with samples due, call new functions, and end; one thread has entered it for all."""
    report = survivor(cli, "--cpu-rate", "10000", PROGRAMS / program, how)
    assert "sandbox" in report.trust
    if program != "sandboxed_threads_off":
        assert report.calls("dive") == 2 * 21


def assert_is_sampled(row):
    assert row.cpu_ns > 20e6 and row.samples > row.cpu_ns / 10e6


@pytest.mark.parametrize("program", ["sandboxed_threads",
                                     pytest.param("sandboxed_threads_static", marks=full)])
@without_sanitizer("it makes system calls of its own")
def test_threads_refused_a_common_sandbox(cli, program):
    """They have samples as before."""
    report = survivor(cli, PROGRAMS / program, "refused")
    assert "sandbox" not in report.trust and report.lost == {}
    assert_is_sampled(report.row("compute", "cpu"))


@without_sanitizer("it makes system calls of its own")
def test_a_child_by_vfork_goes_into_a_sandbox(cli):
    """Its memory is its parent's, which is in none."""
    report = survivor(cli, PROGRAMS / "sandboxed_threads", "vfork")
    assert "sandbox" not in report.trust
    assert_is_sampled(report.row("compute", "cpu"))
    assert {row.state for row in report.rows("processes") if "sandboxed_threads" in row.name} == {"finished"}


@pytest.mark.parametrize("flags", [[], ["--no-cpu"], ["--no-preload"]], ids=["usual", "no-cpu", "no-preload"])
@without_sanitizer("it reads the time itself")
def test_without_the_counter(cli, flags):
    """From some moment on it may not read the time, and neither may we: not even at its end."""
    done = cli.run(*flags, PROGRAMS / "no_counter", status=None)
    if done.status == 77:
        pytest.skip("this machine has no such counter, or no way to forbid it")
    assert (done.status, done.stdout) == (0, "ok\n")


WAYS = ("execve", "execve_with_copy", "execv", "execvp", "execvpe", "execl", "execle", "execlp", "syscall",
        "posix_spawn", "posix_spawnp", "system", "popen", "wordexp")


def executed(cli, how, preload="libm.so.6"):
    """Lines about LD_PRELOAD of programs that are executed in a sandbox; the user may have an entry, too."""
    done = cli.run(PROGRAMS / "executes", how, env={"LD_PRELOAD": preload}, status=None)
    if done.status == 77:
        pytest.skip("no seccomp here")
    assert done.status == 0, done.stderr
    return [line.strip() for line in done.stdout.splitlines()]


@without_sanitizer("the library is not preloaded")
@pytest.mark.parametrize("preload", ["libm.so.6", None])
@pytest.mark.parametrize("how", ["announced", "raw"])
def test_programs_executed_in_a_sandbox_are_without_the_library(cli, how, preload):
    assert executed(cli, how, preload) == [f"{way} {preload or ''}".strip() for way in WAYS]


@of_preload
def test_programs_executed_after_a_refused_sandbox_have_the_library(cli):
    lines = executed(cli, "refused")
    assert [line.split()[0] for line in lines] == list(WAYS)
    assert all("libhotpath" in line and line.endswith(":libm.so.6") for line in lines)


@of_preload
def test_a_vfork_child_in_a_sandbox_changes_nothing_for_its_parent(cli):
    inside, outside = executed(cli, "vfork")
    assert inside == "libm.so.6" and "libhotpath" in outside and outside.endswith(":libm.so.6")


@of_preload
def test_sandboxes_that_nothing_tells_of_followed_by_fork_and_exec(cli):
    """Statuses of a child that goes into one and executes a program, and of the child of a process in one."""
    assert executed(cli, "unseen") == ["0 0"]


@of_preload
def test_filter_that_nothing_tells_of_followed_by_transfers(cli):
    """Set by an instruction. Pipes and sockets made before are used without a system call of ours."""
    done = cli.run(PROGRAMS / "sandboxed_off", "unseen", status=None)
    if done.status == 77:
        pytest.skip("no seccomp here")
    assert (done.status, done.stdout) == (0, "survived\n")
    rows = [row for row in done.report.rows("channels") if row.name in ("pipe", "unix socket")]
    assert sorted((row.name, row.sent_bytes, row.received_bytes) for row in rows) == [
        ("pipe", 5, 5), ("unix socket", 5, 5)]
