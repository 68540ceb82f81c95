"""The program `hotpath` for tests: Cli runs it with a folder of sessions of its own."""
import json
import subprocess
import time

import pytest

from harness import HOTPATH, PROGRAMS, TIMEOUT, Report, end

GUEST = str(PROGRAMS / "guest")


class Done:
    def __init__(self, status, stdout, stderr):
        self.status, self.stdout, self.stderr = status, stdout, stderr

    @property
    def lines(self):
        return [line for line in self.stderr.splitlines() if line.startswith("hotpath:")]


class Cli:
    """The program with its own folder of sessions."""

    def __init__(self, box):
        self.box = box
        self.folder = box.folder()
        self.before = []  # words before it, such as WITHOUT_PERF
        self.program = HOTPATH

    def environment(self, env=None):
        plain = dict.fromkeys(("HOTPATH_OUTPUT_FORMAT", "HOTPATH_LIMIT", "HOTPATH_OUTPUT_PATH", "HOTPATH_REPORT"))
        return self.box.environment(self.folder, plain | (env or {}))

    def start(self, *args, env=None, **popen):
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("cwd", self.folder)
        return subprocess.Popen([*self.before, str(self.program), *map(str, args)], env=self.environment(env),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                **popen)

    def __call__(self, *args, env=None, status=0, input=None, **popen):
        if input is not None:
            popen["stdin"] = subprocess.PIPE
        process = self.start(*args, env=env, **popen)
        try:
            done = Done(None, *process.communicate(input, timeout=TIMEOUT))
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail(f"hotpath {args} hung: {process.communicate()}")
        done.status = process.returncode
        if status is not None:
            assert done.status == status, f"hotpath {args}: {end(done.status)}\n{done.stdout}\n{done.stderr}"
        return done

    def run(self, *args, env=None, status=0, **popen):
        """hotpath run, with a report in JSON."""
        path = self.folder / "run.json"
        path.unlink(missing_ok=True)
        done = self("run", "--format", "json", "--output", path, "--section", "all", "--limit", "0", *args, env=env,
                    status=status, **popen)
        done.report = Report(json.loads(path.read_text())) if path.exists() else None
        return done

    def sessions(self, *args):
        return json.loads(self("ls", "--json", *args).stdout)

    def read(self, *args):
        return Report(json.loads(self("report", "--format", "json", "--section", "all", "--limit", "0",
                                      *args).stdout))


@pytest.fixture
def cli(box):
    return Cli(box)


def plain_run(cli, *args, **popen):
    """The same program without hotpath run and without recording."""
    return subprocess.run([GUEST, *map(str, args)], capture_output=True, text=True, timeout=TIMEOUT,
                          env=cli.environment({"HOTPATH": "0"}), **popen)


def wait_until(condition):
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail("it never happened")
        time.sleep(0.01)
