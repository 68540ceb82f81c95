"""/metrics of all sessions: sums by service that never fall, and every family as docs/metrics.md describes it."""
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

import exported
from command import cli, wait_until  # noqa: F401 (a fixture)
from harness import (EXAMPLES, PROGRAMS, SANITIZER, SOURCE, TIMEOUT, without_emulator, without_sanitizer,
                     without_thread_sanitizer)
from test_serve import OPENMETRICS, read_metrics, serve  # noqa: F401 (a fixture)
from test_stacks_in_time import Acts

pytestmark = [without_emulator("/proc shows the emulator"),
              without_thread_sanitizer("it has a thread of its own, which uses time, too")]


def metrics(server, **query):
    answer = server.get("/metrics", headers=OPENMETRICS, **query)
    assert answer.status == 200, answer.text
    return read_metrics(answer.text)


def labels_of(sample):
    return dict(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', sample))


def by_service(families, family, service):
    return {sample: value for sample, value in families.get(family, {"samples": {}})["samples"].items()
            if labels_of(sample)["service"] == service}


def documented():
    """{family: (type, labels, meaning)} of docs/metrics.md."""
    rows = re.findall(r"^\| `(hotpath_\w+)` \| (\w+) \| ([^|]*) \| ([^|]*) \|$", (SOURCE / "docs/metrics.md")
                      .read_text(), re.M)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels)), meaning) for name, kind, labels, meaning in rows}


@pytest.mark.skipif(not (EXAMPLES / "profile_async_io").exists(), reason="an example was built without its library")
def test_every_family_is_documented(cli, serve):
    cli("run", "--io", "--locks", "--format", "none", "--", EXAMPLES / "orders", "1")
    cli("run", "--locks", "--path", "--format", "none", "--", EXAMPLES / "critical_path")
    cli("run", "--io", "--format", "none", "--", EXAMPLES / "profile_async_io")
    server, served = serve("--push", "otlp=http://localhost:1"), {}
    one = metrics(server, session=next(cli.folder.glob("*.run")).name)
    for families in (metrics(server), one):
        for name, family in families.items():
            labels = {label for sample in family["samples"] for label in labels_of(sample)} - {"le"}
            suffix = {"counter": "_total", "info": "_info"}.get(family["TYPE"], "")
            before = served.get(name + suffix, (0, set()))[1]
            served[name + suffix] = (family["TYPE"], labels | before, family["HELP"])
    # Named after what it counts: seconds and bytes are units of collectors.
    for name, family in one.items():
        units = [unit for unit in ("seconds", "bytes") if name.endswith("_" + unit)]
        assert [family[key] for key in ("UNIT",) if key in family] == units
        assert not any("service" in labels_of(sample) for sample in family["samples"]), name
    assert served == documented()


DURATIONS = {"tasks": ("task_duration_seconds", "task", "histogram_ns", lambda row: row["calls"] - row["open"]),
             "loops": ("loop_turn_duration_seconds", "loop", "turn_histogram_ns", lambda row: row["turns"]),
             "channels": ("channel_transit_seconds", "channel", "delay_histogram_ns", lambda row: row["delays"]),
             "locks": ("lock_wait_duration_seconds", "lock", "wait_histogram_ns", lambda row: row["waits"])}


def test_sums_are_those_of_the_reports(cli, serve):
    for _ in range(2):
        cli("run", "--locks", "--format", "none", "--", EXAMPLES / "orders", "1")
    families = metrics(serve())
    expected = {}

    def add(family, labels, number):
        text = ",".join(f'{key}="{value}"' for key, value in {"service": "orders", **labels}.items())
        if number is not None:
            sums = expected.setdefault("hotpath_" + family, {})
            sums[text] = sums.get(text, 0) + number

    for session in cli.folder.glob("*.run"):
        report = json.loads(cli("report", "--format", "json", "--limit", "0", "--section", "all",
                                session.name).stdout)
        rows = {name: section["rows"] for name, section in report["sections"].items()}
        for row in rows["timing"]:
            add("function_calls", {"function": row["name"]}, row["calls"])
            add("function_seconds", {"function": row["name"]}, row["total_ns"] * 1e-9)
        for row in rows["waits"]:
            add("function_waiting_seconds", {"function": row["name"], "cause": row["cause"]},
                row["waited_ns"] * 1e-9)
        for row in rows["channels"]:
            if row["instance"] is None:
                add("channel_sent", {"channel": row["name"]}, row["sent"])
                add("channel_lost", {"channel": row["name"], "reason": "refused"}, row["refused"])
                add("channel_blocked_seconds", {"channel": row["name"], "side": "sender"}, row["full_ns"] * 1e-9)
        for row in rows["tasks"]:
            add("tasks_created", {"task": row["name"]}, row["calls"])
        for row in rows["streams"]:
            add("stream_items", {"stream": row["name"]}, row["items"])
        for row in rows["loops"]:
            add("loop_turns", {"loop": row["name"]}, row["turns"])
        for section, (family, label, column, count) in DURATIONS.items():
            for row in (row for row in rows[section] if row[column] and row.get("instance") is None):
                bars = row[column]
                assert sum(amount for *_, amount in bars) == count(row) > 0, (section, row["name"])
                assert all(end <= begin for (_, end, _), (begin, _, _) in zip(bars, bars[1:]))
                longest = row.get("longest_turn_ns", row.get("wait_max_ns"))
                assert longest is None or bars[-1][0] / 1.00001 <= longest <= bars[-1][1] * 1.00001
                labels = {label: row["name"]} | ({"kind": row["kind"]} if section == "locks" else {})
                add(family + " count", labels, count(row))
                add(family + " least", labels, sum(begin * amount for begin, _, amount in bars) * 1e-9)
        add("process_starts", {}, 1)
    for family, samples in ((family, samples) for family, samples in expected.items() if " " in family):
        found = families[family.split()[0]]["samples"]
        for sample, number in samples.items():
            if family.endswith("count"):
                assert found[f"_count{{{sample}}}"] == found[f'_bucket{{{sample},le="+Inf"}}'] == number, sample
            else:  # bars are a quarter of an octave wide
                assert number * 0.93 <= found[f"_sum{{{sample}}}"] <= number * 1.34 + 1e-9, (family, sample)
    assert {f"hotpath_{family} count" for family, *_ in DURATIONS.values()} <= set(expected)
    for family, samples in ((family, samples) for family, samples in expected.items() if " " not in family):
        found = families[family]["samples"]
        assert {sample: found[sample] for sample in samples} == pytest.approx(samples, rel=1e-6, abs=1e-8), family
    # Durations: as many as there are calls, and their sum is the time; buckets add up. Tasks have none.
    histogram = families["hotpath_function_duration_seconds"]["samples"]
    tasks = {labels_of(sample)["task"] for sample in expected["hotpath_tasks_created"]}
    functions = {sample: calls for sample, calls in expected["hotpath_function_calls"].items()
                 if labels_of(sample)["function"] not in tasks}
    assert len(functions) > 10 and len(histogram) == len(functions) * 19
    for sample, calls in functions.items():
        buckets = [count for name, count in histogram.items() if name.startswith(f"_bucket{{{sample},le=")]
        assert len(buckets) == 17 and buckets == sorted(buckets) and buckets[-1] == histogram[f"_count{{{sample}}}"]
        assert histogram[f"_count{{{sample}}}"] == calls
        assert histogram[f"_sum{{{sample}}}"] >= expected["hotpath_function_seconds"][sample] * 0.99
    assert by_service(families, "hotpath_threads", "orders") == {'service="orders"': 0}, "they have ended"


def test_counters_stay_when_programs_end_and_their_files_go(cli, serve):
    server = serve()
    run = cli.start("run", "--format", "none", "--", EXAMPLES / "orders", "600")
    calls = lambda: sum(by_service(metrics(server), "hotpath_function_calls", "orders").values())
    wait_until(lambda: calls() > 20)
    wait_until(lambda: sum(by_service(metrics(server), "hotpath_threads", "orders").values()) > 1)
    seen = [metrics(server)]
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=TIMEOUT)
    wait_until(lambda: sum(by_service(metrics(server), "hotpath_running", "orders").values()) == 0)
    seen.append(metrics(server))
    cli("clean")
    assert not list(cli.folder.glob("*.run"))
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "1")
    wait_until(lambda: sum(by_service(metrics(server), "hotpath_process_starts", "orders").values()) == 2)
    seen.append(metrics(server))
    for early, late in zip(seen, seen[1:]):
        for name, family in early.items():
            if family["TYPE"] in ("counter", "histogram"):
                fallen = {sample: (value, late[name]["samples"].get(sample)) for sample, value in
                          family["samples"].items() if late[name]["samples"].get(sample, -1) < value}
                assert not fallen, name
    report = json.loads(cli("report", "--format", "json", "--section", "timing", "--limit", "0").stdout)
    added = sum(row["calls"] for row in report["sections"]["timing"]["rows"])
    totals = [sum(by_service(families, "hotpath_function_calls", "orders").values()) for families in seen]
    assert totals[2] == totals[1] + added


def test_one_service_is_chosen_by_any_name_of_its_sessions(cli, serve):
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "1")
    cli("run", "--format", "none", "--", EXAMPLES / "basic", env={"HOTPATH_REPORT_LABEL": "the shop"})
    server = serve()
    listed = {line.split()[-2 if line.endswith(" 1") else -1].rsplit("/", 1)[1]: line.split()[0]
              for line in cli("ls").stdout.splitlines()[1:]}
    services = lambda **query: {labels_of(sample).get("service") for family in metrics(server, **query).values()
                                for sample in family["samples"]} - {None}
    assert services() == {"orders", "the shop"}
    assert services(service="orders") == services(service=listed["orders"]) == {"orders"}
    assert services(service="the shop") == services(service=listed["basic"]) == {"the shop"}
    assert services(service=next(path.name for path in cli.folder.glob(listed["basic"] + "*"))) == {"the shop"}
    for name in ("nothing", "order", listed["orders"][:-1]):
        assert server.get("/metrics", service=name).status == 404
    assert server.get("/metrics", service="orders", session=listed["orders"]).status == 400
    assert server.get("/report.json", service="orders").status == 400
    # A server for one session has its metrics, and those of all on request.
    alone = serve(listed["orders"])
    assert services() and not {labels_of(sample).get("service") for sample in
                               metrics(alone)["hotpath_function_calls"]["samples"]} - {None}
    assert by_service(metrics(alone, service="the shop"), "hotpath_process_starts", "the shop")


@pytest.mark.skipif(shutil.which("qemu-x86_64") is None or bool(SANITIZER), reason="needs qemu-user")
def test_instructions_are_not_served_as_seconds(cli, serve):
    cli("run", "--clock", "instructions", "--format", "none", "--", EXAMPLES / "basic")
    families = metrics(serve())
    assert by_service(families, "hotpath_function_calls", "basic")
    assert not [name for name in families if "seconds" in name and by_service(families, name, "basic")]


def test_prometheus_accepts_them(cli, serve):
    promtool = shutil.which("promtool")
    if not promtool:
        pytest.skip("this needs promtool, of Debian's package prometheus")
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "1")
    done = subprocess.run([promtool, "check", "metrics"], input=serve().get("/metrics").text, capture_output=True,
                          text=True, timeout=TIMEOUT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# ------------------------------------------------------------------------------------------------ native histograms

NATIVE = {"Accept": "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;"
                    "q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3"}


def signed(number):
    return number >> 1 ^ -(number & 1)


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return number, at


def read_families(data):
    """{name: (type, {labels: number or {upper bound: count}, count and sum})} of delimited messages."""
    found, at = {}, 0
    while at < len(data):
        length, at = varint(data, at)
        family = list(exported.fields(data[at:at + length]))
        at += length
        name = dict(family)[1].decode()
        assert name not in found and dict(family)[2]
        found[name] = (dict(family)[3], {})
        for metric in (value for field, value in family if field == 4):
            parts = list(exported.fields(metric))
            labels = ",".join('{}="{}"'.format(*(text.decode() for _, text in exported.fields(label)))
                              for field, label in parts if field == 1)
            assert labels not in found[name][1]
            found[name][1][labels] = read_number(*parts[-1])
    return found


def read_number(field, data):
    parts = list(exported.fields(data))
    if field != 7:
        return parts[0][1]
    values = dict(parts)
    assert signed(values[5]) == 3
    index, count, buckets = 0, 0, {}
    deltas = [signed(number) for number in exported.numbers(values[13])]
    for span in (dict(exported.fields(part)) for number, part in parts if number == 12):
        index += signed(span[1])
        for _ in range(span[2]):
            count += deltas.pop(0)
            buckets[2 ** (index / 8)] = count
            index += 1
    assert not deltas and all(count > 0 for count in buckets.values())
    return buckets, values[1], values[2]


def test_native_histograms(cli, serve):
    cli("run", "--format", "none", "--", EXAMPLES / "orders", "1")
    server = serve()
    answer = server.get("/metrics", headers=NATIVE)
    assert answer.headers["Content-Type"] == ("application/vnd.google.protobuf; "
                                              "proto=io.prometheus.client.MetricFamily; encoding=delimited")
    families, text = read_families(answer.body), metrics(server)
    rows = {row["name"]: row for row in json.loads(cli("report", "--format", "json", "--limit", "0", "--section",
                                                       "timing").stdout)["sections"]["timing"]["rows"]}
    kind, samples = families["hotpath_function_duration_seconds"]
    assert kind == 4 and len(samples) > 10
    for labels, (buckets, count, total) in samples.items():
        row = rows[labels_of(labels)["function"]]
        assert sum(buckets.values()) == count == row["timed"]
        assert total == pytest.approx(row["avg_ns"] * row["calls"] * 1e-9, rel=1e-6)
        # The least and the most are in the first and the last bucket: bounds of counters lie within a hundredth.
        assert min(buckets) / 2 ** (1 / 8) * 0.98 <= row["min_ns"] * 1e-9 <= min(buckets) * 1.02
        assert max(buckets) / 2 ** (1 / 8) * 0.98 <= row["max_ns"] * 1e-9 <= max(buckets) * 1.02
    suffixes = {"counter": "_total", "gauge": "", "info": "_info"}
    assert set(families) == {name + suffixes.get(family["TYPE"], "") for name, family in text.items()}
    for name, family in text.items():
        if family["TYPE"] != "histogram":
            kind, samples = families[name + suffixes[family["TYPE"]]]
            assert kind == (0 if family["TYPE"] == "counter" else 1)
            assert samples == pytest.approx(family["samples"], rel=1e-9), name
    ours, openmetrics, plain = (part.strip() for part in re.sub(";q=[0-9.]*", "", NATIVE["Accept"]).split(","))
    for accept, expected in {
            f"{openmetrics},{NATIVE['Accept']}": "openmetrics", f"{ours};q=0, {openmetrics}": "openmetrics",
            f"{ours};q=0.0,{openmetrics};q=0,{plain};q=0.1": "plain", f"{openmetrics};q=0,*/*": "plain",
            f"{plain};q=0.6,{openmetrics};q=0.5": "plain", f"{openmetrics};q=0.5 , {plain};q=0.4": "openmetrics",
            f"{openmetrics};q=0.1, {ours}; q=0.2": "protobuf", f"{plain},{ours}": "protobuf",
            "application/vnd.google.protobuf": "plain", ours.replace("delimited", "text"): "plain",
            "application/openmetrics-text2": "plain", "*/*": "plain", "": "plain", ";q=,,;": "plain"}.items():
        assert expected in server.get("/metrics", headers={"Accept": accept}).headers["Content-Type"], accept


# --------------------------------------------------------------------------------------------------------- programs

def counters(families):
    return {(name, sample): value for name, family in families.items() if family["TYPE"] in ("counter", "histogram")
            for sample, value in family["samples"].items()}


def test_counters_stay_when_programs_are_killed_and_their_sessions_rotate(cli, serve):
    server, seen = serve(), []
    alone = {"HOTPATH_DIR": str(cli.folder), "HOTPATH_KEEP": "1", "HOTPATH_OUTPUT_FORMAT": "none", "HOTPATH": "1"}
    total = lambda family: sum(by_service(metrics(server), family, "orders").values())
    for round in range(3):
        program = subprocess.Popen([EXAMPLES / "orders", "600"], env=cli.environment(alone),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: total("hotpath_process_starts") == round + 1)
        calls = total("hotpath_function_calls")
        wait_until(lambda: total("hotpath_function_calls") > calls + 20)
        seen.append(counters(metrics(server)))
        program.kill()
        program.wait()
        wait_until(lambda: total("hotpath_running") == 0)
        seen.append(counters(metrics(server)))
        cli.box.run(EXAMPLES / "basic", folder=cli.folder, env={"HOTPATH_KEEP": "1"})
    assert len(list(cli.folder.glob("*.hotpath"))) < 8, "the oldest sessions are removed"
    wait_until(lambda: sum(by_service(metrics(server), "hotpath_process_starts", "basic").values()) >= 1)
    seen.append(counters(metrics(server)))
    for early, late in zip(seen, seen[1:]):
        assert {what: (value, late.get(what)) for what, value in early.items() if late.get(what, -1) < value} == {}


WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|PROT_WRITE.*MAP_SHARED|^(write|pwrite|utime|rename|unlink|link|mkdir|"
                    r"ftruncate|truncate|ptrace|process_vm_writev|tgkill|tkill|rt_sigqueueinfo|pidfd_send|mknod|"
                    r"symlink|chmod|fchmod|setxattr|mlock|perf_event_open)")


@pytest.mark.skipif(shutil.which("strace") is None, reason="this needs strace")
@without_sanitizer("its own system calls are among those of the server")
def test_reading_changes_nothing_in_programs(cli, serve):
    """Neither by what the server calls, nor by what a program notices that waits."""
    acts = Acts(cli, "run", "--io", "--locks", "--format", "none", "--")
    waiting = subprocess.Popen([PROGRAMS / "guest", "copy"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, env=cli.environment({"HOTPATH": "1", "HOTPATH_DIR": str(cli.folder)}))
    server = serve()
    trace = cli.folder / "strace.txt"
    try:
        acts.do("rest", slots=1)
        waiting.stdin.write("x\n" * 3)  # it calls work for each
        waiting.stdin.flush()
        status = Path(f"/proc/{waiting.pid}/status")
        wait_until(lambda: re.search(r"^State:\s+S", status.read_text(), re.M) and
                   by_service(metrics(server), "hotpath_function_calls", "guest").get(
                       'service="guest",function="work"') == 3)

        def noticed():
            faults = Path(f"/proc/{waiting.pid}/stat").read_text().rsplit(")", 1)[1].split()[7:11]
            return faults, re.findall(r"ctxt_switches:\s+(\d+)", status.read_text())
        strace = subprocess.Popen(["strace", "-f", "-o", trace, "-p", str(server.process.pid)],
                                  stderr=subprocess.PIPE, text=True)
        if "attached" not in strace.stderr.readline():
            pytest.skip("processes may not be traced here")
        before = noticed()
        for _ in range(3):
            families = metrics(server)
            time.sleep(1.05)  # it reads once a second
        assert noticed() == before
        server.works()
        strace.terminate()
        strace.communicate(timeout=TIMEOUT)
    finally:
        acts.kill()
        waiting.kill()
        waiting.communicate()
    assert {"guest", "acts_off"} <= {labels_of(sample)["service"] for sample in
                                    families["hotpath_running"]["samples"]}
    calls = [line.split(maxsplit=1)[1] for line in trace.read_text().splitlines()]
    assert len(calls) > 100 and any(call.startswith("openat") and ".hotpath" in call for call in calls)
    assert [call for call in calls if WRITES.search(call)] == []
    assert [call for call in calls if call.startswith("kill(") and ", 0)" not in call] == []  # 0: is it there?
    # The lock of a run is asked about, not taken: its runner has it.
    assert [call for call in calls if call.startswith("flock(") and "EAGAIN" not in call] == []


def test_hostile_folders(cli, serve):
    """What is no session is left out, strange names are escaped, and what changes while it is read harms nobody."""
    strange = 'a"b\\c\n\x01\x1b[31m\x7fé'
    (cli.folder.parent / "programs").mkdir(exist_ok=True)
    path = cli.folder.parent / "programs" / strange.replace("/", "")
    shutil.copy(EXAMPLES / "basic", path)
    cli.box.run(path, folder=cli.folder, env={"LD_LIBRARY_PATH": EXAMPLES.parent / "lib"})
    cli.box.run(EXAMPLES / "basic", folder=cli.folder, env={"HOTPATH_REPORT_LABEL": 'x\ny"\\\x02{}'})
    good = max(cli.folder.glob("*.hotpath"), key=lambda path: path.stat().st_mtime)
    os.mkfifo(cli.folder / "11-1-0.hotpath")
    (cli.folder / "12-2-0.hotpath").mkdir()
    (cli.folder / "13-3-0.hotpath").write_bytes(b"")
    (cli.folder / "14-4-0.hotpath").write_bytes(os.urandom(70000))
    (cli.folder / "15-5-0.hotpath").write_bytes(good.read_bytes()[:100])
    (cli.folder / "16-6.run").write_bytes(b"")
    (cli.folder / "17-7.run").symlink_to("/")
    (cli.folder / "18-8-0.hotpath").symlink_to("/etc/passwd")
    (cli.folder / "19-9-0.hotpath").symlink_to(good)
    os.truncate(os.open(cli.folder / "20-10-0.hotpath", os.O_CREAT | os.O_RDWR), 64 << 30)
    (cli.folder / "21-11.run").mkdir()
    os.mkfifo(cli.folder / "21-11.run" / "stacks")
    os.mkfifo(cli.folder / "21-11.run" / "22-12-0.hotpath")
    server = serve()
    families = metrics(server)
    names = {labels_of(sample)["service"] for sample in families["hotpath_function_calls"]["samples"]}
    assert len(names) == 2 and not re.search(r"[\x00-\x1f\x7f]", "".join(names))
    assert {r'a\"b\\c', r'x'} == {re.match(r'a\\"b\\\\c|x', name)[0] for name in names}
    starts = families["hotpath_process_starts"]["samples"]
    assert set(starts.values()) == {1}, "links to a session are not read"
    for accept in (NATIVE["Accept"], "*/*"):
        assert server.get("/metrics", headers={"Accept": accept}).status == 200
    # A file that shrinks, grows and is overwritten while it is read.
    data, stop = good.read_bytes(), threading.Event()

    def change():
        path = cli.folder / "23-13-0.hotpath"
        for step in itertools.cycle(range(200)):
            if stop.is_set():
                return
            with open(path, "r+b" if path.exists() else "wb") as file:
                file.truncate((0, 100, 4096, len(data))[step % 4])
                file.write(data[:1000 * step])
                if step % 3 == 0:
                    file.seek(step * 37 % len(data))
                    file.write(os.urandom(300))
    changing = threading.Thread(target=change)
    changing.start()
    try:
        for _ in range(3):
            seen = counters(metrics(server))
            time.sleep(1.05)
    finally:
        stop.set()
        changing.join()
    server.works()
    for what, value in counters(families).items():
        assert seen[what] >= value, what
    assert server.descriptors() < 20
