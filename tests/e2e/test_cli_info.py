"""stagewire info, as a user runs it against a daemon."""
import unittest

import command
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
                    "3 0 4 attached"):
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
        self.assertGreater(info["store"]["metrics_held_bytes"], 0)


if __name__ == "__main__":
    unittest.main()
