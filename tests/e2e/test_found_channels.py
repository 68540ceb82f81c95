"""Pipes, sockets, eventfds and queues of programs that know nothing of hotpath, under `hotpath run`: the report is
compared with what each program knows, and with what strace sees of the same run."""
import json
import os
import re
import shutil
import subprocess

import pytest

from harness import HOTPATH, PROGRAMS, TIMEOUT, Report
from test_loops import of_preload
from test_views import follows_the_schema

LATE_NS = 100_000  # how much longer a wait may seem to one of two clocks: a woken thread must get a CPU first


@pytest.fixture
def run(box):
    """hotpath run OPTIONS -- PROGRAM, with the channels of its report."""
    def do(*arguments, options=(), **more):
        path = box.path / "run.json"
        path.unlink(missing_ok=True)
        result = box.run(HOTPATH, "run", "--format", "json", "--output", path, "--section", "channels,bottlenecks",
                         *options, "--", *arguments,
                         env={"HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_OUTPUT_PATH": None}, **more)
        result.found = Report(json.loads(path.read_text()))
        result.channels = result.found.section("channels")["rows"]
        return result
    return do


def plain(run, case, **more):
    return run(PROGRAMS / "plain_channels", case, **more)


def the_channel(result):
    assert len(result.channels) == 1, result.channels
    return result.channels[0]


def between(channels, sender, receiver):
    found = [row for row in channels if row["senders"] == sender and row["receivers"] == receiver]
    assert len(found) == 1, channels
    return found[0]


def passed(row):
    """What went in and came out: calls and bytes."""
    return (row["sent"], row["sent_bytes"], row["received"], row["received_bytes"])


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


# --------------------------------------------------------------------------------------------- pipelines of a shell


@of_preload
def test_a_pipeline(run):
    """head writes by fwrite, gzip by write, wc reads by read: exact to the byte, with the pipes told apart."""
    need("gzip")
    zipped = subprocess.run("head -c 3000000 /dev/zero | gzip -nc", shell=True, check=True,
                            capture_output=True).stdout
    result = run("sh", "-c", "head -c 3000000 /dev/zero | gzip -nc | wc -c")
    assert int(result.stdout) == len(zipped)
    first, second = between(result.channels, "head", "gzip"), between(result.channels, "gzip", "wc")
    assert first["sent_bytes"] == first["received_bytes"] == 3000000 and first["queue_bytes"] == 0
    assert second["sent_bytes"] == second["received_bytes"] == len(zipped) and second["queue_bytes"] == 0
    assert {first["name"], second["name"]} == {"pipe"} and first["instance"] != second["instance"]
    assert {row["state"] for row in result.channels} == {"closed"}
    for row in result.channels:
        assert row["queue"] is None and row["delay_mean_ns"] is None and row["queue_mean"] is None
    follows_the_schema(result.found)


BY_STDIO = ["seq 1 30000 | sort -n | md5sum", "seq 1 20000 | grep 1 | awk '{ print $1 + 1 }' | cat -n | wc -l",
            "seq 1 20000 | sed s/1/one/ | tr a-z A-Z | cut -c 2- | uniq | tail -n 3"]


@of_preload
@pytest.mark.parametrize("command", [
    *BY_STDIO,
    "tar c -C / usr/include/linux | cat | wc -c",  # cat may splice
    "i=0; while [ $i -lt 20 ]; do echo $i; i=$((i + 1)); done | while read line; do echo $line; done | cat",
])
def test_bytes_match_strace(box, run, command):
    """Bytes of each pipe, of the same run; and calls, unless stdio makes them: one call of it may be several."""
    need("strace")
    traced = ["strace", "-ff", "-y", "-qq", "-o", str(box.path / "strace"), "-e",
              "trace=read,write,readv,writev,splice"]
    if subprocess.run([*traced, "true"], capture_output=True).returncode != 0:
        pytest.skip("strace may not trace here")
    result = run("sh", "-c", command, before=traced)
    log = "".join(file.read_text() for file in box.path.glob("strace.*"))
    truth = {}
    for call, pipe, bytes_ in re.findall(r"^(\w+)\(\d+<pipe:(\[\d+\])>.* = (\d+)$", log, re.M):
        row = truth.setdefault(pipe, [0, 0, 0, 0])
        side = 0 if call in ("write", "writev") else 2
        row[side] += int(bytes_) > 0
        row[side + 1] += int(bytes_)
    rows = {row["instance"]: list(passed(row)) for row in result.channels if row["instance"] is not None}
    assert len(rows) >= 2 and rows.keys() <= truth.keys()
    for pipe, row in rows.items():
        assert row[1::2] == truth[pipe][1::2] and row[0] <= truth[pipe][0] and row[2] <= truth[pipe][2]
        assert command in BY_STDIO or row == truth[pipe]
    assert all(row[1] == row[3] > 0 for row in rows.values())
    # The pipe that leads out of the run is no channel.
    assert sum(row[1] for row in truth.values()) - sum(row[1] for row in rows.values()) <= len(result.stdout)


@of_preload
def test_pipes_out_of_the_run_are_not_channels(run):
    ours, its = os.pipe()
    os.write(its, b"a line\n")
    os.close(its)
    result = run("sh", "-c", "echo something; cat", stdin=ours)
    os.close(ours)
    assert result.channels == [] and result.stdout == "something\na line\n"


@of_preload
def test_unseen_end_of_a_channel_is_blank(run):
    """Nothing can be preloaded into a static program."""
    row = the_channel(run("sh", "-c", f"{PROGRAMS / 'plain_channels_static'} pairs | wc -c"))
    assert (row["sent"], row["sent_bytes"], row["queue_bytes"], row["senders"]) == (None, None, None, None)
    assert (row["receivers"], row["received_bytes"], row["state"]) == ("wc", len("messages 2000\n"), "closed")


# --------------------------------------------------------------------------------------- programs with known counts


@of_preload
def test_a_slow_consumer_keeps_the_writer_waiting(run):
    result = plain(run, "slow")
    row = the_channel(result)
    assert passed(row) == (40, 40 * 65536, row["received"], 40 * 65536)
    blocked = result.told["blocked_ns"]
    assert blocked * 0.98 - 40 * LATE_NS <= row["full_ns"] <= blocked
    assert row["percent_full"] > 60 > row["percent_empty"]
    headline = result.found.values["meta"]["headline"]
    assert headline.startswith("Senders of pipe were blocked")
    assert "the consumer plain_channels is the bottleneck" in headline


@of_preload
def test_a_socket_pair(run):
    """SOCK_SEQPACKET: each message is a call on both sides."""
    row = the_channel(plain(run, "pairs"))
    assert (row["name"], *passed(row)) == ("unix socket", 2000, 96000, 2000, 96000)
    assert row["queue_bytes"] == 0 and row["empty_waits"] > 0


@of_preload
def test_eventfd_counts(run):
    """Added equals taken, in any number of calls."""
    result = plain(run, "counts")
    row = the_channel(result)
    assert (row["name"], row["sent"], row["received"], row["queue"]) == (
        "eventfd", result.told["sum"], result.told["sum"], 0)
    assert row["queue_bytes"] is None and row["delay_mean_ns"] >= 0


@of_preload
def test_a_sender_that_loses_its_cpu_before_it_can_tell(run, box, monkeypatch):
    """Its receiver tells first. Nothing stays inside for less than no time."""
    need("cc")
    late = box.path / "late.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", late, "-xc", "-"], text=True, check=True, input="""
        #include <stdint.h>
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>
        int eventfd_write(int file, uint64_t value)
        {
            const int result = syscall(SYS_write, file, &value, sizeof value) == sizeof value ? 0 : -1;
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
            return result;
        }""")
    monkeypatch.setenv("LD_PRELOAD", str(late))
    row = the_channel(plain(run, "counts"))
    assert row["delay_mean_ns"] == 0 and row["queue"] == 0


@of_preload
def test_full_message_queue(run):
    result = plain(run, "queue")
    row = the_channel(result)
    assert row["name"].startswith("mq /hotpath-test-") and passed(row) == (60, 1920, 60, 1920)
    assert (row["queue"], row["state"]) == (0, "empty")
    blocked = result.told["blocked_ns"]
    assert blocked * 0.98 - 60 * LATE_NS <= row["full_ns"] <= blocked
    assert 55 <= row["full_waits"] <= 60 and row["percent_full"] > 60
    # Four are inside, and one is taken every 5 ms or more.
    assert row["delay_mean_ns"] > 4 * 5e6 * 0.8 and 3 < row["queue_mean"] < 5


@of_preload
def test_glib_async_queue(run):
    if not (PROGRAMS / "plain_channels_glib").exists():
        pytest.skip("built without GLib: install libglib2.0-dev")
    result = run(PROGRAMS / "plain_channels_glib")
    row = the_channel(result)
    assert (row["name"], row["sent"], row["received"], row["queue"], row["state"]) == (
        "GAsyncQueue", 60, 60, 0, "empty")
    assert result.told["waited_ns"] * 0.99 <= row["empty_ns"] and row["full_ns"] < row["empty_ns"]
    assert row["delay_mean_ns"] > 60 / 2 * 5e6 * 0.8  # all are there at once, and one is taken every 5 ms or more
    assert row["receivers"].startswith("consumer")


@of_preload
def test_streams_and_popen(run):
    result = plain(run, "streams")
    own = between(result.channels, "plain_channels", "plain_channels")
    cat = between(result.channels, "plain_channels", "cat")
    for row in own, cat:
        assert row["sent_bytes"] == row["received_bytes"] == result.told["bytes"]


@of_preload
@pytest.mark.parametrize("options", [[], ["--io"]], ids=["alone", "with_io"])
def test_waiting_in_stdio(box, run, options):
    """The shell sleeps after sed has written the first line; its first nap is for sed to come back to reading."""
    script = "mkfifo f && (echo a; read line < f; sleep 0.1; sleep 0.3) | sed -u s/a/b/ > f"
    row = between(run("sh", "-c", f"cd {box.folder()} && {script}", options=options).channels, "sh", "sed")
    assert row["received_bytes"] == 2 and row["empty_ns"] >= 0.3e9


@of_preload
@pytest.mark.parametrize("options", [[], ["--io", "--section", "channels,io"]], ids=["alone", "with_io"])
@pytest.mark.parametrize("case", ["write_each", "read_each", "shared"])
def test_each_function_of_stdio(run, case, options):
    """With every kind of buffer, and pieces of all sizes; the other end is used by calls that are not seen."""
    result = run(PROGRAMS / "plain_streams", case, options=options)
    truth = re.findall(r"^(\w+) (\[\d+\]) (\d+)$", result.stdout, re.M)
    side = 3 if case == "read_each" else 1
    rows = {row["instance"]: passed(row)[side] for row in result.channels}
    alone = rows[None] if len(rows) == 1 else None  # one pipe has one row
    assert len(truth) >= 1 and [(name, pipe, rows.get(pipe, alone)) for name, pipe, _ in truth] == [
        (name, pipe, int(bytes_)) for name, pipe, bytes_ in truth]
    if options:
        moved = {(row.name, row.op): row.moved_bytes for row in result.found.rows("io")}
        moved["pipe", "write"] -= len(result.stdout)
        assert moved["pipe", "read" if case == "read_each" else "write"] == sum(int(row[2]) for row in truth)


@of_preload
def test_popen_on_several_threads(run):
    """All at once. The functions of their streams are those of the C library."""
    result = run(PROGRAMS / "plain_streams", "popens")
    assert result.told == {"untouched": 1}
    whole, = [row for row in result.channels if row["instance"] is None]
    assert whole["sent_bytes"] == whole["received_bytes"] == 4 * 20 * 6


@of_preload
def test_every_way_to_move_bytes(run):
    """A peek does not remove data."""
    rows = {(row["name"], row["instance"]): passed(row) for row in plain(run, "ways").channels}
    assert rows.pop(("unix socket", None)) == (2, 150, 2, 150) and rows.pop(("pipe", None)) == (2, 200, 2, 200)
    assert list(rows.values()) == [(1, 100, 1, 100)] * 2


@of_preload
def test_reused_descriptor_numbers(run):
    rows = {row["instance"]: passed(row) for row in plain(run, "reuse").channels}
    assert rows.pop(None) == (3, 60, 2, 60)
    assert sorted(rows.values()) == [(1, 10, 1, 10), (2, 50, 1, 50)]


@of_preload
def test_number_used_before_it_is_open(run):
    assert passed(the_channel(plain(run, "too_early"))) == (1, 10, 1, 10)


@of_preload
def test_channel_closed_in_a_vfork_child_alone(run):
    """It is not over: the parent still has it. The other is, which is told at exit."""
    whole, = [row for row in plain(run, "closed_by_child").channels if row["instance"] is None]
    assert (whole["instances"], whole["live"]) == (2, 1)


@of_preload
def test_descriptor_replaced_while_it_is_looked_up(run):
    """The first answer is about the old pipe, and what is written goes to the new one."""
    assert passed(the_channel(plain(run, "replaced"))) == (3, 50, 1, 50)


@of_preload
def test_numbers_that_threads_pass_on(run):
    """Each closes descriptors whose numbers the others get at once, for a pipe or for a file."""
    result = plain(run, "churn")
    whole, = [row for row in result.channels if row["instance"] is None]
    assert (whole["sent_bytes"], whole["received_bytes"]) == (result.told["bytes"],) * 2


@of_preload
def test_socket_inherited_by_another_program(run):
    row = the_channel(plain(run, "handed_on"))
    assert passed(row) == (2, 18, 2, 18) and set(row["senders"].split(", ")) == {"plain_channels", "tr"}


@of_preload
def test_bytes_flushed_at_exit(run):
    """The C library flushes streams at the very end, when we can no longer see it."""
    row = the_channel(run("sh", "-c", f"{PROGRAMS / 'plain_channels'} at_the_end | wc -c"))
    assert row["sent_bytes"] == row["received_bytes"] == 790 and row["senders"] == "plain_channels"


@of_preload
def test_bytes_that_exit_writes_for_other_streams_are_not_seen(box, run):
    """Only the lock of the list of streams would make that safe. The report says that something is missing."""
    left = f"{PROGRAMS / 'plain_streams'} left | wc -c"
    row = the_channel(run("sh", "-c", left))
    assert row["sent_bytes"] == 8192 and row["received_bytes"] == 8890
    for command, is_noted in (left, True), ("seq 1 5000 | wc -c", False):
        text = box.run(HOTPATH, "run", "--section", "channels", "sh", "-c", command,
                       env={"HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_OUTPUT_PATH": None}).stderr
        assert ("more was received than sent" in text) == is_noted


@of_preload
def test_program_behaves_the_same(box, run):
    """Cancellation, EINTR, EAGAIN, EBADF, EPIPE, errno, the lowest free descriptor, vfork."""
    alone = box.run("plain_channels", "outcomes")
    result = plain(run, "outcomes")
    assert result.stdout == alone.stdout and result.told["cancelled"] == 1
    row = the_channel(result)
    assert passed(row) == (1, 1, 1, 1) and row["empty_ns"] >= 1.0e9  # the alarm came after a second
    assert result.found.lost == {}


@of_preload
def test_calls_that_never_wait(run):
    """By O_NONBLOCK from the beginning, from later on, of a copy, and by a flag of the call."""
    rows = plain(run, "never_waits").channels
    assert sum(row["sent"] for row in rows if row["instance"] is None) == 6000, rows
    waits = ("full_waits", "full_ns", "empty_waits", "empty_ns")
    assert {tuple(row[key] for key in waits) for row in rows} == {(0, 0, 0, 0)}


@of_preload
def test_calls_that_wait_again(run):
    row = the_channel(plain(run, "waits_again"))
    assert row["empty_waits"] == 1 and row["empty_ns"] >= 25e6


@of_preload
def test_streams_behave_the_same(box, run):
    """Cancellation leaves no lock behind; errors; streams without a descriptor; fflush(NULL), freopen."""
    alone = box.run("plain_streams", "outcomes")
    assert run(PROGRAMS / "plain_streams", "outcomes").stdout == alone.stdout
    assert alone.told["cancelled"] == alone.told["unlocked"] == 1


@of_preload
def test_off(run):
    assert plain(run, "pairs", options=["--no-preload"]).channels == []
    assert plain(run, "pairs", options=["--no-channels"]).channels == []


# ---------------------------------------------------------------------------------------------------- real programs


@of_preload
def test_redis_over_a_socket(box, run):
    need("redis-server", "redis-cli")
    socket = box.path / "redis"
    result = run("sh", "-c", f"""
        redis-server --port 0 --unixsocket {socket} --save '' --dir {box.path} > /dev/null &
        until redis-cli -s {socket} ping > /dev/null 2>&1; do sleep 0.05; done
        redis-cli -s {socket} set key value; redis-cli -s {socket} get key
        redis-cli -s {socket} shutdown nosave; wait""")
    assert result.stdout == "OK\nvalue\n"
    row, = [row for row in result.channels if row["name"].startswith("unix socket")]
    assert row["name"] == f"unix socket {socket}" and row["sent_bytes"] == row["received_bytes"] > 0
    assert {"redis-server", "redis-cli"} == set(row["senders"].split(", ")) == set(row["receivers"].split(", "))


@of_preload
def test_git(box, run):
    """A pack goes through a pipe, from one git process to another."""
    need("git")
    repository = box.path / "repository"
    subprocess.run(["git", "init", "-q", repository], check=True, capture_output=True)
    (repository / "file").write_text("\n".join(map(str, range(100000))))
    subprocess.run("git add . && git -c user.name=a -c user.email=a@b commit -qm first", shell=True, check=True,
                   cwd=repository, capture_output=True, timeout=TIMEOUT)
    result = run("git", "clone", "-q", "--no-local", repository, box.path / "clone")
    assert result.status == 0 and (box.path / "clone/file").read_text() == (repository / "file").read_text()
    whole = [row for row in result.channels if row["name"] == "pipe" and row["instance"] is None][0]
    assert whole["sent_bytes"] == whole["received_bytes"] > 100000 and whole["queue_bytes"] == 0
