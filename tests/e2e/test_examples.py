"""Runs every example, measured and with hotpath compiled out: both must print the same and end the same way, and
the counts in the report must be exact."""
import csv
import re

import pytest

from harness import EXAMPLES, SANITIZER, SOURCE
from sampled_calls import timed_of

# What a report must hold: all its rows with their calls. None: the example prints it itself, see its check below.
CALLS = {
    "alloc_modes": {"main": 1, "copy_pages": 1, "load_image": 1, "join_words": 1, "build_list": 1},
    "arena": {"main": 1, "handle_request": 100},
    "basic": {"main": 1, "sync_function": 100, "custom_block": 100},
    "benchmark": {"main": 1, "nothing": 1000000},
    "blocks": {"main": 1, "fill with noise": 50, "digest": 50, "hash a page": 200, "fold": 50, "add up": 50},
    "bottleneck_alloc": {"main": 1, "sum_of_list": 10000},
    "bottleneck_cpu": {"main": 1, "read_input": 100, "add_up": 100},
    "bottleneck_disk": {"main": 1, "make_record": 300, "save_record": 300},
    "bottleneck_lock": {"main": 1, "take_turn": 60, "write_record": 60},
    "bottleneck_sleep": {"main": 1, "work": 30, "pause_a_little": 30},
    "bottleneck_starved": {"main": 1, "work": 30},
    "coroutine": {"main": 1, "run_all": 1, "crawl": 3, "fetch": 300, "parse": 300, "<suspended>": 300,
                  "crawler": 3},
    "cpp_methods": {"main": 1, "text::Words::Words": 1000, "text::Words::add": 2900, "text::Words::longest": 900,
                    "longest word": 900},
    "convoy": {"main": 1, "append": 40},
    "critical_path": {"main": 1, "compile": 12, "generate_large": 1, "link_all": 1},
    "csv_reporter": None,
    "early_returns": {"main": 1, "add_numbers": 2000, "word": 8000, "parse_number": 7000},
    "lock_contention": {"main": 1, "find_item": 200, "rebuild": 5},
    "multithreaded": {"main": 1, "sender": 1, "send_message": 5000, "handle_message": 5000},
    "instruction_limit": None,
    "no_alloc_test": None,
    "notes": {"main": 1, "index_page": 4, "count_words": 4},
    "one_byte_reads": {"main": 1, "copy_bytes": 1},
    "orders": None,
    "overview": {"main": 1, "sync_work": 100, "sync_alloc": 100, "async_sleep": 100, "run_loop": 100},
    "peak_vs_total": {"main": 1, "sum_of_all_lines": 1, "sum_line_by_line": 1},
    "per_command": {"main": 1, "command[GET]": 4000, "command[SET]": 1000, "command[DEL]": 100, "slot_of": 5100},
    "profile_async_io": {"main": 1, "join_all": 2, "create_file": 5, "read_file": 5, "uv_fs_open": 10,
                         "uv_fs_write": 12800, "uv_fs_fsync": 5, "uv_fs_read": 12805, "uv_fs_close": 10},
    "profile_async_io_long": None,
    "profile_blocking_io": {"main": 1, "create_test_file": 1, "fsync": 1, "read_file": 5},
    "prefork": {"main": 1, "accept_requests": 1, "wait for workers": 1},
    "profile_cpu": {"main": 1, "heavy_work": 1000, "light_work": 1000},
    "recursion": {"main": 1, "round": 20, "fibonacci": 13520, "is_even": 110, "is_odd": 100},
    "sampling": {"main": 1, "render_row": 1000, "pixel": 500000},
    "slow_call": {"main": 1, "handle_request": 200, "look_up": 101, "load_table": 1, "render": 200},
    "task_pool": {"main": 1, "resize": 40, "resize, queued": 40},
    "threads": {"main": 1, "worker": 4, "process_item": 1000, "join": 4},
    "timeout": None,
    "tree_reporter": None,
    "unit_test": None,
    "channel": {"main": 1, "produce": 1},
    "generator": {"main": 1, "next_prime": 500},
    "pipe": {"main": 1, "send_all": 1},
    "slow_consumer": {"main": 1, "load": 1, "encode": 50, "write pictures": 50},
    "message_log": {"main": 1, "serve": 1, "answer": 20},
    "worker_pool": {"main": 1, "square": 400},
    "event_loop": {"main": 1, "work": 100},
    "values": {"main": 1, "handle_request": 1000},
}

# Additional requests to an example.
ASKED = {"slow_call": {"HOTPATH_SLOWEST": "handle_request"}, "message_log": {"HOTPATH_LOG": "requests,answer"}}
ARGUMENTS = {"orders": ["0.5"], "profile_async_io_long": ["0.5"]}


def without_sanitizer_malloc(check):
    """With a sanitizer malloc is its own, and is not counted."""
    return check if not SANITIZER else lambda measured, plain: None


def check_csv_reporter(measured, plain):
    assert plain.stdout == ""
    tables = re.split(r"^# (\w+)\n", measured.stdout, flags=re.M)[1:]
    timing = dict(zip(tables[::2], tables[1::2]))["timing"]
    rows = {row["name"]: row for row in csv.DictReader(timing.splitlines())}
    assert {name: int(row["calls"]) for name, row in rows.items()} == {"main": 1, "step": 100}
    assert float(rows["main"]["percent_total"]) == 100
    assert int(rows["step"]["min_ns"]) <= int(rows["step"]["p95_ns"]) <= int(rows["step"]["max_ns"])


def check_tree_reporter(measured, plain):
    assert plain.stdout == ""
    tree, *histograms = measured.stdout.split("\n\n")
    drawn = re.findall(r"^[#.]{20} ( *)(\w+), (\d+) calls$", tree, re.M)
    assert [(len(indent) // 2, name, int(calls)) for indent, name, calls in drawn] == [
        (0, "main", 1), (1, "answer", 100), (2, "look_up", 200), (3, "wait_for_disk", 20)]
    calls = {}
    for histogram in histograms:
        name, *bars = histogram.strip().splitlines()
        bounds = [re.fullmatch(r"[#.]{20} (\d+) calls of ([\d.]+) to ([\d.]+) us", bar).groups() for bar in bars]
        assert all(float(low) < float(high) for _, low, high in bounds)
        assert [float(low) for _, low, _ in bounds] == sorted(float(low) for _, low, _ in bounds)
        calls[name] = sum(int(count) for count, _, _ in bounds)
    assert calls == {"main": 1, "answer": 100, "look_up": 200, "wait_for_disk": 20}


def check_unit_test(measured, plain):
    assert measured.stdout == "ok: 9978 comparisons, budget 10000\n"
    assert plain.stdout == "ok: all values found; comparisons not counted\n"


def check_timeout(measured, plain):
    assert measured.row("main").open == 1
    assert 500e6 <= measured.report.values["elapsed_ns"] < 2900e6
    assert 0 < measured.calls("serve_request") < 600


def check_notes(measured, plain):
    assert [(row.name, row.note) for row in measured.report.rows("calls")] == [
        ("index_page", f"page {note}") for note in ("4, 3 words", "3, 2 words", "2, empty", "1, 4 words")]


def check_sampling(measured, plain):
    """All calls counted, one in sixteen timed; the main function has only one."""
    assert {row.name: row.timed for row in measured.report.rows()} == {
        "main": 1, "render_row": len(timed_of(1000, 16)), "pixel": len(timed_of(500000, 16))}
    assert {row.name: row.sampling for row in measured.report.rows()} == {
        "main": "none", "render_row": "sampled", "pixel": "sampled"}


def check_slow_call(measured, plain):
    if "thread" in SANITIZER:
        pytest.skip("not with ThreadSanitizer: it makes looking into a request dearer than a sixty-fourth of the "
                    "request,"
                    " so the library gives it up before the slow one comes")
    slow = measured.row("handle_request", "slowest")
    assert slow.note == "request 100" and slow.total_ns >= 100e6
    assert {child.name: child.calls for child in slow.children} == {"look_up": 1, "render": 1}
    loading = slow.child("look_up").child("load_table")
    assert loading.calls == 1 and loading.self_ns >= 100e6


def allocated(measured, name):
    """Bytes, number, and the peak of usable bytes and blocks, of the calls of a function."""
    row = measured.row(name, "alloc-bytes")
    return row.own_bytes, row.own_count, row.peak_usable_bytes, row.peak_blocks


@without_sanitizer_malloc
def check_overview(measured, plain):
    sleeps = measured.row("async_sleep", "tasks")
    assert (sleeps.calls, sleeps.polls, sleeps.open) == (100, 100, 0)
    assert sleeps.waiting_ns >= 100 * 10e6
    assert measured.report.names()[0] == "main"
    assert allocated(measured, "sync_alloc")[:2] == (100 * 1000 * 1024, 100 * 1000)
    assert allocated(measured, "sync_work")[:2] == allocated(measured, "async_sleep")[:2] == (0, 0)


@without_sanitizer_malloc
def check_alloc_modes(measured, plain):
    """Each function is first by one measure."""
    functions = ("copy_pages", "load_image", "join_words", "build_list")
    found = [allocated(measured, name) for name in functions]
    for measure, first in enumerate((0, 2, 1, 3)):
        assert max(found, key=lambda row: row[measure]) is found[first], functions[first]


@without_sanitizer_malloc
def check_peak_vs_total(measured, plain):
    all_lines, by_line = allocated(measured, "sum_of_all_lines"), allocated(measured, "sum_line_by_line")
    assert all_lines[:2] == by_line[:2] == (256000, 1000)
    assert all_lines[2] == 1000 * by_line[2] and (all_lines[3], by_line[3]) == (1000, 1)


@without_sanitizer_malloc
def check_multithreaded(measured, plain):
    assert allocated(measured, "send_message")[1] == 5000
    assert measured.report.section("alloc-bytes")["totals"]["foreign_freed_blocks"] == 5000
    assert measured.row("handle_message", "alloc-bytes").net_blocks == -5000


def check_arena(measured, plain):
    pool = measured.row("request arena", "alloc-pools")
    assert (pool.allocations, pool.allocated_bytes, pool.freed_bytes) == (550, 55000, 55000)
    assert (pool.live_bytes, pool.peak_bytes, pool.peak_blocks) == (0, 1000, 10)


def check_instruction_limit(measured, plain):
    """Where instructions are counted: test_instructions.py."""
    assert measured.stdout == plain.stdout == "ok: 14 words, 0 complaints\nslowly: 14 words\n"
    assert "instructions are not counted here" in measured.stderr and plain.stderr == ""


def check_no_alloc_test(measured, plain):
    if SANITIZER:
        return
    assert measured.stdout == ("ok: 8 words, 0 complaints\n"
                               "not ok: with_one_too_many allocated 1 times, 14 bytes\n")
    assert plain.stdout == "ok: 8 words, 0 complaints\n"


def check_profile_blocking_io(measured, plain):
    assert measured.row("create_test_file").total_ns > measured.row("fsync").total_ns
    assert list(measured.folder.glob("hotpath-io-*")) == []


def check_recursion(measured, plain):
    main = measured.row("main", "calltree")
    assert main.child("round").child("is_even").child("is_odd").children == []
    assert main.child("round").child("fibonacci").calls == 13520
    assert measured.row("fibonacci").total_ns <= main.total_ns


def check_values(measured, plain):
    size = measured.row("request size", "values")
    assert (size.updates, size.min >= 64, size.max < 64 + 1024) == (1000, True, True)
    bytes_of = {name: measured.row(f"bytes[{name}]", "values") for name in ("images", "pages")}
    assert (bytes_of["images"].updates, bytes_of["pages"].updates) == (250, 750)
    assert bytes_of["images"].total + bytes_of["pages"].total == round(size.mean * 1000)
    queue = measured.row("queue", "values")
    # Received plus left is sent.
    assert queue.updates == 2 * 1000 + queue.last_number and 0 <= queue.last_number <= queue.max == 20
    assert queue.min == 0
    assert measured.row("state", "values").recent == "done, filling"
    assert measured.row("done - REQUESTS / 2", "values").last == "500"


def check_event_loop(measured, plain):
    loop = measured.row("requests", "loops")
    assert loop.turns == loop.waits == 100 and loop.longest_turn_ns >= measured.row("work").max_ns
    assert loop.blocked_turns >= 1
    assert plain.stdout == "100\n"


def check_channel(measured, plain):
    jobs = measured.row("jobs", "channels")
    assert (jobs.sent, jobs.received, jobs.queue, jobs.sent_bytes) == (1000, 1000, 0, 4000)
    assert 1 <= jobs.queue_max <= 16 and (jobs.instances, jobs.live) == (1, 0)
    assert plain.stdout == "499500\n"


def check_profile_async_io(measured, plain):
    """Five at once: more than the time of all, most of it waiting, for what the rows of requests say."""
    tasks = {row.name: row for row in measured.report.rows("tasks")}
    for name in ("create_file", "read_file"):
        task = tasks[name]
        assert (task.calls, task.open, task.cancelled, task.misused) == (5, 0, 0, 0)
        assert abs(task.busy_ns + task.waiting_ns - task.total_ns) <= 5
        assert 3.5 < task.in_flight <= 5.001 and task.max_open == 5
    created, read = tasks["create_file"], tasks["read_file"]
    assert created.total_ns > measured.row("join_all").total_ns
    assert created.total_ns + read.total_ns > 3.5 * measured.row("join_all").total_ns
    assert created.busy_ns < created.total_ns / 3
    waited = sum(row.total_ns for name, row in tasks.items() if name.startswith("uv_fs_"))
    assert 0.98 * (created.waiting_ns + read.waiting_ns) <= waited <= created.total_ns + read.total_ns
    assert all(row.busy_ns is None for name, row in tasks.items() if name.startswith("uv_fs_"))


def check_profile_async_io_long(measured, plain):
    tasks = {row.name: row for row in measured.report.rows("tasks")}
    assert tasks["create_file"].calls >= 5 and sum(row.open + row.misused for row in tasks.values()) == 0
    assert tasks["create_file"].max_open == 5


def check_orders(measured, plain):
    """Counts are consistent: each number follows from another one."""
    calls = {row.name: row.calls for row in measured.report.rows("timing")}
    orders = calls["accept_order"]
    assert orders > 20
    assert all(calls[name] == orders for name in ("handle", "parse_order", "price", "reserve_stock", "render"))
    assert calls["look_up_price"] == (orders + 2) // 3 and calls["send_mail"] == (orders + 19) // 20
    jobs, replies = (measured.row(name, "channels") for name in ("jobs", "replies"))
    assert (jobs.sent, jobs.received, jobs.queue, jobs.capacity) == (orders, orders, 0, 64)
    assert (replies.sent, replies.received, replies.queue, replies.capacity) == (orders, orders, 0, 256)
    mails = measured.row("mail", "tasks")
    assert (mails.calls, mails.open, mails.misused) == (calls["send_mail"], 0, 0)
    assert measured.row("segments", "streams").items == 4 * calls["compact"]
    assert measured.row("orders", "values").total == orders and measured.row("mailer", "loops").turns > 0
    assert plain.stdout == "all orders are done\n"


def check_task_pool(measured, plain):
    whole, queued = (measured.row(name, "tasks") for name in ("resize", "resize, queued"))
    assert (whole.polls, whole.open, whole.misused, queued.open, queued.misused) == (40, 0, 0, 0, 0)
    assert whole.busy_ns >= 40 * 2e6 and queued.total_ns <= whole.waiting_ns


def check_slow_consumer(measured, plain):
    pictures = measured.row("pictures", "channels")
    assert (pictures.sent, pictures.received, pictures.queue, pictures.capacity) == (50, 50, 0, 4)
    assert (pictures.senders, pictures.receivers, pictures.state) == ("load", "write pictures", "closed")
    assert pictures.queue_max == 4 and pictures.percent_full > 50 > pictures.percent_empty
    assert plain.stdout == f"{50 * 51 // 2}\n"


def check_message_log(measured, plain):
    requests, answers = measured.row("requests", "channels"), measured.row("answer", "tasks")
    assert (requests.sent, requests.received, requests.queue, answers.polls, answers.open) == (20, 20, 0, 20, 0)
    assert plain.stdout == "all requests are answered\n"
    recent = measured.report.rows("recent")
    for what in "sent", "received":
        texts = [row.text for row in recent if (row.name, row.what) == ("requests", what)]
        assert texts == [f"request {number}" for number in range(20, 0, -1)]
    received = [row for row in recent if row.what == "received"]
    assert {row.size_bytes for row in received} == {16} and len({row.message_id for row in received}) == 20
    assert [row.text for row in recent if row.name == "answer" and row.what == "ready"] == [
        f"request {number}, {'slow' if number == 13 else 'ok'}" for number in range(20, 0, -1)]
    assert max(row.duration_ns for row in received if row.text != "request 13") > 15e6  # those behind the slow one


def check_worker_pool(measured, plain):
    rows = measured.report.section("channels")["rows"]
    whole = [row for row in rows if row["instance"] is None]
    assert [(row["sent"], row["received"], row["queue"], row["instances"], row["live"])
            for row in whole] == [(804, 804, 0, 2, 0)]
    assert sorted((row["sent"], row["received"]) for row in rows if row["instance"]) == [(400, 400), (404, 404)]
    assert plain.stdout == f"{sum(number ** 2 for number in range(401))}\n"


def check_pipe(measured, plain):
    numbers = measured.row("numbers", "channels")
    assert (numbers.sent, numbers.received, numbers.sent_bytes, numbers.senders) == (200, 0, 1600, "send_all")
    assert plain.stdout == "20100\n"


def check_generator(measured, plain):
    primes = measured.row("primes", "streams")
    assert (primes.items, primes.item_bytes, primes.producers, primes.state) == (500, 2000, "next_prime", "ended")
    assert primes.produce_mean_ns > primes.consume_mean_ns
    assert primes.gap_mean_ns > primes.produce_mean_ns * 0.5
    assert plain.stdout == "824693\n"


def check_threads(measured, plain):
    assert measured.row("process_item").threads == 4
    assert measured.row("join").threads == 1


@pytest.mark.parametrize("name", CALLS)
def test_example(box, name):
    folder = box.folder()
    arguments = ARGUMENTS.get(name, [])
    plain = box.run(EXAMPLES / f"{name}_off", *arguments, folder=folder, env={"TMPDIR": folder})
    measured = box.run(EXAMPLES / name, *arguments, folder=folder, env={"TMPDIR": folder, **ASKED.get(name, {})})
    expected = ("which replaces malloc" if SANITIZER else "instructions are not counted here")
    said = [line for line in measured.lines if expected not in line]
    assert said == []
    if CALLS[name] is not None:
        assert plain.stdout == measured.stdout
        assert {row.name: row.calls for row in measured.report.rows()} == CALLS[name]
        assert measured.report.lost == {}
    check = globals().get(f"check_{name}")
    assert check or CALLS[name] is not None
    if check:
        check(measured, plain)


def test_measure_all(box):
    """Its sources know nothing of hotpath, so there is no variant without it, and it records only on request."""
    silent = box.run(EXAMPLES / "measure_all")
    measured = box.run(EXAMPLES / "measure_all", env={"HOTPATH": "1"})
    assert measured.stdout == silent.stdout == "2262 primes below 20000\n" and silent.stderr == ""
    assert not silent.report_path.exists()
    assert {row.name: row.calls for row in measured.report.rows()} == {
        "main": 1, "sieve": 100, "cross_out": 3400, "count_primes": 100}


def test_no_example_is_forgotten():
    folder = SOURCE / "examples"
    files = sorted(file for file in folder.iterdir() if file.suffix in (".c", ".cc"))
    assert [file.stem for file in files] == sorted([*CALLS, "measure_all"])
    readme = (folder / "README.md").read_text()
    listed = re.findall(r"^\| \[(.+?)\]\((.+?)\) \|", readme, re.M)
    assert sorted(target for _, target in listed) == [file.name for file in files]
    cmake = (folder / "CMakeLists.txt").read_text()
    assert [file.stem for file in files if not re.search(rf"\b{file.stem}\b", cmake)] == []
