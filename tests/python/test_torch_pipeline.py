"""client/examples/torch_pipeline*.py: a trainer's calls, in eight processes."""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

EXAMPLES = pathlib.Path(__file__).parents[2] / "client" / "examples"
STEPS = 8


class Example(unittest.TestCase):
    def train(self, program, *args):
        """(lines, what the ranks said of their failures)"""
        done = subprocess.run([sys.executable, EXAMPLES / program, "--steps", str(STEPS), *args], capture_output=True, text=True,
                              timeout=240, env={**os.environ, "TMPDIR": self.folder()})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.splitlines(), done.stderr

    def folder(self):
        folder = tempfile.TemporaryDirectory(prefix="stagewire-test-")
        self.addCleanup(folder.cleanup)
        return folder.name


def by_step(lines):
    """What was said of each step last, the evaluation after it included."""
    said = {}
    for line in lines:
        step = line.split(":")[0] if line.startswith("step ") else f"after {step}" if line.startswith("held out") else "first"
        said[step] = line
    return said


class Training(Example):
    def test_all_stages_get_what_the_collectives_give_them_also_where_a_rank_raised_and_all_went_on_from_a_checkpoint(self):
        expected, _ = self.train("torch_pipeline_collectives.py", "--parameters", "100")
        lines, said = self.train("torch_pipeline.py", "--fail-at", "5")
        self.assertIn("[rank 7] FloatingPointError: the loss is not a number any more", said)
        self.assertIn("[rank 3] stagewire.errors.Aborted: FloatingPointError: the loss is not a number any more", said)
        self.assertEqual([line.split(";")[0] for line in lines if line.startswith("from")], ["from step 0", "from step 3"])
        got, expected = by_step(lines), by_step(expected)
        self.assertTrue(got.pop("first").endswith("1000 parameters of 6296176 bytes"))
        expected.pop("first")
        self.assertEqual(got, expected)
        right = int(re.search(r"(\d+) of 300 right", lines[-1])[1])
        self.assertGreater(right, 230)


class Migrating(unittest.TestCase):
    def test_the_guide_shows_every_line_in_which_the_two_programs_differ(self):
        guide = (EXAMPLES.parent / "python" / "migrate.md").read_text()
        shown = re.search(r"```diff\n(.*?)```", guide, re.S)[1].splitlines()
        before, after = ((EXAMPLES / name).read_text().partition('"""\nimport')[2].splitlines()
                         for name in ("torch_pipeline_collectives.py", "torch_pipeline.py"))
        differing = [line for line in difflib.unified_diff(before, after, lineterm="", n=0) if line[:2] not in ("--", "++", "@@")]
        self.assertEqual([line for line in shown if line[0] in "+-"], differing)


if __name__ == "__main__":
    unittest.main()
