#!/usr/bin/env python3
"""The Debian packages are sound, and what they unpack to runs."""
import glob
import os
import shutil
import tempfile
import unittest

from tool import run

BUILD = os.environ["STAGEWIRE_BUILD"]
PACKAGES = ["libstagewire-dev", "libstagewire0", "python3-stagewire", "stagewire", "stagewired"]


class Debian(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="stagewire-debian-")
        run("cpack", "-G", "DEB", "-B", cls.folder, cwd=BUILD)
        cls.debs = {os.path.basename(path).split("_")[0]: path for path in glob.glob(cls.folder + "/*.deb")}
        cls.root = os.path.join(cls.folder, "root")
        for name, path in sorted(cls.debs.items()):
            print("%-18s %7d bytes" % (name, os.path.getsize(path)))
            run("dpkg-deb", "-x", path, cls.root)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def field(self, package, name):
        return run("dpkg-deb", "-f", self.debs[package], name).strip()

    def files(self, package):
        return [line.split()[5].lstrip(".") for line in run("dpkg-deb", "-c", self.debs[package]).splitlines()]

    def test_there_are_five_packages(self):
        self.assertEqual(sorted(self.debs), PACKAGES)

    def test_lintian_finds_no_error(self):
        run("lintian", "--fail-on", "error", *self.debs.values())

    def test_each_depends_on_the_libraries_that_its_programs_load(self):
        for package in ("libstagewire0", "stagewire", "stagewired"):
            for library in ("libc6", "libgrpc29", "libprotobuf-c1"):
                self.assertIn(library, self.field(package, "Depends"))
        self.assertIn("libjansson4", self.field("stagewire", "Depends"))
        self.assertNotIn("libjansson4", self.field("libstagewire0", "Depends"))
        self.assertIn("libstagewire0 (= ", self.field("libstagewire-dev", "Depends"))

    def test_a_program_that_is_packaged_with_the_library_finds_its_package(self):
        shlibs = run("dpkg-deb", "-I", self.debs["libstagewire0"], "shlibs")
        self.assertRegex(shlibs, r"^libstagewire 0 libstagewire0 \(>= 0\.1\.")

    def test_what_runs_and_what_is_built_with_lie_apart(self):
        for path in self.files("libstagewire0"):
            self.assertNotRegex(path, r"\.(h|a|pc|cmake|so)$")
        self.assertTrue([path for path in self.files("libstagewire-dev") if path.endswith("/libstagewire.a")])
        self.assertIn("/usr/bin/stagewire", self.files("stagewire"))
        self.assertIn("/usr/bin/stagewired", self.files("stagewired"))

    def test_the_unpacked_daemon_answers_the_unpacked_command(self):
        os.environ["STAGEWIRED"] = os.path.join(self.root, "usr/bin/stagewired")
        command = os.path.join(self.root, "usr/bin/stagewire")
        from stage import Daemon
        with Daemon() as daemon:
            endpoint = daemon.targets[0]
            run(command, "publish", endpoint, "train", "7", input='{"loss": 0.25}')
            self.assertIn("0.25", run(command, "get", endpoint, "train", "7"))
            daemon.terminate()
            self.assertEqual(daemon.process.wait(60), 0)

    def test_the_unpacked_python_package_works_with_the_unpacked_library_on_every_machine(self):
        self.assertEqual(self.field("python3-stagewire", "Architecture"), "all")
        self.assertRegex(self.field("python3-stagewire", "Depends"), r"libstagewire0 \(>= 0\.1\.")
        program = ("import stagewire\nfrom importlib.metadata import version\n"
                   "with stagewire.Endpoint('run') as endpoint: print(version('stagewire'), endpoint.address[:10])")
        self.assertEqual(run("/usr/bin/python3", "-c", program, env={
            "PYTHONPATH": os.path.join(self.root, "usr/lib/python3/dist-packages"),
            "LD_LIBRARY_PATH": os.path.join(self.root, "usr/lib")}), "0.1.0 127.0.0.1:\n")

    def test_the_unpacked_library_runs_a_program_that_was_built_with_the_unpacked_headers(self):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "outside", "publish_and_pull.cc")
        program = os.path.join(self.folder, "program")
        libraries = os.path.join(self.root, "usr/lib")
        run("c++", "-std=c++17", "-o", program, source, "-I", os.path.join(self.root, "usr/include"), "-L", libraries, "-lstagewire")
        self.assertEqual(run(program, env={**os.environ, "LD_LIBRARY_PATH": libraries}), "loss at step 7: 0.25\n")


if __name__ == "__main__":
    unittest.main()
