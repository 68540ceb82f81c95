"""Files of `hotpath export`, and the page of `hotpath open --view flame`, read by third-party programs. Those
that are not installed are skipped; HOTPATH_NODE_MODULES names the folder in which npm has put
@firefox-devtools/profiler-cli and speedscope, and HOTPATH_PERFETTO_PYTHON a Python that has the package
perfetto."""
import base64
import itertools
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import exported
from exported import Run, own_of_functions
from harness import PROGRAMS, TIMEOUT, perf_is_allowed, with_glibc, without_emulator, without_sanitizer

pytestmark = [without_emulator("/proc and perf are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(not perf_is_allowed() or platform.machine() not in ("x86_64", "aarch64"),
                                 reason="the kernel lets nobody take stacks here")]

GO = shutil.which("go") or next((path for path in ("/usr/local/go/bin/go", "/usr/lib/go/bin/go")
                                 if os.path.exists(path)), None)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PERFETTO = os.environ.get("HOTPATH_PERFETTO_PYTHON")  # a Python that has the package perfetto of PyPI
MODULES = Path(os.environ.get("HOTPATH_NODE_MODULES", "/nonexistent"))
LONG = 5 * TIMEOUT


@pytest.fixture(scope="module")
def stacked():
    run = Run("--stacks", PROGRAMS / "weights")
    yield run
    run.box.remove()


def call(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LONG, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


# ------------------------------------------------------------------------------------------------------------ pprof

@pytest.mark.skipif(GO is None, reason="go is not installed: its pprof cannot be asked")
def test_pprof(stacked):
    path = stacked.cli.folder / "profile.pb.gz"
    stacked.cli("export", "-f", "pprof", "-o", path)

    def ask(*args):
        return call(GO, "tool", "pprof", *args, path, env=os.environ | {"PPROF_TMPDIR": str(stacked.cli.folder)})

    lines = ask("-top", "-nodecount=100000", "-nodefraction=0", "-unit=ns", "-sample_index=cpu").splitlines()
    start = next(at for at, line in enumerate(lines) if line.split()[:2] == ["flat", "flat%"])
    found = {}
    for line in lines[start + 1:]:
        flat, _, _, _, _, name = line.split(None, 5)
        name = re.sub(r" \((partial-)?inline\)$", "", name)
        found[name] = found.get(name, 0) + round(float(flat.removesuffix("ns")))
    assert {name: weight for name, weight in found.items() if weight} == own_of_functions(stacked.report)
    samples = stacked.report.section("functions")["totals"]["samples"]
    assert re.search(rf" of {samples} total", ask("-top", "-sample_index=samples"))
    zones = sum(weight for _, weight in exported.pprof(path.read_bytes())["zones"][1])
    assert re.search(rf" of {zones}ns total", ask("-top", "-unit=ns", "-sample_index=zones"))
    raw = ask("-raw")
    assert "[FN][FL][LN][IN]" in raw and str(PROGRAMS / "weights") in raw


# ------------------------------------------------------------------------------------------------------------- otlp

OTLP = ("opentelemetry-proto==1.45.2", "protobuf")


@pytest.fixture(scope="module")
def otlp_python(tmp_path_factory):
    """An interpreter that has the messages of OpenTelemetry."""
    folder = tmp_path_factory.mktemp("otlp")
    for command in ([sys.executable, "-m", "venv", folder], [folder / "bin/pip", "-q", "install", *OTLP]):
        if subprocess.run(command, capture_output=True, timeout=LONG).returncode != 0:
            pytest.skip(f"{' and '.join(OTLP)} cannot be installed here")
    return folder / "bin/python"


def test_otlp(stacked, otlp_python):
    """As the format's own messages read it, it is what pprof has."""
    body, profile = stacked.export("otlp"), stacked.export("pprof")
    reader = Path(__file__).with_name("otlp_messages.py")
    said = subprocess.run([otlp_python, reader], input=body, capture_output=True, timeout=LONG)
    assert said.returncode == 0, said.stderr.decode()
    read, own = json.loads(said.stdout), exported.Otlp(body)
    types = exported.pprof(profile)
    assert len(types) > 6 and {"cpu", "zones"} <= set(types)
    for name, (unit, stacks) in types.items():
        assert read["types"][name][0] == unit
        found = exported.sums_of((tuple(stack), weight) for stack, weight in read["types"][name][1])
        assert found == exported.sums_of(stacks), name
    build_ids = exported.pprof_build_ids(profile)
    assert read["build_ids"] == {path: build_ids[path] for path in read["build_ids"]} == own.build_ids
    assert read["resource"] == own.resource and all(time == [own.began_ns, own.ns] for time in read["times"])
    assert {"profile.frame.type": "native"} in read["frames"]


# ---------------------------------------------------------------------------------------------------------- browser

def in_browser(cli, url, *options):
    """The page in the browser after its script has run."""
    return call(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom",
                *options, f"--user-data-dir={cli.folder}/browser", url)


needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: pages are not looked at")


@needs_browser
def test_the_page(stacked):
    stacked.page()
    text = in_browser(stacked.cli, f"file://{stacked.cli.folder}/page.html")
    assert re.search(r'<html[^>]* class="flame-first"', text)
    assert "width shows CPU time of all threads, from stack samples" in text
    assert re.search(r"<title>[^<]*weights[^<]* – hotpath</title>", text)


@needs_browser
def test_the_page_of_two_runs(stacked):
    stacked.page("--against", stacked.cli.sessions()[0]["path"])
    assert "blue: less, orange: more than in" in in_browser(stacked.cli, f"file://{stacked.cli.folder}/page.html")


# -------------------------------------------------------------------------------------------------------- importers

FIREFOX = MODULES / ".bin" / "profiler-cli"


def accumulated(samples):
    return itertools.accumulate(count for _, count in samples)


@pytest.mark.skipif(not FIREFOX.exists(),
                    reason="@firefox-devtools/profiler-cli of npm is not there: see HOTPATH_NODE_MODULES")
def test_firefox_profiler(stacked):
    """It loads a file in the background and is queried then. It accepts much that is wrong, so numbers are
    compared."""
    path, env = stacked.cli.folder / "firefox.json", os.environ | {"HOME": str(stacked.cli.folder)}
    stacked.cli("export", "-f", "firefox", "-o", path)

    def ask(*args):
        return subprocess.run([str(FIREFOX), *map(str, args)], capture_output=True, text=True, timeout=LONG,
                              env=env)

    loaded = ask("load", path)
    try:
        for _ in range(LONG):
            done = ask("thread", "functions", "--thread", "t-0", "--limit", "0", "--json")
            if done.returncode == 0:
                break
            time.sleep(1)
        assert done.returncode == 0, (loaded, done)
        found = {}
        for function in json.loads(done.stdout)["functions"]:
            found[function["name"]] = found.get(function["name"], 0) + round(function["selfSamples"] * 1_000_000)
        assert {name: weight for name, weight in found.items() if weight} == own_of_functions(stacked.report)
        markers, counters = exported.firefox_moments(path.read_text())
        threads = json.loads(ask("thread", "list", "--json").stdout)["threads"]
        last = next(thread for thread in threads if thread["name"] == "Over time")["threadHandle"]
        listed = json.loads(ask("thread", "markers", "--thread", last, "--list", "--limit", "0", "--json").stdout)
        assert listed["totalMarkerCount"] == len(markers) > 0
        shown = json.loads(ask("counter", "list", "--json").stdout)["counters"]
        assert {counter["name"]: counter["stats"][0]["value"] for counter in shown} == pytest.approx(
            {name: max(accumulated(samples)) if display["graphType"] == "line-accumulated"
             else sum(count for _, count in samples)
             for name, (display, samples) in counters.items()}, abs=1e-6)
    finally:
        ask("stop", "--all")


SPEEDSCOPE = MODULES / "speedscope" / "dist" / "release" / "index.html"


@needs_browser
@pytest.mark.skipif(not SPEEDSCOPE.exists(), reason="speedscope of npm is not there: see HOTPATH_NODE_MODULES")
def test_speedscope(stacked):
    """Its page takes a file as a script; it then shows the title, and the total of the profile."""
    script = stacked.cli.folder / "load.js"
    data = base64.b64encode(stacked.export("speedscope")).decode()
    script.write_text(f'speedscope.loadFileFromBase64("run.json", "{data}")')
    text = in_browser(stacked.cli, f"file://{SPEEDSCOPE}#localProfilePath={script}", "--enable-unsafe-swiftshader",
                      "--allow-file-access-from-files")
    assert re.search(r"<title>[^<]*weights - speedscope</title>", text)
    total = stacked.report.section("functions")["totals"]["cpu_ns"]
    assert f"{total / 1e6:.2f}ms" in text and "CPU time" in text


# --------------------------------------------------------------------------------------------------------- perfetto

PARSE = """
import json, sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
trace, names, tracks, totals, counters = Trace(), {}, {}, {}, {}
trace.ParseFromString(open(sys.argv[1], "rb").read())
stacks = {}
for packet in trace.packet:
    assert packet.trusted_packet_sequence_id == 1
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        tracks[track.uuid] = track.name
        if track.HasField("counter"):
            counters[track.name] = [track.counter.unit_name, 0]
    for name in packet.interned_data.event_names:
        names[name.iid] = name.name
    if packet.HasField("track_event"):
        event = packet.track_event
        if event.type == TrackEvent.TYPE_COUNTER:
            counters[tracks[event.track_uuid]][1] += 1
            continue
        stack = stacks.setdefault(event.track_uuid, [])
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            stack.append((names[event.name_iid], packet.timestamp))
        else:
            assert event.type == TrackEvent.TYPE_SLICE_END
            name, began = stack.pop()
            if not stack:
                track = tracks[event.track_uuid]
                totals[track] = totals.get(track, 0) + packet.timestamp - began
print(json.dumps({"totals": totals, "counters": counters}))
"""


@pytest.mark.skipif(PERFETTO is None, reason="HOTPATH_PERFETTO_PYTHON names no Python with the package perfetto")
def test_perfetto():
    """By the messages that Perfetto itself defines."""
    run = Run("--section", "functions,timeline", PROGRAMS / "stacked", "split", 1200)
    path = run.cli.folder / "trace"
    run.cli("export", "-f", "perfetto", "-o", path)
    found = json.loads(call(PERFETTO, "-c", PARSE, path))
    assert found["totals"]["CPU time"] == run.report.section("functions")["totals"]["cpu_ns"]
    assert found["counters"] == {f"{row.what} of {row.name}": [row.unit, len(row.series)]
                                 for row in run.report.rows("timeline")}
    run.box.remove()
