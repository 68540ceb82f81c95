"""./dev itself: how it counts, and what it does where packages are missing. Run by pytest, in trees made for it."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness import full

SOURCE = Path(os.environ.get("HOTPATH_SOURCE_DIR", Path(__file__).parents[2])).resolve()

# A test for every way to end, and what is to be counted of it: passed, failed, skipped.
CTESTS = {
    "passes": ("true", "", (1, 0, 0)),
    "fails": ("false", "", (0, 1, 0)),
    "skips": ("sh;-c;exit 77", "SKIP_RETURN_CODE 77", (0, 0, 1)),
    "skips_after_words": ("sh;-c;echo '[       OK ] one' && exit 77", "SKIP_RETURN_CODE 77", (0, 0, 1)),
    "hangs": ("sleep;60", "TIMEOUT 1", (0, 1, 0)),
    "is_off": ("true", "DISABLED ON", (0, 0, 1)),
    "is_not_there": ("/nowhere/at/all", "", (0, 1, 0)),
    "unit": ("cat;unit.txt", "", (2, 0, 1)),
    "unit_fails": ("sh;-c;cat unit_fails.txt && false", "", (1, 1, 0)),
    "unit_crashes": ("sh;-c;cat unit_crashes.txt && kill -SEGV $$", "", (1, 1, 0)),
    "python": (f"{sys.executable};-m;pytest;-q;-p;no:cacheprovider;cases.py", "", (3, 0, 1)),
    "python_fails": (f"{sys.executable};-m;pytest;-q;-p;no:cacheprovider;failing_cases.py", "", (1, 2, 0)),
}
FILES = {
    "unit.txt": "[==========] Running 3 test(s).\n[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n[  SKIPPED ] b\n"
                "[ RUN      ] c\n[       OK ] c\n[==========] 3 test(s) run.\n[  PASSED  ] 2 test(s).\n"
                "[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] b\n",
    "unit_fails.txt": "[ RUN      ] a\n[  FAILED  ] a\n[ RUN      ] b\n[       OK ] b\n[==========] 2 test(s) "
                      "run.\n"
                      "[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] a\n\n 1 FAILED TEST(S)\n",
    "unit_crashes.txt": "[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n",
    "cases.py": "import pytest\n\n@pytest.mark.parametrize('n', range(4))\ndef test_one(n):\n    if n == 2:\n"
                "        pytest.skip('two')\n",
    "failing_cases.py": "import pytest\n\n@pytest.fixture\ndef broken():\n    raise OSError\n\ndef test_one():\n"
                        "    pass\n\n"
                        "def test_two():\n    assert False\n\ndef test_three(broken):\n    pass\n",
}


def test_every_test_is_run():
    """A file of tests that no CMakeLists.txt names never runs."""
    lists = " ".join(path.read_text() for path in (SOURCE / "tests").rglob("CMakeLists.txt"))
    files = [path for kind in ("py", "c", "cc") for path in (SOURCE / "tests").glob(f"*/test_*.{kind}")]
    missing = {path.name for path in files} - {path.name for path in files if re.search(rf"\b{path.stem}\b", lists)}
    assert len(files) > 150 and not missing, f"add lines to CMakeLists.txt for: {', '.join(sorted(missing))}"


def run_ctest(folder, names):
    lines = ["cmake_minimum_required(VERSION 3.20)", "project(counted NONE)", "enable_testing()"]
    for name in names:
        command, properties, _ = CTESTS[name]
        words = " ".join(f'"{word}"'.replace("$$", "\\$\\$") for word in command.split(";"))
        lines.append(f'add_test(NAME {name} COMMAND {words} WORKING_DIRECTORY "{folder}")')
        if properties:
            lines.append(f"set_tests_properties({name} PROPERTIES {properties})")
    (folder / "CMakeLists.txt").write_text("\n".join(lines))
    for name, text in FILES.items():
        (folder / name).write_text(text)
    subprocess.run(["cmake", "-S", folder, "-B", folder / "build"], check=True, capture_output=True)
    output = folder / "ctest.log"
    subprocess.run(["ctest", "--test-dir", folder / "build", "-O", output], capture_output=True)
    done = subprocess.run([SOURCE / "tools/count_cases.py", output,
                           folder / "build/Testing/Temporary/LastTest.log"],
                          capture_output=True, text=True, check=True)
    return tuple(map(int, done.stdout.split()))


@full
@pytest.mark.parametrize("name", CTESTS)
def test_counts_cases_of_one_test(tmp_path, name):
    assert run_ctest(tmp_path, [name]) == CTESTS[name][2]


def test_counts_cases_of_all_tests(tmp_path):
    assert run_ctest(tmp_path, CTESTS) == tuple(map(sum, zip(*(counts for _, _, counts in CTESTS.values()))))


# ---------------------------------------------------------------------------------------------------- packages

class Machine:
    """A copy of ./dev on a machine where dpkg knows nothing and apt-get is `script`."""

    def __init__(self, folder, script):
        self.folder = folder
        for path in ("bin", "tools"):
            (folder / path).mkdir()
        self.program("dev", (SOURCE / "dev").read_text())
        self.program("bin/apt-get", f'#!/bin/sh\necho "$*" >> "{folder}/asked"\n{script}\n')
        self.program("bin/sudo", '#!/bin/sh\nexec "$@"\n')
        for name in ("bin/dpkg-query", "bin/apt-cache", "bin/sleep", "tools/check_format.sh",
                     "tools/shared_layout.py"):
            self.program(name, "#!/bin/sh\n")

    def program(self, name, text):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def format(self):
        env = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        env.pop("DEV_NO_INSTALL", None)
        return subprocess.run([self.folder / "dev", "format"], capture_output=True, text=True, env=env, timeout=60)

    def asked(self):
        return (self.folder / "asked").read_text().splitlines()


BUSY = """[ $(grep -c update "{0}/asked") -gt 3 ] || case "$*" in *update*)
echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)' >&2; exit 100;; esac"""


def test_waits_for_another_apt(tmp_path):
    machine = Machine(tmp_path, BUSY.format(tmp_path))
    done = machine.format()
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.splitlines() == ["== installing clang-format python3", "waiting for another apt"]
    assert len(machine.asked()) == 5
    assert re.search(r"DPkg::Lock::Timeout=\d+ install .* clang-format python3$", machine.asked()[-1])


def test_other_errors_of_apt_are_shown_at_once(tmp_path):
    machine = Machine(tmp_path, "echo 'E: no network' >&2; exit 100")
    done = machine.format()
    assert done.returncode != 0 and done.stderr == "E: no network\n" and len(machine.asked()) == 1


def test_gives_up_if_the_lock_is_never_free(tmp_path):
    machine = Machine(tmp_path, "echo 'E: Could not get lock x' >&2; exit 100")
    done = machine.format()
    assert done.returncode != 0 and "Could not get lock" in done.stderr


def test_names_the_packages_if_it_may_not_install(tmp_path):
    """There is sudo, and it refuses."""
    machine = Machine(tmp_path, "exit 0")
    machine.program("bin/sudo", "#!/bin/sh\nexit 1\n")
    machine.program("bin/id", "#!/bin/sh\necho 1000\n")
    done = machine.format()
    assert done.returncode == 1 and not (tmp_path / "asked").exists()
    assert done.stderr == "Please install these packages as root: apt-get install clang-format python3\n"
