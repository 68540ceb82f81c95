"""Adapters of libraries with callbacks: the tasks of a program with known calls, and that the program behaves the
same without them."""
import shutil
import subprocess

import pytest

from harness import PROGRAMS, SOURCE, full, without_thread_sanitizer
from test_views import follows_the_schema


def needs(program, package):
    return pytest.mark.skipif(not (PROGRAMS / program).exists(), reason=f"built without {package}")


with_uv = needs("adapter_uv", "libuv1-dev")
with_event = needs("adapter_event", "libevent-dev")
with_coroutines = needs("adapter_coro", "a compiler that has C++20's coroutines")
with_asio = needs("adapter_asio", "libboost-dev")
with_glib = needs("adapter_glib", "libglib2.0-dev")


def tasks_of(box, program, *arguments):
    """By name. Nothing is misused or lost, and running tasks did not wait."""
    result = box.same(program, *arguments, env={"UV_THREADPOOL_SIZE": 1})
    assert result.report.lost == {}
    rows = {row.name: row for row in result.report.rows("tasks")}
    for row in rows.values():
        assert row.misused == 0, row
        if row.busy_ns is not None:
            assert abs(row.busy_ns + row.waiting_ns - row.total_ns) <= 5 or row.waiting_ns == 0, row
    return rows


def counts(rows):
    """Calls, polls, cancelled, open."""
    return {name: (row.calls, row.polls or 0, row.cancelled, row.open) for name, row in rows.items()}


def awaits_of(box, program, scene, task, at_once=False):
    """What a task waited for, {label: count}. With <other> that is all of its waiting, without the time in which it
    ran. What its last poll did after the end of the task is no waiting either, but is subtracted from it.
    """
    report = box.run(program, scene, env={"UV_THREADPOOL_SIZE": 1}).report
    follows_the_schema(report)
    rows = {row.awaited: row for row in report.rows("task-waits") if row.name == task}
    tasks = {row.name: row for row in report.rows("tasks")}
    assert sum(row.waiting_ns for row in rows.values()) >= tasks[task].waiting_ns - len(rows)
    other = rows.pop("<other>", None)
    assert other is None or other.count is None
    for label, row in rows.items():
        assert 0 < row.waiting_ns <= tasks[label].total_ns + 1, row
        assert label in tasks[task].waits_for or ", ..." in tasks[task].waits_for
    if not at_once:
        assert sum(row.waiting_ns for row in rows.values()) <= tasks[task].waiting_ns + tasks[task].busy_ns
    return {label: row.count for label, row in rows.items()}


# --------------------------------------------------------------------------------------------------------- libuv

@with_uv
def test_uv_files(box):
    """A task is polled where it begins, and in each callback; a request without a task runs its callback alone."""
    rows = tasks_of(box, "adapter_uv", "files")
    assert counts(rows) == {"save": (3, 15, 0, 0), "uv_fs_open": (3, 0, 0, 0), "uv_fs_write": (3, 0, 0, 0),
                            "uv_fs_fsync": (3, 0, 0, 0), "uv_fs_close": (3, 0, 0, 0), "uv_fs_stat": (1, 1, 0, 0)}
    assert rows["save"].busy_ns >= 3 * 4 * 2e6
    requests = sum(row.total_ns for name, row in rows.items() if name.startswith("uv_fs_") and name != "uv_fs_stat")
    assert rows["save"].waiting_ns * 0.98 <= requests <= rows["save"].total_ns
    assert rows["uv_fs_open"].location["function"] == "begin_save"


@with_uv
def test_uv_awaits(box):
    """One request after the other: together they are what the task waited for."""
    assert awaits_of(box, "adapter_uv", "files", "save") == dict.fromkeys(
        ("uv_fs_open", "uv_fs_write", "uv_fs_fsync", "uv_fs_close"), 3)
    waits = awaits_of(box, "adapter_uv", "timers", "nap", at_once=True)
    assert list(waits) == ["uv_timer_start"] and waits["uv_timer_start"] >= 1


@with_uv
def test_uv_work(box):
    """One thread, 40 ms each: they wait for 0, 40 and 80 ms; the fourth is cancelled, and calls back."""
    rows = tasks_of(box, "adapter_uv", "work")
    assert counts(rows) == {"uv_queue_work": (4, 7, 1, 0), "uv_queue_work, queued": (4, 0, 1, 0)}
    assert rows["uv_queue_work"].busy_ns >= 3 * 40e6
    assert rows["uv_queue_work, queued"].total_ns >= (40 + 80) * 1e6
    assert rows["uv_queue_work, queued"].total_ns <= rows["uv_queue_work"].waiting_ns


@with_uv
def test_uv_timers(box):
    """Each wait for a timer is a task. A timer that outlives its task goes on without it."""
    rows = tasks_of(box, "adapter_uv", "timers")
    assert rows["uv_timer_start"].calls == 8 and rows["uv_timer_start"].cancelled in (1, 2)
    assert (rows["nap"].calls, rows["nap"].open) == (1, 0)
    assert rows["nap"].total_ns >= 48e6 and rows["nap"].polls + rows["uv_timer_start"].polls == 1 + 7


@with_uv
def test_uv_timers_beyond_the_first_table(box):
    """More open at once than the adapter's first table has entries."""
    row = tasks_of(box, "adapter_uv", "many")["uv_timer_start"]
    assert (row.calls, row.polls, row.open, row.cancelled) == (12000, 12000, 0, 0)


@with_uv
def test_uv_streams(box):
    rows = tasks_of(box, "adapter_uv", "streams")
    found = counts(rows)
    assert found["talk"][0] == 1 and found["talk"][2:] == (0, 0)
    assert found["uv_write"][0] == 6 and found["uv_shutdown"] == (1, 0, 0, 0) and found["uv_close"] == (2, 1, 0, 0)
    assert found["uv_read_start"][0] >= 3 + 4 and found["uv_read_start"][3] == 0
    assert rows["talk"].busy_ns >= 3e6


@with_uv
def test_uv_networks(box):
    assert counts(tasks_of(box, "adapter_uv", "networks")) == {
        "uv_getaddrinfo": (1, 1, 0, 0), "uv_listen": (1, 1, 0, 0), "uv_tcp_connect": (1, 1, 0, 0)}


@with_uv
def test_off_at_run_time(box):
    result = box.run("adapter_uv", "files", env={"HOTPATH": "0"})
    assert result.stderr == "" and result.stdout == box.run("adapter_uv_off", "files").stdout


# ------------------------------------------------------------------------------------------------------ libevent

@with_event
def test_events(box):
    """Three steps of a visit, four ticks of a persistent event, a deleted one, and a one-shot event."""
    rows = tasks_of(box, "adapter_event", "events")
    assert counts(rows) == {"visit": (1, 4, 0, 0), "event_add": (8, 4, 1, 0), "event_base_once": (1, 1, 0, 0)}
    assert rows["visit"].total_ns >= 28e6 and rows["event_add"].total_ns >= 9e6
    assert rows["event_add"].location["function"] in ("begin_visit", "step")


@with_event
def test_event_awaits(box):
    assert awaits_of(box, "adapter_event", "events", "visit") == {"event_add": 3}


@with_event
def test_bufferevents(box):
    found = counts(tasks_of(box, "adapter_event", "buffers"))
    assert found["talk"] == (1, 4, 0, 0)
    assert found["bufferevent_setcb"][0] >= 3 + 4 and found["bufferevent_setcb"][2:] == (0, 0)


@with_event
def test_events_activated_by_another_thread(box):
    row = tasks_of(box, "adapter_event", "threads")["event_add"]
    assert row.calls >= 400 and row.open == 0


# ---------------------------------------------------------------------------------------------------------- GLib

@with_glib
def test_glib_sources(box):
    rows = tasks_of(box, "adapter_glib", "sources")
    assert counts(rows) == {"load": (1, 3, 0, 0), "g_idle_add": (1, 0, 0, 0), "g_timeout_add": (2, 0, 1, 0),
                            "g_source_set_callback": (5, 5, 0, 0)}
    assert rows["load"].total_ns >= 19e6 and rows["g_source_set_callback"].total_ns >= 120e6


@with_glib
def test_glib_awaits(box):
    assert awaits_of(box, "adapter_glib", "sources", "load") == {"g_idle_add": 1, "g_timeout_add": 1}


@with_glib
@without_thread_sanitizer("GLib is not compiled with it, so what its threads hand over looks like a race")
def test_glib_tasks(box):
    """Work on a thread is a poll there; a cancelled task calls back while its thread is at work, or before."""
    rows = tasks_of(box, "adapter_glib", "gtasks")
    found = counts(rows)
    assert found["query"] == (1, 2, 0, 0) and found["g_idle_add"] == (1, 1, 0, 0)
    assert found["g_task_new"][0] == 2 and found["g_task_new"][2:] == (1, 0)
    assert found["g_task_run_in_thread, queued"][0] == 2 and found["g_task_run_in_thread, queued"][3] == 0
    assert rows["g_task_new"].busy_ns >= 29e6


# --------------------------------------------------------------------------------------------------- thread pools

def test_jobs(box):
    """One thread runs what was submitted before it started; one job is dropped, one was submitted by no task."""
    rows = tasks_of(box, "adapter_pool")
    assert counts(rows) == {"job": (5, 4, 1, 0), "job, queued": (5, 0, 1, 0), "inner": (4, 4, 0, 0),
                            "inner, queued": (4, 0, 0, 0)}
    assert rows["job"].busy_ns >= 4 * 5e6
    assert rows["job, queued"].total_ns >= 4 * 20e6 + (0 + 5 + 10 + 15) * 1e6
    assert rows["job"].location["function"] == "main"


@with_asio
def test_asio(box):
    rows = tasks_of(box, "adapter_asio")
    timers, ticks = rows["deadline_timer.async_wait"], rows["ticks"]
    assert (timers.calls, timers.polls, timers.cancelled, timers.open) == (9, 3, 1, 0)
    assert (ticks.calls, ticks.polls, ticks.cancelled, ticks.open) == (1, 6, 0, 0)
    assert ticks.busy_ns + ticks.waiting_ns >= 4 * 5e6  # the first of five timers begins before the task does


# ---------------------------------------------------------------------------------------------------- coroutines

@with_coroutines
def test_coroutines(box):
    """On their own threads, awaiting each other, failing, destroyed in the middle and before they begin."""
    rows = tasks_of(box, "adapter_coro")
    is_plain = rows["detached"].location["function"] == "promise_type"  # clang 14 tells no more of a function
    name = lambda of: of.rsplit("::", 1)[-1] if is_plain else of
    assert counts(rows) == {name("net::read_number"): (9, 15, 2, 0), name("net::adder<Number>::add"): (3, 9, 0, 0),
                            name("net::fails"): (1, 2, 0, 0), "detached": (3, 6, 0, 0), "count_to": (1, 5, 0, 0)}
    assert rows[name("net::read_number")].busy_ns >= 15 * 2e6
    assert rows["detached"].busy_ns < rows["detached"].waiting_ns
    assert is_plain or "net::fails()" in rows["net::fails"].location["function"]


# ----------------------------------------------------------------------------------------------------------- off

@pytest.mark.parametrize("program, ours, theirs, module", [
    pytest.param("adapter_uv", "hotpath/uv.h", "uv.h", "libuv", marks=with_uv),
    pytest.param("adapter_event", "hotpath/event2.h", "event2/bufferevent.h", "libevent", marks=[with_event, full]),
    pytest.param("adapter_glib", "hotpath/glib.h", "gio/gio.h", "gio-2.0", marks=[with_glib, full])])
def test_compiled_out_leaves_the_same_object(box, program, ours, theirs, module):
    """Without -DHOTPATH an object is the same, byte for byte, as with the library's own header."""
    if not shutil.which("gcc") or not shutil.which("pkg-config"):
        pytest.skip("gcc or pkg-config is not installed")
    folder, source = box.folder(), (SOURCE / f"tests/programs/{program}.c").read_text()
    assert f"#include <{ours}>" in source
    flags = subprocess.run(["pkg-config", "--cflags", module], capture_output=True, text=True,
                           check=True).stdout.split()
    if theirs == "event2/bufferevent.h":
        flags += ["-include", "event2/event.h"]

    def compiled(text, *options):
        (folder / "source.c").write_text(text)
        subprocess.run(["gcc", "-O2", *flags, *options, f"-I{SOURCE}/include", "-include", "hotpath.h",
                        "-c", "source.c"], cwd=folder, check=True, timeout=120)
        return (folder / "source.o").read_bytes()

    off = compiled(source)
    assert off == compiled(source.replace(f"#include <{ours}>", f"#include <{theirs}>"))
    assert off != compiled(source, "-DHOTPATH")
