"""Endpoints, publishers, clients and watches: what they answer, and which exceptions say why not."""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import stagewire
from stagewire import Address, Policy, errors


class Endpoints(unittest.TestCase):
    def setUp(self):
        self.endpoint = stagewire.Endpoint("run", ["127.0.0.1:0"], stage=1, stage_count=2, linger=0, publish_on_loopback=True,
                                           metrics_bytes=1 << 20, keep_steps=3)
        self.publisher = self.endpoint.publisher
        self.client = stagewire.Client(self.endpoint.address, timeout=20)
        self.addCleanup(self.endpoint.close)
        self.addCleanup(self.client.close)

    def test_both_publishers_publish_and_say_whether_it_was_there(self):
        for publisher, channel in ((self.publisher, "here"), (self.client.publisher, "beside")):
            self.assertFalse(publisher.publish_metrics(channel, 1, {"a": 1}))
            self.assertTrue(publisher.publish_metrics(channel, 1, {"a": 1}))
            self.assertEqual(self.client.get_metrics(channel).address,
                             Address(channel, 1, 0, stage=1, group=0, generation=1, run="run"))

    def assert_raises(self, built_in, reason, code, work, **metadata):
        with self.assertRaises(built_in) as raised:
            work()
        error = raised.exception
        self.assertIsInstance(error, errors.StagewireError)
        self.assertEqual((error.reason, error.code), (reason, code))
        self.assertEqual({name: error.metadata.get(name) for name in metadata}, metadata)
        self.assertEqual(str(error), error.message)

    def test_exceptions_are_what_a_python_programmer_would_catch(self):
        get, publish = self.client.get_metrics, self.publisher.publish_metrics
        for step in range(10, 20):
            publish("train", step, {"step": step})
        self.publisher.publish_failure("train", 21, "out of memory")
        self.publisher.publish_tensors("w", 1, {"a": stagewire.RawTensor("U8", (1,), b"a")})
        publish("done", 4, {})
        self.publisher.close_channel("done")
        publish("gone", 4, {})
        self.publisher.close_channel("gone", "aborted", "why")
        other = stagewire.Client(self.endpoint.address, run_id="other")
        nobody = stagewire.Client("unix:/nonexistent/socket")
        self.addCleanup(other.close)
        self.addCleanup(nobody.close)
        for built_in, reason, code, work, metadata in (
                (TimeoutError, "NOT_YET", "DEADLINE_EXCEEDED", lambda: get("train", 30, timeout=0.05), {"latest": "21/0"}),
                (KeyError, "NOT_YET", "NOT_FOUND", lambda: get("train", 30, wait=False), {}),
                (KeyError, "SKIPPED", "NOT_FOUND", lambda: get("train", 20), {"latest": "21/0"}),
                (LookupError, "EVICTED", "OUT_OF_RANGE", lambda: get("train", 10), {}),
                (LookupError, "FINISHED", "OUT_OF_RANGE", lambda: get("done", 5), {"last": "4/0"}),
                (RuntimeError, "PUBLISHER_ABORTED", "ABORTED", lambda: get("gone", 5), {"message": "why"}),
                (RuntimeError, "STEP_FAILED", "ABORTED", lambda: get("train", 21), {"message": "out of memory"}),
                (RuntimeError, "RUN_MISMATCH", "FAILED_PRECONDITION", lambda: other.get_metrics("train", 21), {}),
                (KeyError, "NO_SUCH_TENSOR", "NOT_FOUND", lambda: self.client.get_tensors("w", 1, ["b"]), {"tensors": ["a"]}),
                (ValueError, "MALFORMED", "INVALID_ARGUMENT", lambda: get("no spaces", 1), {}),
                (ValueError, "CONFLICT", "ALREADY_EXISTS", lambda: publish("train", 19, {"step": 0}), {}),
                (RuntimeError, "STEP_WENT_BACK", "FAILED_PRECONDITION", lambda: publish("train", 15, {}, call=3), {}),
                (RuntimeError, "CHANNEL_CLOSED", "FAILED_PRECONDITION", lambda: publish("done", 5, {}), {}),
                (ValueError, "TOO_LARGE", "INVALID_ARGUMENT", lambda: publish("big", 1, {"b": bytes(5 << 20)}), {}),
                (ConnectionError, "", "UNAVAILABLE", lambda: nobody.get_metrics("train", 1, timeout=0.1), {})):
            with self.subTest(reason):
                self.assert_raises(built_in, reason, code, work, **metadata)

    def test_an_exception_comes_whole_out_of_another_process(self):
        with self.assertRaises(KeyError) as raised:
            self.client.get_metrics("train", 30, wait=False)
        rebuild, arguments = raised.exception.__reduce__()
        self.assertEqual(vars(rebuild(*arguments)), vars(raised.exception))

    def test_wrong_arguments_are_named_before_anything_is_asked(self):
        for work, words in ((lambda: stagewire.Client("a:1", connections=17), "connections is 17"),
                            (lambda: self.client.get_metrics("train", -1), "step -1"),
                            (lambda: self.client.get_metrics("train", "newest"), "'newest'"),
                            (lambda: self.client.get_metrics("train", 1, timeout=-1), "timeout"),
                            (lambda: self.client.get_metrics("tr\0ain", 1), "NUL"),
                            (lambda: self.client.get_tensors("train", 1, framework="jax"), "jax"),
                            (lambda: self.client.watch(start="now"), "now"),
                            (lambda: self.publisher.publish_metrics("train", 2**64, {}), "step"),
                            (lambda: self.publisher.close_channel("train", "lost"), "lost"),
                            (lambda: self.publisher.publish_failure("train", 1, "no", kind="metric"), "metric")):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                work()
        with self.assertRaisesRegex(TypeError, "no option 'keep_step'.*keep_steps"):
            stagewire.Endpoint("run", keep_step=1)

    def test_what_is_closed_says_so(self):
        self.client.close()
        self.client.close()
        with self.assertRaisesRegex(RuntimeError, "Client is closed"):
            self.client.get_metrics("train", 1)
        publisher = self.endpoint.publisher
        self.endpoint.close()
        with self.assertRaisesRegex(RuntimeError, "Endpoint is closed"):
            publisher.publish_metrics("train", 1, {})

    def test_an_address_that_is_taken_is_named(self):
        with self.assertRaisesRegex(ConnectionError, self.endpoint.address):
            stagewire.Endpoint("run", [self.endpoint.address])

    def test_expected_consumers_hold_a_step_until_they_release_it(self):
        with self.publisher.attach(1, 2, policies=[Policy("kept", consumers=["board"], keep_steps=1)]) as lease:
            self.assertEqual(lease.generation, 1)
            lease.check()
            for step in range(5):
                self.publisher.publish_metrics("kept", step, {})
            board = stagewire.Client(self.endpoint.address, consumer_id="board", timeout=20)
            self.addCleanup(board.close)
            self.assertEqual(board.get_metrics("kept", 0).address.step, 0)
            board.release("kept", 4, stage=1, generation=1)
            with self.assertRaises(LookupError):
                self.client.get_metrics("kept", 0)
            channel = next(c for c in self.client.info()["channels"] if c["kind"] == "metrics")
            self.assertEqual((channel["consumers"], channel["released_below"], channel["oldest"].step), (["board"], [4], 4))
            with self.assertRaises(RuntimeError) as conflict:
                self.publisher.attach(1, 2, policies=[Policy("kept", consumers=["other"])])
            self.assertEqual(conflict.exception.reason, "POLICY_CONFLICT")

    def test_a_newer_generation_supersedes(self):
        with self.publisher.attach(1, 2) as old, self.publisher.attach(1, 2, generation=2):
            with self.assertRaises(RuntimeError) as stale:
                old.check()
            self.assertEqual(stale.exception.reason, "STALE_GENERATION")
            with self.assertRaises(RuntimeError) as superseded:
                self.client.get_metrics("train", 1, generation=1)
            self.assertEqual((superseded.exception.reason, superseded.exception.metadata["generation"]), ("SUPERSEDED", "2"))

    def test_a_watch_tells_of_everything_in_order(self):
        for step in range(5):
            self.publisher.publish_metrics("train/a", step, {"step": step})
        with self.client.watch("train/*", stage=1, start=[Address("train/a", 0, stage=1, generation=1)]) as watch:
            seen = [watch.next(timeout=20) for _ in range(4)]  # a watch holds nothing: step 7 makes room by letting step 2 go
            self.publisher.publish_failure("train/a", 7, "why not")
            self.publisher.publish_metrics("other", 1, {})
            self.publisher.close_channel("train/a", "aborted", "enough")
            seen += [watch.next(timeout=20) for _ in range(2)]
            self.assertEqual([(event.type, event.address.step) for event in seen],
                             [("gap", 0), ("published", 2), ("published", 3), ("published", 4), ("failed", 7), ("closed", 7)])
            self.assertEqual(seen[0].next.step, 2)
            self.assertEqual(seen[1].metrics, {"step": 2})
            self.assertEqual((seen[5].reason, seen[5].message, seen[5].has_last), ("aborted", "enough", True))
            with self.assertRaises(TimeoutError):
                watch.next(timeout=0.01)
            with self.publisher.attach(1, 2, generation=2):
                event = next(watch)
                self.assertEqual((event.type, event.generation), ("generation", 2))
        self.assertEqual(list(watch), [], "one that is closed is over")

    def test_draining_serves_what_is_held_and_refuses_the_rest(self):
        self.publisher.publish_metrics("train", 1, {"loss": 0.5})
        self.endpoint.drain()
        self.assertEqual(self.client.get_metrics("train", 1).value, {"loss": 0.5})
        with self.assertRaises(ConnectionError) as refused:
            self.publisher.publish_metrics("train", 2, {})
        self.assertEqual(refused.exception.reason, "SHUTTING_DOWN")
        self.endpoint.wait_drained(20)


class Killed(unittest.TestCase):
    def test_a_killed_trainers_lease_breaks_although_a_forked_child_holds_its_socket(self):
        """Nobody closes the connection: that pings stay unanswered ends it."""
        with tempfile.TemporaryDirectory() as folder, stagewire.Endpoint(
                "run", [f"unix:{folder}/socket"], linger=0, publisher_grace=0.1) as endpoint:
            trainer = subprocess.Popen([sys.executable, "-c", f"""
import os, signal, stagewire
client = stagewire.Client({endpoint.address!r})
lease = client.publisher.attach(0, 1)
if os.fork() > 0:
    print("attached", flush=True)
signal.pause()
"""], stdout=subprocess.PIPE, start_new_session=True)
            self.addCleanup(os.killpg, trainer.pid, signal.SIGKILL)
            with trainer.stdout:
                trainer.stdout.readline()
            trainer.kill()
            trainer.wait()
            with stagewire.Client(endpoint.address) as other, self.assertRaises(RuntimeError) as lost:
                begun = time.monotonic()
                other.get_metrics("train", 1, timeout=60)
            self.assertEqual(lost.exception.reason, "PUBLISHER_LOST")
            self.assertLess(time.monotonic() - begun, 40)


if __name__ == "__main__":
    unittest.main()
