"""The same as test_sampled_host.py, long enough to see rare events."""
import os
import shutil
import subprocess

import pytest

from harness import HOTPATH, with_glibc, without_emulator, without_sanitizer
from test_sampled_host import check_execs

pytestmark = [without_emulator("it has clocks and signals of its own"),
              without_sanitizer("a child that is forked takes too long")]


@pytest.mark.parametrize("program", ["ends_dynamic", "ends_static"])
@pytest.mark.parametrize("blocked", [[], ["blocked"]], ids=["open", "blocked"])
def test_10000_execs(box, program, blocked):
    check_execs(box, 10000, program, blocked)


# -------------------------------------------------------------------------------------------------------------- cgo

CGO = """package main
// #include <stdlib.h>
// static int cf(int x) { void *p = malloc(100); int r = x + (p != 0); free(p); return r; }
import "C"
import ("fmt"; "os/exec"; "sync"; "sync/atomic"; "time")
func work(n int) int {
    m, s := map[int]string{}, 0
    for i := 0; i < n; i++ { m[i%5003] = fmt.Sprint(i); s += int(C.cf(C.int(i % 3))) }
    return s + len(m)
}
func main() {
    var wg sync.WaitGroup
    var stop int32
    r := make([]int, 6)
    go func() { x := 0; for atomic.LoadInt32(&stop) == 0 { x++ } }() // needs to be interrupted
    for i := range r { wg.Add(1); go func(i int) { r[i] = work(30000); wg.Done() }(i) }
    wg.Wait()
    time.Sleep(time.Millisecond)
    atomic.StoreInt32(&stop, 1)
    o, e := exec.Command("echo", "child").Output()
    fmt.Println(r, string(o), e)
}
"""


@pytest.fixture(scope="module")
def cgo(tmp_path_factory):
    go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if not go or not shutil.which("gcc"):
        pytest.skip("go is not installed")
    folder = tmp_path_factory.mktemp("cgo")
    (folder / "main.go").write_text(CGO)
    env = {**os.environ, "CGO_ENABLED": "1", "GOCACHE": str(folder / "cache"), "GO111MODULE": "off",
           "HOME": str(folder)}
    subprocess.run([go, "build", "-o", folder / "cgo", folder / "main.go"], check=True, env=env, timeout=500)
    return folder / "cgo"


@without_sanitizer("it is a program of this machine")
@with_glibc("it is a program of this machine")
def test_cgo(box, cgo):
    plain = box.run(cgo)
    for _ in range(4):
        run = box.run(HOTPATH, "run", "--cpu", "--cpu-rate", "10000", "--", str(cgo),
                      env={"HOTPATH_OUTPUT_PATH": "/dev/null"})
        assert run.stdout == plain.stdout
