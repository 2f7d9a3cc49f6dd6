"""stagewire info, as a user runs it against a daemon."""
import re
import tempfile
import unittest

import certs
import command
import stage
from cli import WithDaemon
from stage import pb


class Info(WithDaemon):
    def setUp(self):
        super().setUp()
        policy = pb.ChannelPolicy(channel="train", kind=pb.ITEM_KIND_METRICS, consumers=["stage-0"])
        self.lease = self.daemon.stage.Attach(pb.AttachRequest(stage=3, stage_count=4, policies=[policy]))
        self.addCleanup(self.lease.cancel)
        next(self.lease)
        self.publish("train", 7, {"v": 1})

    def test_tables(self):
        out, err = self.run_command("info")
        self.assertEqual(err, "")
        flat = [" ".join(row.split()) for row in out.splitlines()]
        for row in ("run run-a", "generation 1", "waiting 0", "streams 0", "watches 0", "open publishes 0",
                    "3 0 4 attached", "memory not handed over: no Unix socket; tensors go as chunks"):
            self.assertIn(row, flat)
        self.assertTrue(any(row.startswith("train metrics 3 0 1 ") and row.endswith("7/0 7/0 stage-0<0 open")
                            for row in flat), out)

    def test_json(self):
        out, err = self.run_command("info", "--json")
        self.assertEqual((err, out.count("\n")), ("", 1))
        info = command.strict(out)
        self.assertEqual((info["run_id"], info["generation"]), ("run-a", 1))
        self.assertEqual(info["leases"], [{"stage": 3, "group": 0, "stage_count": 4, "lost": False}])
        channel, = info["channels"]
        self.assertEqual((channel["channel"], channel["kind"], channel["stage"]), ("train", "metrics", 3))
        self.assertEqual(channel["latest"], {"step": 7, "call": 0})
        self.assertEqual(channel["consumers"], [{"id": "stage-0", "released_below": 0}])
        self.assertEqual(info["load"]["waiting"], 0)
        self.assertFalse(info["hand_over"]["open"])
        self.assertGreater(info["store"]["metrics_held_bytes"], 0)


class InTls(unittest.TestCase):
    def setUp(self):
        self.folder = certs.Folder("--stages", "1")
        self.addCleanup(self.folder.close)
        self.daemon = stage.Daemon(*self.folder.pair("stage-0"))
        self.addCleanup(self.daemon.close)

    def info(self, *args):
        code, out, err = command.run("info", self.daemon.targets[0], *self.folder.pair("watcher"), *args)
        self.assertEqual((code, err), (0, ""))
        return out

    def test_the_endpoints_certificate_and_who_one_is_to_it_are_told(self):
        flat = [" ".join(row.split()) for row in self.info().splitlines()]
        for row in ("TCP mTLS", "you are spiffe://stagewire.test/stagewire/dev/watcher",
                    "certificate of spiffe://stagewire.test/stagewire/dev/stage/0, by CN = stagewire throwaway CA"):
            self.assertIn(row, flat)
        for name in ("it holds until", "it is used since"):
            self.assertTrue(any(re.fullmatch(name + r" \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", row) for row in flat), flat)

    def test_also_in_json(self):
        security = command.strict(self.info("--json"))["security"]
        self.assertEqual((security["tls"], security["name"], security["error"]),
                         (True, "spiffe://stagewire.test/stagewire/dev/stage/0", ""))
        self.assertEqual((security["taken"], security["failed"]), (1, 0))
        self.assertGreater(security["not_after_unix_s"], security["taken_unix_s"])
        pem = certs.openssl("x509", "-in", self.folder("stage-0.pem"), "-noout", "-fingerprint", "-sha256")
        self.assertEqual(security["sha256"].upper(), pem.split("=")[1].strip().replace(":", ""))


class BesideAUnixSocket(unittest.TestCase):
    def test_it_says_whether_memory_may_be_handed_over(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        socket = f"unix:{folder.name}/s"
        daemon = stage.Daemon("--listen", socket)
        self.addCleanup(daemon.close)
        for target, words, reached in ((socket, "memory may be handed over, to and from this client too", True),
                                    (daemon.targets[0], "memory may be handed over on its Unix socket; to and from this client go chunks",
                                     False)):
            code, out, _ = command.run("info", target)
            self.assertEqual(code, 0)
            self.assertIn(words, [" ".join(row.split()) for row in out.splitlines()])
            code, out, _ = command.run("info", target, "--json")
            self.assertEqual(command.strict(out)["hand_over"]["reached"], reached)


if __name__ == "__main__":
    unittest.main()
