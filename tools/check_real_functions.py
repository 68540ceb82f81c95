#!/usr/bin/python3
"""Compares the CPU shares of functions, in third-party programs, with what perf record says of the same work.

usage: check_real_functions.py BUILD_FOLDER [PROGRAM...]

Run it when something changes in how samples are taken, unwound or named. It needs perf, and those of the
programs that are to be checked; each works for some seconds, alternately with and without perf, until there are
enough samples. Functions without a name in one of the two are compared as the rest of their library.

As root it also compares dd, `faults` and `bytes`, which are mostly in the kernel, with `perf record -a` of that
run: the shares of the kernel, of page faults and of the kernel's functions. Exit status 1 if a share differs by
more than two points, or in these by more than three.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

POINTS, KERNEL_POINTS, SHOWN = 2.0, 3.0, 2.0
ENOUGH, TURNS = 20000, 8  # this many give a share of one half to a third of a point
SQL = ("create table t(a, b); insert into t with recursive c(x) as (select 1 union all select x + 1 from c where x "
       "< 4000000) "
       "select x, (x * 7919) % 100003 from c; create index i on t(b); select count(*), sum(a % 7) from t group by "
       "b % 1000 order by 2;")
PYTHON = ("import json, re\nfor at in range(9000): "
          "json.loads(json.dumps([{'a': i, 'b': str(i)} for i in range(300)])); re.sub('a+b', 'c', 'aaaab' * 100)")
PERL = ("my %n; for my $at (1 .. 12000000) { $n{($at * 7919) % 100003} .= chr(65 + $at % 26); } "
        "my $s = join ',', sort values %n; my $k = 0; $k++ while $s =~ /A[^,]*B/g; print $k, \"\\n\";")
CXX = "#include <map>\n#include <regex>\n#include <string>\n#include <vector>\n" + "".join(
    f"template <int N> struct s{n} {{ std::map<int, std::vector<std::string>> m; "
    f"int f() {{ std::regex r(\"a{n}\"); return N + m.size(); }} }};\n"
    f"int g{n}() {{ return s{n}<1>().f() + s{n}<2>().f(); }}\n" for n in range(12))


def works(folder):
    with open(os.path.join(folder, "source.cc"), "w") as file:
        file.write(CXX)
    with open(os.path.join(folder, "text"), "w") as file:
        file.writelines(f"{n * 7919 % 100003} line {n % 97} of {n}, which is {'even' if n % 2 else 'odd'}\n"
                        for n in range(1500000))
    cc1plus = subprocess.run(["g++", "-print-prog-name=cc1plus"], stdout=subprocess.PIPE,
                             universal_newlines=True).stdout.strip()
    multiarch = subprocess.run(["g++", "-print-multiarch"], stdout=subprocess.PIPE,
                               universal_newlines=True).stdout.strip()
    return {"sqlite3": ["sqlite3", ":memory:", SQL],
            "python3": ["/usr/bin/python3", "-c", PYTHON],
            "perl": ["perl", "-e", PERL],
            "xz": ["xz", "-kf", "-T1", "-1", "text"],
            "cc1plus": [cc1plus, "-quiet", "-O2", "-imultiarch", multiarch, "-D_GNU_SOURCE", "source.cc", "-o",
                        "/dev/null"],  # C++
            "rg": ["rg", "-c", "-j1", "([0-9]+ ?[a-z]+,? ){2,4}.*(even|d)$", *["text"] * 40]}  # Rust


def plain(name):
    """As both spell it: without versions, arguments and compiler suffixes."""
    name = re.sub(r"@.*|\.(part|constprop|isra|cold|llvm)\b.*|\(.*", "", name)
    return re.sub(r"<.*", "", name).split(" ")[-1] if not name.startswith("<") else name


def is_named(name):
    return not re.match(r"\[unknown\]|0x|[^ ]*\+0x|\[kernel|\[code|<not sampled>", name)


def ours(program, command, folder):
    output = os.path.join(folder, "report.json")
    subprocess.run([program, "run", "--stacks", "--no-preload", "--section", "functions", "-n", "0", "--format",
                    "json", "-o", output, *command], cwd=folder, stdout=subprocess.DEVNULL, check=True,
                   env=os.environ | {"HOTPATH_DIR": os.path.join(folder, "sessions")})
    with open(output) as file:
        section = json.load(file)["sections"]["functions"]
    total = section["totals"]["cpu_ns"]
    return section["totals"]["samples"], [((row["library"] or "").replace("[kernel]", ""), row["name"],
                                           100 * (row["user_ns"] + row["kernel_ns"]) / total)
                                          for row in section["rows"]]


def theirs(command, folder):
    data = os.path.join(folder, "perf.data")
    subprocess.run(["perf", "record", "-q", "-F", "997", "-e", "cpu-clock:u" if os.geteuid() else "cpu-clock", "-o",
                    data, *command],
                   cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    text = subprocess.run(["perf", "report", "-i", data, "--stdio", "--no-children", "-g", "none",
                           "--percent-limit", "0", "-F", "overhead,dso,symbol", "-t", "|"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, universal_newlines=True).stdout
    rows = []
    for line in text.splitlines():
        found = re.match(r" *([\d.]+)%? *\|([^|]*)\|\[(.)\] (.*)", line)
        if found:
            kernel = found.group(3) == "k"
            rows.append(("" if kernel else found.group(2).strip(), "[kernel]" if kernel else found.group(4).strip(),
                         float(found.group(1))))
    return rows


def shares(rows, known):
    """{(library, name): percent}; functions that only one of them names are summed up per library."""
    sums = {}
    for library, name, percent in rows:
        key = (library, plain(name)) if (library, plain(name)) in known else (library, "the rest")
        sums[key] = sums.get(key, 0) + percent
    return sums


def in_turns(program, command, folder):
    """The number of our samples, our rows and perf's: of all turns, each with its part of 100 %."""
    samples, found, other, turns = 0, [], [], 0
    while samples < ENOUGH and turns < TURNS:
        more, rows = ours(program, command, folder)
        samples, turns = samples + more, turns + 1
        found += rows
        other += theirs(command, folder)
    return samples, *([(library, name, percent / turns) for library, name, percent in rows]
                      for rows in (found, other))


def compare(title, program, command, folder):
    samples, found, other = in_turns(program, command, folder)
    if not other:
        print(f"{title}: perf says nothing")
        return False
    known = {(library, plain(name)) for library, name, _ in found if is_named(name)} & {
        (library, plain(name)) for library, name, _ in other if is_named(name)}
    a, b = shares(found, known), shares(other, known)
    rows = sorted(a.keys() | b.keys(), key=lambda key: -a.get(key, 0))
    worst = max(abs(a.get(key, 0) - b.get(key, 0)) for key in rows)
    print(f"{title}: {samples} samples, {len(known)} functions that both name; shares differ by {worst:.2f} points "
          f"at most")
    for key in rows:
        if max(a.get(key, 0), b.get(key, 0)) >= SHOWN:
            print(f"    {a.get(key, 0):6.2f} %  perf {b.get(key, 0):6.2f} %  {key[1]} ({key[0] or 'kernel'})")
    return worst <= POINTS


def kernel_works(build):
    """Made for the tests, and dd; their output is out of the way."""
    kernel_time = os.path.abspath(os.path.join(build, "programs", "kernel_time"))
    return {"dd": ["dd", "if=/dev/zero", "of=/dev/shm/check_real_functions", "bs=1M", "count=2000"],
            "faults": [kernel_time, "faults", "2000"],
            "bytes": [kernel_time, "bytes", "2000"]}


def kernel_by_perf(data, command):
    """{what: percent of the CPU time of the program}: the kernel, its page faults, and its functions themselves."""
    text = subprocess.run(["perf", "script", "-i", data, "--comms", os.path.basename(command), "-F",
                           "comm,ip,sym,dso"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          universal_newlines=True).stdout
    counts, samples = {}, 0
    for stack in text.split("\n\n"):
        frames = re.findall(r"^\s+[0-9a-f]+ (\S+) \((.*)\)$", stack, re.M)
        kernel = [name for name, file in frames if file.startswith("[kernel")]
        samples += bool(frames)
        if not frames or not frames[0][1].startswith("[kernel"):
            continue
        what = ["the kernel", kernel[0]] + (["[kernel: page fault]"] if kernel[-1] == "asm_exc_page_fault" else [])
        for name in what:
            counts[name] = counts.get(name, 0) + 1
    return {name: 100 * count / samples for name, count in counts.items()}, samples


def compare_kernel(title, program, command, folder):
    """Both look at the same run."""
    data, output = os.path.join(folder, "perf.data"), os.path.join(folder, "report.json")
    subprocess.run(["perf", "record", "-q", "-a", "-g", "-F", "997", "-e", "cpu-clock", "-o", data, "--", program,
                    "run", "--no-preload", "--section", "functions", "-n", "0", "--format", "json", "-o", output,
                    *command], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                   env=os.environ | {"HOTPATH_DIR": os.path.join(folder, "sessions")})
    with open(output) as file:
        section = json.load(file)["sections"]["functions"]
    totals = section["totals"]
    found = {"the kernel": 100 * totals["kernel_ns"] / totals["cpu_ns"]}
    for row in section["rows"]:
        if row["library"] == "[kernel]" or row["name"] == "[kernel: page fault]":
            ns = row["total_ns"] if row["library"] is None else row["self_ns"]
            found[row["name"]] = 100 * ns / totals["cpu_ns"]
    other, samples = kernel_by_perf(data, command[0])
    names = sorted(found.keys() | other.keys(), key=lambda name: -other.get(name, 0))
    worst = max(abs(found.get(name, 0) - other.get(name, 0)) for name in names)
    print(f"{title}: {totals['samples']} samples, perf {samples}; shares differ by {worst:.2f} points at most")
    for name in names:
        if max(found.get(name, 0), other.get(name, 0)) >= SHOWN:
            print(f"    {found.get(name, 0):6.2f} %  perf {other.get(name, 0):6.2f} %  {name}")
    return worst <= KERNEL_POINTS


def main():
    program = os.path.abspath(os.path.join(sys.argv[1], "bin", "hotpath"))
    if shutil.which("perf") is None:
        print("perf is not installed")
        return 77
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for title, command in works(folder).items():
            if sys.argv[2:] and title not in sys.argv[2:]:
                continue
            if shutil.which(command[0]) is None:
                print(f"{title}: left out, it is not installed")
                continue
            good &= compare(title, program, command, folder)
        for title, command in kernel_works(sys.argv[1]).items():
            if (sys.argv[2:] and title not in sys.argv[2:]) or os.geteuid() != 0:
                continue
            good &= compare_kernel(title, program, command, folder)
    if os.path.exists("/dev/shm/check_real_functions"):
        os.unlink("/dev/shm/check_real_functions")
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    sys.exit(main())
