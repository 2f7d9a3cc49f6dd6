#!/usr/bin/env python3
"""A program outside the tree builds and runs against what was installed, wherever that was moved to."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from tool import run

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OUTSIDE = os.path.join(HERE, "outside")
SOURCES = {"c": os.path.join(ROOT, "client", "examples", "publish_and_pull.c"),
           "cxx": os.path.join(OUTSIDE, "publish_and_pull.cc")}
COMPILERS = {"c": ["cc", "-std=c11"], "cxx": ["c++", "-std=c++17"]}
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="stagewire-installed-")
        first = os.path.join(cls.folder, "first")
        run("cmake", "--install", os.environ["STAGEWIRE_BUILD"], "--prefix", first)
        cls.prefix = os.path.join(cls.folder, "moved", "to")
        os.makedirs(os.path.dirname(cls.prefix))
        os.rename(first, cls.prefix)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def pkg_config(self, *args):
        path = os.path.join(self.prefix, "lib", "pkgconfig")
        return run("pkg-config", *args, env={**os.environ, "PKG_CONFIG_PATH": path}).split()

    def assert_runs(self, program, shared):
        needed = run("readelf", "-d", program)
        self.assertEqual("libstagewire.so.0" in needed, shared, needed)
        environment = {**os.environ, "LD_LIBRARY_PATH": os.path.join(self.prefix, "lib")}
        self.assertEqual(run(program, env=environment if shared else None), "loss at step 7: 0.25\n")

    def test_cmake_finds_it_for_c_and_for_cxx_shared_and_static(self):
        build = os.path.join(self.folder, "cmake")
        run("cmake", "-S", OUTSIDE, "-B", build, "-G", "Ninja", "-DCMAKE_PREFIX_PATH=" + self.prefix,
            "-DEXAMPLE=" + SOURCES["c"])
        run("cmake", "--build", build)
        for language in SOURCES:
            for kind in ("shared", "static"):
                with self.subTest(language=language, kind=kind):
                    self.assert_runs(os.path.join(build, language + "_" + kind), kind == "shared")

    def test_cmake_refuses_it_to_those_who_want_another_minor_version(self):
        with open(os.path.join(OUTSIDE, "CMakeLists.txt")) as f:
            project = f.read()
        other = os.path.join(self.folder, "other")
        os.mkdir(other)
        with open(os.path.join(other, "CMakeLists.txt"), "w") as f:
            f.write(project.replace("find_package(stagewire 0.1 ", "find_package(stagewire 0.2 "))
        done = subprocess.run(["cmake", "-S", other, "-B", other + "/build", "-DCMAKE_PREFIX_PATH=" + self.prefix],
                              capture_output=True, text=True, timeout=240)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("stagewireConfig.cmake, version: 0.1.", done.stderr)

    def test_pkg_config_finds_it_for_c_and_for_cxx_shared_and_static(self):
        for language, source in SOURCES.items():
            for kind, package in (("shared", "stagewire"), ("static", "stagewire-static")):
                with self.subTest(language=language, kind=kind):
                    program = os.path.join(self.folder, "pc_%s_%s" % (language, kind))
                    run(*COMPILERS[language], *STRICT, "-o", program, source, *self.pkg_config("--cflags", "--libs", package))
                    self.assert_runs(program, kind == "shared")

    def readme(self, language):
        with open(os.path.join(ROOT, "README.md")) as f:
            section = re.search(r"\n## Build on it\n(.*?)\n## ", f.read(), re.S).group(1)
        return re.findall(r"```%s\n(.*?)```" % language, section, re.S)

    def test_the_lines_for_cmake_in_the_readme_build_a_program(self):
        project = os.path.join(self.folder, "readme-cmake")
        os.mkdir(project)
        with open(os.path.join(project, "CMakeLists.txt"), "w") as f:
            f.write("cmake_minimum_required(VERSION 3.25)\nproject(trainer LANGUAGES C)\nadd_executable(trainer %s)\n" % SOURCES["c"])
            f.write(self.readme("cmake")[0])
        run("cmake", "-B", "build", "-DCMAKE_PREFIX_PATH=" + self.prefix, cwd=project)
        run("cmake", "--build", "build", cwd=project)
        self.assert_runs(os.path.join(project, "build", "trainer"), True)

    def test_the_line_for_pkg_config_in_the_readme_builds_a_program(self):
        project = os.path.join(self.folder, "readme-pc")
        os.mkdir(project)
        shutil.copy(SOURCES["c"], os.path.join(project, "trainer.c"))
        path = os.path.join(self.prefix, "lib", "pkgconfig")
        run("sh", "-c", self.readme("sh")[1], cwd=project, env={**os.environ, "PKG_CONFIG_PATH": path})
        self.assert_runs(os.path.join(project, "trainer"), True)

    def test_the_readme_installs_as_this_test_did(self):
        self.assertIn("cmake --install build/release --prefix ", self.readme("sh")[0])

    def test_every_header_compiles_by_itself_as_c_and_as_cxx(self):
        headers = sorted(os.listdir(os.path.join(self.prefix, "include", "stagewire")))
        self.assertIn("endpoint.h", headers)
        flags = [*STRICT, "-fsyntax-only", "-I", os.path.join(self.prefix, "include")]
        for header in headers:
            source = os.path.join(self.folder, "alone.c")
            with open(source, "w") as f:
                f.write("#include <stagewire/%s>\nextern int nothing_else;\n" % header)
            for compiler, language, standard in (("gcc", "c", "c11"), ("gcc", "c", "c17"), ("g++", "c++", "c++17")):
                with self.subTest(header=header, standard=standard):
                    run(compiler, *flags, "-std=" + standard, "-x", language, source)

    def test_no_path_of_the_build_is_left_in_what_is_installed(self):
        for folder, _, files in os.walk(self.prefix):
            for name in files:
                if name.endswith((".cmake", ".pc", ".h")):
                    with open(os.path.join(folder, name)) as f:
                        text = f.read()
                    for path in (ROOT, os.environ["STAGEWIRE_BUILD"], self.folder):
                        self.assertNotIn(path, text, name)

    def test_the_archive_shows_what_the_headers_declare_and_nothing_else(self):
        run(os.path.join(ROOT, "tests", "exports"), os.path.join(self.prefix, "lib", "libstagewire.a"))

    def test_the_installed_programs_say_their_version(self):
        for program in ("stagewire", "stagewired"):
            self.assertIn("0.1.", run(os.path.join(self.prefix, "bin", program), "--version"))


if __name__ == "__main__":
    unittest.main()
