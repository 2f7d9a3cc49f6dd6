"""client/examples/torch_pipeline*.py: a trainer's calls, in eight processes."""
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


class Training(Example):
    def test_a_rank_that_raises_ends_all_and_the_next_life_repeats_the_steps_since_the_checkpoint_bit_by_bit(self):
        lines, said = self.train("torch_pipeline_collectives.py", "--fail-at", "5", "--parameters", "100")
        self.assertIn("[rank 7] FloatingPointError: the loss is not a number any more", said)
        first, second = (i for i, line in enumerate(lines) if line.startswith("from step "))
        self.assertTrue(lines[second].startswith("from step 3; 100 parameters"), lines[second])
        begun = lines.index(next(line for line in lines if line.startswith("step 3: ")))
        before, after = lines[begun:second], lines[second + 1:]
        self.assertGreaterEqual(len(before), 3, "steps 3 and 4, and an evaluation")
        self.assertEqual(before, after[: len(before)])
        right = int(re.search(r"(\d+) of 300 right", lines[-1])[1])
        self.assertGreater(right, 230)


if __name__ == "__main__":
    unittest.main()
