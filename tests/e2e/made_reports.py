"""Reports of known numbers, for tests of comparisons."""
import json
import random
from pathlib import Path

import pytest

NS = {"main": 1, "step": 1000, "parse": 20000, "encode": 60000, "pack": 40000, "load": 30000, "tiny": 300}
ENGINE = "instructions (qemu 7.2.22, cpu max,-erms, glibc 2.36)"


def large_report(nodes, functions=2000, ns=None, seed=1):
    """The text of a report whose call tree has so many nodes, at most thirty deep, of functions by chance: nearly
    every node is a call of another pair of them. Functions are f0, f1 ... and take one nanosecond, or those of
    `ns`."""
    chance = random.Random(seed)
    names = [f"f{number}" for number in range(functions)]
    rows = [{"name": name, "calls": 100, "self_ns": (ns or {}).get(name, 1), "total_ns": 10**9} for name in names]
    report = {"type": "hotpath_report", "version": 2, "hotpath": "0.1.0",
              "meta": {"command": "./large", "system": "Linux 6.1 x86_64", "cores": 2,
                       "library": "hotpath 0.1.0, gcc 12.2.0", "clock": {"kind": "tsc", "hz": 2500000000}},
              "state": "finished", "by": "function", "elapsed_ns": 10**9,
              "sections": {"timing": {"total_rows": functions, "shown_rows": functions, "rows": rows}}}
    if nodes > 0:
        report["sections"]["calltree"] = {"rows": ["TREE"]}
    text, depth = [], 0
    for number in range(nodes):
        keep = min(depth, chance.randrange(30)) if number > 0 else 0
        text += ["]}" * (depth - keep), "," if number > 0 and keep < depth else "",
                 '{"name":"%s","calls":1,"children":[' % chance.choice(names)]
        depth = keep + 1
    return json.dumps(report).replace('"TREE"', "".join(text) + "]}" * depth)


def large_folders(folder, nodes):
    """Ten reports now and before, the first with such a tree. Of 70 functions with nearly all of the time, 24 take
    half as long again now."""
    sides = []
    for side, slower in (("now", 1.5), ("before", 1)):
        ns = {f"f{number}": 10000 * (slower if number % 3 == 0 else 1) for number in range(70)}
        path = Path(folder) / side
        path.mkdir()
        for run in range(10):
            (path / f"{run}.json").write_text(large_report(nodes if run == 0 else 0, ns=ns, seed=len(side)))
        sides.append(path)
    return sides


class Maker:
    """Reports of a program whose main calls step a thousand times, and step all others. The machine makes each run
    slower by up to 30 % in everything, and each number noisy by itself."""

    def __init__(self, cli, seed=1):
        self.cli, self.random, self.count = cli, random.Random(seed), 0

    def report(self, ns=None, calls=1000, varying=(), slow=1.0, name="report.json"):
        ns = dict(NS, **(ns or {}))
        machine = 1 + 0.3 * self.random.random()
        rows, children = [], []
        leaves = [leaf for leaf in ns if leaf not in ("main", "step")]
        for leaf in leaves:
            typical = ns[leaf] * machine * self.random.gauss(1, 0.004)
            own = typical * calls * (1 + 0.2 * self.random.random())
            quarter = typical * 0.999
            if leaf in varying:  # some calls do much more: a quarter of them, more or less, from run to run
                part = self.random.gauss(0.45, 0.04)
                quarter, typical = ns[leaf] * machine, ns[leaf] * machine * (1 if part > 0.5 else 3)
                own = ns[leaf] * slow * machine * calls * 3 * self.random.gauss(1, 0.02)
            rows.append(self.row(leaf, calls, typical, quarter, own, own))
            children.append(self.node(leaf, calls, []))
        inner = sum(row["typical_ns"] for row in rows)
        step = inner + ns["step"] * machine
        spent = sum(row["self_ns"] for row in rows)
        rows.append(self.row("step", calls, step, step * 0.999, ns["step"] * calls, spent + ns["step"] * calls))
        rows.append(self.row("main", 1, spent, spent, 1000, spent))
        report = {
            "type": "hotpath_report", "version": 2, "hotpath": "0.1.0",
            "meta": {"command": "./made", "system": "Linux 6.1 x86_64", "cores": 2,
                     "library": "hotpath 0.1.0, gcc 12.2.0", "clock": {"kind": "tsc", "hz": 2500000000}},
            "state": "finished", "time": "inclusive", "by": "function", "elapsed_ns": int(spent),
            "sections": {"timing": {"total_rows": len(rows), "shown_rows": len(rows), "rows": rows},
                         "calltree": {"rows": [self.node("main", 1, [self.node("step", calls, children)])]}}}
        return report

    def counted(self, engine=ENGINE, **instructions):
        """A report of functions whose own instructions were counted."""
        report = self.report()
        report["meta"]["clock"] = {"kind": engine, "hz": None}
        report["sections"]["timing"]["rows"] = [
            {"name": name, "calls": 1000, "self_instructions": count, "total_instructions": count,
             "location": {"file": "/src/made.c", "line": 7, "function": name}}
            for name, count in instructions.items()]
        return report

    @staticmethod
    def row(name, calls, typical, quarter, own, total):
        return {"name": name, "calls": calls, "typical_ns": typical, "quarter_ns": quarter, "p95_ns": typical,
                "self_ns": own, "total_ns": total, "location": {"file": "/src/made.c", "line": 7, "function": name}}

    @staticmethod
    def node(name, calls, children):
        return {"name": name, "calls": calls, "children": children}

    def folder(self, runs=10, **how):
        folder = self.cli.folder / f"runs{self.count}"
        self.count += 1
        folder.mkdir()
        for run in range(runs):
            (folder / f"{run}.json").write_text(json.dumps(self.report(**how)))
        return folder

    def file(self, report):
        path = self.cli.folder / f"report{self.count}.json"
        self.count += 1
        path.write_text(json.dumps(report))
        return path


@pytest.fixture
def maker(cli):
    return Maker(cli)
