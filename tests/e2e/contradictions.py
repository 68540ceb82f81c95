"""What no report may say. Each rule looks at a whole report in JSON, or at text that users read, and yields a
sentence for each contradiction: a share above 100 %, a part above its whole, a maximum below the average, threads
that did more than they lived, a first sentence that disagrees with the tables."""
import itertools
import re

GRAIN_NS = 20_000_000  # clocks of threads are read one after the other, and the kernel's tick is up to 10 ms
LONG_NS = 1_000_000_000  # in less, there may be too few samples
TINY = 1e-6

# (section or None for all, part, whole). Several parts are added.
PARTS = [
    (None, ["self_ns"], "total_ns"),
    (None, ["own_cpu_ns"], "all_cpu_ns"),
    (None, ["user_ns", "kernel_ns"], "cpu_ns"),
    (None, ["own_bytes"], "all_bytes"),
    (None, ["own_count"], "all_count"),
    (None, ["self_bytes"], "total_bytes"),
    (None, ["left_bytes"], "total_left_bytes"),
    (None, ["peak_bytes"], "total_peak_bytes"),
    (None, ["waits_for_ns"], "waiting_ns"),
    (None, ["zone_ns"], "total_ns"),
    ("functions", ["self_wall_ns"], "self_ns"),
    ("functions", ["self_wall_ns"], "total_wall_ns"),
    ("functions", ["total_wall_ns"], "total_ns"),
    ("functions", ["program_ns"], "total_ns"),
    ("bottlenecks", ["work_ns", "idle_ns"], "self_ns"),
    ("calltree", ["total_wall_ns"], "all_cpu_ns"),
    ("stacktree", ["self_wall_ns"], "self_ns"),
    ("stacktree", ["self_wall_ns"], "total_wall_ns"),
    ("stacktree", ["total_wall_ns"], "total_ns"),
    ("stacktree", ["total_idle_ns"], "total_waiting_ns"),
    ("functions", ["idle_ns"], "waiting_ns"),
    ("functions", ["waiting_ns"], "total_waiting_ns"),
    ("functions", ["held_ns"], "waiting_ns"),
    ("functions", ["alloc_bytes"], "total_alloc_bytes"),
    ("tasks", ["busy_ns", "waiting_ns"], "total_ns"),
    ("channels", ["queue"], "queue_max"),
    ("critical-path", ["unknown_ns"], "path_ns"),
    ("alloc-threads", ["live_usable_bytes"], "peak_usable_bytes"),
    ("threads", ["cpu_ns", "waited_ns"], "lived_ns"),
]

# (section or None for all, smaller, greater)
ORDERED = [
    (None, "min_ns", "avg_ns"), (None, "avg_ns", "max_ns"), (None, "p95_ns", "max_ns"), (None, "min_ns", "p95_ns"),
    (None, "p50_ns", "p95_ns"), (None, "p95_ns", "p99_ns"), (None, "p99_ns", "max_ns"),
    (None, "avg_poll_ns", "max_poll_ns"), (None, "mean_turn_ns", "longest_turn_ns"),
    (None, "queue_mean", "queue_max"), (None, "percent_average", "percent_max"), ("timeline", "average", "max"),
    ("timeline", "last", "max"), ("values", "min", "mean"), ("values", "mean", "max"),
    (None, "in_flight", "max_open"), ("timing", "min_ns", "quarter_ns"), ("timing", "quarter_ns", "typical_ns"),
    ("timing", "typical_ns", "max_ns"),
]


def flat(rows):
    for row in rows:
        yield row
        yield from flat(row.get("children", []))


def number(row, key):
    value = row.get(key)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def path_sums(report):
    """The path is a chain of moments: each is in one row, and waits along it are part of it."""
    sections = report["sections"]
    for name, key in (("critical-path", "path_ns"), ("path-waits", "waited_ns")):
        found = sum(row[key] for row in sections.get(name, {}).get("rows", []))
        if above(found, report["elapsed_ns"], 1000):
            yield f"{name}: {found} ns in a run of {report['elapsed_ns']} ns"


def above(least, most, grain=0.0):
    return least > most * (1 + TINY) + grain


def shares(name, section, row):
    whole = 100.0 * max(row.get("threads") or 1, 1) if name == "threads" else 100.0
    for key, value in row.items():
        if not key.startswith("percent_") or number(row, key) is None:
            continue
        if key == "percent_total" and section.get("percent_of") in ("main", "elapsed") or name == "task-waits":
            continue  # several threads, or several awaits of a task, at once
        if value < 0 or above(value, whole, 0.5 if name == "threads" else 0.01):
            yield f"{key} is {value}"


def parts(name, row):
    for where, some, whole_key in PARTS:
        values, whole = [number(row, key) for key in some], number(row, whole_key)
        if where not in (None, name) or None in values or whole is None:
            continue
        # The total of a recursive function counts in one of its nodes only.
        if is_estimated(row) or name == "calltree" and whole == 0:
            continue
        grain = GRAIN_NS + 0.01 * whole if name == "threads" else len(values)
        if above(sum(values), whole, grain):
            yield f"{' + '.join(some)} is {sum(values)}, {whole_key} only {whole}"
    waits = row.get("waits_ns")
    if isinstance(waits, dict) and above(sum(waits.values()), row.get("waited_ns", 0), len(waits)):
        yield f"waits_ns {waits} is more than {row.get('waited_ns')}"


def is_estimated(row):
    """Of sampled calls, minimum and maximum are those of the calls that were timed; sums are estimates."""
    return row.get("scaled", "none") != "none" or row.get("sampling", "none") != "none"


def orders(name, row):
    if is_estimated(row):
        return
    for where, small, great in ORDERED:
        low, high = number(row, small), number(row, great)
        # Percentiles are those of a histogram whose buckets are 1 % wide.
        if where not in (None, name) or low is None or high is None:
            continue
        if small == "min_ns" and row.get("open"):  # counted up to now, and so perhaps shorter than those that ended
            continue
        if above(low, high, 0.011 * abs(high) + 1):
            yield f"{small} is {low}, {great} {high}"


def order_of_rows(section):
    order = section.get("order")
    if not order or not section["rows"]:
        return
    rows = [row for row in section["rows"] if row["name"] != section.get("main")]  # which is put first
    values = [number(row, order["column"]) for row in rows]
    values = [value for value in values if value is not None]
    sign = -1 if order["direction"] == "descending" else 1
    if any(sign * a > sign * b + TINY for a, b in itertools.pairwise(values)):
        yield f"rows are not in the order of {order}: {values}"


def sums(name, section, is_inclusive):
    """Shares of the sum of all rows, or of all CPU time, are at most all of it together."""
    if name == "cpu" and is_inclusive:
        return
    key = "percent_self" if name in ("functions", "alloc-functions") else "percent_total"
    if name in ("functions", "alloc-functions", "cpu", "waits"):
        total = sum(number(row, key) or 0 for row in section["rows"])
        if above(total, 100, 0.5):
            yield f"{key} of all rows is {total}"


def in_sections(report):
    for name, section in report["sections"].items():
        for said in itertools.chain(order_of_rows(section), sums(name, section, report.get("cpu") == "inclusive")):
            yield f"{name}: {said}"
        for row in flat(section["rows"]):
            for said in itertools.chain(shares(name, section, row), parts(name, row), orders(name, row)):
                yield f"{name}, {row.get('name')}: {said}"


def processes(report):
    """Each counts once, in the headline, in the rows and in the last line."""
    section, count = report["sections"].get("processes"), report["meta"]["processes"]
    if section and section["rows"] and section["shown_rows"] == section["total_rows"]:
        rows = sum(row["processes"] for row in section["rows"])
        if rows != count and (rows, count) != (0, 1):  # a report about one program of a process
            yield f"{count} processes, but {rows} in all rows"
    for key in ("brief_processes", "uncounted_processes", "unpassed_processes"):
        if report["trust"].get(key, 0) > count:
            yield f"{key} is {report['trust'][key]}, of {count} processes"


def names_of(report):
    rows = [row for section in report["sections"].values() for row in flat(section["rows"])]
    libraries = {re.sub(r"\.so\b.*|-\d[\d.]*\.so.*", "", row["library"]) for row in rows if row.get("library")}
    return libraries | {row.get(key) for row in rows for key in ("name", "zone", "callback", "senders", "receivers")
                        if row.get(key)}


def as_said(name):
    """Sentences escape what a terminal would obey."""
    escapes = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return "".join(char if char.isprintable() else escapes.get(char, f"\\x{ord(char):02x}") for char in name)


NO_NAME = r"outside |\d|(?:the kernel|processes too short|code without|fork, exec|hotpath itself)\b"
NAMED = re.compile(rf"(?:bottleneck is |is in |spent in )(?!{NO_NAME})(.+?)(?=: \d|, \d|\. |$| \(|, held)")
IDLE = re.compile(r"[Ii]dle for (\d+) % of")
TAKES = re.compile(r"([^;]+?)(?: in ([\w.+-]+))? takes (\d+) % of the (CPU|wall-clock) time")


def takers(report, line):
    """A function that the first sentence gives a share of the run has the same in the table of functions."""
    section = report["sections"].get("functions")
    if not section or section["shown_rows"] != section["total_rows"]:
        return
    for name, library, share, clock in TAKES.findall(line):
        name = re.split(r"(?<!:): |, (?=\w+ (?:in|takes)|[^,]*$)|\. ", name)[-1]
        if name.endswith("(no symbols)") or name in ("code made at run time", "the kernel"):  # sums over functions
            continue
        name = re.sub(r"^the system call (.*)", r"[kernel: \1]", re.sub(r"^(page fault.*)", r"[kernel: \1]", name))
        begin, _, end = name.partition("…")  # of a long one, both ends are said
        rows = [row for row in section["rows"] if begin in as_said(row["name"]) and end in as_said(row["name"]) and
                (row["library"] or "").startswith(library or "")]
        key = "percent_total" if clock == "CPU" else "percent_wall"
        if not rows:
            yield f"the first sentence has {name!r}, which is in no table: {line}"
        elif not any(abs(row[key] - int(share)) <= 0.51 for row in rows):
            yield f"the first sentence has {share} % for {name!r}, the table {[row[key] for row in rows]}: {line}"


def busiest_thread_ns(report):
    rows = report["sections"].get("threads", {}).get("rows", [])
    return max((row["cpu_ns"] / max(row.get("threads") or 1, 1) for row in rows), default=0)


def in_headline(report):
    line = report["meta"].get("headline") or ""
    names = {as_said(name) for name in names_of(report)}
    for found in NAMED.finditer(line) if {"functions", "timing"} & report["sections"].keys() else []:
        name, rest = found[1].split(" in ")[0], line[found.start(1):]  # a function of a library; or a longer name
        name = re.sub(r"^code of (.+) without symbols$", r"\1", name)
        if not any(name in other.split() or re.match(re.escape(other) + r"(?!\w)", rest) for other in names):
            yield f"the first sentence has {name!r}, which is in no table: {line}"
    for percent in re.findall(r"(\d+(?:\.\d+)?) %", line):
        if float(percent) > 100:
            yield f"the first sentence has {percent} %: {line}"
    yield from takers(report, line)
    idle = IDLE.search(line)
    if idle:
        rest_ns = report["elapsed_ns"] * (1 - int(idle.group(1)) / 100)
        if above(busiest_thread_ns(report), rest_ns, GRAIN_NS + 0.02 * report["elapsed_ns"]):
            yield f"a thread used {busiest_thread_ns(report)} ns of CPU time: {line}"
    if "too short for" in line and any((row.get("percent_own") or 0) > 50 and row["self_ns"] > LONG_NS for row in
                                   report["sections"].get("bottlenecks", {}).get("rows", [])):
        yield f"a function with most of the time is called too short: {line}"


def work(report):
    """The parts of the time in which anything worked, and CPU time whose waits were not seen."""
    times = report.get("work")
    if times and times["covered_ns"] != sum(value for key, value in times.items() if key != "covered_ns"):
        yield f"work: {times} does not add up"
    if times and times["covered_ns"] > report["elapsed_ns"]:
        yield f"work: {times} is more than the run, {report['elapsed_ns']} ns"
    totals = report["sections"].get("threads", {}).get("totals", {})
    if totals.get("unseen_cpu_ns", 0) > totals.get("cpu_ns", 0):
        yield f"threads: more CPU time is unseen than there is: {totals}"


def in_report(report):
    """All contradictions of a report in JSON with all sections and rows."""
    if report.get("meta", {}).get("clock", {}).get("kind", "").startswith("instructions"):
        return []  # its durations are no time
    return list(itertools.chain(in_sections(report), processes(report), work(report), in_headline(report),
                                path_sums(report)))


def plain(text):
    return " ".join(text.replace("The bottleneck is ", "").split())


def in_text(text, report):
    """All contradictions of a printed report or screen of the same run. Screens break lines."""
    found = []
    line = report["meta"].get("headline")
    if line and plain(line) not in plain(text):
        found.append(f"it does not have the first sentence {line!r}")
    names = {row["name"] for section in report["sections"].values() for row in flat(section["rows"]) if
             (row.get("percent_total") or 0) > 100}
    for row in text.splitlines():
        if any(name in row for name in names):
            continue
        for percent in re.findall(r"(?<![\d.])(\d+(?:\.\d+)?) ?%", row):
            if float(percent) > 100.05:
                found.append(f"{percent} %: {row.strip()}")
    return found
