#!/usr/bin/env python3
"""What the README shows is what the tests build and run."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(*path):
    with open(os.path.join(ROOT, *path)) as f:
        return f.read()


class Readme(unittest.TestCase):
    def test_its_example_is_the_program_and_has_under_40_lines(self):
        shown = re.search(r"```c\n(.*?)```", read("README.md"), re.S).group(1)
        self.assertEqual(shown, read("client", "examples", "publish_and_pull.c"))
        self.assertLess(len(shown.splitlines()), 40)

    def test_its_commands_are_commands(self):
        listed = subprocess.run([os.environ["STAGEWIRE"], "--help"], capture_output=True, text=True).stdout
        shown = re.findall(r"stagewire (\w+)", re.search(r"## From the shell\n+```sh\n(.*?)```", read("README.md"), re.S).group(1))
        self.assertGreater(len(shown), 5)
        for name in shown:
            self.assertRegex(listed, rf"(?m)^  {name} ")

    def test_its_example_prints_the_loss_that_was_published(self):
        program = os.path.join(os.environ["STAGEWIRE_EXAMPLES"], "publish_and_pull")
        out = subprocess.run([program], capture_output=True, text=True, timeout=30)
        self.assertEqual((out.stdout, out.stderr, out.returncode), ("loss at step 7: 0.25\n", "", 0))

    def test_its_trainer_in_python_trains(self):
        shown = re.search(r"```python\n(.*?)```", read("README.md"), re.S).group(1)
        trainer = "batches, train = [0.5, 0.25], lambda batch: {'loss': batch}\n" + shown + "print(metrics)\n"
        ran = subprocess.run([sys.executable, "-c", trainer], capture_output=True, text=True, timeout=60,
                             env={**os.environ, "STAGEWIRE_RUN_ID": "readme", "STAGEWIRE_STAGE": "0", "STAGEWIRE_STAGES": "1",
                                  "STAGEWIRE_GENERATION": "1"})
        self.assertEqual((ran.stdout, ran.stderr, ran.returncode), ("{'loss': 0.25}\n", "", 0))

    def test_its_table_has_every_reason_of_a_pull_with_the_code_that_the_library_gives(self):
        codes = dict(re.findall(r"X\((\w+), (\w+), \"", read("proto", "include", "stagewire", "status.h")))
        rows = re.findall(r"\| `(\w+)` \| `(\w+)` \|", read("README.md"))
        for code, reason in rows:
            expected = {codes[reason], "NOT_FOUND"} if reason == "NOT_YET" else {codes[reason]}
            self.assertIn(code, expected, reason)
        pulls = set(codes) - {"TOO_LARGE", "STALE_GENERATION", "NOT_ATTACHED", "STEP_WENT_BACK", "CHANNEL_CLOSED", "POLICY_CONFLICT",
                              "CONFLICT", "PUBLISH_IN_PROGRESS", "STORE_FULL", "OUT_OF_STEP"}
        self.assertEqual({reason for _, reason in rows}, pulls)

    def test_its_commands_over_a_network_pull_by_tls(self):
        shown = re.search(r"## Over a network\n.*?```sh\n(.*?)```", read("README.md"), re.S).group(1)
        self.assertEqual(shown.count("localhost:4317"), 3)
        before, daemon, after = re.match(r"(.*?\n)(stagewired .*? &\n)(.*)", shown, re.S).groups()
        daemon = daemon.replace("0.0.0.0:4317", "127.0.0.1:0 --port-file port")
        ready = "until [ -e port ] || ! kill -0 $!; do :; done; read -r address < port\n"
        script = ["set -eu\n", before, daemon, "trap 'kill $!; wait' EXIT\n", ready, after.replace("localhost:4317", "$address")]
        programs = [os.path.dirname(os.environ[name]) for name in ("STAGEWIRE", "STAGEWIRED")]
        path = os.pathsep.join([*programs, os.environ["PATH"]])
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run(["bash", "-c", "".join(script)], cwd=folder, capture_output=True, text=True, timeout=120, env={**os.environ, "PATH": path})
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertRegex(ran.stdout, r"loss +0\.25")
        self.assertRegex(ran.stdout, r"(?m)^ok +tls +TLSv1\.3; the endpoint is spiffe://stagewire\.test/stagewire/demo/stage/3")
        self.assertNotRegex(ran.stdout, r"(?m)^wrong ")
        self.assertRegex(ran.stdout, r": over TCP, with TLS, from the same machine\n")

    def test_every_path_it_links_to_exists(self):
        for path in re.findall(r"\]\(([^)]+)\)", read("README.md")):
            self.assertTrue(os.path.exists(os.path.join(ROOT, path)), path)


if __name__ == "__main__":
    unittest.main()
