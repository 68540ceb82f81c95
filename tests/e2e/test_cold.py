"""Functions that the compiler measures and nobody calls, against programs of which it is known."""
import json
import os
import shutil
import subprocess

import pytest

from harness import (BUILD, EMULATOR, HOTPATH, PROGRAMS, SOURCE, TIMEOUT, with_glibc, without_emulator,
                     without_sanitizer)

ON = {"HOTPATH": "1"}
CALLED = {"main", "called_static", "called_with_constant"}
NEVER = {"never_static", "never_inlined", "never_global", "never_by_pointer"}
LIBRARY_CALLED = {"library_called", "library_called_static"}
LIBRARY_NEVER = {"library_never", "library_never_static", "library_never_hidden"}


def follows_the_schema(report):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((SOURCE / "docs" / "report.schema.json").read_text())
    errors = list(jsonschema.validators.validator_for(schema)(schema).iter_errors(report.values))
    assert errors == [], errors[:3]


def can_be_looked_into(report):
    return report.values["meta"]["system"].split()[-1] in ("x86_64", "aarch64")


def cold_of(box, result, *args):
    """{(name, image)} of a finished run, checked against what it called."""
    report = box.read(result.folder, "--section", "timing,cold", *args)
    follows_the_schema(report)
    section = report.section("cold")
    assert section["order"] == {"column": "size_bytes", "direction": "descending"}
    sizes = [row["size_bytes"] for row in section["rows"]]
    assert sizes == sorted(sizes, reverse=True) and all(size > 0 for size in sizes)
    found = [(row["name"], row["image"]) for row in section["rows"]]
    assert len(found) == len(set(found)) and not set(report.names()) & {name for name, _ in found}
    return set(found), report


def everything(program="cold", library="libcold_library.so"):
    return {(name, program) for name in NEVER} | {(name, library) for name in LIBRARY_NEVER}


def test_what_was_never_called(box):
    result = box.run("cold", env=ON)
    found, report = cold_of(box, result)
    assert set(report.names()) == CALLED | LIBRARY_CALLED
    if not can_be_looked_into(report):
        assert found == set() and len(report.values["warnings"]) == 2
        assert all("only that of x86-64 and aarch64" in line for line in report.values["warnings"])
        return
    assert found == everything() and report.values["warnings"] == []
    sources = {row.name: row.source for row in report.rows("cold")}
    assert sources["never_static"] == "cold.c" and sources["library_never_static"] == "cold_library.c"
    assert sources["never_global"] is None and sources["library_never"] is None
    paths = {row.name: row.path for row in report.rows("cold")}
    assert paths["never_global"] == str(PROGRAMS / "cold")


def test_the_table_and_its_flag(box):
    result = box.run("cold", env=ON)
    [session] = result.sessions()
    env = box.environment(box.path, {"HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_OUTPUT_PATH": None, "HOTPATH_REPORT": None,
                                     "HOTPATH_LIMIT": None})

    def table(*args):
        return subprocess.run(EMULATOR + [str(HOTPATH), "report", *args, str(session)], capture_output=True, text=True,
                              timeout=TIMEOUT, env=env, check=True).stdout

    assert "cold - " in table("--cold") and "timing - " in table("--cold") and "cold - " not in table()
    if can_be_looked_into(box.read(session)):
        text = table("--cold", "--limit", "2")
        assert "(2/7)" in text and "never_by_pointer" in table("--cold")
        assert "never_static" in table("--cold", "--focus", "never_s") and "never_global" not in table(
            "--cold", "--focus", "never_s")


def test_a_process_says_where_to_find_it(box):
    result = box.run("cold", env=ON | {"HOTPATH_REPORT": "timing,cold"})
    assert list(result.report.values["sections"]) == ["timing"]
    [warning] = result.report.values["warnings"]
    assert "'hotpath report --cold'" in warning
    result = box.run("cold", env=ON)  # "all" asks for nothing that is not there
    assert "cold" not in result.report.values["sections"] and result.report.values["warnings"] == []


def test_a_filter_hides_what_it_kept_out(box):
    result = box.run("cold", env=ON | {"HOTPATH_FILTER": "/main|global|called/"})
    found, report = cold_of(box, result)
    if can_be_looked_into(report):
        assert found == {("never_global", "cold")}


def test_sites_of_macros_have_no_image(box):
    result = box.run("counts")
    found, report = cold_of(box, result)
    assert found == set() and report.values["warnings"] == []


# --------------------------------------------------------------------------------------- compiled here and now

def variants():
    for compiler in ("gcc", "clang"):
        for options in (["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-Os"], ["-O2", "-fno-plt"], ["-O2", "-fno-pie", "-no-pie"],
                        ["-O2", "-fomit-frame-pointer"], ["-O2", "-static"], ["-O2", "-static-pie"],
                        ["-O3", "-g", "-ffunction-sections", "-Wl,--gc-sections"], ["-O2", "-flto"]):
            yield pytest.param(compiler, options, id=f"{compiler} {' '.join(options)}")


def compile_cold(folder, compiler, options):
    """The program; of a static one the library is a part."""
    programs = SOURCE / "tests/programs"
    measured = [compiler, "-finstrument-functions", "-w", *options]

    def run(*command):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=folder)
        if done.returncode != 0 and "-flto" in options:
            pytest.skip(f"{compiler} cannot do it here: {done.stderr.splitlines()[-1]}")
        assert done.returncode == 0, done.stderr

    run(compiler, "-O2", "-c", programs / "cold_plain.c")
    if any(option.startswith("-static") for option in options):
        run(*measured, programs / "cold.c", programs / "cold_library.c", "cold_plain.o", BUILD / "lib/libhotpath.a", "-pthread",
            "-o", "cold")
        return folder / "cold", "cold"
    shared = [f"-L{BUILD / 'lib'}", "-Wl,--no-as-needed", "-lhotpath", f"-Wl,-rpath,{BUILD / 'lib'}"]
    run(*measured, "-shared", "-fPIC", programs / "cold_library.c", *shared, "-o", "libcold_library.so")
    run(*measured, programs / "cold.c", "cold_plain.o", "-L.", "-lcold_library", f"-Wl,-rpath,{folder}", *shared, "-o", "cold")
    return folder / "cold", "libcold_library.so"


@with_glibc("it is compiled by the compilers of this machine")
@without_emulator("it is compiled by the compilers of this machine")
@without_sanitizer("the library would want its runtime")
@pytest.mark.parametrize("compiler, options", variants())
def test_compilers_and_options(box, compiler, options):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")
    program, library = compile_cold(box.folder(), compiler, options)
    result = box.run(program, env=ON)
    found, report = cold_of(box, result)
    assert set(report.names()) == CALLED | LIBRARY_CALLED
    if can_be_looked_into(report):
        assert found == everything(library=library) and report.values["warnings"] == []


@with_glibc("it is compiled by the compilers of this machine")
@without_emulator("it is compiled by the compilers of this machine")
@without_sanitizer("the library would want its runtime")
def test_files_that_are_gone_or_others(box):
    folder = box.folder()
    program, library = compile_cold(folder, "gcc", ["-O2"])
    result = box.run(program, env=ON)
    found, report = cold_of(box, result)
    if not can_be_looked_into(report):
        pytest.skip("machine code of this kind is not looked into")
    assert found == everything()
    # The same sources, compiled otherwise: functions lie elsewhere.
    compile_cold(folder, "gcc", ["-O0"])
    found, report = cold_of(box, result)
    assert found == set() and len(report.values["warnings"]) == 2
    assert all("was built anew after this run" in line for line in report.values["warnings"])
    compile_cold(folder, "gcc", ["-O2"])
    os.unlink(folder / library)
    found, report = cold_of(box, result)
    assert found == {(name, "cold") for name in NEVER}
    [warning] = report.values["warnings"]
    assert library in warning and "is not there any more" in warning
    subprocess.run(["strip", str(program)], check=True)
    _, report = cold_of(box, result)
    assert len(report.values["warnings"]) == 2 and report.rows("cold") == []
