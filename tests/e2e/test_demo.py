"""stagewire demo: a training run whose stages share everything through stagewire."""
import os
import pty
import re
import select
import signal
import subprocess
import tempfile
import unittest

import command

LOST = r"\[(ENDPOINT|PUBLISHER)_LOST\]"


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


class Demo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stagewire-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = {**os.environ, "TMPDIR": self.folder}

    def tearDown(self):
        self.assertEqual(os.listdir(self.folder), [], "the demo leaves no file")

    def start(self, *args):
        return command.start("demo", *args, env=self.environment)

    def run_demo(self, *args, expect=0):
        code, out, err = command.run("demo", *args, env=self.environment)
        self.assertEqual(code, expect, out + err)
        return out, err

    def losses(self, *args):
        """Each step's loss as it was written."""
        out, _ = self.run_demo("--json", *args)
        return re.findall(r'"loss": ([^,]+),', out)

    def run_until_trained(self, *args):
        """A demo that has trained ten steps, and a descriptor for each of its stages that tells when it is over."""
        process = self.start("--json", "--steps", "100000", *args)
        for _ in range(10):
            command.strict(process.stdout.readline())
        stages = {pid: os.pidfd_open(pid) for pid in children(process.pid)}
        for descriptor in stages.values():
            self.addCleanup(os.close, descriptor)
        return process, stages

    def expect_over(self, stages):
        for pid, descriptor in stages.items():
            self.assertTrue(select.select([descriptor], [], [], 20)[0], f"stage's process {pid} is left")


class Training(Demo):
    def test_the_losses_of_1_2_3_and_4_stages_are_the_same_bits(self):
        alone = self.losses("--stages", "1", "--steps", "30")
        self.assertEqual(len(alone), 30)
        self.assertEqual(len(set(alone)), 30)
        for stages in ("2", "3", "4"):
            self.assertEqual(self.losses("--stages", stages, "--steps", "30"), alone)

    def test_tcp_is_the_same(self):
        self.assertEqual(self.losses("--steps", "5", "--transport", "tcp"), self.losses("--steps", "5"))

    def test_another_seed_is_another_curve(self):
        self.assertNotEqual(self.losses("--steps", "3", "--stages", "1", "--seed", "2"),
                            self.losses("--steps", "3", "--stages", "1"))

    def test_json_has_one_object_a_step_and_the_last_one_says_how_it_ended(self):
        out, err = self.run_demo("--json", "--steps", "12", "--microbatches", "4")
        steps = command.lines(out)
        self.assertEqual([step["step"] for step in steps], list(range(12)))
        for step in steps:
            self.assertIsInstance(step["loss"], float)
            self.assertIsInstance(step["num_valid_samples"], int)
            self.assertEqual(step["num_valid_samples"], 256)
            self.assertTrue(0 <= step["accuracy"] <= 1 and step["grad_norm"] > 0 and step["lr"] > 0)
            self.assertEqual([stage["stage"] for stage in step["stages"]], [0, 1, 2, 3])
        for stage in steps[-1]["stages"]:
            self.assertGreater(stage["pulled_bytes"], 0)
            self.assertGreaterEqual(stage["pull_p99_us"], stage["pull_p50_us"])
        self.assertEqual(len(steps[-1]["digests"]), 4)
        self.assertEqual(len(set(steps[-1]["digests"])), 1)
        self.assertIn(steps[-1]["digests"][0], err)

    def test_it_learns_and_every_stage_prints_the_same_digest(self):
        out, err = self.run_demo()
        self.assertEqual(err, "")
        rows = out.splitlines()
        self.assertEqual(len([row for row in rows if row.startswith("step ")]), 20, "a line every few steps")
        digests = re.findall(r"stage (\d)  digest ([0-9a-f]{32})", out)
        self.assertEqual([stage for stage, _ in digests], ["0", "1", "2", "3"])
        self.assertEqual(len({digest for _, digest in digests}), 1)
        accuracy = float(re.search(r"held-out accuracy (\S+)", out).group(1))
        self.assertGreaterEqual(accuracy, 0.95)

    def test_a_terminal_shows_a_board_that_is_rewritten(self):
        main, terminal = pty.openpty()
        process = subprocess.Popen([command.STAGEWIRE, "demo", "--steps", "20"], stdin=subprocess.DEVNULL,
                                   stdout=terminal, env={**self.environment, "TERM": "xterm"})
        os.close(terminal)
        shown = b""
        while True:
            try:
                shown += os.read(main, 65536)
            except OSError:
                break
        os.close(main)
        self.assertEqual(process.wait(), 0)
        self.assertRegex(shown, rb"\x1b\[\d+A")
        for word in (b"step 20/20", b"loss ", b"accuracy ", b"pull p50", b"pull p99", b"MiB", b"digest"):
            self.assertIn(word, shown)


class Ending(Demo):
    def test_a_last_stage_that_dies_ends_all_others_with_the_reason(self):
        for step in ("0", "7"):
            _, err = self.run_demo("--fail-at", step, "--json", expect=5)
            for stage in range(3):
                self.assertRegex(err, rf"stage {stage}: .*{LOST}")
            self.assertIn("stage 3: killed by signal 9", err)

    def test_any_stage_that_dies_ends_all_others(self):
        process, stages = self.run_until_trained()
        os.kill(sorted(stages)[1], signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        self.assertNotIn(process.returncode, (0, 130), err)
        self.assertIn("killed by signal 9", err)
        self.assertEqual(len(re.findall(r"stage \d: ", err)), 4, err)
        self.expect_over(stages)

    def test_ctrl_c_ends_everything(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process, stages = self.run_until_trained()
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, err)
            self.assertIn("interrupted at step", err)
            self.expect_over(stages)

    def test_a_reader_that_goes_away_ends_everything_quietly(self):
        process, stages = self.run_until_trained()
        process.stdout.close()
        process.stdout = None
        _, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, err), (0, ""))
        self.expect_over(stages)

    def test_an_output_that_is_full_ends_everything_and_is_a_failure(self):
        with open("/dev/full", "w") as full:
            process = subprocess.Popen([command.STAGEWIRE, "demo", "--json", "--steps", "100000"], stdin=subprocess.DEVNULL, stdout=full,
                                       stderr=subprocess.PIPE, text=True, env=self.environment)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("standard output", err)

    def test_no_stage_outlives_a_launcher_that_is_killed(self):
        process, stages = self.run_until_trained("--transport", "tcp")
        process.kill()
        process.communicate(timeout=60)
        self.expect_over(stages)

    def test_misuse_is_named(self):
        for args, words in ((("--stages", "5"), "1 to 4"), (("--stages", "0"), "--stages"),
                            (("--microbatches", "7"), "does not divide"), (("--steps", "0"), "--steps"),
                            (("--steps", "10", "--fail-at", "10"), "0 to 9"), (("--transport", "tin"), "unix or tcp"),
                            (("now",), "'now'")):
            out, err = self.run_demo(*args, expect=2)
            self.assertEqual(out, "")
            self.assertIn(words, err)

    def test_a_stage_is_not_started_by_hand(self):
        code, _, err = command.run("demo-stage", env=self.environment)
        self.assertEqual(code, 2)
        self.assertIn("stagewire demo", err)


if __name__ == "__main__":
    unittest.main()
