"""Programs under sanitizers, built against the installed files."""
import pytest

from harness import crossed, without_emulator, without_sanitizer
from workshop import HERE

pytestmark = [without_emulator("it has clocks and signals of its own"),
              without_sanitizer("it is about what is installed")]

SAMPLED = {"HOTPATH_CPU": "1", "HOTPATH_CPU_RATE": "10000"}


@pytest.mark.parametrize("compiler, sanitizer, library", crossed(
    ["gcc", "clang"], ["thread", "address"], ["static", "shared"]), indirect=["compiler"])
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
