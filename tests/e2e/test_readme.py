"""What README.md shows is true: its program builds with the commands beside it, every shell line in it works, reports
look as printed there, links lead somewhere, and no macro is missing. The man pages are checked here too.

The commands are meant for the top folder of a clone. They run in a folder that looks like one: include/ and
build/release/ are the real ones, and ./dev is a stand-in that only knows which commands there are.
"""
import re
import shutil
import subprocess

import pytest

from harness import BUILD, SOURCE

README = (SOURCE / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def shape(report):
    """A report without its numbers: function names with their calls, titles, notes."""
    lines = []
    for line in report.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if line.startswith("|") and len(cells) > 3:
            lines.append(f"{cells[1]} {cells[2]}")
        elif not line.startswith("+"):
            lines.append(re.sub(r"(less than |about )?[0-9.]+ ?(GHz|MHz|ns|µs|ms|s|%)?", "N", line))
    # Rows are in order of time, which may change from run to run.
    return sorted(filter(None, lines))


@pytest.fixture
def clone(box):
    folder = box.folder()
    (folder / "include").symlink_to(SOURCE / "include")
    (folder / "build").mkdir()
    (folder / "build/release").symlink_to(BUILD)
    (folder / "dev").write_text(f"#!/bin/sh\n'{SOURCE}/dev' help | grep -q \"^  $1 \"\n")
    (folder / "dev").chmod(0o755)
    for source in blocks("c"):
        name = re.match(r"/\* (\S+\.c) \*/\n", source)
        if name:
            assert "int main" in source
            (folder / name.group(1)).write_text(source)
    return folder


def shell(box, folder, command):
    env = box.environment(folder, {"HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_OUTPUT_PATH": None, "HOTPATH_REPORT": None,
                                   "HOTPATH_LIMIT": None})
    done = subprocess.run(["sh", "-e", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def test_there_is_a_whole_program():
    assert any(re.match(r"/\* \S+\.c \*/\n", source) for source in blocks("c"))


def test_every_shell_line_works_in_order(box, clone):
    seen = 0
    for block in blocks("sh"):
        for line in block.splitlines():
            done = shell(box, clone, line)
            assert "hotpath:" not in done.stderr, f"{line}: {done.stderr}"
            if re.search(r"\./hello\b", line):
                assert done.stdout == "3.1416\n", line
                seen += 1
            if line.startswith("cc "):
                assert done.stderr == "", f"{line}: {done.stderr}"
    assert seen > 5
    assert list(clone.glob("run-*.json"))


def test_the_program_reports_as_shown(box, clone):
    build = next(line for block in blocks("sh") for line in block.splitlines() if "-DHOTPATH" in line)
    shell(box, clone, build)
    done = shell(box, clone, "./hello")
    assert shape(done.stdout + done.stderr) == shape(blocks("text")[1])


def test_the_overview_reports_as_shown(box):
    folder = box.folder()
    done = shell(box, folder, str(BUILD / "examples/overview"))
    assert shape(done.stderr) == shape(blocks("text")[0])


def test_every_macro_is_in_the_table():
    header = (SOURCE / "include/hotpath.h").read_text()
    macros = set(re.findall(r"^ \*   (HOTPATH_\w+)(?:\(.*?\))? +(?:declaration|expression|attribute)", header, re.M))
    table = set(re.findall(r"^\| `(HOTPATH_\w+)", README, re.M))
    assert macros and table == macros


@pytest.mark.parametrize("file", sorted(str(file.relative_to(SOURCE)) for pattern in ("*.md", "docs/*.md", "*/README.md")
                                        for file in SOURCE.glob(pattern)))
def test_links_lead_somewhere(file):
    path = SOURCE / file
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, heading = target.partition("#")
        if "://" in name:
            continue
        to = (path.parent / name) if name else path
        if not to.exists():
            broken.append(target)
        elif heading:
            anchors = [re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-")
                       for line in to.read_text().splitlines() if line.startswith("#")]
            if heading not in anchors:
                broken.append(target)
    assert broken == []


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
@pytest.mark.parametrize("page", sorted(file.name for file in (SOURCE / "man").iterdir()))
def test_man_pages_are_clean(page):
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", str(SOURCE / "man" / page)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_name_is_in_the_man_page():
    header = (SOURCE / "include/hotpath.h").read_text()
    page = (SOURCE / "man/hotpath.3").read_text()
    names = set(re.findall(r"^HOTPATH_API_ .*?\b(hotpath_\w+)\(", header, re.M))
    names |= set(re.findall(r"^    (HOTPATH_E_\w+) =", header, re.M))
    assert sorted(name for name in names if "v1" not in name and name not in page) == []
    version = re.search(r'#define HOTPATH_VERSION "(.*)"', header).group(1)
    for file in (SOURCE / "man").iterdir():
        assert f'"hotpath {version}"' in file.read_text()
