#!/usr/bin/env python3
"""What consumers do, or stop doing, costs the publisher nothing: none, one that stalls, one that is killed in the middle of a stream."""
import subprocess
import sys
import time
import unittest

from stage import Daemon, address, pb

BLOCK = 512 << 10
STEPS = 50
HELD = 24 << 20

STALLING = """
import sys
from stage import grpc, pb, rpc
channel = grpc.insecure_channel(sys.argv[1], options=[("grpc.enable_http_proxy", 0)])
stream = rpc.StageServiceStub(channel).StreamTensors(pb.StreamTensorsRequest(address=pb.Address(channel="held")))
next(stream)
print("streaming", flush=True)
sys.stdin.read()
"""


class Consumers(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon("--store-bytes", "32m")
        self.addCleanup(self.daemon.close)

    def publish(self, channel, step, size):
        info = pb.TensorInfo(name="x", dtype=pb.DATA_TYPE_U8, shape=[size], byte_length=size)
        parts = [pb.PublishTensorsRequest(manifest=pb.TensorManifest(address=address(channel, step), tensors=[info]))]
        parts += [pb.PublishTensorsRequest(chunk=pb.TensorChunk(block=b, data=bytes(BLOCK))) for b in range(size // BLOCK)]
        self.daemon.publisher.PublishTensors(iter(parts), timeout=30)

    def seconds_for_all_steps(self, channel):
        begun = time.monotonic()
        for step in range(STEPS):
            self.publish(channel, step, 2 * BLOCK)
        return time.monotonic() - begun

    def stalling_consumer(self):
        child = subprocess.Popen([sys.executable, "-c", STALLING, self.daemon.targets[0]], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.wait)
        self.addCleanup(child.stdin.close)
        self.addCleanup(child.stdout.close)
        self.assertEqual(child.stdout.readline(), "streaming\n")
        return child

    def load(self):
        return self.daemon.stage.GetStageInfo(pb.GetStageInfoRequest(), timeout=10)

    def wait_for_no_stream(self):
        end = time.monotonic() + 10
        while self.load().load.streams and time.monotonic() < end:
            pass

    def test_publishing_takes_the_same_time_with_none_with_one_that_stalls_and_with_one_killed_in_mid_stream(self):
        self.seconds_for_all_steps("warm-up")
        alone = self.seconds_for_all_steps("alone")
        self.publish("held", 0, HELD)
        stalled = self.stalling_consumer()
        self.assertEqual(self.load().load.streams, 1)
        beside_stalled = self.seconds_for_all_steps("stalled")
        self.assertEqual(self.load().load.streams, 1)
        stalled.kill()
        beside_killed = self.seconds_for_all_steps("killed")
        print("50 steps of 1 MiB: alone %.2f s, beside a stalled one %.2f s, beside a killed one %.2f s"
              % (alone, beside_stalled, beside_killed))
        self.assertLess(max(beside_stalled, beside_killed), 3 * alone + 1)

    def test_memory_stays_within_the_budget_and_a_dead_stream_gives_its_item_back(self):
        self.publish("held", 0, HELD)
        consumer = self.stalling_consumer()
        for step in range(1, 40):
            self.publish("held", step, 4 * BLOCK)
            info = self.load()
            self.assertLessEqual(info.held_bytes, info.store_bytes)
        self.assertEqual(self.load().load.pinned_bytes, HELD)
        consumer.kill()
        self.wait_for_no_stream()
        load = self.load().load
        self.assertEqual((load.streams, load.waiting, load.open_calls), (0, 0, 1))

    def pinned_after_a_release_of(self, step, **ends_pins):
        """A consumer has pulled a step and released it, and the next one was published."""
        self.publish("acts", step, BLOCK)
        pull = pb.StreamTensorsRequest(address=address("acts", step), consumer=pb.Consumer(id="a"))
        list(self.daemon.stage.StreamTensors(pull, timeout=30))
        self.wait_for_no_stream()
        consumer = pb.Consumer(id="a", release_below=step + 1, **ends_pins)
        self.daemon.stage.Release(pb.ReleaseRequest(address=address("acts"), kind=pb.ITEM_KIND_TENSORS, consumers=[consumer]), timeout=10)
        self.publish("acts", step + 1, BLOCK)
        return self.load().load.pinned_bytes

    def test_memory_comes_back_at_once_where_its_consumer_ends_its_pins_and_not_where_it_only_releases(self):
        policy = pb.ChannelPolicy(channel="acts", kind=pb.ITEM_KIND_TENSORS, consumers=["a"])
        lease = self.daemon.stage.Attach(pb.AttachRequest(stage=3, stage_count=4, policies=[policy]))
        self.addCleanup(lease.cancel)
        next(lease)
        self.assertEqual(self.pinned_after_a_release_of(0, ends_pins=True), 0)
        self.assertEqual(self.pinned_after_a_release_of(1), BLOCK)


if __name__ == "__main__":
    unittest.main()
