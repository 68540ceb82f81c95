"""A copy of the source tree, for tests that change it or make something of it."""
import os
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(os.environ.get("HOTPATH_SOURCE_DIR", Path(__file__).parents[2])).resolve()


def do(*command, cwd, env=None):
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True,
                          env={**os.environ, **(env or {})})
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def names_of_sources():
    if (SOURCE / ".git").exists():
        return do("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=SOURCE).splitlines()
    # An unpacked source archive, in which something may have been built.
    paths = (path.relative_to(SOURCE) for path in SOURCE.rglob("*") if path.is_file())
    return [str(path) for path in paths if path.parts[0] != "build" and "__pycache__" not in path.parts]


class Tree:
    """A copy of the committed files and of changes to be committed."""

    def __init__(self, folder):
        self.folder = folder
        for name in names_of_sources():
            if (SOURCE / name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(SOURCE / name, folder / name)

    def write(self, name, text):
        assert not (self.folder / name).exists()
        (self.folder / name).write_text(text)

    def insert(self, name, before, line):
        """A line before the first that has this text in it."""
        text = (self.folder / name).read_text()
        at = text.index(before)
        at = text.rindex("\n", 0, at) + 1
        (self.folder / name).write_text(text[:at] + line + "\n" + text[at:])

    def replace(self, name, old, new):
        text = (self.folder / name).read_text()
        assert old in text, (name, old)
        (self.folder / name).write_text(text.replace(old, new, 1))

    def do(self, *command, env=None):
        return do(*command, cwd=self.folder, env=env)
