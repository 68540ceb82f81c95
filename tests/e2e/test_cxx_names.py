"""Functions of C++ have readable names, whichever way they were measured and whichever compiler has made the
program."""
import platform
import shutil
import subprocess

import pytest

from harness import BUILD, HOTPATH, SOURCE, full, perf_is_allowed, with_glibc, without_emulator, without_sanitizer

pytestmark = [with_glibc("it is compiled by the compilers of this machine"),
              without_emulator("it is compiled by the compilers of this machine"),
              without_sanitizer("the library would want its runtime")]

NAMES = {"square<int>", "square<double>", "square<unsigned long>", "Array<int, 3>::size",
         "Array<int, 3>::sum<float>", "Box<std::vector<std::string>>::get", "Box<int*>::get", "ns::over(int)",
         "ns::over(unsigned long)", "many<int, char>", "plain", "main"}


@pytest.fixture(params=["g++", pytest.param("clang++", marks=full)])
def build(box, request):
    if shutil.which(request.param) is None:
        pytest.skip(f"no {request.param} here")

    def compile_with(*options):
        program = box.folder() / "templates"
        library = ["-Wl,--no-as-needed", f"-L{BUILD / 'lib'}", "-lhotpath", f"-Wl,-rpath,{BUILD / 'lib'}"]
        subprocess.run([request.param, "-std=c++17", "-O1", "-g", f"-I{SOURCE / 'include'}", *options,
                        SOURCE / "tests/programs/templates.cc", "-o", program, *library], check=True)
        return program
    return compile_with


def test_names_by_macros(box, build):
    """The same in the program's own report, in that of its session, and as patterns."""
    program = build("-DHOTPATH")
    result = box.run(program)
    assert set(result.report.names()) == NAMES
    assert set(box.read(result.sessions()[0]).names()) == NAMES
    chosen = box.run(program, env={"HOTPATH_FILTER": "square<double>"}).report.names()
    assert set(chosen) == {"square<double>", "main"}
    chosen = box.run(program, env={"HOTPATH_FILTER": "square,Box::get"}).report.names()
    assert set(chosen) == {"square<int>", "square<double>", "square<unsigned long>",
                           "Box<std::vector<std::string>>::get", "Box<int*>::get", "main"}
    focused = box.read(result.sessions()[0], "--focus", "square").names()
    assert set(focused) == {"square<int>", "square<double>", "square<unsigned long>"}


def test_names_by_the_compiler(box, build):
    result = box.run(build("-finstrument-functions"), env={"HOTPATH": "1"})
    names = set(box.read(result.sessions()[0]).names())
    assert NAMES <= names
    assert not any("__cxx11" in name or "std::allocator<std::string>, " in name or "_Z" in name for name in names)


@pytest.mark.skipif(not perf_is_allowed(), reason="the kernel lets nobody take stacks here")
@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"),
                    reason="stacks of this machine cannot be unwound")
def test_names_by_samples(box, build):
    """By perf, whose samples follow the CPU time also where many threads want the CPUs; ticks of the kernel then
    find a thread much less often."""
    program = build("-DWORK_MS=20")
    result = box.run(HOTPATH, "run", "--stacks", "-n", "0", program)
    names = {row.name for row in result.report.rows("functions") if row.library == program.name}
    assert NAMES <= names
