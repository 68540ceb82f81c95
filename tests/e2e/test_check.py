"""`hotpath check`: budgets, limits against a baseline, and what CI systems read."""
import json
import os
import shutil
import subprocess

import jsonschema
import pytest

from command import cli  # noqa: F401 (a fixture)
from harness import HOTPATH, IS_GLIBC, PROGRAMS, SOURCE, without_emulator, without_sanitizer
from made_reports import ENGINE, NS, maker  # noqa: F401 (a fixture)

pytestmark = without_emulator("commands are started without it")
SCHEMA = json.loads((SOURCE / "docs" / "check.schema.json").read_text())


def with_allocations(report, **counts):
    rows = [{"name": name, "own_count": count, "own_bytes": 100 * count, "peak_usable_bytes": 112 * count}
            for name, count in counts.items()]
    report["alloc"] = "exclusive"
    report["sections"]["alloc-bytes"] = {"total_rows": len(rows), "shown_rows": len(rows), "rows": rows}
    return report


def check(cli, *words, policy=None, status=0):
    if policy is not None:
        (cli.folder / "policy.toml").write_text(policy)
        words = ("--policy", "policy.toml", *words)
    done = cli("check", *words, "--format", "json", status=status)
    found = json.loads(done.stdout)
    jsonschema.validate(found, SCHEMA)
    assert found["exit"] == status
    return found


def told(found, kind="broken"):
    return [(finding["name"], finding["rule"], finding["text"]) for finding in found["findings"]
            if finding["kind"] == kind]


# ------------------------------------------------------------------------------------------------------- budgets

@pytest.mark.parametrize("budget, text", [
    ("calls = 999", "calls 1000, budget 999"), ("calls = 1_000", None),
    ("allocations = 2", "allocations 3, budget 2"), ("allocations = 3", None),
    ('bytes = "300"', None), ("bytes = 299", "allocated bytes 300 B, budget 299 B"),
    ('peak = "0.3KB"', None), ('peak = "335"', "peak 336 B, budget 335 B"), ('p95 = "10us"', "P95 "),
    ('p95 = "1ms"', None), ('self = "1 ms" # little', "self time "), ("self = '10 s'", None)])
def test_budgets(cli, maker, budget, text):
    report = maker.file(with_allocations(maker.report(), encode=3))
    if "0.3KB" in budget:
        budget = budget.replace("0.3KB", "1KB")
    found = check(cli, report, policy=f'# of one function\n[budget.encode]\n{budget}\n', status=1 if text else 0)
    assert len(told(found)) == (text is not None)
    assert not text or (told(found)[0][0] == "encode" and told(found)[0][2].startswith(text)), told(found)


def test_patterns_and_functions_without_allocations(cli, maker):
    """A name is that of one function; who is in no row of allocations has none."""
    report = maker.file(with_allocations(maker.report(ns={"encode_more": 100}), encode=3))
    assert told(check(cli, report, policy='[budget."*code*"]\nallocations = 2\n', status=1)) == [
        ("encode", "budget allocations", "allocations 3, budget 2")]
    found = check(cli, report, policy='[budget.encode_more]\nallocations = 0\n[budget."step,main"]\ncalls=1000\n')
    assert (found["held"], found["verdict"]) == (3, "fine")


def test_what_cannot_be_judged_is_no_success(cli, maker):
    made = maker.report()
    made["sections"]["alloc-bytes"] = {"total_rows": 0, "shown_rows": 0, "rows": []}  # requested, but not counted
    report = maker.file(made)
    for budget, words in (("[budget.gone]\ncalls = 1", "no function of these runs has that name"),
                          ("[budget.encode]\nallocations = 1", "no allocations in the reports"),
                          ("[budget.pack]\nallocations = 0", "no allocations in the reports"),
                          ("[budget.encode]\ninstructions = 1", "they need a clock that counts them"),
                          ('[budget.encode]\np99 = "1s"', "no P99 in the reports")):
        found = check(cli, report, policy=budget, status=2)
        assert found["verdict"] == "unjudged" and words in told(found, "unjudged")[0][2]
    check(cli, report, policy="[budget.gone]\ncalls = 1\noptional = true\n[budget.gone_too]\ncalls = 0")
    # A broken gate is a broken gate, whatever else could not be judged.
    check(cli, report, policy="[budget.gone]\ncalls = 1\n[budget.encode]\ncalls = 1", status=1)


# -------------------------------------------------------------------------------------------------------- limits

def test_exact_numbers_may_not_grow(cli, maker):
    before = maker.file(with_allocations(maker.report(), encode=100))
    more = maker.file(with_allocations(maker.report(calls=1010), encode=102, pack=1))
    less = maker.file(with_allocations(maker.report(calls=990), encode=99))
    found = check(cli, "--baseline", before, more, status=1)
    assert ("encode", "limit calls", "calls 1000 -> 1010 (+1.0 %), limit 0 %") in told(found)
    assert ("pack", "limit allocations", "allocations 0 -> 1, limit 0 %") in told(found)
    assert ("encode", "limit peak", "peak 10.9 KB -> 11.2 KB (+2.0 %), limit 0 %") in told(found)
    assert check(cli, "--baseline", before, less)["broken"] == 0
    limits = '[limit]\ncalls = "1%"\nallocations = "off"\nbytes = "off"\npeak = "off"\n'
    assert check(cli, "--baseline", before, more, policy=limits)["broken"] == 0
    assert len(told(check(cli, "--baseline", before, more, policy=limits + '[limit."enc*"]\nbytes = "1%"\n',
                          status=1))) == 1
    assert told(check(cli, "--baseline", before, more, "--gate", "calls=off", policy=limits)) == []


def test_numbers_that_do_not_repeat(cli, maker):
    sides = [maker.folder(runs=0) for _ in range(2)]
    for side, all_calls in zip(sides, ((1000, 1010), (1011, 1020))):
        for calls in all_calls:
            (side / f"{calls}.json").write_text(json.dumps(maker.report(calls=calls)))
    assert ("encode", "limit calls", "calls 1010 -> 1011 (+0.1 %), limit 0 %") in told(
        check(cli, "--baseline", sides[0], sides[1], status=1))
    found = check(cli, "--baseline", sides[0], sides[0])
    assert "are not repeatable" in told(found, "advice")[0][2] and found["verdict"] == "fine"


def test_time_is_advice_unless_asked(cli, maker):
    before, now = maker.folder(), maker.folder(ns={"encode": NS["encode"] * 1.1})
    (name, _, text), = told(check(cli, "--baseline", before, now), "advice")
    assert name == "encode" and "which has no limit" in text
    (name, rule, text), = told(check(cli, "--baseline", before, now, "--gate", "time=5%", status=1))
    assert (name, rule) == ("encode", "limit time") and text.endswith(", limit 5 %")
    assert "within its limit" in told(check(cli, "--baseline", before, now, "--gate", "time=12%"), "advice")[0][2]
    assert check(cli, "--baseline", now, before, "--gate", "time=0,total=50")["broken"] == 0
    few = maker.folder(runs=4)
    found = check(cli, "--baseline", before, few, "--gate", "time=5%", status=2)
    assert "this needs 5 runs on each side" in told(found, "unjudged")[0][2]
    assert check(cli, "--baseline", before, few)["verdict"] == "fine"


def test_baselines_of_other_machines(cli, maker):
    before, now = maker.report(), maker.report(calls=1001)
    before["meta"].update(cores=64, clock={"kind": "tsc", "hz": 3100000000}, library="hotpath 0.0.1, clang 19")
    files = maker.file(before), maker.file(now)
    done = cli("check", "--baseline", *files, status=2)
    assert "cannot compare with" in done.stderr and "--exact-only" in done.stderr and done.stdout == ""
    assert ("encode", "limit calls", "calls 1000 -> 1001 (+0.1 %), limit 0 %") in told(
        check(cli, "--exact-only", "--baseline", *files, status=1))


def test_instructions_may_grow_by_one_percent(cli, maker):
    before = maker.file(maker.counted(encode=100_000, pack=1000))
    more, too_many = (maker.file(maker.counted(encode=count, pack=1000)) for count in (100_900, 101_100))
    assert check(cli, "--baseline", before, more)["verdict"] == "fine"
    assert told(check(cli, "--baseline", before, too_many, status=1)) == [
        ("encode", "limit instructions", "instructions 100000 -> 101100 (+1.1 %), limit 1 %")]
    check(cli, "--baseline", before, more, "--gate", "instructions=0", status=1)
    check(cli, "--baseline", before, too_many, "--gate", "instructions=2%")


def test_counts_of_another_engine_are_not_judged(cli, maker):
    """Nor are they taken for fine: they have a limit."""
    before = maker.file(maker.counted(encode=100_000, pack=1000))
    now = maker.file(maker.counted(ENGINE.replace("2.36", "2.41"), encode=200_000, pack=1000))
    assert "measured by another clock" in cli("check", "--baseline", before, now, status=2).stderr
    found = check(cli, "--exact-only", "--baseline", before, now, status=2)
    assert found["broken"] == 0 and [name for name, _, _ in told(found, "unjudged")] == ["instructions"]
    check(cli, "--exact-only", "--baseline", before, now, "--gate", "instructions=off")
    without = maker.file(maker.report())
    assert check(cli, "--exact-only", "--baseline", before, without, status=2)["unjudged"] == 1
    assert check(cli, "--exact-only", "--baseline", without, without)["unjudged"] == 0


# ------------------------------------------------------------------------------------------------------ mistakes

@pytest.mark.parametrize("policy, words", [
    ("[budget]\ncalls = 1", "1: a budget needs a name"), ("\n\n[bugdet.x]", "3: no such table"),
    ("calls = 1", "1: it is in no table"), ("[budget.x]\ncals = 1", "2: no such budget; there are calls"),
    ("[budget.x]\ncalls = many", "2: is no number"), ('[budget.x]\np99 = 3', '2: is no time such as "2ms"'),
    ('[budget.x]\npeak = "3 apples"', "2: is no size"),
    ("[budget.x]\ncalls 3", "2: a line is a table, or KEY = VALUE"),
    ("[budget.x]\ncalls = 3 4", "2: more follows"), ('[budget.x]\ncalls = "3', "2: the string has no end"),
    ('[budget."x]', "1: the string has no end"), ("[budget.x", '1: a table is [budget."NAME"]'),
    ("[[budget]]", "1: lists of tables"), ("[budget.'/(/']\ncalls = 1", "1: "),
    ("[limit]\nspeed = 1", "2: no such limit"), ("[limit]\ntime = 'fast'", "2: is no limit such as"),
    ("[limit.x]\ntotal = 1", "2: total is that of the program"),
    ("[budget.x]\noptional = 'true'", "2: optional is true or false"), ("\0", "1: "),
    ("[limit]\n= 3", "2: a key is missing"),
    ("[limit]\ntime = ", "2: is no limit"), ("x" * 70000, "longer than 64 KB")])
def test_policies_that_are_wrong(cli, maker, policy, words):
    (cli.folder / "hotpath.toml").write_text(policy)
    done = cli("check", maker.file(maker.report()), status=2)
    assert words in done.stderr and "hotpath.toml" in done.stderr and len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_what_cannot_be_read(cli, maker):
    report = maker.file(maker.report())
    (cli.folder / "broken.json").write_text("{")
    for words, problem in ((["--baseline", "nowhere", report], "nowhere"),
                           (["--baseline", "broken.json", report], "not JSON"),
                           (["--policy", "nowhere", report], "cannot read the policy"),
                           (["--policy", "/dev/zero", report], "cannot read the policy"),
                           ([report], "there is nothing to check"), ([], "missing run"),
                           (["--baseline", report, report, "--gate", "time"], "is not KEY=LIMIT"),
                           (["--baseline", report, report, "--gate", "tim=3"], "no such limit"),
                           (["--baseline", report, report, "-f", "xml"], "is not text, github"),
                           (["--baseline", report, report, "-o", "/dev/full"], "cannot write")):
        assert problem in cli("check", *words, status=2).stderr


# ------------------------------------------------------------------------------------------------------- outputs

def test_lines_and_annotations(cli, maker):
    here = cli.folder / "src"
    reports = [maker.report(calls=calls) for calls in (1000, 1001)]
    for report in reports:
        row, = (row for row in report["sections"]["timing"]["rows"] if row["name"] == "pack")
        row["location"]["file"] = f"{here}/a,b%.c"
        report["sections"] = {"timing": {"total_rows": 1, "shown_rows": 1, "rows": [row]}}
    files = [maker.file(report) for report in reports]
    text = cli("check", "--baseline", *files, status=1).stdout
    assert text == (f"broken   pack   calls 1000 -> 1001 (+0.1 %), limit 0 %   {here}/a,b%.c:7\n"
                    "broken: 1 broken, 0 held, 0 could not be judged\n")
    github = cli("check", "--baseline", *files, "--format", "github", status=1)
    assert github.stdout == ("::error file=src/a%2Cb%25.c,line=7,title=hotpath limit calls::"
                             "pack: calls 1000 -> 1001 (+0.1 %25), limit 0 %25\n")
    assert github.stderr == text
    cli("check", "--baseline", *files, "--format", "gitlab", "-o", "quality.json", status=1)
    found, = json.loads((cli.folder / "quality.json").read_text())
    assert found["location"] == {"path": "src/a,b%.c", "lines": {"begin": 7}} and found["severity"] == "major"
    assert found["fingerprint"] and found["description"].startswith("pack: calls 1000 -> 1001")
    assert cli("check", "--baseline", files[0], files[0]).stdout.startswith("fine: 0 broken, 1 held")


@without_sanitizer("the library of such a build can be preloaded into nothing else")
def test_sessions_have_all_percentiles(cli):
    """But for functions of one name, which are one row here."""
    cli("run", "--format", "none", PROGRAMS / "counts")
    run, = cli.folder.glob("*.run")
    keys = ("p50", "p90", "p99", "p99_9", "max", "typical")
    policy = '[budget."*,-*twice"]\n' + "".join(f'{key} = "100s"\n' for key in keys)
    found = check(cli, run, policy=policy)
    assert found["held"] >= 12 and found["unjudged"] == 0


# --------------------------------------------------------------------------------------------------- what docs show

def test_example_policy(cli, maker):
    report = with_allocations(maker.report(ns={"render_page": 1000}, calls=100), render_page=10)
    for row in report["sections"]["timing"]["rows"]:
        row["p99_ns"] = row["p95_ns"]
    path = maker.file(report)
    shutil.copy(SOURCE / "docs" / "ci" / "hotpath.toml", cli.folder)
    assert json.loads(cli("check", path, "--format", "json").stdout)["held"] == 5


@without_sanitizer("the library of such a build can be preloaded into nothing else")
def test_action_and_workflows(cli):
    """Every step that is a script is run, with what GitHub would put in place of its expressions."""
    yaml = pytest.importorskip("yaml")
    docs = SOURCE / "docs" / "ci"
    action = yaml.safe_load((docs / "action.yml").read_text())
    counts_instructions = shutil.which("qemu-x86_64") is not None and IS_GLIBC  # that of the plugin
    for against, status, clock in ((f"'{PROGRAMS}/counts'", 0, "false"), ("", 0, "false"), ("", 1, "false"),
                                   (f"'{PROGRAMS}/counts'", 0, "true"))[:4 if counts_instructions else 3]:
        shutil.rmtree(cli.folder / "hotpath-runs", ignore_errors=True)
        (cli.folder / "hotpath.toml").write_text("[budget.'*']\ncalls = %d\n" % (0 if status else 10**9))
        inputs = {"command": f"{PROGRAMS}/counts", "against": against, "policy": "hotpath.toml", "pairs": "1",
                  "instructions": clock}
        statuses = []
        for step in action["runs"]["steps"]:
            env = {name: value.replace("${{ inputs.", "").replace(" }}", "") for name, value in step["env"].items()}
            env = {name: inputs[value] for name, value in env.items()}
            done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", step["run"]], cwd=cli.folder, text=True,
                                  capture_output=True, env=cli.environment(env) | {
                                      "PATH": f"{HOTPATH.parent}:{os.environ['PATH']}",
                                      "GITHUB_STEP_SUMMARY": str(cli.folder / "summary.md")})
            statuses.append((done.returncode, done.stdout, done.stderr))
        assert [entry[0] for entry in statuses] == [0, status], statuses
        assert ("::error" in statuses[1][1]) == (status == 1)
        report = json.loads((cli.folder / "hotpath-runs" / "now" / "1.json").read_text())
        assert report["meta"]["clock"]["kind"].startswith("instructions") == (clock == "true")
    assert "**hotpath diff:**" in (cli.folder / "summary.md").read_text()
    workflow = yaml.safe_load((docs / "github.yml").read_text())
    used, = [step for step in workflow["jobs"]["hotpath"]["steps"] if step.get("uses", "").startswith("./")]
    assert set(used["with"]) <= set(action["inputs"]) and used["with"]["command"]
    gitlab = yaml.safe_load((docs / "gitlab.yml").read_text())
    assert any(line.startswith("hotpath check --baseline") for line in gitlab["performance"]["script"])
