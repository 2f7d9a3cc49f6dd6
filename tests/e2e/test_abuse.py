"""Who means harm, or is broken: the daemon serves another client meanwhile, and afterwards it is as it was."""
import contextlib
import os
import random
import resource
import select
import socket
import ssl
import tempfile
import threading
import time
import unittest

import grpc

import certs
import h2
import stage
from stage import pb, reason, rpc

GET_INFO = "/stagewire.v1.StageService/GetStageInfo"
GET_METRICS = "/stagewire.v1.StageService/GetLossMetrics"
STREAM_TENSORS = "/stagewire.v1.StageService/StreamTensors"
EXCHANGE = "/stagewire.v1.StageService/ExchangeObject"

# tests/long/abuse asks for the whole of it.
HEAVY = os.environ.get("STAGEWIRE_HEAVY") == "1"
MEMORY_MIB = 12
DEADLINE = 60 if HEAVY else 30  # a sanitized daemon on a busy machine takes its time


class Other(threading.Thread):
    """A client that means no harm: asks all the time, and notes when it was not answered."""

    def __init__(self, endpoint):
        super().__init__()
        self.endpoint, self.going = endpoint, True
        self.answers, self.failures, self.slowest = 0, [], 0.0

    def run(self):
        request = pb.GetLossMetricsRequest(address=stage.address("train", 1))
        while self.going:
            begin = time.monotonic()
            try:
                self.endpoint.GetLossMetrics(request, timeout=DEADLINE)
                self.answers += 1
                self.slowest = max(self.slowest, time.monotonic() - begin)
            except grpc.RpcError as error:
                self.failures.append(f"{error.code()}: {error.details()}")
                return


class Abused(unittest.TestCase):
    """A daemon on loopback, where harm comes from, and on a Unix socket, where the others are."""
    arguments = ()
    descriptors_allowed = None
    context = None  # of TLS

    def setUp(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.start()
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)

    def start(self):
        folder = tempfile.TemporaryDirectory(prefix="stagewire-abuse-")
        self.addCleanup(folder.cleanup)
        self.daemon = stage.Daemon("--listen", f"unix:{folder.name}/s", "--handshake-timeout", "500ms",
                                   *self.arguments, descriptors=self.descriptors_allowed)
        self.addCleanup(self.daemon.close)
        self.target, self.pid = self.daemon.targets[0], self.daemon.process.pid
        channel = grpc.insecure_channel(self.daemon.targets[1], options=[("grpc.use_local_subchannel_pool", 1)])
        self.addCleanup(channel.close)
        self.beside, self.publisher = rpc.StageServiceStub(channel), rpc.PublisherServiceStub(channel)
        self.publisher.PublishLossMetrics(pb.PublishLossMetricsRequest(
            address=stage.address("train", 1), metrics=stage.metrics(v=1)), timeout=10)
        self.be_there_before()

    def be_there_before(self):
        """So that the connection of this client is counted as before."""
        self.daemon.stage.GetStageInfo(pb.GetStageInfoRequest(), timeout=10)

    # ---- what the daemon shows ----

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def status(self, name):
        with open(f"/proc/{self.pid}/status") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith(name))

    def is_sanitized(self):
        with open(f"/proc/{self.pid}/maps") as maps:
            text = maps.read()
        return "libasan" in text or "libtsan" in text

    def open_calls(self):
        return self.beside.GetStageInfo(pb.GetStageInfoRequest(), timeout=DEADLINE).load.open_calls

    def wait_until(self, reached, what=None):
        end = time.monotonic() + 6 * DEADLINE
        while not reached():
            self.assertLess(time.monotonic(), end, what and what())

    def settle(self, descriptors):
        """(threads, KiB of memory) once only the other client is left."""
        self.wait_until(lambda: self.open_calls() <= 2 and self.descriptors() <= descriptors,
                        lambda: f"{self.open_calls()} calls and {self.descriptors()} descriptors are left, of "
                                f"{descriptors} before")
        return self.status("Threads"), self.status("VmRSS")

    def survives(self, wave):
        """Twice: what the first needed may be kept, and the second must find it again."""
        other = Other(self.beside)
        before = self.descriptors()
        other.start()
        try:
            wave()
            threads, memory = self.settle(before)
            answers = other.answers
            wave()
            threads_after, memory_after = self.settle(before)
        finally:
            other.going = False
            other.join()
        if HEAVY:
            print(f"{other.answers} answers meanwhile, the slowest after {other.slowest:.3f} s")
        self.assertEqual(other.failures, [])
        self.assertGreater(other.answers, answers, "nobody else was served")
        self.assertIsNone(self.daemon.process.poll())
        self.assertLessEqual(threads_after, threads + 4, "threads")
        if not self.is_sanitized():
            self.assertLess(memory_after, memory + MEMORY_MIB * 1024, "KiB of memory")

    def connect(self, **more):
        return self.stack.enter_context(contextlib.closing(h2.connect(self.target, context=self.context, **more)))

    def leave(self):
        self.stack.close()

    def pull_of(self, channel, step):
        return pb.GetLossMetricsRequest(address=stage.address(channel, step)).SerializeToString()


class Abuse(Abused):

    def test_garbage(self):
        def wave():
            dice = random.Random(7)
            for _ in range(60):
                connection = self.connect(greet=dice.random() < 0.5)
                with contextlib.suppress(OSError):
                    connection.sendall(dice.randbytes(dice.randrange(1, 40000)))
                    connection.shutdown(socket.SHUT_WR)
                h2.drain(connection)
        self.survives(wave)

    def test_one_that_stops_in_the_handshake_is_closed_in_time(self):
        def wave():
            connections = []
            for said in (b"", b"PRI * HT", h2.PREFACE) * 30:
                connections.append(self.connect(greet=False))
                connections[-1].sendall(said)
            for connection in connections:
                h2.drain(connection)
        self.survives(wave)

    def test_streams_that_are_reset_as_soon_as_they_are_opened(self):
        streams = 100000 if HEAVY else 6000
        before = self.status("VmRSS")

        def wave():
            connection = self.connect()
            reader = threading.Thread(target=h2.drain, args=(connection.dup(),))
            reader.start()
            with contextlib.suppress(OSError):
                for first in range(0, streams, 200):
                    connection.sendall(b"".join(
                        h2.call(2 * i + 1, GET_METRICS, self.pull_of("later", 1)) +
                        h2.frame(h2.RST_STREAM, 0, 2 * i + 1, b"\0\0\0\x08") for i in range(first, first + 200)))
                connection.shutdown(socket.SHUT_WR)
            reader.join()
            connection.close()
        self.survives(wave)
        if not self.is_sanitized():
            self.assertLess(self.status("VmHWM"), before + 40 * 1024, "KiB at most, however many streams there are")

    def publish_big(self):
        at, size = stage.address("big", 1), 32 << 20
        info = pb.TensorInfo(name="t", dtype=pb.DATA_TYPE_U8, shape=[size], byte_length=size)

        def parts():
            yield pb.PublishTensorsRequest(manifest=pb.TensorManifest(address=at, tensors=[info]))
            for block in range(size >> 19):
                yield pb.PublishTensorsRequest(chunk=pb.TensorChunk(block=block, data=bytes(1 << 19)))
        self.publisher.PublishTensors(parts(), timeout=60)
        return pb.StreamTensorsRequest(address=at).SerializeToString()

    def test_one_that_never_reads(self):
        request = self.publish_big()

        def wave():
            for _ in range(30):
                connection = self.connect(settings=h2.setting(h2.INITIAL_WINDOW, 2**31 - 1))
                connection.sendall(h2.frame(h2.WINDOW_UPDATE, 0, 0, (2**31 - 1 - 65535).to_bytes(4, "big")))
                for stream in range(1, 11, 2):
                    connection.sendall(h2.call(stream, STREAM_TENSORS, request))
            self.wait_until(lambda: self.open_calls() >= 30)
            self.leave()
        self.survives(wave)

    def test_a_nesting_bomb(self):
        value = b""
        for _ in range(3000):
            value = b"\x42" + self.varint(len(value) + 1 + len(self.varint(len(value)))) + \
                b"\x0a" + self.varint(len(value)) + value
        bomb = pb.ExchangeObjectRequest(address=stage.address("o", 1, stage=0), stage_count=2, present=True,
                                        wait=pb.Wait(no_wait=True)).SerializeToString()
        bomb += b"\x22" + self.varint(len(value)) + value
        ask = self.daemon.channel.unary_unary(EXCHANGE, request_serializer=None, response_deserializer=None)

        def wave():
            for _ in range(10):
                with self.assertRaises(grpc.RpcError) as caught:
                    ask(bomb, timeout=10)
                self.assertEqual(reason(caught.exception)[0], "MALFORMED", caught.exception)
        self.survives(wave)

    def varint(self, number):
        out = b""
        while number >= 128:
            out += bytes([number % 128 + 128])
            number //= 128
        return out + bytes([number])

    def test_headers_of_4_mib(self):
        def wave():
            for _ in range(5):
                connection = self.connect()
                reader = threading.Thread(target=h2.drain, args=(connection.dup(),))
                reader.start()
                with contextlib.suppress(OSError):
                    connection.sendall(h2.frame(h2.HEADERS, 0, 1, h2.request_headers(GET_INFO)))
                    for i in range(256):
                        connection.sendall(h2.frame(h2.CONTINUATION, 0, 1, h2.header(f"x-{i}", b"x" * 16000)))
                    connection.sendall(h2.frame(h2.CONTINUATION, h2.END_HEADERS, 1, h2.header("x", "y")))
                    connection.shutdown(socket.SHUT_WR)
                reader.join()
                connection.close()
        self.survives(wave)

    def test_headers_that_are_too_long_are_refused_and_the_client_can_go_on(self):
        ask = self.daemon.stage.GetStageInfo
        with self.assertRaises(grpc.RpcError) as caught:
            ask(pb.GetStageInfoRequest(), timeout=10, metadata=(("x-long", "x" * 20000),))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.wait_until(self.answers)

    def answers(self):
        """The connection goes, and a call that was begun on it."""
        try:
            return self.daemon.stage.GetStageInfo(pb.GetStageInfoRequest(), timeout=10, wait_for_ready=True)
        except grpc.RpcError as error:
            self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE)
            return None

    def test_pings_a_second_apart_are_answered_all(self):
        connection = self.connect()
        frames = h2.read_frames(connection)
        for number in range(6):
            ping = number.to_bytes(8, "big")
            connection.sendall(h2.frame(h2.PING, payload=ping))
            kind, said = next((kind, said) for kind, _, said in frames if kind in (h2.PING, h2.GOAWAY))
            self.assertEqual((kind, said), (h2.PING, ping))
            self.assertEqual(select.select([connection], [], [], 1.1)[0], [], "more than an answer")

    def test_a_flood_of_pings(self):
        def wave():
            connection = self.connect()
            with contextlib.suppress(OSError):
                connection.sendall(h2.frame(h2.PING, payload=bytes(8)) * 1000)
            last = [said for kind, _, said in h2.read_frames(connection) if kind == h2.GOAWAY]
            self.assertIn(b"too_many_pings", last[-1])
        self.survives(wave)

    def test_an_unknown_method(self):
        ask = self.daemon.channel.unary_unary("/stagewire.v1.StageService/Nothing", None, None)

        def wave():
            for _ in range(100):
                with self.assertRaises(grpc.RpcError) as caught:
                    ask(b"", timeout=10)
                self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
        self.survives(wave)


class WrongHeaders(Abused):
    """CVE-2023-1428: one of these, and some gRPCs ended once all headers together were too long."""
    WRONG = ({"te": "x"}, {"scheme": "x"}, {"more": h2.header("grpclb_client_stats", "x")},
             {"te": "x", "scheme": "x", "more": h2.header("grpclb_client_stats", "x")})

    def outcome(self, **headers):
        """The kind of frame that such a call is answered with; None: its connection ended."""
        connection = self.connect()
        connection.sendall(h2.headers(1, h2.request_headers(GET_INFO, **headers)))
        return next((kind for kind, stream, _ in h2.read_frames(connection) if stream == 1 or kind == h2.GOAWAY), None)

    def test_one_that_is_wrong_among_too_many(self):
        self.assertEqual(self.outcome(), h2.HEADERS)

        def wave():
            for wrong in self.WRONG:
                for size in (0, 9000, 15000, 40000):
                    long = {**wrong, "more": wrong.get("more", b"") + h2.header("x-long", b"x" * size)}
                    self.assertEqual(self.outcome(**long), h2.HEADERS, f"{wrong}, {size} bytes more")
            self.leave()
        self.survives(wave)


class WrongHeadersOverTls(WrongHeaders):
    @classmethod
    def setUpClass(cls):
        cls.certificates = certs.Folder("--stages", "1")
        cls.addClassCleanup(cls.certificates.close)
        cls.arguments = cls.certificates.pair("stage-0")
        cls.context = ssl.create_default_context(cafile=cls.certificates("ca.pem"))
        cls.context.check_hostname = False
        cls.context.set_alpn_protocols(["h2"])
        cls.context.load_cert_chain(cls.certificates("watcher.pem"), cls.certificates("watcher.key"))

    def be_there_before(self):
        """Every connection is by hand."""


class Calls(Abused):
    """Without an acknowledgement gRPC does not hold a client to its concurrent streams."""
    arguments = ("--max-calls", "300")

    def test_one_that_never_acknowledges_settings(self):
        def wave():
            connection = self.connect()
            reader = threading.Thread(target=h2.drain, args=(connection.dup(),))
            reader.start()
            for stream in range(1, 4000, 2):
                connection.sendall(h2.call(stream, GET_METRICS, self.pull_of("later", 1)))
            self.wait_until(lambda: self.open_calls() >= 300)
            self.assertLess(self.open_calls(), 310)
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            reader.join()
            connection.close()
        self.survives(wave)


class Connections(Abused):
    """One address may have 200 of them."""
    arguments = ("--max-connections-address", "200")

    def test_2000_that_do_nothing(self):
        def wave():
            for _ in range(2000):
                connection = self.connect(greet=False)
                with contextlib.suppress(OSError):
                    connection.sendall(h2.PREFACE + h2.frame(h2.SETTINGS) + h2.frame(h2.SETTINGS, h2.ACK))
            open_at_once = self.descriptors()
            self.leave()
            self.assertLess(open_at_once, 260)
        self.survives(wave)


class Descriptors(Abused):
    """Fewer descriptors than connections."""

    def files(self, most):
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (most, self.hard))

    def test_none_left(self):
        _, self.hard = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)

        def wave():
            self.files(self.descriptors() + 3)
            for _ in range(100):
                self.connect()
            self.wait_until(lambda: "no descriptor is left" in self.daemon.text())
            self.leave()
            self.files(self.hard)
            newcomer = grpc.insecure_channel(self.target, options=[("grpc.use_local_subchannel_pool", 1)])
            rpc.StageServiceStub(newcomer).GetStageInfo(pb.GetStageInfoRequest(), timeout=20)
            newcomer.close()
        self.survives(wave)


class FewDescriptors(Abused):
    """So few from the start that the daemon allows itself fewer connections."""
    descriptors_allowed = 96

    def test_those_that_there_are_no_descriptors_for_are_closed(self):
        self.assertIn("too few descriptors", self.daemon.text())

        def wave():
            for _ in range(200):
                self.connect(greet=False)
            self.leave()
        self.survives(wave)


if __name__ == "__main__":
    unittest.main()
