"""stagewire wait, as a script uses it against a daemon."""
import os
import shutil
import tempfile
import unittest

import command
import stage
from cli import WithDaemon
from stage import pb


class Steps(WithDaemon):
    arguments = ("--keep-steps", "1")

    def wait(self, *args, expect=0):
        out, err = self.run_command("wait", *args, expect=expect)
        self.assertEqual(out, "")
        if expect == 0:
            self.assertEqual(err, "")
        return err

    def test_a_step_that_is_there_or_passed_ends_it_at_once(self):
        for step in (1, 2, 5):
            self.publish("train", step, {})
        for step in ("1", "2", "3", "5"):
            self.wait("train", "--step", step)

    def test_it_waits_until_the_step_is_published(self):
        process = self.start("wait", "train", "--step", "3", "--timeout", "5m")
        self.until(lambda load: load.waiting == 1)
        self.publish("train", 3, {})
        self.assertEqual(process.communicate(timeout=60), ("", ""))
        self.assertEqual(process.returncode, 0)

    def test_a_later_step_is_far_enough(self):
        process = self.start("wait", "train", "--step", "3", "--timeout", "5m")
        self.until(lambda load: load.waiting == 1)
        self.publish("train", 9, {})
        self.assertEqual(process.communicate(timeout=60), ("", ""))
        self.assertEqual(process.returncode, 0)

    def test_a_step_that_does_not_come_is_too_late(self):
        self.assertIn("[NOT_YET]", self.wait("train", "--step", "3", "--timeout", "300ms", expect=4))

    def test_a_channel_that_ends_before_ends_the_wait(self):
        self.publish("train", 1, {})
        self.run_command("close", "train")
        self.assertIn("[FINISHED]", self.wait("train", "--step", "3", expect=3))
        self.run_command("abort", "eval", "-m", "broken")
        self.assertIn("broken", self.wait("eval", "--step", "3", expect=7))

    def test_a_step_that_failed_is_told(self):
        self.daemon.publisher.PublishFailure(pb.PublishFailureRequest(
            address=stage.address("train", 3), kind=pb.ITEM_KIND_METRICS, message="broke"), timeout=10)
        self.assertIn("[STEP_FAILED]", self.wait("train", "--step", "3", expect=7))

    def test_steps_of_tensors(self):
        manifest = pb.TensorManifest(address=stage.address("weights", 2), tensors=[
            pb.TensorInfo(name="empty", dtype=pb.DATA_TYPE_BF16, shape=[0, 3], byte_length=0)])
        self.daemon.publisher.PublishTensors(iter([pb.PublishTensorsRequest(manifest=manifest)]), timeout=10)
        self.wait("weights", "--kind", "tensors", "--step", "2")
        self.assertIn("[NOT_YET]", self.wait("weights", "--step", "2", "--timeout", "300ms", expect=4))

    def test_it_may_wait_longer_than_the_endpoint_does(self):
        with stage.Daemon("--max-wait", "50ms") as short:
            process = command.start("wait", short.targets[0], "train", "--step", "1", "--timeout", "5m")
            self.addCleanup(command.end, process)
            for _ in range(3):
                command.run("get", short.targets[0], "train", "1", "--timeout", "200ms")
            command.run("publish", short.targets[0], "train", "1", given="{}")
            self.assertEqual(process.communicate(timeout=60), ("", ""))
            self.assertEqual(process.returncode, 0)

    def test_refusals(self):
        self.assertIn("[RUN_MISMATCH]", self.wait("train", "--step", "1", "--run", "b", expect=6))
        self.assertIn("[MALFORMED]", self.wait("two words", "--step", "1", expect=6))


class Ready(WithDaemon):
    def test_an_endpoint_that_is_up_is_ready(self):
        self.assertEqual(self.run_command("wait", "--ready"), ("", ""))

    def test_one_that_comes_up_later_is_waited_for(self):
        folder = tempfile.mkdtemp(prefix="stagewire-wait-")
        self.addCleanup(shutil.rmtree, folder)
        endpoint = "unix:" + os.path.join(folder, "socket")
        process = command.start("wait", endpoint, "--ready", "--timeout", "2m")
        self.addCleanup(command.end, process)
        with stage.Daemon(listen=endpoint):
            self.assertEqual(process.communicate(timeout=120), ("", ""))
        self.assertEqual(process.returncode, 0)

    def test_one_that_drains_is_not_ready_and_the_one_that_follows_is(self):
        folder = tempfile.mkdtemp(prefix="stagewire-wait-")
        self.addCleanup(shutil.rmtree, folder)
        endpoint = "unix:" + os.path.join(folder, "socket")
        with stage.Daemon("--drain-grace", "1m", listen=endpoint) as leaving:
            policy = pb.ChannelPolicy(channel="train", kind=pb.ITEM_KIND_METRICS, consumers=["stage-0"])
            lease = leaving.stage.Attach(pb.AttachRequest(stage=3, stage_count=4, policies=[policy]))
            next(lease)
            command.run("publish", endpoint, "train", "1", given="{}")
            leaving.terminate()
            while "drain" not in leaving.text():
                pass
            code, out, err = command.run("wait", endpoint, "--ready", "--timeout", "600ms")
            self.assertEqual((code, out), (4, ""))
            self.assertIn("it drains", err)
            process = command.start("wait", endpoint, "--ready", "--timeout", "2m")
            self.addCleanup(command.end, process)
        with stage.Daemon(listen=endpoint):
            self.assertEqual(process.communicate(timeout=120), ("", ""))
        self.assertEqual(process.returncode, 0)

    def test_one_that_does_not_come_is_unreachable(self):
        code, out, err = command.run("wait", "unix:/nonexistent/socket", "--ready", "--timeout", "300ms")
        self.assertEqual((code, out), (5, ""))
        self.assertIn("/nonexistent/socket", err)


class Misuse(unittest.TestCase):
    def test_it_is_named(self):
        def expect(words, *args):
            code, out, err = command.run("wait", *args)
            self.assertEqual((code, out), (2, ""), args)
            self.assertIn(words, err)
        expect("ENDPOINT is missing")
        expect("either --ready or --step N", "a:1")
        expect("either --ready or --step N", "a:1", "train", "--ready", "--step", "1")
        expect("CHANNEL is missing", "a:1", "--step", "1")
        expect("'train': with --ready there is no CHANNEL", "a:1", "train", "--ready")
        expect("'x' is one argument too many", "a:1", "train", "x", "--step", "1")
        expect("--step 'latest'", "a:1", "train", "--step", "latest")
        expect("objects are exchanged", "a:1", "train", "--step", "1", "--kind", "object")
        expect("--timeout '1'", "a:1", "--ready", "--timeout", "1")


if __name__ == "__main__":
    unittest.main()
