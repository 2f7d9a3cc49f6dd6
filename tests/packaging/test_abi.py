#!/usr/bin/env python3
"""Programs that were built with the last release run with this library: libabigail compares the two."""
import os
import platform
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ABI = os.path.join(ROOT, "tests", "abi")
LIBRARY = os.path.join(os.environ["STAGEWIRE_BUILD"], "lib", "libstagewire.so")


@unittest.skipUnless(platform.machine() == "x86_64", "the dump is of x86-64")
class Abi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="stagewire-abi-")
        cls.built = os.path.join(cls.folder, "built.abi")
        subprocess.run([os.path.join(ABI, "dump"), LIBRARY, cls.built], check=True, timeout=120)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def setUp(self):
        self.release = ElementTree.parse(os.path.join(ABI, "libstagewire.abi"))

    def compare(self):
        """abidiff's exit status and report for the release as it stands in self.release."""
        dump = os.path.join(self.folder, "release.abi")
        self.release.write(dump)
        done = subprocess.run(["abidiff", "--leaf-changes-only", "--no-added-syms", "--suppressions",
                               os.path.join(ABI, "accepted.abignore"), dump, self.built],
                              capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout + done.stderr

    def take_last_member_from(self, name):
        for struct in self.release.iter("class-decl"):
            if struct.get("name") == name and struct.get("size-in-bits"):
                last = struct.findall("data-member")[-1]
                struct.remove(last)
                struct.set("size-in-bits", last.get("layout-offset-in-bits"))
                return
        self.fail(name + " is not in the dump")

    def test_nothing_was_removed_or_changed_since_the_last_release(self):
        status, report = self.compare()
        self.assertEqual(status, 0, report + "\ntests/abi/README.md says what may change, and how to renew the dump")

    def test_a_function_that_is_gone_is_noticed(self):
        symbols = self.release.find("elf-function-symbols")
        gone = ElementTree.fromstring(ElementTree.tostring(symbols[0]))
        gone.set("name", "sw_gone")
        symbols.append(gone)
        status, report = self.compare()
        self.assertNotEqual(status, 0)
        self.assertIn("sw_gone", report)

    def test_a_parameter_that_changed_its_type_is_noticed(self):
        for function in self.release.iter("function-decl"):
            if function.get("name") == "sw_tensors_name":
                function.findall("parameter")[1].set("type-id", function.find("return").get("type-id"))
        status, report = self.compare()
        self.assertNotEqual(status, 0)
        self.assertIn("sw_tensors_name", report)

    def test_options_and_info_may_grow_at_their_end(self):
        for name in ("sw_client_options", "sw_endpoint_options", "sw_pipeline_options", "sw_info"):
            self.take_last_member_from(name)
        status, report = self.compare()
        self.assertEqual(status, 0, report)

    def test_a_struct_that_programs_allocate_may_not_grow(self):
        for name in ("sw_pull", "sw_watch_event", "sw_address"):
            self.setUp()
            self.take_last_member_from(name)
            status, report = self.compare()
            self.assertNotEqual(status, 0, name)
            self.assertIn(name, report)

    def test_options_may_not_change_before_their_end(self):
        for struct in self.release.iter("class-decl"):
            if struct.get("name") == "sw_endpoint_options":
                struct.remove(struct.findall("data-member")[3])
        status, report = self.compare()
        self.assertNotEqual(status, 0)
        self.assertIn("sw_endpoint_options", report)

    def test_a_new_reason_is_no_change_for_older_programs_and_a_renumbered_one_is(self):
        for enum in self.release.iter("enum-decl"):
            if enum.get("name") == "sw_reason":
                count = enum.findall("enumerator")[-1]
                last = enum.findall("enumerator")[-2]
                enum.remove(last)
                count.set("value", last.get("value"))
        status, report = self.compare()
        self.assertEqual(status, 0, report)
        for enum in self.release.iter("enum-decl"):
            if enum.get("name") == "sw_reason":
                enum.findall("enumerator")[5].set("value", "77")
        self.assertNotEqual(self.compare()[0], 0)

    def test_the_dump_names_no_path_of_the_machine_that_made_it(self):
        with open(os.path.join(ABI, "libstagewire.abi")) as f:
            text = f.read()
        for word in ("/home", "/tmp", "/usr", ROOT):
            self.assertNotIn(word, text)


if __name__ == "__main__":
    unittest.main()
