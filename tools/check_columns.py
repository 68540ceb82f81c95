#!/usr/bin/env python3
"""Checks that no line of a source has more than 116 columns, which are characters, not bytes.

usage: check_columns.py [ROOT]

Sources are the C, C++, Python, JavaScript, CSS, HTML, CMake and shell files that git knows; in a tree without git,
those of the folders below. Not checked: documents and data (Markdown, man pages, JSON, SVG, docs/), completions for
shells, which are generated, and inputs of fuzzers. Single lines have no exemption: a long string becomes two.
"""

import subprocess
import sys
from pathlib import Path

COLUMNS = 116
FOLDERS = ("bench", "cmake", "examples", "fuzz", "include", "src", "tests", "tools")
SUFFIXES = {".c", ".h", ".cc", ".hpp", ".def", ".map", ".py", ".js", ".css", ".html", ".cmake", ".in", ".sh",
            ".bash", ".lua"}
NAMES = {"CMakeLists.txt", "dev", ".ci/run"}


def is_source(path):
    if str(path) in NAMES:
        return True
    is_ours = path.parts[0] in FOLDERS and path.parts[:2] != ("fuzz", "corpus")
    return is_ours and (path.suffix in SUFFIXES or path.name == "CMakeLists.txt")


def paths_of(root):
    """Relative to `root`."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [Path(name) for name in listed.stdout.split("\0") if name]
    below = [path.relative_to(root) for folder in FOLDERS for path in root.glob(f"{folder}/**/*")]
    return sorted({*below, *map(Path, NAMES)})


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    count = status = 0
    for path in filter(is_source, paths_of(root)):
        if not (root / path).is_file():
            continue
        count += 1
        for number, line in enumerate((root / path).read_text(encoding="utf-8").split("\n"), 1):
            if len(line) > COLUMNS:
                print(f"{path}:{number}: {len(line)} columns, {len(line) - COLUMNS} too many")
                status = 1
    if count == 0:
        print(f"no sources in {root}")
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
