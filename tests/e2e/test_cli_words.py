"""The command's help, version and what it says of misuse."""
import os
import subprocess
import unittest

import command
import stage


class TheWordsOfTheCommand(unittest.TestCase):
    def test_help_names_commands_and_exit_codes(self):
        code, out, err = command.run("--help")
        self.assertEqual((code, err), (0, ""))
        for word in ("info", "get", "publish", "explain", "demo", "Exit status", "unix:PATH", "  9  "):
            self.assertIn(word, out)
        self.assertNotIn("demo-stage", out)

    def test_each_command_has_help_with_examples_and_its_exit_is_fine(self):
        for name in command.names():
            code, out, err = command.run(name, "--help")
            self.assertEqual((code, err), (0, ""))
            self.assertIn("Usage: stagewire " + name, out)
            self.assertRegex(out, r"Examples:\n(.*\n)*  stagewire " + name)
            self.assertLessEqual(max(map(len, out.splitlines())), 80, out)

    def test_version(self):
        code, out, _ = command.run("--version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^stagewire (\d+\.\d+\.\d+)\nlibstagewire \1, gRPC core \d+\.\d+\.\d+\n$")

    def expect_misuse(self, *args, words):
        code, out, err = command.run(*args)
        self.assertEqual((code, out), (2, ""), args)
        self.assertIn(words, err)

    def test_misuse_is_named_and_exits_with_2(self):
        self.expect_misuse(words="no command")
        self.expect_misuse("pubish", words="did you mean 'publish'?")
        self.expect_misuse("frobnicate", words="'frobnicate' is no command")
        self.expect_misuse("--frobnicate", words="there is no option '--frobnicate'")
        self.expect_misuse("--hlep", words="did you mean '--help'?")
        self.expect_misuse("get", "a:1", "--jsno", words="did you mean '--json'?")
        self.expect_misuse("publish", "a:1", "train", "1", "--form-get", words="did you mean '--from-get'?")
        self.expect_misuse("demo", "--stage", "9", words="network")
        self.expect_misuse("explain", "NOT_YET", "EVICTED", words="'EVICTED' is one argument too many")
        self.expect_misuse("info", words="ENDPOINT is missing")
        self.expect_misuse("info", "a:1", "b", words="'b' is one argument too many")
        self.expect_misuse("get", words="ENDPOINT and CHANNEL are missing")
        self.expect_misuse("get", "a:1", words="CHANNEL is missing")
        self.expect_misuse("get", "a:1", "train", "newest", words="STEP 'newest'")
        self.expect_misuse("get", "a:1", "train", "9223372036854775808", words="9223372036854775807")
        self.expect_misuse("get", "a:1", "train", "1", "2", words="'2' is one argument too many")
        self.expect_misuse("get", "a:1", "train", "--stage", "x", words="--stage 'x'")
        self.expect_misuse("get", "a:1", "train", "--timeout", "30", words="500ms or 30s")
        self.expect_misuse("publish", "a:1", words="CHANNEL and STEP are missing")
        self.expect_misuse("publish", "a:1", "train", "latest", words="STEP 'latest'")

    def test_an_endpoint_that_is_none_is_misuse(self):
        for endpoint in ("nonsense", "host:", ":1", "host:99999", "unix:"):
            self.expect_misuse("info", endpoint, words=endpoint)

    def test_an_unreachable_endpoint(self):
        code, out, err = command.run("info", "unix:/nonexistent/stagewire.sock", "--timeout", "500ms")
        self.assertEqual((code, out), (5, ""))
        self.assertIn("/nonexistent/stagewire.sock", err)


class WhereTheWordsGo(unittest.TestCase):
    """One rule for every command; those that go on until they are ended have it in their own tests, too."""
    commands = (("explain",), ("man-page",), ("info",), ("get", "train", "1"), ("doctor",),
                ("bench", "--duration", "100ms"))

    @classmethod
    def setUpClass(cls):
        cls.daemon = stage.Daemon()
        assert command.run("publish", *cls.daemon.targets, "train", "1", given='{"n": 1}')[0] == 0

    @classmethod
    def tearDownClass(cls):
        cls.daemon.close()

    def write_to(self, output):
        for name, *more in self.commands:
            endpoint = [] if name in ("explain", "man-page") else self.daemon.targets
            process = subprocess.run([command.STAGEWIRE, name, *endpoint, *more], stdin=subprocess.DEVNULL, stdout=output,
                                     stderr=subprocess.PIPE, text=True, timeout=60)
            yield name, process.returncode, process.stderr

    def test_a_reader_that_has_left_is_no_failure(self):
        reader, writer = os.pipe()
        os.close(reader)
        for name, code, err in self.write_to(writer):
            self.assertEqual((code, err), (0, ""), name)
        os.close(writer)

    def test_an_output_that_is_full_is_a_failure_in_words(self):
        with open("/dev/full", "w") as full:
            for name, code, err in self.write_to(full):
                self.assertEqual(code, 1, name)
                self.assertIn(f"stagewire {name}: standard output: ", err)


if __name__ == "__main__":
    unittest.main()
