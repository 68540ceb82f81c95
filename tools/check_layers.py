#!/usr/bin/env python3
"""Compares the include graph of include/ and src/ with the README.md of each folder.

usage: check_layers.py [ROOT]

The README.md of a folder names, after "Uses:", the folders whose headers its files may include, and lists its files
from the bottom up: a file includes only files above it. A source and the header of its name are one entry, without
an extension. Folders below one with a README.md and without their own belong to it ("core/runtime").

Prints one line for each include that a README.md does not allow, each folder and file that it lacks or invents,
each header that does not exist, and each name that two headers share (headers are included by name alone, so names
must be unique).
"""

import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'\s*#\s*include\s+(?:"([^"]+)"|<(hotpath(?:/\w+)?\.h)>)')


class Folder:
    """A folder with a README.md: what it says, and the files that it is about."""

    def __init__(self, root, readme):
        self.path = readme.parent
        self.name = str(self.path.relative_to(root))
        text = readme.read_text(encoding="utf-8")
        uses = re.search(r"^Uses: (.*?)\n\n", text, re.M | re.S)
        self.uses = set(re.findall(r"`([\w/]+)`", uses.group(1))) if uses else None
        self.order = re.findall(r"^- `([\w/.]+)`", text, re.M)
        self.files = []

    def unit(self, file):
        """A file as it is listed: with its extension if it stands alone."""
        stem = file.relative_to(self.path).with_suffix("")
        kinds = {other.suffix for other in self.files if other.with_suffix("") == file.with_suffix("")}
        return str(stem) if len(kinds) > 1 else str(file.relative_to(self.path))


def lines_with_includes(file):
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        include = INCLUDE.match(line)
        if include:
            yield number, (include.group(1) or include.group(2)).rsplit("/", 1)[-1]


def check_list(folder):
    units = {folder.unit(file) for file in folder.files}
    for unit in sorted(units | set(folder.order)):
        if unit not in units:
            yield f"{folder.name}/README.md: there is no {unit}"
        elif folder.order.count(unit) != 1:
            yield f"{folder.name}/README.md: {unit} is {folder.order.count(unit)} times in the list of files"


def check_uses(folder, home):
    used = {home[name][0].name for file in folder.files for _, name in lines_with_includes(file) if name in home}
    for name in sorted((folder.uses or set()) - used):
        yield f"{folder.name}/README.md: no file uses {name}"


def check_includes(root, folder, home):
    place = {unit: at for at, unit in enumerate(folder.order)}
    for file in folder.files:
        unit = folder.unit(file)
        for number, name in lines_with_includes(file):
            where = f"{file.relative_to(root)}:{number}"
            if name not in home:
                yield f'{where}: there is no header "{name}"'
                continue
            owner, header = home[name]
            if owner is not folder and owner.name not in (folder.uses or ()):
                yield f"{where}: {folder.name} may not use {owner.name} ({name})"
            elif owner is folder and place.get(unit, len(place)) < place.get(folder.unit(header), 0):
                yield f"{where}: {unit} includes {name}, which stands after it in {folder.name}/README.md"


def check(root):
    readmes = sorted(file for top in ("include", "src") for file in (root / top).rglob("README.md"))
    folders = {folder.path: folder for folder in (Folder(root, readme) for readme in readmes)}
    home = {}
    for file in sorted(f for top in ("include", "src") for f in (root / top).rglob("*")
                       if f.suffix in (".c", ".h", ".def")):
        folder = next((folders[parent] for parent in file.parents if parent in folders), None)
        if folder is None:
            yield f"{file.relative_to(root)}: no README.md in its folder"
            continue
        folder.files.append(file)
        if file.suffix != ".c" and home.setdefault(file.name, (folder, file))[1] != file:
            yield f"{file.relative_to(root)}: {home[file.name][1].relative_to(root)} has the same name"

    for folder in folders.values():
        if folder.files and folder.uses is None:
            yield f'{folder.name}/README.md: no line "Uses: ..."'
        yield from check_uses(folder, home)
        yield from check_list(folder)
        yield from check_includes(root, folder, home)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    problems = list(check(root))
    print("\n".join(problems) or "layers: as in the README.md of each folder")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
