"""Files of `hotpath export` as their viewers read them: each as a list of (stack of names, the outermost first;
weight), by dimension. Whatever a viewer would reject is an assertion here."""
import base64
import gzip
import json
import re
import struct
import xml.etree.ElementTree as ElementTree

from command import Cli
from harness import Box


def folded(text):
    stacks = []
    for line in text.splitlines():
        names, weight = re.fullmatch(r"(.+) (\d+)", line).groups()
        stacks.append((tuple(names.split(";")), int(weight)))
    assert len({names for names, _ in stacks}) == len(stacks), "a stack is there twice"
    return stacks


def speedscope(text):
    """{title: stacks}. What its importer requires: valid frames, ends that match beginnings, ordered positions."""
    values = json.loads(text)
    assert values["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert 0 <= values["activeProfileIndex"] < len(values["profiles"])
    names = [frame["name"] for frame in values["shared"]["frames"]]
    found = {}
    for profile in values["profiles"]:
        assert profile["type"] == "evented" and profile["unit"] in ("nanoseconds", "bytes")
        stack, at, stacks = [], profile["startValue"], []
        for event in profile["events"]:
            assert event["at"] >= at
            if event["at"] > at:
                stacks.append((tuple(names[frame] for frame in stack), event["at"] - at))
            at = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
            else:
                assert event["type"] == "C" and stack.pop() == event["frame"]
        assert not stack and at == profile["endValue"]
        found[profile["name"]] = stacks
    return found


def firefox(text):
    """{name of the thread: stacks}. Columns have the length of their table, and indexes are valid."""
    values = json.loads(text)
    shared, meta = values["shared"], values["meta"]
    assert meta["preprocessedProfileVersion"] == 66 and meta["symbolicated"] is True
    assert any(category["color"] == "grey" for category in meta["categories"])
    tables = [shared[name] for name in ("stackTable", "frameTable", "funcTable", "resourceTable", "sources",
                                        "nativeSymbols", "sourceLocationTable")]
    for table in tables + [thread[name] for thread in values["threads"] for name in ("samples", "markers")]:
        for name, column in table.items():
            if isinstance(column, list):
                assert len(column) == table["length"], name
    stacks, frames = shared["stackTable"], shared["frameTable"]
    functions, texts = shared["funcTable"], shared["stringArray"]
    assert all(0 <= frame < frames["length"] for frame in stacks["frame"])
    assert all(0 <= function < functions["length"] for function in frames["func"])
    assert all(0 <= category < len(meta["categories"]) for category in frames["category"])
    assert all(-1 <= resource < shared["resourceTable"]["length"] for resource in functions["resource"])
    assert all(0 <= lib < len(values["libs"]) for lib in shared["resourceTable"]["lib"])
    assert all(source is None or 0 <= source < shared["sources"]["length"] for source in functions["source"])
    names = []
    for at, (frame, offset) in enumerate(zip(stacks["frame"], stacks["prefixOffset"])):
        assert 0 <= offset <= at
        names.append((names[at - offset] if offset else ()) + (texts[functions["name"][frames["func"][frame]]],))
    found = {}
    for thread in values["threads"]:
        samples = thread["samples"]
        assert samples["weightType"] in ("tracing-ms", "bytes")
        assert all(delta >= 0 for delta in samples["timeDeltas"])
        scale = 1_000_000 if samples["weightType"] == "tracing-ms" else 1
        found[thread["name"]] = [(names[stack], round(weight * scale))
                                 for stack, weight in zip(samples["stack"], samples["weight"])]
    return found


def firefox_moments(text):
    """(markers, counters) of the process `Over time`: [(name, start, nanoseconds, data)], and {name: (display,
    [(ns, count)])}."""
    values = json.loads(text)
    texts, threads = values["shared"]["stringArray"], values["threads"]
    schemas = {schema["name"]: {field["key"] for field in schema["fields"]}
               for schema in values["meta"]["markerSchema"]}
    assert values["meta"]["initialVisibleThreads"] == list(range(len(threads)))
    assert len({thread["tid"] for thread in threads}) == len(threads)
    markers, counters = [], {}
    for thread in threads:
        table = thread["markers"]
        assert all(phase == 1 for phase in table["phase"])
        assert all(0 <= category < len(values["meta"]["categories"]) for category in table["category"])
        for at in range(table["length"]):
            start, end, data = table["startTime"][at], table["endTime"][at], table["data"][at]
            assert start <= end and data.keys() - {"type"} <= schemas[data["type"]]
            markers.append((texts[table["name"][at]], start * 1_000_000, (end - start) * 1_000_000, data))
    for counter in values["counters"]:
        samples, display, main = counter["samples"], counter["display"], threads[counter["mainThreadIndex"]]
        assert main["pid"] == counter["pid"] and main["isMainThread"] and display["label"] == counter["name"]
        assert display["graphType"] in ("line-rate", "line-accumulated") and len(display["tooltipRows"]) == 2
        assert len(samples["time"]) == len(samples["count"]) == samples["length"]
        assert samples["time"] == sorted(samples["time"])
        assert samples["count"][0] == 0, "its reader sets the first to nothing"
        assert counter["name"] not in counters
        counters[counter["name"]] = display, [(time * 1_000_000, count)
                                              for time, count in zip(samples["time"], samples["count"])]
    return markers, counters


def fields(data):
    """(number, value) of each field of a protocol buffer message; a value is a number or bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = number()
        assert tag & 7 in (0, 1, 2), f"wire type {tag & 7}"
        if tag & 7 == 1:
            at += 8
            yield tag >> 3, struct.unpack("<d", data[at - 8:at])[0]
            continue
        value = number()
        if tag & 7 == 2:
            assert at + value <= len(data)
            at += value
            value = data[at - value:at]
        yield tag >> 3, value


def numbers(data):
    """Of a packed field."""
    found, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            found.append(value)
            value = shift = 0
    assert shift == 0
    return found


def all_of(message, field):
    return [value for number, value in fields(message) if number == field]


def pprof(data):
    """{type: (unit, stacks)}."""
    profile = list(fields(gzip.decompress(data)))
    texts = [value.decode() for number, value in profile if number == 6]
    assert texts[0] == ""
    messages = lambda number: [dict_of(value) for field, value in profile if field == number]

    def dict_of(message):
        found = {}
        for number, value in fields(message):
            found.setdefault(number, []).append(value)
        return found

    functions = {function[1][0]: texts[function[2][0]] for function in messages(5)}
    mappings = {mapping[1][0] for mapping in messages(3)}
    assert 0 not in functions and 0 not in mappings
    locations = {}
    for location in messages(4):
        assert location.get(2, [0])[0] in mappings | {0}
        lines = [dict_of(line) for line in location[4]]
        locations[location[1][0]] = [functions[line[1][0]] for line in lines]  # the innermost first
    assert 0 not in locations
    types = [(texts[kind[1][0]], texts[kind[2][0]]) for kind in messages(1)]
    assert len(set(types)) == len(types)
    found = {name: (unit, []) for name, unit in types}
    for sample in messages(2):
        names = [name for location in numbers(sample[1][0]) for name in locations[location]]
        values = numbers(sample[2][0])
        assert len(values) == len(types)
        for (name, _), value in zip(types, values):
            if value:
                found[name][1].append((tuple(reversed(names)), value))
    return found


class Otlp:
    """A request to a collector of OpenTelemetry. `types`: as of `pprof`; `resource`: its attributes; `build_ids` by
    file; `frames`: the types of frames by name; `began_ns` and `ns` of its time."""

    def __init__(self, data):
        message = gzip.decompress(data)
        [profiles], [dictionary] = all_of(message, 1), all_of(message, 2)
        table = lambda field: all_of(dictionary, field)
        self.texts = [text.decode() for text in table(5)]
        for number in (1, 2, 3, 4, 6, 7):  # index 0 is "none" everywhere
            assert table(number)[0] == b"", number
        assert self.texts[0] == "" and len(set(self.texts)) == len(self.texts)
        mappings, functions, attributes = ([dict(fields(entry)) for entry in table(field)] for field in (1, 3, 6))
        pairs = [(self.texts[entry.get(1, 0)], dict(fields(entry.get(2, b""))).get(1, b"").decode())
                 for entry in attributes]
        assert len(set(pairs)) == len(pairs)
        self.build_ids = {self.texts[mapping[4]]: dict(pairs[at] for at in numbers(mapping.get(5, b""))).get(
            "process.executable.build_id.gnu", "") for mapping in mappings[1:]}
        names = [self.texts[function.get(1, 0)] for function in functions]
        self.frames, locations = {}, []
        for entry in table(2):
            location = dict(fields(entry))
            assert location.get(1, 0) < len(mappings)
            lines = [names[dict(fields(line))[1]] for line in all_of(entry, 3)]  # the innermost first
            locations.append(lines)
            for at in numbers(location.get(4, b"")):
                assert pairs[at][0] == "profile.frame.type"
                self.frames[lines[0]] = pairs[at][1]
        stacks = [[name for at in numbers(dict(fields(entry)).get(1, b"")) for name in locations[at]]
                  for entry in table(7)]
        self.stacks = len(stacks) - 1
        [resource], [scope] = all_of(profiles, 1), all_of(profiles, 2)
        self.resource = {}
        for attribute in all_of(resource, 1):
            attribute = dict(fields(attribute))
            [(kind, value)] = fields(attribute[2])
            self.resource[attribute[1].decode()] = value.decode() if kind == 1 else value
        assert dict(fields(all_of(scope, 1)[0]))[1] == b"hotpath"
        self.types, self.periods = {}, {}
        for profile in all_of(scope, 2):
            text_of = lambda message, field: self.texts[dict(fields(message))[field]]
            [kind] = all_of(profile, 1)
            found, name = [], text_of(kind, 1)
            for sample in all_of(profile, 2):
                sample = dict(fields(sample))
                [value] = numbers(sample[4])
                assert value > 0 and sample[1] > 0
                found.append((tuple(reversed(stacks[sample[1]])), value))
            assert name not in self.types
            self.types[name] = text_of(kind, 2), found
            self.began_ns, self.ns = struct.unpack("<Q", struct.pack("<d", all_of(profile, 3)[0]))[0], all_of(
                profile, 4)[0]
            if all_of(profile, 5):
                self.periods[name] = (text_of(all_of(profile, 5)[0], 1), all_of(profile, 6)[0])


def pprof_build_ids(data):
    """{file: build id}"""
    profile = gzip.decompress(data)
    texts = [text.decode() for text in all_of(profile, 6)]
    mappings = [dict(fields(entry)) for entry in all_of(profile, 3)]
    return {texts[mapping[5]]: texts[mapping[6]] for mapping in mappings}


def sums_of(stacks):
    """A stack may be there several times: at other lines, or in parts."""
    found = {}
    for names, weight in stacks:
        found[names] = found.get(names, 0) + weight
    return found


def pprof_comments(data):
    profile = list(fields(gzip.decompress(data)))
    texts = [value.decode() for number, value in profile if number == 6]
    return [texts[value] for number, value in profile if number == 13]


def pprof_labels(data, dimension):
    """[(zone or None, weight)] of each sample that has a value of that type."""
    profile = list(fields(gzip.decompress(data)))
    texts = [value.decode() for number, value in profile if number == 6]
    types = [texts[dict(fields(value))[1]] for number, value in profile if number == 1]
    found = []
    for sample in all_of(gzip.decompress(data), 2):
        labels = [{number: texts[value] for number, value in fields(label)} for label in all_of(sample, 3)]
        assert all(label.keys() == {1, 2} and label[1] == "zone" for label in labels) and len(labels) <= 1
        weight = numbers(dict(fields(sample))[2])[types.index(dimension)]
        if weight:
            found.append((labels[0][2] if labels else None, weight))
    return found


def perfetto(data):
    """{name of the track: stacks}, by the rules of its trace processor: names are interned per sequence."""
    names, tracks, open_slices, found = {}, {}, {}, {}
    for at, packet in enumerate(all_of(data, 1)):
        packet = {number: value for number, value in fields(packet)}
        assert packet[10] == 1 and packet[13] == (1 if at == 0 else 2)
        if 60 in packet:
            track = dict(fields(packet[60]))
            tracks[track[1]] = track.get(2, b"").decode()
        for entry in all_of(packet.get(12, b""), 2):
            entry = dict(fields(entry))
            assert entry[1] != 0
            names[entry[1]] = entry[2].decode()
        if 11 in packet:
            event, when = dict(fields(packet[11])), packet.get(8)
            if event[9] == 4:
                continue
            stack, latest = open_slices.setdefault(event[11], ([], [0]))
            assert when >= latest[0]
            if when > latest[0]:
                found.setdefault(tracks[event[11]], []).append((tuple(stack), when - latest[0]))
            latest[0] = when
            if event[9] == 1:
                stack.append(names[event[10]])
            else:
                assert event[9] == 2 and stack.pop()
    assert not any(stack for stack, _ in open_slices.values())
    return found


def perfetto_counters(data):
    """{name of the track: (unit, [(when, value)])}"""
    tracks, found = {}, {}
    for packet in all_of(data, 1):
        packet = dict(fields(packet))
        if 60 in packet:
            track = dict(fields(packet[60]))
            if 8 in track:
                tracks[track[1]] = track[2].decode()
                assert tracks[track[1]] not in found
                found[tracks[track[1]]] = (dict(fields(track[8]))[6].decode(), [])
        if 11 in packet:
            event = dict(fields(packet[11]))
            if event[9] == 4:
                found[tracks[event[11]]][1].append((packet.get(8, 0), event[44]))
    return found


def flamegraph(text):
    """(names of all boxes, with their shares in percent)."""
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    found = []
    for group in root.iter(space + "g"):
        lines = group.find(space + "title").text.split("\n")
        width = float(group.find(space + "rect").get("width"))
        found.append((lines[0], float(re.search(r"([\d.]+) %$", lines[-1]).group(1)), width))
    return found


def dhat(text):
    """(stacks, blocks)"""
    values = json.loads(text)
    assert values["dhatFileVersion"] == 2 and values["ftbl"][0] == "[root]"
    for key in ("mode", "verb", "bklt", "bkacc", "tu", "Mtu", "tuth", "cmd", "pid", "te"):
        assert key in values
    name = lambda frame: re.sub(r" \((in )?[^()]*\)$", "", values["ftbl"][frame].partition(": ")[2])
    assert all(point["fs"] and 0 not in point["fs"] for point in values["pps"])
    stacks = [(tuple(name(frame) for frame in reversed(point["fs"])), point["tb"]) for point in values["pps"]]
    return stacks, sum(point["tbk"] for point in values["pps"])


def flame(text):
    """{key: stacks}, and the data themselves."""
    values = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S).group(1))
    stacks, names = values["stacks"], [()]
    column = lambda text: numbers(base64.b64decode(text))
    for back, function in zip(column(stacks["parents"]), column(stacks["functions"])):
        assert 0 < back <= len(names)
        names.append(names[len(names) - back] + (stacks["names"][function],))
    for weights in stacks["weights"]:
        weights["own"], weights["before"] = column(weights["own"]), column(weights.get("before", ""))
    return {weights["key"]: [(stack, own) for stack, own in zip(names[1:], weights["own"]) if own]
            for weights in stacks["weights"]}, values


def own(stacks):
    """The own weight of each name."""
    found = {}
    for names, weight in stacks:
        found[names[-1]] = found.get(names[-1], 0) + weight
    return {name: weight for name, weight in found.items() if weight}


def own_of_functions(report):
    found = {}
    for row in report.rows("functions"):
        found[row.name] = found.get(row.name, 0) + round(row.self_ns)
    return {name: weight for name, weight in found.items() if weight}


class Run:
    """One run that many tests share, with its report."""

    def __init__(self, *command, **environment):
        self.box = Box()
        self.cli = Cli(self.box)
        self.report = self.cli.run(*command, **environment).report

    def export(self, form, *args):
        path = self.cli.folder / form
        self.cli("export", "--format", form, "-o", path, *args)
        return path.read_bytes()

    def text(self, form, *args):
        return self.export(form, *args).decode()

    def page(self, *args):
        path = self.cli.folder / "page.html"
        assert self.cli("open", "--no-open", "--view", "flame", "-o", path, *args).stdout == f"{path}\n"
        return path.read_text()
