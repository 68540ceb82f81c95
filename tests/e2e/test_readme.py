"""What the README and the pages that it begins with show is true: its program builds with the commands beside it,
every shell line works, reports look as printed there, links lead somewhere, and no macro is missing. The man pages
are checked here too.

The commands are meant for the top folder of a clone. They run in a folder that looks like one: include/ and
build/release/ are the real ones, and ./dev is a stand-in that knows which commands there are and can install. (The
recipes for build systems are run by tests/install.)
"""
import re
import shutil
import subprocess

import pytest

from harness import BUILD, IS_LONG, SOURCE, when_optimised, without_emulator

# Pages whose shell lines are run, in this order: later ones use what earlier ones have built.
PAGES = ("README.md", "docs/building.md", "docs/macros.md", "docs/running.md", "docs/verdict.md")


def blocks(language, page="README.md"):
    return re.findall(rf"^```{language}\n(.*?)^```$", (SOURCE / page).read_text(), re.M | re.S)


def shape(report):
    """A report without its numbers: function names with their calls, titles, notes."""
    lines = []
    section = ""
    for line in report.splitlines():
        section = line.partition(" - ")[0] if " - " in line else section if line else ""
        cells = [cell.strip() for cell in line.split("|")]
        if section == "bottlenecks" and not line.startswith("bottlenecks"):
            # The verdict of a function depends on what else the machine does.
            lines += [cells[1]] if line.startswith("|") and len(cells) > 3 else []
        elif line.startswith("|") and len(cells) > 3:
            lines.append(f"{cells[1]} {cells[2]}")
        elif not line.startswith("+"):
            line = re.sub(r"(measuring took .*? %) of the CPU time", r"\1 of the run", line)  # others may be busy
            lines.append(re.sub(r"(less than |about )?[0-9.]+ ?(GHz|MHz|ns|µs|ms|s|%)?", "N", line))
    # Rows are sorted by time, which may change from run to run.
    return sorted(filter(None, lines))


@pytest.fixture
def clone(box):
    folder = box.folder()
    (folder / "include").symlink_to(SOURCE / "include")
    (folder / "build").mkdir()
    (folder / "build/single").symlink_to(BUILD / "single")
    (folder / "build/release").symlink_to(BUILD)
    (folder / "dev").write_text(f"""#!/bin/sh -e
'{SOURCE}/dev' help | grep -q "^  $1 "
[ "$1" != install ] || cmake --install '{BUILD}' --prefix "$2" > /dev/null
""")
    (folder / "dev").chmod(0o755)
    for source in blocks("c"):
        name = re.match(r"/\* (\S+\.c) \*/\n", source)
        if name:
            assert "int main" in source
            (folder / name.group(1)).write_text(source)
    return folder


def shell(box, folder, command):
    env = box.environment(folder, {"HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_OUTPUT_PATH": None,
                                   "HOTPATH_REPORT": None, "HOTPATH_LIMIT": None, "HOME": folder})
    done = subprocess.run(["sh", "-e", "-c", command], cwd=folder, env=env, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def test_readme_has_a_whole_program():
    assert any(re.match(r"/\* \S+\.c \*/\n", source) for source in blocks("c"))


def test_every_shell_line_works_in_order(box, clone):
    seen = 0
    for block in [block for page in PAGES for block in blocks("sh", page)]:
        exports = ""
        for line in block.splitlines():
            if line.startswith("export "):
                exports += f"{line}; "
            if not IS_LONG:  # -O2 takes ten seconds for the two files, and clang half as long as gcc
                compiler = "clang" if shutil.which("clang") else "cc"
                line = re.sub(r"^cc -O2(?=.*hotpath\.c)", f"{compiler} -O0", line)
            done = shell(box, clone, exports + line)
            assert "hotpath:" not in done.stderr, f"{line}: {done.stderr}"
            if re.search(r"\./hello\b", line):
                assert done.stdout == "3.1416\n", line
                seen += 1
            if line.startswith("cc ") and "&&" not in line:
                assert done.stderr == "", f"{line}: {done.stderr}"
    assert seen > 9
    assert list(clone.glob("run-*.json"))


def test_the_program_reports_as_shown(box, clone):
    """The picture in the README is drawn from docs/report.txt (tools/report_picture.py)."""
    command = next(line for block in blocks("sh") for line in block.splitlines() if line.startswith("cc "))
    assert "docs/report.png" in (SOURCE / "README.md").read_text()
    done = shell(box, clone, command.replace("build/single/hotpath.c",
                                             "build/release/lib/libhotpath.a"))  # the same code, compiled
    shown = (SOURCE / "docs/report.txt").read_text()
    assert outline(done.stderr) == outline(shown) and len(outline(shown)[""]) == 4
    calls = lambda report: sorted(re.findall(r"^\| (\w+) +\| +(\d+) \|", report, re.M))
    assert calls(done.stderr) == calls(shown)
    lines = lambda report: re.findall(r"^([a-z-]+:|clock) ", report, re.M)
    assert lines(done.stderr) == lines(shown) and len(lines(shown)) > 1


def outline(report):
    """Sections, without the text above and below their tables, with the names of their columns and rows. The first
    has no title."""
    rows = []
    sections = {"": rows}
    for line in report.splitlines():
        title = re.match(r"([\w-]+) - ", line)
        if title:
            rows = sections.setdefault(title.group(1), [])
        elif line.startswith("| Function"):
            rows.append(re.sub(r" +", " ", line))
        elif line.startswith("|"):
            rows.append(line.split("|")[1].strip())
    return {name: sorted(rows) for name, rows in sections.items()}


@when_optimised("the loop is in a function that is inlined")
@without_emulator("it can be neither sampled nor watched there")
def test_the_overview_reports_as_shown(box):
    """The verdicts depend on what else the machine does."""
    folder = box.folder()
    done = shell(box, folder, str(BUILD / "examples/overview"))
    assert outline(done.stderr) == outline(blocks("text", "docs/reading.md")[0])
    assert len(outline(done.stderr)[""]) == 6
    calls = lambda report: sorted(re.findall(r"^\| (\w+) +\| +(\d+) \|", report, re.M))
    assert calls(done.stderr) == calls(blocks("text", "docs/reading.md")[0])
    of = lambda report: re.search(r"^alloc-bytes: .*", report, re.M).group()
    assert of(done.stderr) == of(blocks("text", "docs/reading.md")[0])


def test_every_macro_is_in_the_table():
    header = (SOURCE / "include/hotpath.h").read_text()
    macros = set(re.findall(r"^ \*   (HOTPATH_\w+)(?:\(.*?\))? +(?:declaration|expression|attribute)", header,
                            re.M))
    table = set(re.findall(r"^\| `(HOTPATH_\w+)", (SOURCE / "docs/macros.md").read_text(), re.M))
    assert macros and table == macros


def test_the_readme_is_short():
    assert len((SOURCE / "README.md").read_text().splitlines()) < 200


@pytest.mark.parametrize("file", sorted(str(file.relative_to(SOURCE))
                                        for pattern in ("*.md", "docs/*.md", "docs/*/*.md", "*/README.md")
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
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", str(SOURCE / "man" / page)], capture_output=True,
                          text=True)
    assert (done.returncode, done.stderr) == (0, "")


def man(page):
    return (SOURCE / "man" / page).read_text()


def examples(page):
    """The blocks between .EX and .EE, as they are printed."""
    for block in re.findall(r"^\.EX\n(.*?)^\.EE$", man(page), re.M | re.S):
        for code, text in ((r"\-", "-"), (r"\(mc", "µ"), (r"\(ti", "~"), (r"\e", "\\")):
            block = block.replace(code, text)
        yield block


def test_every_name_is_in_the_man_page():
    public = "".join((SOURCE / "include" / name).read_text() for name in ("hotpath.h", "hotpath/results.h"))
    structs = "".join(re.findall(r"^struct hotpath_(?:options|column|cell) \{$(.*?)^\};$", public, re.M | re.S))
    names = set(re.findall(r"^HOTPATH_API_ .*?\b(hotpath_\w+)\(", public, re.M))
    inline = (SOURCE / "include/hotpath/inline.h").read_text()
    names |= {name for name in re.findall(r"^#define (HOTPATH_\w+[A-Z])\b", public + inline, re.M)
              if not name.endswith("_H")}
    names |= set(re.findall(r"^    (HOTPATH_\w+) =", public, re.M))
    names |= set(re.findall(r"^ [\w *]+?(\w+);", structs, re.M)) | set(re.findall(r"/\* (HOTPATH\w*) ", structs))
    assert {"hotpath_start", "HOTPATH_EXPR", "HOTPATH_VERSION_MAJOR", "HOTPATH_E_OFF", "HOTPATH_UNIT_NS",
            "percentiles", "HOTPATH_DIR", "visible", "has_value"} <= names
    page = set(re.findall(r"\w+", man("hotpath.3").replace(r"\fB", "")))
    assert sorted(names - page) == []


def test_man_pages_have_this_version_and_valid_references():
    header = (SOURCE / "include/hotpath.h").read_text()
    version = re.search(r'#define HOTPATH_VERSION "(.*)"', header).group(1)
    for file in (SOURCE / "man").iterdir():
        name, section = file.name.split(".")
        text = file.read_text()
        assert re.search(rf'^\.TH {re.escape(name.upper().replace("-", chr(92) + "-"))} {section} '
                         rf'.*"hotpath {version}"',
                         text, re.M)
        for other, number in re.findall(r"^\.BR (hotpath\S*) \((\d)\)", text, re.M):
            page = SOURCE / "man" / f"{other.replace(chr(92), '')}.{number}"
            assert page.exists(), f"{file.name}: {other}({number})"


def test_the_page_of_the_program_names_every_command():
    text = (SOURCE / "man/hotpath.1").read_text()
    for page in (SOURCE / "man").glob("hotpath-*.1"):
        name = page.stem.replace("-", chr(92) + "-")
        assert re.search(rf"^\.BR .*{re.escape(name)}\b", text, re.M), page.name


def test_the_program_in_the_man_page_works(box):
    folder = box.folder()
    source = next(block for block in examples("hotpath.3") if "int main" in block)
    (folder / "example.c").write_text(source)
    shell(box, folder, f"cc -Wall -Wextra -Werror -DHOTPATH -I '{SOURCE}/include' example.c "
                       f"'{BUILD}/lib/libhotpath.a' -pthread -o example")
    done = shell(box, folder, "./example")
    assert done.stdout == "1000\n" and re.search(r"\| work +\| +1000 \|", done.stderr) and "P99.9" in done.stderr


def test_the_report_in_the_man_page_is_real(box):
    command, _, report = next(block for block in examples("hotpath.7") if "[hotpath]" in block).partition("\n")
    done = shell(box, box.folder(), command.lstrip("$ ").replace("./", f"{BUILD}/examples/"))
    # Which rows are marked depends on the machine.
    without_marks = [[line for line in shape(text) if not line.startswith("~")] for text in (done.stderr, report)]
    assert without_marks[0] == without_marks[1]


def test_every_kind_of_loss_is_documented():
    source = (SOURCE / "src/report/trust_line.c").read_text()
    losses = re.findall(r'\[HP_LOSS_\w+\] = \{"\w+", +"[^"]+",\s+"([^"]+)"\}', source)
    assert len(losses) > 5
    assert [words for words in losses if words not in man("hotpath.7")] == []


def test_session_header_is_as_documented():
    layout = (SOURCE / "src/format/layout.h").read_text()
    bytes_of = {"char": 1, "unsigned char": 1, "uint32_t": 4, "uint64_t": 8, "int64_t": 8,
                "struct hp_clock_pair": 16, "struct hp_work_times": 32}
    counts = {"HP_LOSSES": 19, "HP_SITE_CHUNKS": 256}
    offset, fields = 0, []
    for kind, name, count in re.findall(r"^    ([a-z0-9_ ]+) (\w+)(?:\[(.*?)\])?;",
                                        re.search(r"struct hp_header \{\n(.*?)^\};", layout, re.M | re.S).group(1),
                                        re.M):
        size = bytes_of[kind] * (1 if not count else 4096 - offset if name == "reserved" else
                                 counts.get(count) or int(count))
        fields.append((offset, size, name))
        offset += size
    assert offset == 4096
    page = re.findall(r"^ *(\d+) +(\d+) (\w+)", man("hotpath-session.5"), re.M)
    assert [(int(start), int(size), name) for start, size, name in page] == fields
    table = (SOURCE / "docs/session-format.md").read_text()
    table = re.search(r"^## Header.*?(?=^## )", table, re.M | re.S).group(0)
    named = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", table, re.M)))
    assert named == [name for _, _, name in fields if name != "reserved"]
