"""Rows per key: of threads, processes and sessions, up to the limit of keys."""
import pytest

from harness import SOURCE
from test_kept import inside
from test_views import table


def by_name(report):
    return {row.name: row.calls for row in report.rows()}


@pytest.mark.parametrize("limit", [None, 100])
def test_keys_of_eight_threads_at_once(box, limit):
    """Also if there is room for exactly as many keys as there are."""
    result = box.same("keys", "threads", env={"HOTPATH_KEYS_LIMIT": limit})
    assert len(result.told) == 100 and sum(result.told.values()) == 8 * (100 + 5000)
    assert by_name(result.report) == {"measured": 1, **result.told}
    assert result.row("many[k0]").threads == 8 and result.report.lost == {}


@pytest.mark.parametrize("limit, keys", [(10, 30), (1, 3), (30, 30), (None, 300)])
def test_keys_beyond_the_limit_share_a_row(box, limit, keys):
    result = box.run("keys", "rising", keys, env={"HOTPATH_KEYS_LIMIT": limit})
    told_apart = min(limit or 256, keys)
    expected = {f"many[k{key}]": key + 1 for key in range(told_apart)}
    if keys > told_apart:
        expected["many[<other>]"] = sum(key + 1 for key in range(told_apart, keys))
    assert by_name(result.report) == {"measured": 1, **expected} and result.report.lost == {}


def test_unusual_keys(box):
    """Keys that differ only beyond the cut are one."""
    result = box.run("keys", "odd")
    rows = by_name(result.report)
    [broken] = [name for name in rows if "\ufffd" in name or "xff" in name]
    assert rows.pop(broken) == 1
    assert rows == {"measured": 1, "odd[(null)]": 2, "odd[]": 1, "odd[a\tb\nc\x1b[31m]": 1, "odd[grün €]": 1,
                    "odd[]]": 1, f"odd[{'l' * 120}]": 2, f"odd[{'l' * 119}]": 1}
    shown = table(box, *result.sessions())
    assert "odd[a\\tb\\nc\\x1b[31m]" in shown and "\x1b" not in shown


def test_one_key_at_several_places(box):
    rows = {row.name: row for row in box.run("keys", "places").report.rows()}
    same = [row for name, row in rows.items() if name.endswith("place[same]")]
    assert sorted(row.calls for row in same) == [3, 5] and rows["elsewhere[same]"].calls == 7
    source = (SOURCE / "tests" / "programs" / "keys.c").read_text().splitlines()
    for row in same:
        assert 'HOTPATH_BLOCK_KEY("place"' in source[row.location["line"] - 1]
        assert row.name == f"keys.c:{row.location['line']} place[same]"


def test_keys_after_fork(box):
    result = box.run("keys", "forked")
    assert by_name(result.report) == {"measured": 1, "odd[parent]": 2, "odd[both]": 2}
    [child] = [session for session in result.sessions() if str(result.told["child"]) in session.name]
    rows = by_name(box.read(child))
    rows.pop("measured", None)
    assert rows == {"odd[both]": 3, "odd[child]": 3}


def test_keys_in_blocks_with_keys(box):
    measured = box.run("keys", "nested").row("measured", "calltree")
    assert inside(measured) == {
        "request[GET]": 4, "request[GET] query[users]": 4, "request[GET] again[GET]": 4,
        "request[SET]": 2, "request[SET] query[users]": 2, "request[SET] query[log]": 2,
        "request[SET] again[SET]": 2, "request[SET] again[SET] request[GET]": 2,
        "request[SET] again[SET] request[GET] query[users]": 2,
        "request[SET] again[SET] request[GET] again[GET]": 2}


def test_keys_of_consecutive_sessions(box):
    """The program reports twice; the second report replaces the first."""
    result = box.run("keys", "sessions")
    assert by_name(result.report) == {"odd[kept]": 3, "odd[second]": 1}


def test_keys_are_evaluated_at_most_once(box):
    assert box.run("keys", "evaluation").aside["evaluated"] == 1
    assert box.run("keys_off", "evaluation").aside["evaluated"] == 0
