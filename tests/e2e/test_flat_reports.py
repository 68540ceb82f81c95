"""`--format csv` and `--format markdown`: the same rows as in JSON and in the tables."""
import csv
import io
import json

from command import cli  # noqa: F401 (a fixture)
from harness import PROGRAMS, without_emulator


def tables(path):
    """By section: rows as objects."""
    text = path.read_bytes().decode()
    found = {}
    for block in text.split("\r\n\r\n"):
        head, *rows = csv.reader(io.StringIO(block, newline=""))
        assert head[0] == "section" and all(len(row) == len(head) for row in rows)
        for row in rows:
            found.setdefault(row[0], []).append(dict(zip(head, row)))
    return found


def flat(value):
    if isinstance(value, dict):
        return f"{value['file']}:{value['line']}"
    return value


def rows_of(section):
    """Of JSON, trees from the top."""
    for row in section["rows"]:
        yield row
        yield from rows_of({"rows": row.get("children", [])})


def check_same(cli, session, sections):
    words = ("report", session, "--section", sections, "--limit", "0")
    report = json.loads(cli(*words, "--format", "json").stdout)
    cli(*words, "--format", "csv", "--output", "rows.csv")
    found = tables(cli.folder / "rows.csv")
    compared = 0
    for name, rows in found.items():
        originals = list(rows_of(report["sections"][name]))
        assert len(rows) == len(originals)
        for row, original in zip(rows, originals):
            for key, text in row.items():
                if key in ("section", "depth"):
                    continue
                value = flat(original[key])
                same = text == ("" if value is None else str(value)) or float(text) == value
                assert same, (name, key, text, value)
                compared += 1
    return found, compared


@without_emulator("commands are started without it")
def test_numbers_are_those_of_json(cli):
    cli("run", "--format", "none", "--no-preload", PROGRAMS / "counts")
    session, = cli.folder.glob("*.run")
    found, compared = check_same(cli, session, "timing,calltree")
    assert set(found) == {"timing", "calltree"} and compared > 50
    assert {row["depth"] for row in found["calltree"]} > {"0", "1"}


@without_emulator("commands are started without it")
def test_names_that_need_quotes(cli):
    cli("run", "--format", "none", "--no-preload", PROGRAMS / "odd_names")
    session, = cli.folder.glob("*.run")
    found, _ = check_same(cli, session, "timing")
    assert any(set(row["name"]) & set(",\"") for row in found["timing"])
    words = ("report", session, "--section", "timing", "--limit", "0", "--format", "markdown")
    lines = cli(*words).stdout.splitlines()
    table = [line for line in lines if line.startswith("|")]
    bars = {line.replace("\\\\", "").replace("\\|", "").count("|") for line in table}
    assert len(bars) == 1 and len(table) == 2 + len(found["timing"]), table


@without_emulator("commands are started without it")
def test_markdown_has_the_visible_columns(cli):
    cli("run", "--format", "none", "--no-preload", PROGRAMS / "counts")
    session, = cli.folder.glob("*.run")
    lines = cli("report", session, "--section", "timing", "--format", "markdown").stdout.splitlines()
    assert lines[0].startswith("**timing** - ")
    assert lines[2].startswith("| Function | Calls |") and set(lines[3]) == set("| -:")
    assert len({line.count("|") for line in lines[2:] if line.startswith("|")}) == 1
