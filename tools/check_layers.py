#!/usr/bin/env python3
"""Compares the include graph of include/ and src/ with the table of layers in docs/architecture.md.

usage: check_layers.py [ROOT]

Prints one line for each include that the table does not allow, each folder that it lacks, each header that does
not exist, and each name that two headers share (headers are included by name alone, so names must be unique).
Inside a folder, files must not depend on each other in a cycle; a source and the header of its name are one.
Those of src/record are in the table below "Inside the recorder", and include only those that come before them
there.
"""

import re
import sys
from pathlib import Path


def read_table(document):
    """{folder: set of folders it may use}, from the table below the heading "Layers"."""
    layers = {}
    section = re.search(r"^## Layers$(.*?)(^## |\Z)", document, re.M | re.S)
    for line in section.group(1).splitlines() if section else []:
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 3 and re.fullmatch(r"`[\w/]+`", cells[1]):
            layers[cells[1].strip("`")] = set(re.findall(r"`([\w/]+)`", cells[2]))
    return layers


def read_map(document):
    """The units of src/record in the order of the table below "Inside the recorder", if there is one."""
    section = re.search(r"^## Inside the recorder$(.*?)(^## |\Z)", document, re.M | re.S)
    rows = [line.split("|")[1] for line in section.group(1).splitlines()
            if line.startswith("| `")] if section else []
    return [unit for row in rows for unit in re.findall(r"`(\w+)(?:\.h)?`", row)]


def off_the_map(order, uses):
    """Errors of the table: units that it lacks, has twice or invents, and those that include a later one."""
    place = {unit: at for at, unit in enumerate(order)}
    for unit in sorted(unit for unit in {*order, *uses} if order.count(unit) != 1 or unit not in uses):
        yield f"docs/architecture.md: {unit} is {order.count(unit)} times in the map of the recorder"
    for unit in sorted(uses):
        for used in sorted(uses[unit] - {unit}):
            if unit in place and place[unit] < place.get(used, 0):
                yield f"src/record: {unit} includes {used}.h, which stands after it in the map of the recorder"


def uses_in(folder):
    """{unit: set of units of the folder that it includes}. A unit is a header, a source, or both of one name."""
    files = [file for file in folder.iterdir() if file.suffix in (".c", ".h", ".def")]
    headers = {file.name for file in files if file.suffix != ".c"}
    uses = {}
    for file in files:
        included = re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read_text(), re.M)
        uses.setdefault(file.stem, set()).update(Path(name).stem for name in included if name in headers)
    return uses


def circles(uses):
    """Units that depend on each other, each group once."""

    def reached_from(unit):
        found, left = set(), [unit]
        while left:
            for used in uses.get(left.pop(), set()) - found:
                found.add(used)
                left.append(used)
        return found

    reached = {unit: reached_from(unit) - {unit} for unit in uses}
    groups = {frozenset({unit} | {other for other in reached[unit] if unit in reached[other]}) for unit in uses}
    return sorted(sorted(group) for group in groups if len(group) > 1)


def check(root):
    layers = read_table((root / "docs/architecture.md").read_text())
    if not layers:
        yield "docs/architecture.md: no table of layers"
    for folder, uses in layers.items():
        for used in sorted(uses - layers.keys()):
            yield f"docs/architecture.md: {folder} uses {used}, which is not in the table"

    files = sorted(f for top in ("include", "src") for f in (root / top).rglob("*")
                   if f.suffix in (".c", ".h", ".def"))
    home = {}
    for file in files:
        folder = str(file.parent.relative_to(root))
        if folder not in layers:
            yield f"{file.relative_to(root)}: {folder} is not in the table of layers"
        if file.suffix != ".c" and home.setdefault(file.name, folder) != folder:
            yield f"{file.relative_to(root)}: {home[file.name]} has a header of this name too"

    for folder in sorted({file.parent for file in files}):
        for circle in circles(uses_in(folder)):
            yield f"{folder.relative_to(root)}: {', '.join(circle)} include one another in a circle"

    order = read_map((root / "docs/architecture.md").read_text())
    if order:
        yield from off_the_map(order, uses_in(root / "src/record"))

    for file in files:
        folder = str(file.parent.relative_to(root))
        allowed = layers.get(folder, set()) | {folder}
        for number, line in enumerate(file.read_text().splitlines(), 1):
            include = re.match(r'\s*#\s*include\s+(?:"([^"]+)"|<(hotpath\.h)>)', line)
            if not include:
                continue
            name = include.group(1) or include.group(2)
            where = f"{file.relative_to(root)}:{number}"
            if name not in home:
                yield f'{where}: there is no header "{name}"'
            elif home[name] not in allowed:
                yield f"{where}: {folder} may not use {home[name]} ({name})"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    problems = list(check(root))
    print("\n".join(problems) or "layers: as in docs/architecture.md")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
