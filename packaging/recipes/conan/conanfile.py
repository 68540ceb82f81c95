"""Conan 2: conan create . --build=missing; the source archive of the release lies beside this file."""
from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import check_sha256, unzip


class Hotpath(ConanFile):
    name = "hotpath"
    version = "@VERSION@"
    description = "Profiler for C and C++ programs: any program, or exactly with two macros"
    license = "MIT"
    topics = ("profiler", "performance")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    exports_sources = "hotpath-@VERSION@.tar.gz"

    def layout(self):
        cmake_layout(self)

    def source(self):
        archive = str(Path(self.export_sources_folder) / self.exports_sources)
        check_sha256(self, archive, "@SOURCE_SHA256@")
        unzip(self, archive, strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "BENCH"):
            toolchain.cache_variables[f"HOTPATH_BUILD_{part}"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # CMake finds the package that hotpath installs, with hotpath::hotpath (shared) and hotpath::static.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/hotpath"]
        self.cpp_info.libs = ["hotpath"]
        self.cpp_info.system_libs = ["pthread"]
