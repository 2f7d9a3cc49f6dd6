"""stagewire info, as a user runs it against a daemon."""
import tempfile
import unittest

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


class BesideAUnixSocket(unittest.TestCase):
    def test_it_says_whether_memory_is_handed_over(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        socket = f"unix:{folder.name}/s"
        daemon = stage.Daemon("--listen", socket)
        self.addCleanup(daemon.close)
        for target, words, used in ((socket, "memory handed over, to and from this client too", True),
                                    (daemon.targets[0], "memory handed over on its Unix socket; to and from this client go chunks",
                                     False)):
            code, out, _ = command.run("info", target)
            self.assertEqual(code, 0)
            self.assertIn(words, [" ".join(row.split()) for row in out.splitlines()])
            code, out, _ = command.run("info", target, "--json")
            self.assertEqual(command.strict(out)["hand_over"]["used"], used)


if __name__ == "__main__":
    unittest.main()
