"""Programs under sanitizers, and with copies of the library of different layouts, built against the installed
files."""
import re

import pytest

from harness import crossed, without_emulator, without_sanitizer
from workshop import HERE, SINGLE

pytestmark = [without_emulator("it has clocks and signals of its own"),
              without_sanitizer("it is about what is installed")]

SAMPLED = {"HOTPATH_CPU": "1", "HOTPATH_CPU_RATE": "10000"}


@pytest.mark.parametrize("sanitizer, library", crossed(["thread", "address"], ["static", "shared"]))
def test_sanitized_hosts(workshop, installed, compiler, sanitizer, library):
    """The library itself is not made for the sanitizer. What it reports ends the program."""
    libraries = installed.libraries
    how = [libraries / "libhotpath.a"] if library == "static" else [
        f"-L{libraries}", "-lhotpath", f"-Wl,-rpath,{libraries}"]
    workshop.do(compiler, f"-fsanitize={sanitizer}", "-O1", "-g", "-DHOTPATH", f"-I{installed.prefix}/include",
                HERE / "sanitized_host.c", "-o", "host", *how, "-lpthread")
    for env in (SAMPLED, {"HOTPATH_CPU": "0"}, {"HOTPATH": "0"}):
        result = workshop.box.run(workshop.folder / "host", env={
            **env, "TSAN_OPTIONS": "halt_on_error=1",
            "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=1"})
        assert result.stdout == "ok\n"
        if env is SAMPLED:
            assert result.report.section("cpu")["totals"]["samples"] > 0


def test_copies_with_different_layouts(workshop, objects):
    """Two copies that share nothing: neither passes signals in a circle, and threads are cancelled as ever."""
    text = (SINGLE / "hotpath.c").read_text()
    number = "#define HP_COPIES 16"
    assert len(re.findall(rf"{number}\b", text)) == 1
    workshop.fetch(SINGLE / "hotpath.h")
    workshop.write("strange.c", re.sub(rf"{number}\b", "#define HP_COPIES 24", text))
    source, include = HERE / "strangers.c", f"-I{workshop.folder}"
    workshop.do("gcc", "-DHOTPATH", include, source, objects("gcc"), "-o", "host", "-lpthread", "-ldl")
    workshop.do("gcc", "-DHOTPATH", "-DPLUGIN", include, "-fPIC", "-shared", "-Wl,-Bsymbolic", source, "strange.c",
                "-o", "strange.so", "-lpthread")
    result = workshop.box.run(workshop.folder / "host", workshop.folder / "strange.so", env=SAMPLED)
    assert result.stdout == "begun 0\ncancelled 60\n"
    assert len(result.sessions()) == 2
