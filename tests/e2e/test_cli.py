"""The program `hotpath`: its words and errors, hotpath doctor, and completions for shells."""
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from command import GUEST, cli  # noqa: F401 (a fixture)
from harness import EMULATOR, HOTPATH, SOURCE, TIMEOUT, needs_root

pytestmark = pytest.mark.skipif(bool(EMULATOR), reason="not under an emulator: it would have to start another")

COMMANDS = sorted(page.stem[len("hotpath-"):] for page in (SOURCE / "man").glob("hotpath-*.1"))


# ---------------------------------------------------------------------------------------------- words and errors

def test_overview_names_every_command(cli):
    text = cli("--help").stdout
    for command in COMMANDS:
        assert re.search(rf"^  {command} +\w", text, re.M), command
    groups = dict(re.findall(r"^(\w+):\n((?:  .*\n)+)", text, re.M))
    assert list(groups) == ["record", "look", "compare", "control"]
    for group, command in (("record", "run"), ("look", "report"), ("compare", "open"), ("control", "clean")):
        assert re.search(rf"^  {command} ", groups[group], re.M), group
    assert cli("help").stdout == text
    assert re.fullmatch(r"hotpath \d+\.\d+\.\d+\n", cli("--version").stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(cli, command):
    text = cli(command, "--help").stdout
    assert text.startswith(f"usage: hotpath {command}") and "-h, --help" in text
    assert cli("help", command).stdout == text == cli(command, "-h").stdout
    assert max(len(line) for line in text.splitlines()) <= 90


def test_help_names_only_variables_that_the_command_reads(cli):
    assert "(HOTPATH_OUTPUT_PATH)" in cli("run", "--help").stdout
    text = cli("report", "--help").stdout
    assert "(HOTPATH_OUTPUT_FORMAT)" in text and "(HOTPATH_OUTPUT_PATH)" not in text


def test_help_of_the_environment(cli):
    text = cli("help", "environment").stdout
    assert "HOTPATH_LIMIT=N" in text and "HOTPATH_RUN=" in text


@pytest.mark.parametrize("args, words", [
    ([], "missing command"),
    (["--nonsense"], "unknown option '--nonsense'"),
    (["rpeort"], "did you mean 'report'"),
    (["cleam"], "did you mean 'clean'"),
    (["of"], "did you mean 'o"),
    ([""], "missing command"),
    (["report", "--f", "3"], "'--f' is ambiguous"),
    (["report", "--help=1"], "'--help=1' takes no value"),
    (["no-such-program-anywhere"], "no command and no program 'no-such-program-anywhere'"),
    (["help", "nonsense"], "no command 'nonsense'"),
    (["report", "--nonsense"], "'--nonsense' is unknown"),
    (["report", "-x"], "'-x' is unknown"),
    (["report", "--limit"], "'--limit' needs a value"),
    (["report", "-n"], "'-n' needs a value"),
    (["report", "--limit", "many"], "--limit 'many' is not a number"),
    (["report", "--format", "xml"], "--format 'xml' is not one of table, json"),
    (["report", "--focus", "/(/"], "--focus '/(/' is not a list of texts, globs and /regex/"),
    (["report", "a", "b"], "unexpected argument 'b'"),
    (["run"], "missing program"),
    (["run", "--timeout", "soon", "true"], "--timeout 'soon' is not a number"),
    (["on"], "missing process id or program"),
    (["ls", "much"], "unexpected argument 'much'"),
    (["clean", "--keep", "-1"], "--keep '-1' is not a number"),
])
def test_wrong_use(cli, args, words):
    done = cli(*args, status=2)
    assert words in done.stderr and "--help'" in done.stderr
    assert done.stderr.startswith("hotpath: ") and done.stderr.count("\n") == 1 and done.stdout == ""


@pytest.mark.parametrize("args, words", [
    (["report"], "no session yet"),
    (["report", "1"], "no session of process 1"),
    (["report", "nonsense"], "no session, process, program or file 'nonsense'"),
    (["report", "/dev/null"], "not a regular file"),
    (["report", "/etc/passwd"], "cannot read '/etc/passwd'"),
    (["off", "1"], "you have no live session of process 1"),
])
def test_failures(cli, args, words):
    done = cli(*args, status=1)
    assert words in done.stderr and done.stderr.startswith("hotpath: ") and done.stderr.count("\n") == 1


def test_unwritable_output_is_an_error(cli):
    cli.run(GUEST, "five")
    with open("/dev/full", "w") as full:
        for args in (["report"], ["help"], ["ls"]):
            done = subprocess.run([str(HOTPATH), *args], stdout=full, stderr=subprocess.PIPE, text=True,
                                  env=cli.environment())
            assert done.returncode == 1 and "cannot write" in done.stderr, args
    assert "cannot write '/dev/null/no'" in cli("report", "-o", "/dev/null/no", status=1).stderr
    cli("report", "-o", cli.folder / "new" / "folder" / "file")
    assert "| work" in (cli.folder / "new" / "folder" / "file").read_text()
    done = cli("run", "-o", "/dev/full", GUEST, "five")
    assert "cannot write" in done.stderr and "| work" in done.stderr  # better here than nowhere


def test_closed_pipe_does_not_change_the_exit_status(cli):
    """The exit status is the program's, whether or not the report can be written."""
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run([str(HOTPATH), "run", GUEST, "ends", "exit"], stderr=write, env=cli.environment(),
                             stdout=subprocess.DEVNULL)
    os.close(write)
    assert process.returncode == 7


def test_a_report_that_blocks_can_be_interrupted(cli):
    read, write = os.pipe()
    os.set_blocking(write, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(write, b"x" * 4096)
    os.set_blocking(write, True)
    process = subprocess.Popen([str(HOTPATH), "run", GUEST, "ends", "exit"], stderr=write, stdout=subprocess.PIPE,
                               env=cli.environment(), text=True)
    assert process.stdout.readline() == "ends by exit\n"
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(TIMEOUT) == -signal.SIGTERM
    os.close(read)
    os.close(write)


# --------------------------------------------------------------------------------------------------------- doctor

def test_doctor(cli):
    text = cli("doctor", env={"HOTPATH_LIMITS": "3"}).stdout
    for name in ("system", "clock", "sessions", "library", "threads", "cpu", "waits", "instructions", "limits",
                 "proc", "environment"):
        assert re.search(rf"^(ok|note|BAD) +{name} ", text, re.M), name
    assert "unknown variables: HOTPATH_LIMITS" in text
    assert "2 hotpath variables are set" in cli("doctor", env={"HOTPATH": "1"}).stdout  # and HOTPATH_DIR


def test_doctor_says_who_counts_instructions(cli, tmp_path):
    line = re.search("^.* instructions (.*)$", cli("doctor", env={"PATH": str(tmp_path)}).stdout, re.M).group(1)
    assert "qemu-x86_64 is not installed (package qemu-user)" in line
    assert line.startswith("can be counted by the CPU, not exactly") or line.startswith("cannot be counted: ")


def test_doctor_says_where_the_library_is(cli):
    """If the dynamic linker does not find it."""
    text = cli("doctor", env={"LD_LIBRARY_PATH": ""}).stdout
    libraries = HOTPATH.parent.parent / "lib"
    if "is not in the library path" in text:  # it may be installed on this machine
        assert f", but in {libraries}\n" in text and f"fix: link programs with -Wl,-rpath,{libraries}, " in text
    text = cli("doctor", env={"LD_LIBRARY_PATH": str(libraries)}).stdout
    assert re.search(r"^ok +library +libhotpath\.so\.\d", text, re.M)


@needs_root
def test_doctor_finds_a_bad_folder(cli):
    text = cli("doctor", env={"HOTPATH_DIR": "/proc"}, status=1).stdout
    assert re.search(r"^BAD +sessions ", text, re.M) and "fix: mkdir" in text


# ---------------------------------------------------------------------------------------------------- completions

def completions(cli, *words):
    script = f"""
        PATH={HOTPATH.parent}:$PATH
        source "$1"
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _hotpath
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    file = str(SOURCE / "completions" / "hotpath.bash")
    return subprocess.run(["bash", "-c", script, "bash", file, "hotpath", *words], capture_output=True, text=True,
                          check=True, env=cli.environment(), cwd=cli.folder).stdout.split()


def test_bash_completions(cli):
    assert completions(cli, "rep") == ["report"]
    assert set(completions(cli, "o")) == {"on", "off", "open"}
    assert "--percentiles" in completions(cli, "run", "--p")
    assert completions(cli, "report", "--format", "j") == ["json", "json-pretty"]
    assert set(completions(cli, "help", "")) >= {"run", "environment"}
    cli.run(GUEST, "five")
    name = os.path.basename(cli.sessions()[0]["path"]).split(".")[0]
    assert name in completions(cli, "report", name[:3])


@pytest.mark.parametrize("shell, file", [("zsh", "_hotpath"), ("fish", "hotpath.fish")])
def test_completions_of_other_shells(cli, shell, file):
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    path = SOURCE / "completions" / file
    subprocess.run([shell, "-n", path], check=True)
    if shell == "fish":
        words = subprocess.run([shell, "-c",
                                f'source {path}; complete -C "hotpath o"; complete -C "hotpath ls --"'],
                               capture_output=True, text=True, check=True, cwd=cli.folder).stdout
        assert {line.split("\t")[0] for line in words.splitlines()} == {
            "on", "off", "--all", "--json", "--dir", "--help"}
