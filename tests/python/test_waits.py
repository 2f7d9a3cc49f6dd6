"""Ctrl-C, forks, other threads, asyncio, and an interpreter that exits: no wait outlives its purpose."""
import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import stagewire

AT_ONCE = 2.0  # seconds; a wait asks for signals every 50 ms


class Interrupted(Exception):
    pass


def interrupts_after(seconds, handler=None):
    """SIGALRM in a moment, which a wait meets, and nobody else."""
    def raises(*_):
        raise Interrupted
    signal.signal(signal.SIGALRM, handler or raises)
    signal.setitimer(signal.ITIMER_REAL, seconds)


class Waits(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.endpoint = stagewire.Endpoint("run", [f"unix:{self.folder.name}/socket"], stage=1, stage_count=2, linger=0,
                                           store_bytes=1 << 20)
        self.client = stagewire.Client(self.endpoint.address)
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(self.endpoint.close)
        self.addCleanup(self.client.close)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)

    def assert_interrupted(self, wait):
        interrupts_after(0.1)
        begun = time.monotonic()
        with self.assertRaises(Interrupted):
            wait()
        self.assertLess(time.monotonic() - begun, AT_ONCE)

    def test_a_signal_ends_every_wait_at_once(self):
        nowhere = stagewire.Client("unix:/nonexistent/socket")
        self.addCleanup(nowhere.close)
        filler = {"t": stagewire.RawTensor("U8", (600_000,), bytearray(600_000))}
        lagging = stagewire.Policy("full", "tensors", consumers=["nobody"])
        with self.endpoint.publisher.attach(1, 2, policies=[lagging]):
            self.endpoint.publisher.publish_tensors("full", 1, filler)
            with self.client.watch() as watch:
                for name, wait in {
                    "metrics": lambda: self.client.get_metrics("none", 1),
                    "tensors": lambda: self.client.get_tensors("none", 1),
                    "exchange": lambda: self.client.exchange("none", 1, 1, stage=0, stage_count=2),
                    "watch": lambda: next(watch),
                    "opening a watch": lambda: nowhere.watch(),
                    "attach": lambda: nowhere.publisher.attach(0, 1),
                    "info": lambda: nowhere.info(),
                    "publish": lambda: nowhere.publisher.publish_metrics("c", 1, {}),
                    "a full store in the process": lambda: self.endpoint.publisher.publish_tensors("full", 2, filler),
                    "a full store beside it": lambda: self.client.publisher.publish_tensors("full", 2, filler),
                }.items():
                    with self.subTest(name):
                        self.assert_interrupted(wait)

    def test_a_wait_goes_on_where_a_handler_raises_nothing(self):
        handled = []
        interrupts_after(0.1, lambda *_: handled.append(time.monotonic()))
        begun = time.monotonic()
        with self.assertRaises(TimeoutError):
            self.client.get_metrics("none", 1, timeout=0.5)
        self.assertEqual(len(handled), 1)
        self.assertLess(handled[0] - begun, 0.45, "the handler runs while the call waits")

    def test_control_c_ends_a_program_that_pulls(self):
        program = subprocess.Popen([sys.executable, "-c", f"""
import stagewire
client = stagewire.Client({self.endpoint.address!r})
print("pulls", flush=True)
client.get_metrics("none", 1)
"""], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        program.stdout.readline()
        while self.client.info()["waiting"] == 0:
            pass
        begun = time.monotonic()
        program.send_signal(signal.SIGINT)
        _, words = program.communicate(timeout=30)
        self.assertLess(time.monotonic() - begun, AT_ONCE)
        self.assertIn("KeyboardInterrupt", words)
        self.assertEqual(program.returncode, -signal.SIGINT)

    def test_a_thread_waits_while_others_run(self):
        found = []
        puller = threading.Thread(target=lambda: found.append(self.client.get_metrics("late", 1, timeout=30).value))
        puller.start()
        while self.client.info()["waiting"] == 0:
            pass
        self.endpoint.publisher.publish_metrics("late", 1, {"loss": 0.5})
        puller.join()
        self.assertEqual(found, [{"loss": 0.5}])


class Asyncio(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.endpoint = stagewire.Endpoint("run", stage=1, stage_count=2, linger=0)
        self.client = stagewire.Client(self.endpoint.address)
        self.addCleanup(self.endpoint.close)
        self.addCleanup(self.client.close)

    async def test_pulls_wait_beside_each_other(self):
        pulls = [asyncio.ensure_future(self.client.get_metrics_async("train", step, timeout=30)) for step in range(50)]
        tensors = asyncio.ensure_future(self.client.get_tensors_async("train", 0, timeout=30, framework="raw"))
        await asyncio.sleep(0)
        self.endpoint.publisher.publish_tensors("train", 0, {"t": stagewire.RawTensor("U8", (2,), b"ab")})
        for step in range(50):
            self.endpoint.publisher.publish_metrics("train", step, {"step": step})
        self.assertEqual([(await pull).value for pull in pulls], [{"step": step} for step in range(50)])
        self.assertEqual(bytes((await tensors).value["t"].data), b"ab")

    async def test_a_meeting_of_all_stages(self):
        words = [self.client.exchange_async("objects", 0, "mine", stage=stage, stage_count=2, present=stage == 1, timeout=30)
                 for stage in range(2)]
        for met in await asyncio.gather(*words):
            self.assertEqual((met.owners, met.value), ([1], "mine"))

    async def test_cancelling_a_task_ends_its_pull(self):
        pull = asyncio.ensure_future(self.client.get_metrics_async("none", 1))
        while self.client.info()["waiting"] == 0:
            await asyncio.sleep(0)
        pull.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await pull
        while self.client.info()["waiting"] > 0:
            await asyncio.sleep(0)

    async def test_errors_come_as_without_asyncio(self):
        with self.assertRaises(KeyError) as raised:
            await self.client.get_metrics_async("none", 1, wait=False)
        self.assertEqual(raised.exception.reason, "NOT_YET")

    async def test_a_watch_is_iterated_over(self):
        self.endpoint.publisher.publish_metrics("train", 1, {"loss": 0.5})
        async with self.client.watch("train", start="oldest") as watch:
            self.assertEqual((await watch.__anext__()).metrics, {"loss": 0.5})
            self.endpoint.publisher.publish_failure("train", 2, "no")
            async for event in watch:
                self.assertEqual((event.type, event.address.step, event.message), ("failed", 2, "no"))
                break


def in_child(work):
    """What a forked child says, or raises."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            words = repr(work())
        except BaseException as error:
            words = f"{type(error).__name__} {error}"
        os.write(writer, words.encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as said:
        words = said.read()
    os.waitpid(child, 0)
    return words


def pull_in_spawned(address, step):
    with stagewire.Client(address) as client:
        return client.get_metrics("train", step, timeout=30).value


class Forks(unittest.TestCase):
    def test_a_forked_child_works_on_and_is_told_if_it_calls(self):
        with stagewire.Endpoint("run", linger=0) as endpoint, stagewire.Client(endpoint.address) as client:
            lease = endpoint.publisher.attach(0, 1)
            self.assertEqual(in_child(lambda: 1 + 1), "2")
            for work in (lambda: client.get_metrics("train", 1), lambda: client.watch(), lambda: lease.check(),
                         lambda: endpoint.publisher.publish_metrics("train", 1, {})):
                self.assertRegex(in_child(work), "FailedPrecondition .*fork")
            self.assertEqual(in_child(lambda: (client.close(), endpoint.close())), "(None, None)")
            endpoint.publisher.publish_metrics("train", 1, {"loss": 0.5})
            self.assertEqual(client.get_metrics("train", 1, timeout=30).value, {"loss": 0.5})

    def test_a_spawned_child_pulls_for_itself(self):
        with stagewire.Endpoint("run", linger=0) as endpoint:
            endpoint.publisher.publish_metrics("train", 1, {"loss": 0.5})
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                self.assertEqual(pool.apply(pull_in_spawned, (endpoint.address, 1)), {"loss": 0.5})


class Exit(unittest.TestCase):
    def run_to_its_end(self, program):
        result = subprocess.run([sys.executable, "-X", "faulthandler", "-c", program], timeout=60, text=True,
                                capture_output=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def test_an_interpreter_exits_with_everything_open(self):
        self.run_to_its_end("""
import stagewire
endpoint = stagewire.Endpoint("run", linger=0)
client = stagewire.Client(endpoint.address)
lease = endpoint.publisher.attach(0, 1)
watch = client.watch()
endpoint.publisher.publish_tensors("t", 1, {"t": stagewire.RawTensor("U8", (1000,), bytearray(1000))}, borrow=True)
kept = client.get_tensors("t", 1)
""")

    def test_an_interpreter_exits_with_pulls_in_flight(self):
        for _ in range(5):
            self.run_to_its_end("""
import asyncio, threading, stagewire
endpoint = stagewire.Endpoint("run", linger=0)
client = stagewire.Client(endpoint.address)
for step in range(8):
    threading.Thread(target=client.get_metrics, args=("none", step), daemon=True).start()
async def pull():
    asyncio.ensure_future(client.get_metrics_async("none", 1))
    while client.info()["waiting"] < 9:
        await asyncio.sleep(0)
    raise SystemExit(0)
asyncio.run(pull())
""")


if __name__ == "__main__":
    unittest.main()
