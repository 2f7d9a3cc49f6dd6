"""stagewire.log_to: every step is logged once, whatever happens to connection, endpoint and trainer."""
import itertools
import os
import queue
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import numpy

import stagewire
from stagewire._log_to import _Steps

IN_TIME_S = 60


class Daemon:
    """stagewired at a socket where it can be started again."""

    def __init__(self, folder):
        self.address = "unix:" + os.path.join(folder, "socket")
        self._ports = os.path.join(folder, "ports")
        self.start()

    def start(self):
        if os.path.exists(self._ports):
            os.remove(self._ports)
        self._process = subprocess.Popen([os.environ["STAGEWIRED"], "--run-id", "run", "--listen", self.address, "--port-file", self._ports,
                                          "--log-level", "off"])
        while not os.path.exists(self._ports):
            if self._process.poll() is not None:
                raise RuntimeError("stagewired ended")

    def kill(self):
        self._process.kill()
        self._process.wait()


class Logging(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="stagewire-test-"))
        self.daemon = Daemon(folder)
        self.addCleanup(self.daemon.kill)
        self.client = self.enterContext(stagewire.Client(self.daemon.address, run_id="run"))
        self.lines = queue.Queue()

    def log(self, sink=None, **more):
        more.setdefault("endpoint", self.daemon.address)
        bridge = stagewire.log_to(sink or (lambda step, numbers: self.lines.put((step, numbers))), **more)
        self.addCleanup(bridge.close)
        return bridge

    def next(self):
        return self.lines.get(timeout=IN_TIME_S)

    def rest(self, bridge):
        bridge.close()
        return [self.lines.get_nowait() for _ in range(self.lines.qsize())]

    def publish(self, step, metrics, channel="train", **more):
        self.client.publisher.publish_metrics(channel, step, metrics, **more)

    def trainer(self, generation=1):
        """The last of two stages; the other one is not needed."""
        pipeline = stagewire.Pipeline(1, 2, run_id="run", generation=generation, publisher=self.client.publisher,
                                      last_stage_endpoint=self.daemon.address)
        self.addCleanup(pipeline.close)
        return pipeline


class Steps(Logging):
    def test_a_step_is_the_mean_of_its_microbatches_and_calls_and_has_numbers_only(self):
        bridge = self.log()
        trainer = self.trainer()
        with trainer.step(3):
            trainer.broadcast_loss_metrics_from_last_stage([{"loss": 1.0, "name": "a"}, {"loss": 2.0, "deep": {"er": 4}}])
            trainer.broadcast_loss_metrics_from_last_stage({"loss": 6, "right": True, "one": numpy.float32(0.5),
                                                            "many": numpy.zeros(3), "none": None})
        self.assertEqual(self.next(), (3, {"train/loss": 3.0, "train/deep/er": 4.0, "train/right": 1.0, "train/one": 0.5}))
        self.assertEqual(self.rest(bridge), [])

    def test_a_step_is_logged_at_its_end_and_without_stagewire_step_when_the_next_one_comes(self):
        bridge = self.log(channels=["train", "evaluation"])
        self.publish(0, {"x": 1})
        self.publish(0, {"x": 3}, call=1)
        self.publish(0, {"x": 9}, channel="evaluation")
        self.publish(0, {"x": 9}, channel="other")
        self.publish(1, {"x": 5})
        self.assertEqual(self.next(), (0, {"train/x": 2.0}))
        self.client.publisher.close_channel("evaluation")
        self.assertEqual(self.next(), (0, {"evaluation/x": 9.0}))
        self.assertEqual(self.rest(bridge), [(1, {"train/x": 5.0})])

    def test_what_was_published_before_is_logged_from_the_step_that_was_not_yet(self):
        for step in range(5):
            self.publish(step, {"x": step})
        self.assertEqual(self.rest(self.log(after=2)), [(3, {"train/x": 3.0}), (4, {"train/x": 4.0})])

    def test_a_later_generation_that_repeats_steps_logs_only_what_was_not_whole(self):
        bridge = self.log()
        first = self.trainer(1)
        for step in range(5):
            with first.step(step):
                first.broadcast_loss_metrics_from_last_stage({"x": step})
        with self.assertRaises(FloatingPointError), first.step(5):
            first.broadcast_loss_metrics_from_last_stage({"x": -1})
            raise FloatingPointError("the loss is NaN")
        first.close()
        second = self.trainer(2)
        for step in range(3, 7):
            with second.step(step):
                second.broadcast_loss_metrics_from_last_stage({"x": 10 * step})
        expected = [(step, {"train/x": float(step)}) for step in range(5)]
        expected += [(step, {"train/x": 10.0 * step}) for step in (5, 6)]
        self.assertEqual([self.next() for _ in expected], expected)
        self.assertEqual(self.rest(bridge), [])

    def test_a_step_that_a_killed_trainer_left_open_is_logged_as_the_next_generation_has_it(self):
        bridge = self.log()
        self.publish(0, {"x": 0})
        self.publish(1, {"x": -1})
        self.client.publisher.attach(0, 1, generation=2).close()
        self.publish(1, {"x": 1}, generation=2)
        self.publish(1, {"x": 3}, call=1, generation=2)
        self.assertEqual(self.rest(bridge), [(0, {"train/x": 0.0}), (1, {"train/x": 2.0})])

    def test_an_endpoint_that_is_started_again_is_followed_and_no_step_comes_twice(self):
        bridge = self.log()
        for step in range(3):
            self.publish(step, {"x": step})
        self.assertEqual([self.next()[0] for _ in range(2)], [0, 1])
        self.daemon.kill()
        self.daemon.start()
        for step in range(1, 6):  # a trainer that is not sure
            self.publish(step, {"x": step})
        self.assertEqual(self.rest(bridge), [(step, {"train/x": float(step)}) for step in range(2, 6)])

    def test_an_endpoint_that_was_gone_for_longer_than_its_grace_is_followed_too(self):
        client = self.enterContext(stagewire.Client(self.daemon.address, endpoint_grace=0.1))
        bridge = self.log(endpoint=client)
        self.publish(0, {"x": 0})
        self.publish(1, {"x": 1})
        self.assertEqual(self.next()[0], 0)
        with self.assertLogs("stagewire", "WARNING") as said:
            self.daemon.kill()
            while not said.output:
                pass
        self.assertIn("tries again", said.output[0])
        self.daemon.start()
        for step in range(1, 4):
            self.publish(step, {"x": step})
        self.assertEqual([self.next()[0] for _ in range(2)], [1, 2])
        self.assertEqual(self.rest(bridge), [(3, {"train/x": 3.0})])

    def test_a_step_that_failed_is_not_logged_whichever_channel_says_so_first(self):
        def event(type, step, channel="train", metrics=None):
            return stagewire.Event(type, stagewire.Address(channel, step, stage=1, generation=1), metrics)

        value = event("published", 1, metrics={"x": 1})
        failure = event("failed", 1, "train/stagewire.calls")
        later = event("published", 2, metrics={"x": 2})
        for order in itertools.permutations([value, failure, event("failed", 1)]):
            steps = _Steps(-1)
            logged = [whole for each in (*order, later) for whole in steps.take(each)]
            self.assertEqual(logged + steps.rest(), [(2, {"train/x": 2.0})], order)

    def test_what_the_sink_raises_ends_it_and_is_raised_by_close(self):
        def full(step, numbers):
            raise OSError("no space left")

        bridge = self.log(full)
        with self.assertLogs("stagewire", "ERROR"):
            self.publish(0, {"x": 0})
            self.publish(1, {"x": 1})
            bridge._thread.join(IN_TIME_S)
        self.assertFalse(bridge.running)
        with self.assertRaisesRegex(OSError, "no space left"):
            bridge.close()

    def test_an_endpoint_of_another_run_ends_it(self):
        with stagewire.Client(self.daemon.address, run_id="another") as client, self.assertLogs("stagewire", "ERROR"):
            bridge = stagewire.log_to(print, client)
            bridge._thread.join(IN_TIME_S)
            with self.assertRaises(stagewire.errors.FailedPrecondition) as raised:
                bridge.close()
            self.assertEqual(raised.exception.reason, "RUN_MISMATCH")

    def test_an_unknown_sink_and_options_of_a_callable_are_errors(self):
        with self.assertRaisesRegex(ValueError, "'syslog': it is one of tensorboard, wandb, mlflow"):
            self.log("syslog")
        with self.assertRaisesRegex(TypeError, "takes no options"):
            self.log(print, project="digits")
        with self.assertRaisesRegex(ValueError, "STAGEWIRE_LAST_STAGE_ENDPOINT"):
            stagewire.log_to(print)


class Sinks(Logging):
    """Stand-ins for modules that Debian does not have, with the calls that their manuals describe."""

    def log_one_step(self, sink, modules, **options):
        with mock.patch.dict(sys.modules, modules), self.log(sink, **options):
            self.publish(7, {"loss": 0.5})

    def test_tensorboard_gets_a_scalar_a_name(self):
        writer = mock.Mock()
        module = types.SimpleNamespace(SummaryWriter=mock.Mock(return_value=writer))
        self.log_one_step("tensorboard", {"torch.utils.tensorboard": module}, log_dir="runs")
        module.SummaryWriter.assert_called_once_with(log_dir="runs")
        writer.add_scalar.assert_called_once_with("train/loss", 0.5, 7)
        writer.close.assert_called_once_with()

    def test_wandb_gets_the_step_as_an_axis_of_the_channel(self):
        run = mock.Mock()
        module = types.SimpleNamespace(run=None, init=mock.Mock(return_value=run))
        self.log_one_step("wandb", {"wandb": module}, project="digits")
        module.init.assert_called_once_with(project="digits")
        run.define_metric.assert_called_once_with("train/*", step_metric="train/step")
        run.log.assert_called_once_with({"train/loss": 0.5, "train/step": 7})
        run.finish.assert_called_once_with()

    def test_a_run_of_wandb_that_is_active_is_used_and_not_finished(self):
        run = mock.Mock()
        self.log_one_step("wandb", {"wandb": types.SimpleNamespace(run=run)})
        run.log.assert_called_once()
        run.finish.assert_not_called()

    def test_mlflow_gets_the_metrics_of_the_run(self):
        client = mock.Mock()
        run = types.SimpleNamespace(info=types.SimpleNamespace(run_id="r1"))
        module = types.SimpleNamespace(active_run=lambda: None, start_run=mock.Mock(return_value=run), end_run=mock.Mock())
        tracking = types.SimpleNamespace(MlflowClient=lambda: client)
        self.log_one_step("mlflow", {"mlflow": module, "mlflow.tracking": tracking}, run_name="digits")
        module.start_run.assert_called_once_with(run_name="digits")
        client.log_metric.assert_called_once_with("r1", "train/loss", 0.5, step=7)
        module.end_run.assert_called_once_with()

    def test_no_module_is_imported_before_it_is_asked_for(self):
        script = "import sys, stagewire; print([name for name in ('torch', 'numpy', 'wandb', 'mlflow') if name in sys.modules])"
        self.assertEqual(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout, "[]\n")


if __name__ == "__main__":
    unittest.main()
