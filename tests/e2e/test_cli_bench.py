"""stagewire bench: what it measures of a daemon, what it leaves there, and how it ends."""
import contextlib
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
import unittest

import command
import fakes
import stage
from stage import pb

MIB = 1 << 20
BLOCK = 524288
SHORT = ("--duration", "600ms")
LONG = ("--duration", "5m")


def tensors(channel, step, *sizes):
    """A step of tensors of zeros, t0, t1 and so on."""
    infos = [pb.TensorInfo(name=f"t{i}", dtype=pb.DATA_TYPE_U8, shape=[size], byte_length=size)
             for i, size in enumerate(sizes)]
    yield pb.PublishTensorsRequest(
        manifest=pb.TensorManifest(address=stage.address(channel, step), tensors=infos, block_bytes=BLOCK))
    for i, size in enumerate(sizes):
        for block, start in enumerate(range(0, size, BLOCK)):
            data = bytes(min(BLOCK, size - start))
            yield pb.PublishTensorsRequest(chunk=pb.TensorChunk(tensor=i, block=block, data=data))


class Sluggish(fakes.Peer):
    """Passes on what a client and an endpoint say, but holds the first answer of so many bytes back for some time."""
    SMALL = 8192  # bytes: no answer to a small call is longer
    SECONDS = 0.4

    def __init__(self, target, beyond=SMALL):
        self.target, self.beyond, self.is_held_back = target, beyond, True
        super().__init__(self.relay)

    def relay(self, client):
        host, port = self.target.split(":")
        with socket.create_connection((host, int(port))) as endpoint:
            asking = threading.Thread(target=self.ask, args=(client, endpoint))
            asking.start()
            while said := endpoint.recv(65536):
                if len(said) > self.beyond and self.is_held_back:
                    self.is_held_back = False
                    time.sleep(self.SECONDS)
                client.sendall(said)
            asking.join()

    @staticmethod
    def ask(client, endpoint):
        with contextlib.suppress(OSError):  # whoever has measured enough closes in the middle of a stream
            while asked := client.recv(65536):
                endpoint.sendall(asked)
            endpoint.shutdown(socket.SHUT_WR)


class Bench(unittest.TestCase):
    def daemon(self, *args, **more):
        daemon = stage.Daemon(*args, **more)
        self.addCleanup(daemon.close)
        return daemon

    def with_socket(self):
        """A daemon, and its Unix socket's name."""
        folder = tempfile.mkdtemp(prefix="stagewire-bench-")
        self.addCleanup(shutil.rmtree, folder)
        name = "unix:" + os.path.join(folder, "socket")
        return self.daemon("--listen", name), name

    def put(self, daemon, channel, step, *sizes):
        daemon.publisher.PublishTensors(tensors(channel, step, *sizes), timeout=60)

    def bench(self, endpoint, *args, expect=0):
        code, out, err = command.run("bench", endpoint, "--json", *SHORT, *args)
        self.assertEqual((code, err), (expect, ""), out)
        result, = command.lines(out)
        self.assertEqual((result["endpoint"], result["complete"]), (endpoint, expect == 0))
        return result

    def failed(self, *args, expect):
        code, out, err = command.run("bench", *args)
        self.assertEqual(code, expect, out + err)
        return err

    def start(self, *args):
        process = command.start("bench", *args)
        self.addCleanup(command.end, process)
        return process

    def until_it_pulls(self, process, daemon):
        while info(daemon).load.streams == 0:
            self.assertIsNone(process.poll(), "it ended, and was never seen to pull")

    def check_rows(self, result):
        for row in result["rows"]:
            if row["count"]:
                self.assertLess(0, row["p50_s"])
                self.assertLessEqual(row["p50_s"], row["p99_s"])
            if row["what"] in ("pull", "publish", "raw stream"):
                self.assertLess(0, row["bytes_per_s"], row)
            self.assertLess(0, row["cores"])
        return [(row["what"], row["bytes"], row["connections"]) for row in result["rows"]]


def info(daemon):
    return daemon.stage.GetStageInfo(pb.GetStageInfoRequest(), timeout=10)


class WhatItMeasures(Bench):
    def test_calls_then_pulls_by_size_and_by_connections(self):
        daemon = self.daemon()
        self.put(daemon, "few", 1, 5)
        self.put(daemon, "most", 7, MIB, 2 * MIB, 16 * MIB)
        result = self.bench(daemon.targets[0], "--connections", "2")
        self.assertEqual(self.check_rows(result), [
            ("call", 0, 1), ("pull", MIB, 1), ("pull", 3 * MIB, 1), ("pull", 19 * MIB, 1), ("pull", 19 * MIB, 2)])
        self.assertEqual((result["link"], result["same_machine"], result["passes_memory"]), ("tcp", True, False))
        self.assertEqual((result["channel"], result["not_streamed"], result["part_of_raw"]), ("most", None, None))
        self.assertIn("--listen unix:", result["advice"][0]["change"])
        self.assertIn("both ends are on this machine", result["advice"][0]["reason"])

    def test_no_more_than_size_is_pulled_at_a_time(self):
        daemon = self.daemon()
        self.put(daemon, "t", 1, 3 * MIB, MIB)
        result = self.bench(daemon.targets[0], "--size", "2", "--connections", "1")
        self.assertEqual(self.check_rows(result), [("call", 0, 1), ("pull", MIB, 1)])
        self.put(daemon, "t", 2, 3 * MIB)
        result = self.bench(daemon.targets[0], "--size", "2")
        self.assertEqual(self.check_rows(result), [("call", 0, 1)])
        self.assertIn("larger than --size", result["not_streamed"])

    def test_a_pull_that_brings_nothing_within_its_share_is_waited_for(self):
        daemon = self.daemon()
        self.put(daemon, "t", 1, MIB)
        link = Sluggish(daemon.targets[0])
        self.addCleanup(link.stop)
        result = self.bench(link.endpoint, "--duration", "1ms", "--connections", "1")
        self.assertEqual(self.check_rows(result), [("call", 0, 1), ("pull", MIB, 1)])
        self.assertFalse(link.is_held_back)

    def test_for_people_a_line_a_row_and_each_advice_with_its_reason(self):
        daemon = self.daemon()
        self.put(daemon, "t", 1, 2 * MIB)
        code, out, err = command.run("bench", daemon.targets[0], *SHORT)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"(?m)^call +- +1 +\d+ +[\d.]+ ms +[\d.]+ ms +- +[\d.]+$")
        self.assertRegex(out, r"(?m)^pull +2\.0 MiB +4 +\d+ .* \d+ MB/s +[\d.]+$")
        self.assertEqual(out.count("change  "), out.count("   why  "))
        self.assertNotIn("\033", out)

    def test_tensors_of_its_own_go_over_a_unix_socket_as_memory_and_leave(self):
        daemon, name = self.with_socket()
        for _ in range(2):  # its steps go on where they were
            result = self.bench(name, "--publish", "--size", "4", "--connections", "1")
            self.assertEqual(self.check_rows(result), [
                ("call", 0, 1), ("publish", 4 * MIB, 1), ("pull", MIB, 1), ("pull", 4 * MIB, 1)])
            self.assertEqual((result["channel"], result["link"]), ("stagewire.bench", "unix"))
            self.assertTrue(result["passes_memory"])
            self.assertEqual(info(daemon).held_bytes, 0)

    def test_a_bare_socket_between_the_same_ends(self):
        daemon = self.daemon()
        self.put(daemon, "t", 1, MIB)
        other = self.start("--serve")
        address = other.stdout.readline().strip()
        self.assertRegex(address, r"^127\.0\.0\.1:\d+$")
        result = self.bench(daemon.targets[0], "--connections", "1", "--raw", address)
        self.assertEqual(self.check_rows(result), [
            ("call", 0, 1), ("pull", MIB, 1), ("raw call", 0, 1), ("raw stream", 0, 1)])
        pull, raw = result["rows"][1]["bytes_per_s"], result["rows"][3]["bytes_per_s"]
        self.assertAlmostEqual(result["part_of_raw"], pull / raw)
        other.send_signal(signal.SIGINT)
        self.assertEqual(other.wait(60), 130)

    def test_a_bare_socket_whose_first_answer_takes_longer_than_a_rows_share(self):
        daemon = self.daemon()
        for beyond in (0, Sluggish.SMALL):
            other = self.start("--serve")
            slow = Sluggish(other.stdout.readline().strip(), beyond)
            self.addCleanup(slow.stop)
            result = self.bench(daemon.targets[0], "--duration", "1ms", "--raw", slow.endpoint)
            self.assertEqual(self.check_rows(result), [("call", 0, 1), ("raw call", 0, 1), ("raw stream", 0, 1)])
            self.assertFalse(slow.is_held_back)
            other.send_signal(signal.SIGINT)
            self.assertEqual(other.wait(60), 130)

    def test_the_other_end_of_a_bare_socket_ends_by_itself(self):
        code, out, err = command.run("bench", "--serve", "[::1]:0" if socket.has_ipv6 else "127.0.0.1:0",
                                     "--duration", "50ms")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r":\d+$")


class WhatItLeaves(Bench):
    def test_where_nothing_is_held_it_says_how_to_get_something_and_publishes_nothing(self):
        daemon = self.daemon()
        result = self.bench(daemon.targets[0])
        self.assertEqual(self.check_rows(result), [("call", 0, 1)])
        self.assertIn("--publish", result["not_streamed"])
        self.assertEqual((result["channel"], info(daemon).generation, len(info(daemon).channels)), (None, 0, 0))

    def test_nothing_is_released_and_no_consumer_appears(self):
        daemon = self.daemon()
        self.put(daemon, "t", 1, MIB)
        before = list(info(daemon).channels)
        self.bench(daemon.targets[0])
        self.assertEqual(list(info(daemon).channels), before)

    def test_no_step_of_the_job_is_pushed_out_to_make_room(self):
        daemon = self.daemon("--store-bytes", "8m")
        self.put(daemon, "t", 1, 3 * MIB)
        err = self.failed(daemon.targets[0], "--publish", "--size", "3", *SHORT, expect=9)
        self.assertIn("no room", err)
        self.assertEqual([channel.latest.channel for channel in info(daemon).channels], ["t"])

    def test_who_may_not_publish_is_told(self):
        daemon = self.daemon(publish_on_loopback=False)
        err = self.failed(daemon.targets[0], "--publish", "--size", "1", *SHORT, expect=6)
        self.assertIn("[", err)


class HowItEnds(Bench):
    def test_an_interrupt_shows_what_was_measured_until_then(self):
        daemon = self.daemon()
        self.put(daemon, "t", 1, 16 * MIB)
        process = self.start(daemon.targets[0], "--json", "--duration", "12s")
        self.until_it_pulls(process, daemon)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, err), (130, ""))
        result = command.strict(out)
        self.assertFalse(result["complete"])
        self.assertEqual([row["what"] for row in result["rows"]][:2], ["call", "pull"])

    def test_sigterm_ends_small_calls_as_well(self):
        daemon = self.daemon()
        process = self.start(daemon.targets[0], *LONG)
        while not process.stdout.readline().startswith("what"):
            pass
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 130)

    def test_an_endpoint_that_goes_away_ends_it(self):
        daemon = self.daemon()
        self.put(daemon, "t", 1, MIB)
        process = self.start(daemon.targets[0], *LONG)
        while not process.stdout.readline().startswith("what"):
            pass
        daemon.process.kill()
        _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 5)
        self.assertIn(daemon.targets[0], err)

    def test_an_endpoint_that_goes_away_while_tensors_come_ends_it(self):
        daemon = self.daemon()
        self.put(daemon, "t", 1, 16 * MIB)
        process = self.start(daemon.targets[0], "--duration", "4s", "--connections", "1")
        self.until_it_pulls(process, daemon)
        daemon.process.kill()
        _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 5, err)
        self.assertIn(daemon.targets[0], err)

    def test_nobody_there(self):
        self.failed("unix:/nonexistent/stagewire.sock", "--timeout", "300ms", expect=5)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            daemon = self.daemon()
            err = self.failed(daemon.targets[0], *SHORT, "--raw", "127.0.0.1:%d" % probe.getsockname()[1], expect=5)
            self.assertIn("bench --serve", err)

    def test_wrong_words(self):
        for words, said in (
                ((), "ENDPOINT is missing"), (("a:1", "b"), "one argument too many"), (("a",), "HOST:PORT"),
                (("a:1", "--duration", "5"), "--duration '5'"), (("a:1", "--size", "0"), "--size '0'"),
                (("a:1", "--connections", "17"), "--connections '17'"), (("--serve", "--publish"), "--serve"),
                (("--serve", "nowhere"), "HOST:PORT"), (("a:1", "--publsh"), "did you mean '--publish'")):
            self.assertIn(said, self.failed(*words, expect=2))


if __name__ == "__main__":
    unittest.main()
