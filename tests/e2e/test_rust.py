"""Rust programs: their functions have readable names if they are mangled in the legacy form, and linkage names
otherwise. Skipped without rustc (Debian's package rustc has it)."""
import platform
import shutil
import subprocess

import pytest

from command import Cli
from harness import perf_is_allowed, with_glibc, without_emulator, without_sanitizer

RUSTC = shutil.which("rustc")
pytestmark = [without_emulator("/proc and perf are those of the machine below"),
              without_sanitizer("the library of such a build can be preloaded into nothing else"),
              with_glibc("the programs of this machine have it"),
              pytest.mark.skipif(RUSTC is None, reason="rustc is not installed"),
              pytest.mark.skipif(not perf_is_allowed() or platform.machine() not in ("x86_64", "aarch64"),
                                 reason="the kernel lets nobody take stacks here")]

SOURCE = """
mod deep {
    pub trait Work { fn work(&self, rounds: u64) -> u64; }
    pub struct Mill<const N: usize>;
    impl<const N: usize> Work for Mill<N> {
        #[inline(never)]
        fn work(&self, rounds: u64) -> u64 {
            (0..rounds).fold(N as u64, |sum, at| std::hint::black_box(sum.rotate_left(5) ^ at))
        }
    }
}
#[inline(never)]
fn generic<T: deep::Work>(what: &[T; 1]) -> u64 { std::hint::black_box(what[0].work(200_000_000)) }
fn main() { println!("{}", generic(&[deep::Mill::<42>])); }
"""
NAMES = {"<named::deep::Mill<_> as named::deep::Work>::work", "named::generic", "named::main"}


@pytest.mark.parametrize("form", ["legacy", "v0"])
def test_names_of_rust(box, form):
    cli = Cli(box)
    source, program = cli.folder / "named.rs", cli.folder / "named"
    source.write_text(SOURCE)
    options = ["-C", f"symbol-mangling-version={form}"] + (["-Z", "unstable-options"] if form == "legacy" else [])
    done = subprocess.run([RUSTC, "-O", *options, "-o", program, source], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"this rustc cannot: {done.stderr.splitlines()[0]}")
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    assert ("_RN" if form == "v0" else "_ZN5named") in symbols
    rows = {row.name for row in cli.run(program).report.rows("functions")}
    linked = {name for name in rows if name.startswith(("_R", "_ZN"))}
    assert NAMES <= rows and not linked if form == "legacy" else any("_5named7generic" in name for name in linked)
