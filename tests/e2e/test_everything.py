"""Every function measured: programs compiled with -finstrument-functions and otherwise unchanged."""
import shutil
import string
import subprocess

import pytest

from harness import (BUILD, HOTPATH, PROGRAMS, SOURCE, between, crossed, near, with_cxx, with_glibc,
                     without_emulator, without_sanitizer)

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


ALL = {"leaf", "small", "work", "fib", "jumper", "even", "odd", "thread", "tabled", *OTHERS}


@pytest.mark.parametrize("chosen, names", [
    ({"FILTER": "/^(work|fib)$/"}, {"fib", "work"}),
    ({"FILTER": "work,fib"}, {"fib", "work"}),
    ({"FILTER": "t*,?ib, leaf"}, {"thread", "tabled", "fib", "leaf"}),
    ({"FILTER": "-fib"}, ALL - {"fib"}),
    ({"FILTER": "jump,-jump?r"}, {"jump"}),
    ({"SKIP": "fib,/^(odd|even)$/"}, ALL - {"fib", "odd", "even"}),
    ({"FILTER": "jump*,work", "SKIP": "jump*r"}, {"jump", "work"}),
    ({"FILTER": "file:everything"}, ALL),  # the program
    ({"FILTER": "file:*/everything.c", "SKIP": "file:everything"}, set()),
    ({"SKIP": "file:libc.so*"}, ALL),
], ids=lambda value: ",".join(value.values()) if isinstance(value, dict) else "")
def test_filter_and_skip(box, chosen, names):
    report = box.run("everything", env=ON | {f"HOTPATH_{key}": value for key, value in chosen.items()}).report
    assert set(report.names()) == names
    assert report.values["trust"].get("left_out_functions", 0) == len(ALL) - len(names)


def test_filter_by_source(box):
    """Static functions have a source in the symbol table; main has none."""
    names = box.run("everything", env=ON | {"HOTPATH_FILTER": "file:everything.c,-fib"}).report.names()
    assert "work" in names and "main" not in names and "fib" not in names


def test_filter_from_a_file(box):
    folder = box.folder()
    (folder / "names.txt").write_text("# what is wanted\n\nwork\n/^(fib|odd)$/\n-odd\n")
    result = box.run("everything", env=ON | {"HOTPATH_FILTER": "leaf,@names.txt"}, cwd=folder)
    assert set(result.report.names()) == {"leaf", "work", "fib"} and result.lines == []
    (folder / "names.txt").write_text("work\n/(/\n")
    result = box.run("everything", env=ON | {"HOTPATH_FILTER": "leaf,@names.txt"}, cwd=folder)
    assert set(result.report.names()) == ALL
    assert result.lines == ["hotpath: HOTPATH_FILTER='leaf,@names.txt' is not a list of texts, globs and /regex/: "
                            "line 2 of "
                            "'names.txt': '(' is never closed at byte 2; using no filter (every site)"]


@without_emulator("a shell of this machine cannot start programs of another")
def test_run_passes_on_the_contents_of_list_files(box):
    """The program is in another folder, where there is no such file."""
    folder, elsewhere = box.folder(), box.folder()
    (folder / "names.txt").write_text("work\nodd, or even\n")
    result = box.run(HOTPATH, "run", "--no-preload", "--filter", "@names.txt", "--skip", "small,@names.txt", "sh",
                     "-c", f"cd {elsewhere}; exec {PROGRAMS}/everything", cwd=folder)
    assert result.report.names() == [] and result.lines == []
    result = box.run(HOTPATH, "run", "--skip", "/^[^w]/,@none.txt", PROGRAMS / "everything", cwd=folder, status=2)
    assert "the file 'none.txt' cannot be read: no such file or directory" in result.stderr


@with_cxx
def test_readable_names_of_cxx_are_chosen(box):
    """Two names of one destructor have the same address, and either may be shown."""
    def names(chosen):
        found = box.run("everything_cxx", env=ON | {"HOTPATH_FILTER": chosen}).report.names()
        return {name.replace("D1Ev", "D2Ev") for name in found}

    assert names("/^shop::Basket::total$/") == {"_ZNK4shop6Basket5totalEv"}
    assert names("shop::Basket::~Basket,*::unseen,_Z5plaini") == {
        "_ZN4shop6BasketD2Ev", "_ZN4shopL6unseenEi", "_Z5plaini"}
    assert names("plain,-_Z5plaini") == {"_Z5plaind"}


CALLS_OF_CXX = {
    "main": 1, "shop::Basket::Basket": 10, "shop::Basket::~Basket": 10, "shop::Basket::add(int)": 20,
    "shop::Basket::add(char const*)": 10, "shop::Basket::total": 10, "shop::Basket::operator+=": 10,
    "shop::Basket::operator bool": 10, "shop::Basket::limit": 10, "shop::largest<int>": 10,
    "shop::largest<double>": 10, "shop::(anonymous namespace)::hidden": 10, "shop::unseen": 10, "operator<": 10,
    "plain(int)": 10, "plain(double)": 20, "Table<7>::at": 10, "Table<9>::at": 20, "main::<lambda>": 10,
}


@with_cxx
def test_names_of_cxx_are_readable_in_the_program(box):
    result = box.run("everything_cxx", env=ON)
    report = box.read(result.sessions()[0])
    assert {row.name: row.calls for row in report.rows()} == CALLS_OF_CXX
    assert sorted(row.calls for row in result.report.rows()) == sorted(CALLS_OF_CXX.values())
    linked = [name for name in result.report.names() if name != "main"]
    assert all(name.startswith("_Z") for name in linked)
    assert set(box.read(result.sessions()[0], "--focus", "/^plain/").names()) == {"plain(double)", "plain(int)"}
    table = box.run("everything_cxx", env=ON | {"HOTPATH_OUTPUT_FORMAT": "table"}).report_path.read_text()
    assert "'hotpath report' demangles it" in table
    if shutil.which("c++filt"):  # a name is the whole signature, or what follows the return type up to some point
        signatures = subprocess.run(["c++filt", *linked], capture_output=True, text=True,
                                    check=True).stdout.splitlines()
        for name in set(CALLS_OF_CXX) - {"main", "main::<lambda>"}:
            assert any(name == one or f" {one}".find(f" {name}(") >= 0 for one in signatures), name


@with_glibc("it is compiled by the compilers of this machine")
@without_emulator("it is compiled by the compilers of this machine")
@without_sanitizer("the library would want its runtime")
def test_huge_demangled_names_stay_mangled(box):
    """Each parameter contains the previous one twice: a name of 400 bytes would become gigabytes."""
    digits = string.digits + string.ascii_uppercase
    doubling = "_Z4evil1AIiiE" + "".join(f"S_IS{digit}_S{digit}_E" for digit in digits)
    folder = box.folder()
    (folder / "evil.c").write_text(f"""
        void evil(void) __asm__("{doubling}");
        void copy(void) __asm__("_ZN3Box3addEi.constprop.0");
        void broken(void) __asm__("_ZN3Box3addE{'N1a' * 300}");
        void evil(void) {{}}
        void copy(void) {{}}
        void broken(void) {{}}
        int main(void) {{ evil(); copy(); broken(); return 0; }}""")
    subprocess.run(["gcc", "-finstrument-functions", "evil.c", "-o", "evil", f"-L{BUILD / 'lib'}",
                    "-Wl,--no-as-needed", "-lhotpath", f"-Wl,-rpath,{BUILD / 'lib'}"], cwd=folder, check=True)
    result = box.run(folder / "evil", env=ON)
    names = box.read(result.sessions()[0]).names()
    assert doubling in names and "Box::add [constprop.0]" in names and len(names) == 4


@with_cxx
@with_glibc("it is compiled by the compilers of this machine")
@without_emulator("it is compiled by the compilers of this machine")
@without_sanitizer("the library would want its runtime")
def test_names_stay_mangled_without_a_demangler(box):
    folder = box.folder()
    (folder / "none.c").write_text("void *dlopen(const char *name, int how) { (void)name; (void)how; return 0; }")
    subprocess.run(["gcc", "-shared", "-fPIC", "none.c", "-o", "none.so"], cwd=folder, check=True)
    session = box.run("everything_cxx", env=ON).sessions()[0]
    env = {"LD_PRELOAD": folder / "none.so", "HOTPATH_OUTPUT_PATH": None, "HOTPATH_OUTPUT_FORMAT": None}
    shown = box.run(HOTPATH, "report", session, env=env).stdout
    assert "_Z5plaini" in shown and "'hotpath doctor' shows what is needed" in shown
    doctor = box.run(HOTPATH, "doctor", env=env, status=None).stdout
    assert "are not demangled" in doctor and "libstdc++6" in doctor


def test_static_functions_have_a_source_file(box):
    result = box.run("everything", env=ON)
    assert result.row("work").location["file"].endswith("everything.c")


UNLIMITED = ["sh", "-c", 'ulimit -s unlimited; exec "$@"', "sh"]


@without_sanitizer("frames are larger there")
@without_emulator("it has a stack of its own size")
@pytest.mark.parametrize("rate", ["1", "1/100000"])
def test_calls_after_the_zone_stack_overflowed(box, rate):
    """It is still inside the outermost ones, timed or only counted."""
    result = box.run("hooks", "deep", 300000, env=ON | {"HOTPATH_TIME_SAMPLING_RATE": rate}, before=UNLIMITED)
    assert result.report.lost["depth"] > 0
    recurse = result.row("main", "calltree").child("recurse")
    assert recurse.child("after").calls == 1 and recurse.calls == 300001 - result.report.lost["depth"]


@without_sanitizer("frames are larger there")
@without_emulator("it has a stack of its own size")
def test_deeper_than_the_stack_of_zones(box):
    """Ends of calls that could not be recorded must not end those that were."""
    def is_good(result):
        row = result.row("recurse")
        return row.total_ns <= result.told["recurse_ns"] and near(row.total_ns, result.told["recurse_ns"], 1)

    results = []
    for _ in range(3):
        results.append(box.run("hooks", "deep", 300000, env=ON, before=UNLIMITED))
        assert results[-1].report.lost["depth"] > 0
        if is_good(results[-1]):
            return
    pytest.fail(f"{[(one.row('recurse').total_ns, one.told) for one in results]}")


@pytest.mark.parametrize("rate", ["1", "1/3", "1/100000"])
def test_calls_after_a_jump_are_outside_the_zones_it_left(box, rate):
    """Timed or only counted: what comes after the jump is not inside the zones that it left."""
    result = box.run("hooks", "jumps", 1000, env=ON | {"HOTPATH_TIME_SAMPLING_RATE": rate})
    main = result.row("main", "calltree")
    assert main.child("after").calls == main.child("around").calls == main.child("jumper").calls == 1000
    assert main.child("jumper").child("jumped over").calls == main.child("around").child("jumper").calls == 1000
    assert result.calls("jumper") == 2000 and result.report.lost == {"abandoned": 1000}


@without_sanitizer("it needs more stack itself")
@without_emulator("it needs more stack itself")
def test_a_small_signal_stack(box):
    result = box.run("hooks", "altstack", env=ON)
    assert result.told["seen"] == 1 and result.calls("called_by_handler") == 1


def test_exhausted_reserved_space_is_reported(box):
    result = box.run("everything", env=ON | {"HOTPATH_RESERVE": "1"})
    assert result.report.lost["sites"] > 0


@without_emulator("it has to be found by its process")
def test_off_and_on_in_the_middle_of_recursion(box):
    """The inner call begins while recording is off, the outer one before: the inner end is not the outer's."""
    result = box.run("switched", env=ON | {"HOTPATH_PROGRAM": HOTPATH})
    outer = result.row("evaluate")
    assert outer.calls == 1 and between(result.told["inside_ns"], outer.total_ns, result.told["around_ns"])


OPTIONS = [["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-Os"], ["-O2", "-flto"], ["-O2", "-static-pie"],
           ["-O2", "-fomit-frame-pointer"], ["-O2", "-fno-pie", "-no-pie"]]


@with_glibc("it is compiled by the compilers of this machine")
@without_emulator("it is compiled by the compilers of this machine")
@without_sanitizer("the library would want its runtime")
@pytest.mark.parametrize("compiler, options", crossed(["gcc", "clang"], OPTIONS), ids=str)
def test_compilers_and_options(box, compiler, options):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")
    program = box.folder() / "everything"
    library = [str(BUILD / "lib/libhotpath.a")] if "-static-pie" in options else [
        f"-L{BUILD / 'lib'}", "-Wl,--no-as-needed", "-lhotpath", f"-Wl,-rpath,{BUILD / 'lib'}"]
    done = subprocess.run([compiler, *options, "-finstrument-functions",
                           str(SOURCE / "tests/programs/everything.c"), *library, "-pthread", "-o", str(program)],
                          capture_output=True, text=True)
    if done.returncode != 0 and "-flto" in options:
        pytest.skip(f"{compiler} cannot do it here: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    check(box.run(program, env=ON))


@with_glibc("it has hooks that do nothing, which others lack")
@without_emulator("it is compiled by the compilers of this machine")
@without_sanitizer("the library would want its runtime")
def test_preloaded_into_an_instrumented_program(box):
    program = box.folder() / "everything"
    subprocess.run(["gcc", "-O2", "-finstrument-functions", str(SOURCE / "tests/programs/everything.c"), "-pthread",
                    "-o", str(program)], check=True)
    check(box.run(program, env=ON | {"LD_PRELOAD": BUILD / "lib/libhotpath.so"}))
    assert box.run(program).stderr == ""


@with_glibc("it is compiled by the compilers of this machine")
@without_emulator("it is compiled by the compilers of this machine")
@without_sanitizer("the library would want its runtime")
def test_stripped_program_has_names_by_address(box):
    program = box.folder() / "everything"
    shutil.copy(PROGRAMS / "everything", program)
    subprocess.run(["strip", str(program)], check=True)
    result = box.run(program, env=ON | {"LD_LIBRARY_PATH": BUILD / "lib"})
    calls = sorted(row.calls for row in result.report.rows())
    assert calls == sorted([*result.told.values(), *OTHERS.values()])
    assert all(name.startswith("everything+0x") for name in result.report.names())
