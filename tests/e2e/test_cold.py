"""Functions that the compiler measures and that are never called, in programs where these are known."""
import json
import os
import shutil
import subprocess

import pytest

from harness import (BUILD, EMULATOR, HOTPATH, PROGRAMS, SANITIZER, SOURCE, TIMEOUT, full, with_glibc,
                     without_emulator, without_sanitizer)

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


def test_uncalled_functions_are_listed(box):
    result = box.run("cold", env=ON)
    found, report = cold_of(box, result)
    assert set(report.names()) == CALLED | LIBRARY_CALLED
    if not can_be_looked_into(report):
        assert found == set() and len(report.values["warnings"]) == 2
        assert all("only x86-64 and aarch64" in line for line in report.values["warnings"])
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
    env = box.environment(box.path, {"HOTPATH_OUTPUT_FORMAT": None, "HOTPATH_OUTPUT_PATH": None,
                                     "HOTPATH_REPORT": None, "HOTPATH_LIMIT": None})

    def table(*args):
        return subprocess.run(EMULATOR + [str(HOTPATH), "report", *args, str(session)], capture_output=True,
                              text=True, timeout=TIMEOUT, env=env, check=True).stdout

    assert "cold - " in table("--cold") and "timing - " in table("--cold") and "cold - " not in table()
    if can_be_looked_into(box.read(session)):
        text = table("--cold", "--limit", "2")
        assert "(2/7)" in text and "never_by_pointer" in table("--cold")
        assert "never_static" in table("--cold", "--focus", "never_s") and "never_global" not in table(
            "--cold", "--focus", "never_s")


def test_exit_report_points_to_the_command(box):
    result = box.run("cold", env=ON | {"HOTPATH_REPORT": "timing,cold"})
    assert list(result.report.values["sections"]) == ["timing"]
    [warning] = result.report.values["warnings"]
    assert "'hotpath report --cold'" in warning
    result = box.run("cold", env=ON)  # "all" does not request unavailable sections
    assert "cold" not in result.report.values["sections"] and result.report.values["warnings"] == []


def test_filtered_functions_are_not_listed(box):
    result = box.run("cold", env=ON | {"HOTPATH_FILTER": "/main|global|called/"})
    found, report = cold_of(box, result)
    if can_be_looked_into(report):
        assert found == {("never_global", "cold")}


def test_macro_sites_are_not_listed(box):
    result = box.run("counts")
    found, report = cold_of(box, result)
    assert found == set() and report.values["warnings"] == []


# ------------------------------------------------------------------------------- programs compiled by the test

OPTIONS = [["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-Os"], ["-O2", "-fno-plt"], ["-O2", "-fno-pie", "-no-pie"],
           ["-O2", "-fomit-frame-pointer"], ["-O2", "-static"], ["-O2", "-static-pie"],
           ["-O3", "-g", "-ffunction-sections", "-Wl,--gc-sections"], ["-O2", "-flto"]]

# ./dev test has the usual ones, and those in which code is placed or called in another way.
SHOWN = [("gcc", ["-O0"]), ("clang", ["-O2", "-fno-pie", "-no-pie"]), ("gcc", ["-O2", "-static"]),
         ("clang", ["-O2", "-static-pie"]), ("gcc", ["-O2", "-flto"]), ("clang", ["-O2", "-fno-plt"])]


def compile_cold(folder, compiler, options):
    """The program; a static one includes the library."""
    programs = SOURCE / "tests/programs"
    measured = [compiler, "-finstrument-functions", "-w", *options]

    def run(*command):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=folder)
        if done.returncode != 0 and "-flto" in options:
            pytest.skip(f"{compiler} cannot do it here: {done.stderr.splitlines()[-1]}")
        assert done.returncode == 0, done.stderr

    run(compiler, "-O2", "-c", programs / "cold_plain.c")
    if any(option.startswith("-static") for option in options):
        run(*measured, programs / "cold.c", programs / "cold_library.c", "cold_plain.o", BUILD / "lib/libhotpath.a",
            "-pthread", "-o", "cold")
        return folder / "cold", "cold"
    shared = [f"-L{BUILD / 'lib'}", "-Wl,--no-as-needed", "-lhotpath", f"-Wl,-rpath,{BUILD / 'lib'}"]
    run(*measured, "-shared", "-fPIC", programs / "cold_library.c", *shared, "-o", "libcold_library.so")
    run(*measured, programs / "cold.c", "cold_plain.o", "-L.", "-lcold_library", f"-Wl,-rpath,{folder}", *shared,
        "-o", "cold")
    return folder / "cold", "libcold_library.so"


@with_glibc("it is compiled by the compilers of this machine")
@without_emulator("it is compiled by the compilers of this machine")
@without_sanitizer("the library would want its runtime")
@pytest.mark.parametrize("compiler, options", [
    pytest.param(compiler, options, marks=[] if (compiler, options) in SHOWN else full)
    for compiler in ("gcc", "clang") for options in OPTIONS], ids=str)
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
def test_missing_or_replaced_files(box):
    folder = box.folder()
    program, library = compile_cold(folder, "gcc", ["-O2"])
    result = box.run(program, env=ON)
    found, report = cold_of(box, result)
    if not can_be_looked_into(report):
        pytest.skip("machine code of this kind is not looked into")
    assert found == everything()
    # The same sources, compiled differently: functions are at other addresses.
    compile_cold(folder, "gcc", ["-O0"])
    found, report = cold_of(box, result)
    assert found == set() and len(report.values["warnings"]) == 2
    assert all("was rebuilt after this run" in line for line in report.values["warnings"])
    compile_cold(folder, "gcc", ["-O2"])
    os.unlink(folder / library)
    found, report = cold_of(box, result)
    assert found == {(name, "cold") for name in NEVER}
    [warning] = report.values["warnings"]
    assert library in warning and "no longer exists" in warning
    subprocess.run(["strip", str(program)], check=True)
    _, report = cold_of(box, result)
    assert len(report.values["warnings"]) == 2 and report.rows("cold") == []


# ------------------------------------------------------------------------------------------- forged files

HUGE = (0, 1, 8, 0x7fff, 0xffff, 1 << 30, (1 << 31) - 1, (1 << 32) - 1, 1 << 62, (1 << 63) - 1, (1 << 64) - 1)
SYMTAB, STRTAB, RELA, DYNSYM = 2, 3, 4, 11


class Elf:
    """A 64-bit file of this machine, in which single fields can be changed."""

    HEADER = {"phoff": (32, 8), "shoff": (40, 8), "phentsize": (54, 2), "phnum": (56, 2), "shentsize": (58, 2),
              "shnum": (60, 2)}
    PART = {"type": (0, 4), "flags": (4, 4), "offset": (8, 8), "address": (16, 8), "size": (32, 8)}
    SECTION = {"type": (4, 4), "offset": (24, 8), "size": (32, 8), "link": (40, 4), "entry": (56, 8)}
    SYMBOL = {"name": (0, 4), "info": (4, 1), "section": (6, 2), "value": (8, 8), "size": (16, 8)}
    RELOCATION = {"offset": (0, 8), "symbol": (12, 4), "addend": (16, 8)}

    def __init__(self, content):
        self.content = bytearray(content)

    def get(self, at, field):
        return int.from_bytes(self.content[at + field[0]:at + field[0] + field[1]], "little")

    def put(self, at, field, value):
        start, size = at + field[0], field[1]
        self.content[start:start + size] = (value % (1 << 8 * size)).to_bytes(size, "little")

    def records(self, offset, count, size):
        return [self.get(0, self.HEADER[offset]) + at * size for at in range(self.get(0, self.HEADER[count]))]

    def parts(self):
        return self.records("phoff", "phnum", 56)

    def sections(self, kind):
        return [at for at in self.records("shoff", "shnum", 64) if self.get(at, self.SECTION["type"]) == kind]

    def entries(self, kind):
        return [start for at in self.sections(kind)
                for start in range(self.get(at, self.SECTION["offset"]),
                                   self.get(at, self.SECTION["offset"]) + self.get(at, self.SECTION["size"]), 24)]


def lies(content):
    """Contents with one error each: a field of all records of a kind, or where the file ends."""
    kinds = [(Elf.HEADER, lambda elf: [0]), (Elf.PART, Elf.parts)]
    kinds += [(Elf.SECTION, lambda elf, kind=kind: elf.sections(kind)) for kind in (SYMTAB, STRTAB, RELA, DYNSYM)]
    kinds += [(Elf.SYMBOL, lambda elf, kind=kind: elf.entries(kind)) for kind in (SYMTAB, DYNSYM)]
    kinds += [(Elf.RELOCATION, lambda elf: elf.entries(RELA))]
    for fields, find in kinds:
        for field in fields.values():
            for value in HUGE:
                if value < 1 << 8 * field[1]:
                    elf = Elf(content)
                    for at in find(elf):
                        elf.put(at, field, value)
                    yield elf.content
    for length in (0, 3, 16, 63, 64, 100, 4096, len(content) // 2, len(content) - 1):
        yield content[:length]
    names = Elf(content)  # no name is terminated
    for at in names.sections(STRTAB):
        start, size = names.get(at, Elf.SECTION["offset"]), names.get(at, Elf.SECTION["size"])
        names.content[start:start + size] = b"x" * size
    yield names.content


@without_emulator("it takes long")
def test_inconsistent_elf_files(box):
    """With any file in place of the program: the report is made, and names the files it could not read."""
    program = box.folder() / "cold"
    shutil.copy(PROGRAMS / "cold", program)
    result = box.run(program, env=ON)
    found, report = cold_of(box, result)
    content = program.read_bytes()
    if not can_be_looked_into(report) or content[4] != 2:
        pytest.skip("machine code of this kind is not looked into")
    assert found == everything()
    cases = list(lies(content))[::3 if not SANITIZER else 15]
    for case in cases:
        program.write_bytes(case)
        report = box.read(result.folder, "--section", "cold")
        follows_the_schema(report)
        cold = {(row.name, row.image) for row in report.rows("cold")}
        assert {(name, "libcold_library.so") for name in LIBRARY_NEVER} <= cold
    assert len(cases) > 20
