"""Every function measured: programs compiled with -finstrument-functions and not changed otherwise."""
import shutil
import subprocess

import pytest

from harness import BUILD, HOTPATH, PROGRAMS, SOURCE, near, with_glibc, without_emulator, without_sanitizer

ON = {"HOTPATH": "1"}
# What the program counts itself, and what it does not: helpers that run once per call of something else.
OTHERS = {"main": 1, "jump": 100}


def check(result):
    told = result.told
    assert len(told) == 9
    for name, calls in (told | OTHERS).items():
        assert result.calls(name) == calls, name
    row = result.row("main")
    assert row.percent_total == pytest.approx(100) and result.report.section("timing")["main"] == "main"
    assert max(one.total_ns for one in result.report.rows() if one.threads == 1) <= row.total_ns
    assert result.row("work").threads == 5 and result.row("thread").threads == 4
    lost = result.report.lost
    assert lost.pop("abandoned") == 400 and lost == {}  # four calls per jump, 100 times


def test_counts_are_exact(box):
    check(box.run("everything", env=ON))


def test_nothing_is_recorded_unless_asked_for(box):
    result = box.run("everything")
    assert not result.report_path.exists() and result.stderr == "" and result.sessions() == []


def test_filter(box):
    names = box.run("everything", env=ON | {"HOTPATH_FILTER": "/^(work|fib)$/"}).report.names()
    assert sorted(names) == ["fib", "work"]


def test_static_functions_know_their_file(box):
    result = box.run("everything", env=ON)
    assert result.row("work").location["file"].endswith("everything.c")


@without_sanitizer("frames are larger there")
@without_emulator("it has a stack of its own size")
def test_deeper_than_the_stack_of_zones(box):
    """Ends of calls that could not be recorded must not end those that were."""
    def is_good(result):
        row = result.row("recurse")
        return row.total_ns <= result.told["recurse_ns"] and near(row.total_ns, result.told["recurse_ns"], 1)

    results = []
    for _ in range(3):
        results.append(box.run("hooks", "deep", 300000, env=ON, before=["sh", "-c", 'ulimit -s unlimited; exec "$@"', "sh"]))
        assert results[-1].report.lost["depth"] > 0
        if is_good(results[-1]):
            return
    pytest.fail(f"{[(one.row('recurse').total_ns, one.told) for one in results]}")


@without_sanitizer("it needs more stack itself")
@without_emulator("it needs more stack itself")
def test_a_small_signal_stack(box):
    result = box.run("hooks", "altstack", env=ON)
    assert result.told["seen"] == 1 and result.calls("called_by_handler") == 1


def test_reserved_space_is_not_enough_and_it_says_so(box):
    result = box.run("everything", env=ON | {"HOTPATH_RESERVE": "1"})
    assert result.report.lost["sites"] > 0


@without_emulator("it has to be found by its process")
def test_off_and_on_in_the_middle_of_recursion(box):
    """The inner call begins while recording is off, the outer one before: the end of the inner is not the outer's."""
    result = box.run("switched", env=ON | {"HOTPATH_PROGRAM": HOTPATH})
    outer = result.row("evaluate")
    assert outer.calls == 1 and near(outer.total_ns, result.told["outer_ns"], 2)


def variants():
    for compiler in ("gcc", "clang"):
        for options in (["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-Os"], ["-O2", "-flto"], ["-O2", "-static-pie"],
                        ["-O2", "-fomit-frame-pointer"], ["-O2", "-fno-pie", "-no-pie"]):
            yield pytest.param(compiler, options, id=f"{compiler} {' '.join(options)}")


@with_glibc("it is compiled by the compilers of this machine")
@without_emulator("it is compiled by the compilers of this machine")
@without_sanitizer("the library would want its runtime")
@pytest.mark.parametrize("compiler, options", variants())
def test_compilers_and_options(box, compiler, options):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")
    program = box.folder() / "everything"
    library = [str(BUILD / "lib/libhotpath.a")] if "-static-pie" in options else [
        f"-L{BUILD / 'lib'}", "-Wl,--no-as-needed", "-lhotpath", f"-Wl,-rpath,{BUILD / 'lib'}"]
    done = subprocess.run([compiler, *options, "-finstrument-functions", str(SOURCE / "tests/programs/everything.c"),
                           *library, "-pthread", "-o", str(program)], capture_output=True, text=True)
    if done.returncode != 0 and "-flto" in options:
        pytest.skip(f"{compiler} cannot do it here: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    check(box.run(program, env=ON))


@with_glibc("it has hooks that do nothing, which others lack")
@without_emulator("it is compiled by the compilers of this machine")
@without_sanitizer("the library would want its runtime")
def test_preloaded_into_a_program_that_does_not_know_hotpath(box):
    program = box.folder() / "everything"
    subprocess.run(["gcc", "-O2", "-finstrument-functions", str(SOURCE / "tests/programs/everything.c"), "-pthread",
                    "-o", str(program)], check=True)
    check(box.run(program, env=ON | {"LD_PRELOAD": BUILD / "lib/libhotpath.so"}))
    assert box.run(program).stderr == ""


@with_glibc("it is compiled by the compilers of this machine")
@without_emulator("it is compiled by the compilers of this machine")
@without_sanitizer("the library would want its runtime")
def test_a_stripped_program_has_names_by_place(box):
    program = box.folder() / "everything"
    shutil.copy(PROGRAMS / "everything", program)
    subprocess.run(["strip", str(program)], check=True)
    result = box.run(program, env=ON | {"LD_LIBRARY_PATH": BUILD / "lib"})
    calls = sorted(row.calls for row in result.report.rows())
    assert calls == sorted([*result.told.values(), *OTHERS.values()])
    assert all(name.startswith("everything+0x") for name in result.report.names())
