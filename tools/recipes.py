#!/usr/bin/env python3
"""Fills in the recipes for package managers (packaging/recipes): the version, and the checksums of its archives.

usage: recipes.py DIST FOLDER    DIST has the archives of ./dev release; the recipes are written into FOLDER
"""

import hashlib
import re
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent


def main():
    dist, folder = map(Path, sys.argv[1:])
    header = (SOURCE / "include/hotpath.h").read_text()
    version = re.search(r'^#define HOTPATH_VERSION "(.*)"', header, re.M).group(1)
    words = {"VERSION": version}
    for name, suffix in (("SOURCE", ""), ("SINGLE", "-single")):
        archive = (dist / f"hotpath-{version}{suffix}.tar.gz").read_bytes()
        words |= {f"{name}_{kind.upper()}": hashlib.new(kind, archive).hexdigest() for kind in ("sha256", "sha512")}
    recipes = SOURCE / "packaging/recipes"
    for path in filter(Path.is_file, recipes.rglob("*")):
        to = folder / path.relative_to(recipes)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(re.sub(r"@([A-Z_0-9]+)@", lambda match: words[match.group(1)], path.read_text()))


if __name__ == "__main__":
    main()
