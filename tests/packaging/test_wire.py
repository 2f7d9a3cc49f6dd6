#!/usr/bin/env python3
"""What was built from stage.proto at the last release understands this one: buf compares the two, and lints it."""
import os
import platform
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUF = os.path.join(ROOT, "tests/npm/node_modules/@bufbuild/buf-linux-x64/bin/buf")
RELEASE = os.path.join(ROOT, "tests/abi/wire.json")


@unittest.skipUnless(platform.machine() == "x86_64", "npm's buf-linux-x64 runs on x86-64")
class Wire(unittest.TestCase):
    def setUp(self):
        self.assertTrue(os.path.exists(BUF), "buf is missing: npm ci --prefix tests/npm")
        self.folder = tempfile.mkdtemp(prefix="stagewire-wire-")
        self.proto = os.path.join(self.folder, "proto")
        shutil.copytree(os.path.join(ROOT, "proto"), self.proto, ignore=lambda _, names: [
            name for name in names if "." in name and not name.endswith((".proto", ".yaml"))])

    def tearDown(self):
        shutil.rmtree(self.folder)

    def buf(self, *args):
        done = subprocess.run([BUF, *args], cwd=self.proto, capture_output=True, text=True, timeout=120,
                              env={**os.environ, "XDG_CACHE_HOME": self.folder})
        return done.returncode, done.stdout + done.stderr

    def breaking(self):
        return self.buf("breaking", "--against", RELEASE)

    def change(self, path, pattern, replacement):
        name = os.path.join(self.proto, path)
        with open(name) as f:
            before = f.read()
        after = re.sub(pattern, replacement, before, count=1, flags=re.M)
        self.assertNotEqual(before, after, pattern)
        with open(name, "w") as f:
            f.write(after)

    def test_buf_has_nothing_to_say_of_its_form(self):
        self.assertEqual(self.buf("lint"), (0, ""))

    def test_every_exception_is_needed(self):
        for path, pattern in (("buf.yaml", r"^    - grpc$"),
                              ("stagewire/v1/stage.proto", r"^ *// buf:lint:ignore ENUM_VALUE_PREFIX$"),
                              ("stagewire/v1/stage.proto", r"^ *// buf:lint:ignore ENUM_ZERO_VALUE_SUFFIX$")):
            with self.subTest(exception=pattern):
                self.tearDown()
                self.setUp()
                self.change(path, pattern, "" if path.endswith(".proto") else "    - none")
                self.assertNotEqual(self.buf("lint")[0], 0)

    def test_there_are_no_exceptions_but_those(self):
        with open(os.path.join(self.proto, "buf.yaml")) as f:
            self.assertEqual(re.findall(r"^    - (.*)$", f.read(), re.M), ["STANDARD", "grpc", "FILE"])
        with open(os.path.join(self.proto, "stagewire/v1/stage.proto")) as f:
            self.assertEqual(len(re.findall("buf:", f.read())), 2)

    def test_nothing_that_older_endpoints_and_clients_rely_on_has_changed(self):
        self.assertEqual(self.breaking(), (0, ""), "tests/abi/README.md says how the release is renewed")

    def test_a_field_more_is_no_break(self):
        self.change("stagewire/v1/stage.proto", r"^message Tensor \{", "message Tensor {\n  string added = 99;")
        self.assertEqual(self.breaking(), (0, ""))

    def test_another_number_type_or_name_and_anything_missing_is_a_break(self):
        stage = "stagewire/v1/stage.proto"
        for path, pattern, replacement in (
                (stage, r"DataType dtype = 1;", "DataType dtype = 9;"),
                (stage, r"repeated int64 shape = 2;", "repeated sint64 shape = 2;"),
                (stage, r"bytes data = 3;", "bytes payload = 3;"),
                (stage, r"^ *bytes data = 3;.*$", ""),
                (stage, r"^  rpc Release\(", "  rpc LetGo("),
                (stage, r"^package stagewire.v1;", "package stagewire.v2;"),
                ("grpc/health/v1/health.proto", r"NOT_SERVING = 2", "NOT_SERVING = 4")):
            with self.subTest(change=replacement or pattern):
                self.tearDown()
                self.setUp()
                self.change(path, pattern, replacement)
                status, report = self.breaking()
                self.assertNotEqual(status, 0)
                self.assertIn(os.path.basename(path), report)


if __name__ == "__main__":
    unittest.main()
