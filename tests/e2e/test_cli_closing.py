"""stagewire close and abort, as a user runs them against a daemon."""
import unittest

import command
import stage
from cli import WithDaemon
from stage import pb


class Closing(WithDaemon):
    def expect_get(self, reason, code, *args):
        _, err = self.run_command("get", *args, expect=code)
        self.assertIn(f"[{reason}]", err)
        return err

    def test_close_finishes_a_channel_and_what_is_held_stays(self):
        self.publish("train", 1, {"v": 1})
        out, err = self.run_command("close", "train")
        self.assertEqual((out, err), ("", 'stagewire close: metrics "train": finished\n'))
        self.expect_get("FINISHED", 3, "train", "2")
        self.assertEqual(self.get_json("train", "1")["metrics"], {"v": 1})

    def test_abort_tells_those_that_wait_why_at_once(self):
        process = self.start("get", "train", "5", "--timeout", "5m")
        self.until(lambda load: load.waiting == 1)
        out, err = self.run_command("abort", "train", "-m", "loss is NaN")
        self.assertEqual((out, err), ("", 'stagewire abort: metrics "train": aborted\n'))
        _, told = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 7)
        self.assertIn("loss is NaN", told)
        self.assertIn("[PUBLISHER_ABORTED]", told)

    def test_the_same_again_is_fine_and_another_word_is_not(self):
        for _ in range(2):
            self.run_command("close", "train")
        self.assertIn("[CONFLICT]", self.run_command("abort", "train", "-m", "no", expect=6)[1])

    def test_kinds_are_channels_of_their_own(self):
        self.run_command("close", "train", "--kind", "tensors")
        self.run_command("close", "train", "-k", "object")
        self.publish("train", 1, {})
        self.expect_get("FINISHED", 3, "train", "--tensors", "1")
        states = {channel["kind"]: channel.get("closed") for channel in self.info()["channels"]}
        self.assertEqual(states, {"metrics": None, "tensors": "FINISHED", "object": "FINISHED"})

    def test_all_means_every_channel_also_those_never_seen(self):
        self.publish("train", 1, {})
        out, err = self.run_command("abort", "--all", "-m", "over", "--json")
        self.assertEqual(command.lines(out), [{"channel": None, "reason": "ABORTED"}])
        self.assertIn("every channel: aborted", err)
        self.expect_get("PUBLISHER_ABORTED", 7, "train", "2")
        self.expect_get("PUBLISHER_ABORTED", 7, "other", "0")

    def test_stage_and_group_say_whose(self):
        self.run_command("close", "train", "--stage", "1", "--group", "2", "--run", "run-a", "--generation", "1")
        channel, = self.info()["channels"]
        self.assertEqual((channel["stage"], channel["group"], channel["closed"]), (1, 2, "FINISHED"))

    def test_json(self):
        self.assertEqual(command.lines(self.run_command("close", "train", "--json")[0]),
                         [{"channel": "train", "reason": "FINISHED"}])

    def test_refusals(self):
        for name, more in (("close", ()), ("abort", ("-m", "x"))):
            self.assertIn("[RUN_MISMATCH]", self.run_command(name, "train", "--run", "b", *more, expect=6)[1])
            self.assertIn("[MALFORMED]", self.run_command(name, "two words", *more, expect=6)[1])
        with stage.Daemon(publish_on_loopback=False) as closed:
            self.assertEqual(command.run("close", closed.targets[0], "train")[0], 6)

    def test_a_stale_generation_is_refused(self):
        lease = self.daemon.stage.Attach(pb.AttachRequest(stage=3, stage_count=4, generation=2))
        self.addCleanup(lease.cancel)
        next(lease)
        self.assertIn("[STALE_GENERATION]", self.run_command("close", "train", "-g", "1", expect=6)[1])

    def test_misuse_is_named(self):
        def expect(words, *args):
            code, out, err = command.run(*args)
            self.assertEqual((code, out), (2, ""), args)
            self.assertIn(words, err)
        expect("ENDPOINT is missing", "close")
        expect("CHANNEL is missing; --all", "close", "a:1")
        expect("'train' and --all", "close", "a:1", "train", "--all")
        expect("'x' is one argument too many", "close", "a:1", "train", "x")
        expect("--kind goes with a CHANNEL", "close", "a:1", "--all", "--kind", "metrics")
        expect("metrics, tensors or object", "close", "a:1", "train", "--kind", "metric")
        expect("--message TEXT is missing", "abort", "a:1", "train")
        expect("--message TEXT is missing", "abort", "a:1", "train", "-m", "")
        expect("--generation 'x'", "abort", "a:1", "train", "-m", "t", "-g", "x")
        expect("no option '--message'", "close", "a:1", "train", "--message", "x")


if __name__ == "__main__":
    unittest.main()
