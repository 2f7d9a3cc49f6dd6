"""stagewire doctor: against the real daemon, and against peers that are wrong in one way each. What is told apart is
told in words, with what mends it."""
import os
import shutil
import signal
import socket
import threading
import time
import unittest

import grpc

import certs
import command
import fakes
import stage
from stage import pb

OK, UNREACHABLE, REFUSED, TRUST = 0, 5, 6, 10

# Where a peer is waited for in vain: ample for the steps before, on a busy machine too.
SHORT = "3s"


class Examined(unittest.TestCase):
    def doctor(self, endpoint, *args, expect=OK, **more):
        """The checks by name."""
        code, out, err = command.run("doctor", endpoint, "--json", *args, **more)
        self.assertEqual((code, err), (expect, ""), out)
        report, = command.lines(out)
        self.assertEqual((report["endpoint"], report["ok"], report["exit"]), (endpoint, expect == 0, expect))
        self.assertEqual(any(check["state"] == "wrong" for check in report["checks"]), expect != 0)
        return {check["check"]: check for check in report["checks"]}

    def wrong(self, endpoint, *args, check, words, code, mend=None):
        """That check is wrong, in these words, and nothing before it."""
        checks = self.doctor(endpoint, *args, expect=code)
        self.assertEqual(checks[check]["state"], "wrong", checks)
        for word in [words] if isinstance(words, str) else words:
            self.assertIn(word, checks[check]["text"])
        if mend:
            self.assertIn(mend, checks[check]["mend"])
        states = [found["state"] for found in checks.values()]
        self.assertEqual(states.count("wrong"), 1)
        return checks

    def peer(self, answer, context=None, path=None):
        peer = fakes.Peer(answer, context, path)
        self.addCleanup(peer.stop)
        return peer.endpoint

    def grpc(self, methods):
        server = fakes.Grpc(methods)
        self.addCleanup(server.stop)
        return server.endpoint

    def daemon(self, *args, **more):
        daemon = stage.Daemon(*args, **more)
        self.addCleanup(daemon.close)
        return daemon


class AGoodEndpoint(Examined):
    def test_every_check_is_ok_and_measured(self):
        checks = self.doctor(self.daemon().targets[0], "--run", "run-a")
        for name in ("name", "tcp", "http2", "keepalive", "health", "version", "round-trip"):
            self.assertEqual(checks[name]["state"], "ok", checks[name])
        for name in ("tcp", "http2", "keepalive", "round-trip"):
            self.assertRegex(checks[name]["text"], r"\d ms|\d s")
        self.assertEqual(checks["tls"]["state"], "skip")
        self.assertIn("no generation has begun", checks["run"]["text"])
        self.assertIn("no tensors are held", checks["throughput"]["text"])

    def test_in_words_a_line_each_without_colour(self):
        code, out, err = command.run("doctor", self.daemon().targets[0])
        self.assertEqual((code, err), (0, ""))
        self.assertNotIn("\033", out)
        for line in out.splitlines():
            self.assertRegex(line, r"^(ok|note|wrong|skip)  +[a-z0-9-]+ ")

    def test_a_name_is_looked_up(self):
        port = self.peer(fakes.speak_http1).rpartition(":")[2]
        checks = self.doctor("localhost:" + port, expect=UNREACHABLE)
        self.assertEqual(checks["name"]["state"], "ok")
        self.assertIn("127.0.0.1:" + port + " took the connection", checks["tcp"]["text"])

    def test_a_unix_socket_needs_no_tls(self):
        daemon = self.daemon()
        path = os.path.join(daemon.folder, "socket")
        both = self.daemon("--listen", "unix:" + path)
        checks = self.doctor("unix:" + path)
        self.assertEqual((checks["socket"]["state"], checks["health"]["state"]), ("ok", "ok"))
        self.assertIn("a Unix socket needs none", checks["tls"]["text"])
        self.assertTrue(both.targets)

    def test_throughput_is_measured_with_what_is_held_and_nothing_is_released(self):
        daemon = self.daemon()
        data = bytes(3 << 20)
        daemon.publisher.PublishTensors(tensor("weights", data), timeout=20)
        text = self.doctor(daemon.targets[0])["throughput"]["text"]
        self.assertRegex(text, r"^\d+ MB/s: 3145728 bytes of tensors in ")

    def test_too_few_bytes_to_measure_by_are_said_to_be_that(self):
        daemon = self.daemon()
        daemon.publisher.PublishTensors(tensor("weights", b"abc"), timeout=20)
        self.assertIn("too few", self.doctor(daemon.targets[0])["throughput"]["text"])

    def test_another_run_is_refused_by_name(self):
        self.wrong(self.daemon().targets[0], "--run", "run-b", check="run", words=["run-a", "run-b"], code=REFUSED, mend="--run-id run-b")

    def test_a_lost_stage_is_noted(self):
        daemon = self.daemon("--publisher-grace", "1ms")
        attached = daemon.stage.Attach(pb.AttachRequest(run_id="run-a", stage=2, stage_count=4), timeout=20)
        next(attached)
        attached.cancel()
        while not any(lease.lost for lease in daemon.stage.GetStageInfo(pb.GetStageInfoRequest(), timeout=10).leases):
            continue
        run = self.doctor(daemon.targets[0])["run"]
        self.assertEqual(run["state"], "note")
        self.assertIn("the first is stage 2", run["text"])


def tensor(name, data):
    at = stage.address("t", 1)
    info = pb.TensorInfo(name=name, dtype=pb.DATA_TYPE_U8, shape=[len(data)], byte_length=len(data))
    yield pb.PublishTensorsRequest(manifest=pb.TensorManifest(address=at, tensors=[info], block_bytes=1 << 20))
    for block, start in enumerate(range(0, len(data), 1 << 20)):
        yield pb.PublishTensorsRequest(chunk=pb.TensorChunk(tensor=0, block=block, data=data[start:start + (1 << 20)]))


class TheWayThere(Examined):
    def test_a_name_that_nobody_knows(self):
        self.wrong("no-such-host.invalid:4317", "--timeout", "8s", check="name", words="no-such-host.invalid", code=UNREACHABLE, mend="name the address")

    def test_nobody_listens(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.wrong("127.0.0.1:%d" % probe.getsockname()[1], check="tcp", words="Connection refused", code=UNREACHABLE,
                       mend="stagewired with --listen")

    def test_packets_that_are_dropped(self):
        with socket.socket() as full, socket.socket() as one, socket.socket() as two:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            for waiting in (one, two):
                waiting.setblocking(False)
                waiting.connect_ex(full.getsockname())
            self.wrong("127.0.0.1:%d" % full.getsockname()[1], "--timeout", SHORT, check="tcp", words="no answer in time", code=UNREACHABLE,
                       mend="firewall")

    def test_a_unix_socket_that_is_not_there_or_none(self):
        folder = self.daemon().folder
        path = os.path.join(folder, "none")
        self.wrong("unix:" + path, check="socket", words="No such file", code=UNREACHABLE, mend="--listen unix:")
        self.wrong("unix:" + folder, check="socket", words="a directory, not a socket", code=UNREACHABLE)
        self.wrong("unix:" + os.path.join(folder, "log"), check="socket", words="a file, not a socket", code=UNREACHABLE)

    def test_a_stale_unix_socket(self):
        path = os.path.join(self.daemon().folder, "stale")
        with socket.socket(socket.AF_UNIX) as gone:
            gone.bind(path)
            gone.listen()
        self.wrong("unix:" + path, check="socket", words="stale", code=UNREACHABLE, mend="stagewired")

    def test_a_unix_socket_on_which_nobody_takes_connections(self):
        path = os.path.join(self.daemon().folder, "full")
        with socket.socket(socket.AF_UNIX) as full, socket.socket(socket.AF_UNIX) as one:
            full.bind(path)
            full.listen(0)
            one.connect(path)
            self.wrong("unix:" + path, "--timeout", SHORT, check="socket", words="takes no connection", code=UNREACHABLE)

    def test_a_unix_socket_of_somebody_else(self):
        """As a user who is not the superuser, who may write to any."""
        stranger = {"user": 65534} if os.geteuid() == 0 else {}
        folder = self.daemon().folder
        path = os.path.join(folder, "theirs")
        with socket.socket(socket.AF_UNIX) as theirs:
            theirs.bind(path)
            theirs.listen()
            os.chmod(path, 0)
            os.chmod(folder, 0o755)
            try:
                checks = self.doctor("unix:" + path, expect=REFUSED, **stranger)
                self.assertIn("may not write", checks["socket"]["text"])
                os.chmod(folder, 0)
                checks = self.doctor("unix:" + path, expect=UNREACHABLE, **stranger)
                self.assertIn("namei", checks["socket"]["mend"])
            except PermissionError as error:
                self.skipTest(f"the stranger may not start the command: {error}")
            finally:
                os.chmod(folder, 0o700)


class WhoSpeaksThere(Examined):
    def test_one_that_says_nothing_does_not_hold_the_doctor_up(self):
        begun = time.monotonic()
        self.wrong(self.peer(fakes.keep_quiet), "--timeout", SHORT, check="http2", words="says nothing", code=UNREACHABLE)
        self.assertLess(time.monotonic() - begun, 60)

    def test_an_endpoint_that_was_stopped(self):
        daemon = self.daemon()
        os.kill(daemon.process.pid, signal.SIGSTOP)
        self.wrong(daemon.targets[0], "--timeout", SHORT, check="http2", words="says nothing", code=UNREACHABLE, mend="stopped")
        os.kill(daemon.process.pid, signal.SIGCONT)

    def test_one_that_closes(self):
        self.wrong(self.peer(fakes.close), check="http2", words="closes the connection without a word", code=UNREACHABLE)

    def test_a_web_server_and_others(self):
        self.wrong(self.peer(fakes.speak_http1), check="http2", words="speaks HTTP/1,", code=UNREACHABLE, mend="a stagewire endpoint")
        self.wrong(self.peer(fakes.speak_ssh), check="http2", words="speaks SSH", code=UNREACHABLE)
        self.wrong(self.peer(fakes.say_at_once(b"220 mail\r\n")), check="http2", words="neither TLS nor HTTP", code=UNREACHABLE)

    def test_one_that_sends_away(self):
        checks = self.doctor(self.peer(fakes.send_away), "--timeout", SHORT, expect=UNREACHABLE)
        self.assertIn("sent this side away", checks["keepalive"]["text"])

    def test_one_that_answers_no_ping(self):
        checks = self.doctor(self.peer(fakes.speak_http2_without_pings), "--timeout", SHORT, expect=UNREACHABLE)
        self.assertEqual(checks["http2"]["state"], "ok")
        self.assertIn("no answer in time", checks["keepalive"]["text"])
        self.assertIn("pings", checks["keepalive"]["mend"])

    def test_a_grpc_server_that_is_no_endpoint(self):
        checks = self.doctor(self.grpc({}), expect=REFUSED)
        self.assertEqual(checks["health"]["state"], "note")
        self.assertIn("a stagewire endpoint?", checks["version"]["mend"])

    def test_one_that_does_not_serve(self):
        endpoint = self.grpc({"/grpc.health.v1.Health/Check": lambda request, context: b"\x08\x02"})
        checks = self.doctor(endpoint, expect=UNREACHABLE)
        self.assertIn("not serving", checks["health"]["text"])

    def test_one_that_takes_calls_and_never_answers(self):
        def hang(_, context):
            """Until the call is over: an answer at its deadline could still be in time."""
            over = threading.Event()
            if context.add_callback(over.set):
                over.wait()
        endpoint = self.grpc({"/grpc.health.v1.Health/Check": hang})
        self.wrong(endpoint, "--timeout", SHORT, check="health", words="127.0.0.1", code=UNREACHABLE, mend="stopped or overloaded")


class InTls(Examined):
    @classmethod
    def setUpClass(cls):
        cls.folder = certs.Folder("--stages", "2")
        cls.other = certs.Folder("--stages", "1")

    @classmethod
    def tearDownClass(cls):
        cls.folder.close()
        cls.other.close()

    def me(self, name="watcher", *more):
        return [*self.folder.pair(name), *more]

    def wrong_peer(self, leaf, *args, words, mend=None, check="tls", **more):
        """A server that shows this leaf, and speaks HTTP/2."""
        endpoint = self.peer(fakes.speak_http2, fakes.tls(self.folder, leaf, **more))
        return self.wrong(endpoint, *(args or self.me()), check=check, words=words, code=more.get("code", TRUST), mend=mend)


class AnotherSide(InTls):
    """Each server is wrong in one way."""

    def test_wrong_name(self):
        self.folder.leaf("elsewhere", "DNS:elsewhere.example,URI:spiffe://a.example/x")
        self.wrong_peer("elsewhere", words=["wrong name", "elsewhere.example", "127.0.0.1"], mend="--peer-identity spiffe://a.example/x")

    def test_another_spiffe_id_than_was_asked_for(self):
        self.wrong_peer("stage-0", *self.me("watcher", "--peer-identity", "spiffe://a.example/y"), words=["wrong name", "spiffe://a.example/y"])

    def test_two_spiffe_names(self):
        self.folder.leaf("two", "URI:spiffe://a.example/x,URI:spiffe://a.example/y")
        self.wrong_peer("two", *self.me("watcher", "--peer-identity", "spiffe://a.example/x"), words=["several URI names"])

    def test_expired(self):
        self.folder.leaf("old", "IP:127.0.0.1", first_day=-9, last_day=-2.1)
        self.wrong_peer("old", words=["expired", "2 days ago"], mend="--tls-cert")

    def test_clock_skew(self):
        self.folder.leaf("future", "IP:127.0.0.1", first_day=2.1)
        self.wrong_peer("future", words=["clock skew", "in 2 days"], mend="clock")

    def test_unknown_ca(self):
        endpoint = self.peer(fakes.speak_http2, fakes.tls(self.other, "stage-0"))
        self.wrong(endpoint, *self.me(), check="tls", words=["unknown CA", "stagewire throwaway CA", self.folder("ca.pem")], code=TRUST,
                   mend="--tls-ca")

    def test_signed_by_itself(self):
        certs.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=self", "-days", "1",
                      "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.folder("self.key"), "-out", self.folder("self.pem"))
        self.wrong_peer("self", words=["unknown CA", "self"])

    def test_revoked(self):
        self.folder.leaf("lost", "IP:127.0.0.1")
        self.assertEqual(command.run("certs", "revoke", self.folder("lost.pem"))[0], 0)
        self.wrong_peer("lost", *self.me("watcher", "--tls-crl", self.folder("crl.pem")), words="revoked", mend="crl.pem")

    def test_for_clients_only(self):
        self.folder.leaf("client", "IP:127.0.0.1", uses="clientAuth")
        self.wrong_peer("client", words="may not stand for a server", mend="serverAuth")

    def test_soon_to_expire_is_noted(self):
        self.folder.leaf("soon", "IP:127.0.0.1", last_day=0.2)
        endpoint = self.peer(fakes.speak_http2, fakes.tls(self.folder, "soon"))
        code, out, _ = command.run("doctor", endpoint, *self.me(), "--json", "--timeout", SHORT)
        self.assertNotEqual(code, TRUST)
        checks = {check["check"]: check for check in command.strict(out)["checks"]}
        self.assertEqual(checks["tls"]["state"], "note")
        self.assertIn("in 4 hours", checks["tls"]["text"])

    def test_without_http2(self):
        endpoint = self.peer(fakes.speak_http1, fakes.tls(self.folder, "stage-0", alpn=()))
        self.wrong(endpoint, *self.me(), check="alpn", words="did not agree to h2", code=UNREACHABLE)
        endpoint = self.peer(fakes.speak_http1, fakes.tls(self.folder, "stage-0", alpn=("http/1.1",)))
        self.wrong(endpoint, *self.me(), check="alpn", words="h2", code=UNREACHABLE)

    def test_one_that_asks_for_no_certificate_is_noted(self):
        endpoint = self.peer(fakes.speak_http2, fakes.tls(self.folder, "stage-0", asks=False))
        _, out, _ = command.run("doctor", endpoint, *self.me(), "--json", "--timeout", SHORT)
        checks = {check["check"]: check for check in command.strict(out)["checks"]}
        self.assertEqual(checks["accepted"]["state"], "note")
        self.assertIn("did not ask who this is", checks["accepted"]["text"])

    def test_silence_in_and_after_the_handshake(self):
        self.wrong(self.peer(fakes.keep_quiet), *self.me(), "--timeout", SHORT, check="tls", words="says nothing to TLS", code=UNREACHABLE)
        endpoint = self.peer(fakes.keep_quiet, fakes.tls(self.folder, "stage-0"))
        self.wrong(endpoint, *self.me(), "--timeout", SHORT, check="http2", words="says nothing since", code=UNREACHABLE)

    def test_a_peer_that_closes_in_the_handshake(self):
        self.wrong(self.peer(fakes.close), *self.me(), check="tls", words="closed the connection during the handshake", code=UNREACHABLE)

    def test_a_peer_that_speaks_no_tls(self):
        self.wrong(self.daemon().targets[0], *self.me(), check="tls", words="plaintext HTTP/2, not TLS", code=TRUST, mend="--tls-cert")
        self.wrong(self.peer(fakes.speak_http1), *self.me(), check="tls", words="HTTP/1, not TLS", code=TRUST)


class OwnFiles(InTls):
    def own(self, *files, words):
        self.wrong(self.daemon().targets[0], *files, check="files", words=words, code=TRUST, mend="stagewire certs show")

    def test_wrong_key(self):
        self.own("--tls-key", self.folder("stage-0.key"), "--tls-cert", self.folder("watcher.pem"), "--tls-ca", self.folder("ca.pem"),
                 words="watcher.pem")

    def test_expired_and_not_yet_good(self):
        self.folder.leaf("past", "DNS:a.example", first_day=-9, last_day=-2)
        self.own(*self.folder.pair("past"), words="expired")
        self.folder.leaf("coming", "DNS:a.example", first_day=2)
        self.own(*self.folder.pair("coming"), words="clock")

    def test_missing_or_incomplete(self):
        self.own("--tls-key", self.folder("no.key"), "--tls-cert", self.folder("watcher.pem"), "--tls-ca", self.folder("ca.pem"),
                 words=["no.key", "No such file"])
        self.own("--tls-ca", self.folder("ca.pem"), words="tls_cert")


class ADaemonInTls(InTls):
    def setUp(self):
        self.served = self.daemon(*self.folder.pair("stage-0"))
        self.endpoint = self.served.targets[0]

    def test_all_is_well(self):
        checks = self.doctor(self.endpoint, *self.me())
        for name in ("files", "tls", "alpn", "accepted", "http2", "keepalive", "health", "version", "round-trip"):
            self.assertEqual(checks[name]["state"], "ok", checks[name])
        self.assertIn("TLSv1.3; the endpoint is spiffe://stagewire.test/stagewire/dev/stage/0", checks["tls"]["text"])
        self.assertIn("spiffe://stagewire.test/stagewire/dev/watcher", checks["files"]["text"])

    def test_a_spiffe_id_that_was_asked_for(self):
        checks = self.doctor(self.endpoint, *self.me("watcher", "--peer-identity", "spiffe://stagewire.test/stagewire/dev/stage/0"))
        self.assertEqual(checks["health"]["state"], "ok")

    def test_no_client_certificate(self):
        self.wrong(self.endpoint, check="tls", words="no client certificate", code=TRUST, mend="stagewire certs dev")

    def test_a_certificate_of_a_ca_that_the_endpoint_does_not_know(self):
        files = ["--tls-key", self.other("watcher.key"), "--tls-cert", self.other("watcher.pem"), "--tls-ca", self.folder("ca.pem")]
        self.wrong(self.endpoint, *files, check="accepted", words="refused this side's certificate", code=TRUST, mend="--tls-ca")

    def refused(self, *args, words, **more):
        """By the gate, so with the first call."""
        self.wrong(self.endpoint, *args, check="health", words=words, code=TRUST, **more)

    def test_two_spiffe_names_of_this_side(self):
        self.folder.leaf("two", "URI:spiffe://a.example/x,URI:spiffe://a.example/y")
        self.refused(*self.me("two"), words="several URI names", mend="stagewire certs show")

    def test_rights_are_those_that_the_endpoint_says(self):
        text = self.doctor(self.endpoint, *self.me())["rights"]["text"]
        self.assertIn("spiffe://stagewire.test/stagewire/dev/watcher may watch, pull, contribute", text)


class ADaemonWithAnAccessTable(InTls):
    def write(self, *lines):
        with open(self.folder("new"), "w") as f:
            f.write("\n".join(lines))
        os.rename(self.folder("new"), self.folder("access"))

    def serve(self, *lines):
        self.write(*lines)
        return self.daemon(*self.folder.pair("stage-0"), "--access", self.folder("access")).targets[0]

    def test_without_the_right_to_pull(self):
        rights = self.doctor(self.serve("spiffe://stagewire.test/ watch"), *self.me())["rights"]
        self.assertEqual(rights["state"], "note")
        self.assertIn("may watch, and not pull", rights["text"])
        self.assertIn("--access", rights["mend"])

    def test_as_whom_one_pulls(self):
        self.assertIn("it pulls, as stage-*", self.doctor(self.serve("spiffe://stagewire.test/ pull as stage-*"), *self.me())["rights"]["text"])

    def test_without_any_right(self):
        self.wrong(self.serve("@loopback pull"), *self.me(), check="version", words=["watcher may not call", "GetStageInfo"], code=REFUSED,
                   mend="--access")

    def test_what_the_endpoint_complains_of_is_passed_on(self):
        endpoint = self.serve("spiffe://stagewire.test/ watch")
        self.assertEqual(self.doctor(endpoint, *self.me())["warnings"]["state"], "ok")
        self.write("spiffe://stagewire.test/ fly")
        while (warning := self.doctor(endpoint, *self.me())["warnings"])["state"] == "ok":
            continue
        self.assertEqual(warning["state"], "note")
        self.assertIn("fly", warning["text"])
        self.assertIn("correct that file", warning["mend"])


class ADaemonWhoseCertificateIsReplaced(InTls):
    def test_files_that_it_does_not_take_are_passed_on(self):
        for ending in (".key", ".pem"):
            shutil.copy(self.folder("stage-0" + ending), self.folder("served" + ending))
        endpoint = self.daemon(*self.folder.pair("served")).targets[0]
        self.assertEqual(self.doctor(endpoint, *self.me())["warnings"]["state"], "ok")
        open(self.folder("served.key"), "w").close()
        while (warning := self.doctor(endpoint, *self.me())["warnings"])["state"] == "ok":
            continue
        self.assertEqual(warning["state"], "note")
        self.assertIn("served.key", warning["text"])
        self.assertIn("correct that file", warning["mend"])


class ADaemonWithARevocationList(InTls):
    def test_this_side_is_revoked(self):
        self.folder.leaf("lost", "URI:spiffe://stagewire.test/lost")
        self.assertEqual(command.run("certs", "revoke", self.folder("lost.pem"))[0], 0)
        endpoint = self.daemon(*self.folder.pair("stage-0"), "--tls-crl", self.folder("crl.pem")).targets[0]
        self.wrong(endpoint, *self.me("lost"), check="health", words="revoked", code=TRUST, mend="stagewire certs show")
        self.assertEqual(self.doctor(endpoint, *self.me())["health"]["state"], "ok")


if __name__ == "__main__":
    unittest.main()
