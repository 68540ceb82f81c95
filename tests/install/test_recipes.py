"""The recipes for package managers (packaging/recipes) build from the archives of a release, which lie beside
them."""
import json
import os
import re
import shutil
import subprocess
import tarfile

import pytest

from harness import SOURCE, full
from workshop import CONSUMER, HERE, SINGLE, need

VERSION = re.search(r'^#define HOTPATH_VERSION "(.*)"', (SOURCE / "include/hotpath.h").read_text(), re.M).group(1)
CMAKE = """cmake_minimum_required(VERSION 3.16)
project(it C)
find_package(hotpath REQUIRED)
add_executable(it consumer.c)
target_link_libraries(it PRIVATE hotpath::hotpath)
target_compile_definitions(it PRIVATE HOTPATH)
"""


@pytest.fixture(scope="module")
def dist(scratch):
    """The archives of a release that the recipes need, and the recipes, filled in."""
    dist = scratch / "dist"
    dist.mkdir()
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("the sources are not a git clone")
    with tarfile.open(dist / f"hotpath-{VERSION}.tar.gz", "w:gz", compresslevel=1) as tar:
        for name in listed.stdout.splitlines():
            if (SOURCE / name).exists():
                tar.add(SOURCE / name, f"hotpath-{VERSION}/{name}")
    with tarfile.open(dist / f"hotpath-{VERSION}-single.tar.gz", "w:gz") as tar:
        for name in ("hotpath.c", "hotpath.h"):
            tar.add(SINGLE / name, f"hotpath-{VERSION}-single/{name}")
    subprocess.run([SOURCE / "tools/recipes.py", dist, dist / "recipes"], check=True)
    return dist


def test_recipes_are_filled_in(dist):
    """And fetch nothing from elsewhere."""
    files = [path for path in (dist / "recipes").rglob("*") if path.is_file()]
    assert len(files) == len([path for path in (SOURCE / "packaging/recipes").rglob("*") if path.is_file()]) > 5
    for path in files:
        text = path.read_text()
        assert not re.search(r"@[A-Z_0-9]+@|https?:", text), path
    assert json.loads((dist / "recipes/vcpkg/vcpkg.json").read_text())["version"] == VERSION


@full
def test_meson_wrap(workshop, dist):
    need("meson")
    workshop.fetch(HERE / "consumer.c")
    workshop.write("meson.build", "project('it', 'c')\n"
                   "executable('it', 'consumer.c', c_args: '-DHOTPATH', dependencies: dependency('hotpath'))\n")
    shutil.copytree(dist / "recipes/meson", workshop.folder / "subprojects")
    shutil.copy(dist / f"hotpath-{VERSION}-single.tar.gz", workshop.folder / "subprojects/packagefiles")
    compiler = {"CC": "clang"} if shutil.which("clang") else {}  # in half the time
    workshop.do("meson", "setup", "out", "--buildtype=plain", env=compiler)
    workshop.do("ninja", "-C", "out")
    assert workshop.calls("out/it") == CONSUMER


@full
def test_another_archive_is_refused(workshop, dist):
    need("meson")
    workshop.write("meson.build", "project('it', 'c')\ndependency('hotpath')\n")
    shutil.copytree(dist / "recipes/meson", workshop.folder / "subprojects")
    shutil.copy(dist / f"hotpath-{VERSION}.tar.gz",
                workshop.folder / f"subprojects/packagefiles/hotpath-{VERSION}-single.tar.gz")
    done = subprocess.run(["meson", "setup", "out"], cwd=workshop.folder, capture_output=True, text=True)
    assert done.returncode != 0 and "hash" in done.stdout + done.stderr


def use_package(workshop, prefix, *settings):
    """A program that finds the installed CMake package, and hotpath, which finds its libraries."""
    workshop.fetch(HERE / "consumer.c")
    workshop.write("CMakeLists.txt", CMAKE)
    workshop.do("cmake", "-S", ".", "-B", "out", f"-DCMAKE_PREFIX_PATH={prefix}", *settings)
    workshop.do("cmake", "--build", "out")
    assert workshop.calls("out/it") == CONSUMER


@full
def test_vcpkg_port(workshop, dist):
    """The port's steps, by CMake: vcpkg itself fetches its tools from the network."""
    port = workshop.folder / "port"
    shutil.copytree(dist / "recipes/vcpkg", port)
    shutil.copy(dist / f"hotpath-{VERSION}.tar.gz", port)
    workshop.do("cmake", f"-DPORT={port}", f"-DINTO={workshop.folder}/into", "-P", HERE / "vcpkg_steps.cmake")
    prefix = workshop.folder / "into/packages"
    assert {"usage", "LICENSE"} <= {path.name for path in (prefix / "share/hotpath").iterdir()}
    assert not (prefix / "bin").exists()
    done = workshop.box.run(prefix / "tools/hotpath/hotpath", "run", "--section", "processes", "true")
    assert "cannot" not in done.stderr and "processes - " in done.stderr
    use_package(workshop, prefix)


@full
def test_conan_recipe(workshop, dist):
    """Conan 2, if it is installed or named by HOTPATH_CONAN."""
    conan = os.environ.get("HOTPATH_CONAN") or shutil.which("conan")
    if not conan:
        pytest.skip("conan is not installed (HOTPATH_CONAN names one)")
    recipe = workshop.folder / "recipe"
    shutil.copytree(dist / "recipes/conan", recipe)
    shutil.copy(dist / f"hotpath-{VERSION}.tar.gz", recipe)
    home = {"CONAN_HOME": str(workshop.folder / "conan")}
    run = lambda *words: subprocess.run([conan, *map(str, words)], cwd=workshop.folder, check=True, text=True,
                                        capture_output=True, env={**os.environ, **home})
    run("profile", "detect")
    run("create", recipe)
    run("install", f"--requires=hotpath/{VERSION}", "-g", "CMakeToolchain", "-g", "CMakeDeps", "-of", "conan_files")
    use_package(workshop, "", f"-DCMAKE_TOOLCHAIN_FILE={workshop.folder}/conan_files/conan_toolchain.cmake",
                "-DCMAKE_BUILD_TYPE=Release")
