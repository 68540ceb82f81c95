"""Where outsiders build their programs: commands that must succeed, folders, and what an installation offers."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import BUILD, SOURCE

HERE = Path(__file__).parent
SINGLE = BUILD / "single"
CXX = {"gcc": "g++", "clang": "clang++"}
CONSUMER = {"main": 1, "work": 1000, "last": 1}  # calls that consumer.c makes


def do(*command, cwd=None, env=None):
    """Runs a command that has to succeed and yields what it wrote to stdout."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=600,
                          env={**os.environ, **(env or {})})
    words = " ".join(map(str, command))
    assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    assert "warning:" not in done.stderr, f"{' '.join(map(str, command))}:\n{done.stderr}"
    return done.stdout


def need(program):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")


def recipe(language, containing="", page="docs/building.md"):
    """The block of this page in this language that has this text in it."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", (SOURCE / page).read_text(), re.M | re.S)
    found = [block for block in blocks if containing in block]
    assert len(found) == 1, f"{len(found)} blocks of {language} with {containing!r} in {page}"
    return found[0]


class Installation:
    def __init__(self, prefix):
        self.prefix = prefix
        self.libraries = next(prefix.rglob("libhotpath.a")).parent
        self.env = {"PKG_CONFIG_PATH": str(self.libraries / "pkgconfig"), "CMAKE_PREFIX_PATH": str(prefix),
                    "LD_LIBRARY_PATH": str(self.libraries)}

    def pkg_config(self, *options):
        return do("pkg-config", *options, "hotpath", env=self.env).split()


class Workshop:
    def __init__(self, box, folder):
        self.box = box
        self.folder = folder

    def fetch(self, *paths):
        """Copies files here, to be built as if they had never been elsewhere."""
        for path in paths:
            shutil.copy(path, self.folder)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def do(self, *command, env=None):
        return do(*command, cwd=self.folder, env=env)

    def calls(self, program, *args, env=None):
        """Runs a program; {name: calls} of its only session. Nothing may be lost."""
        result = self.result(program, *args, env=env)
        return {row.name: row.calls for row in result.report.rows()}

    def result(self, program, *args, env=None):
        result = self.box.run(self.folder / program, *args, env=env)
        assert len(result.sessions()) == 1
        assert result.report.lost == {}
        return result
