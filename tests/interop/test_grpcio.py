#!/usr/bin/env python3
"""Python's grpcio speaks to the daemon from stage.proto alone: gets, streams, watches, exchanges, publishes, reads reasons."""
import os
import struct
import threading
import time
import unittest

import grpc

from stage import Daemon, address, metrics, pb, reason

BLOCK = 512 << 10


def parts(at, tensors, block_bytes=0):
    """A tensor publish: [(name, dtype, shape, bytes)] cut into blocks."""
    infos = [pb.TensorInfo(name=n, dtype=d, shape=s, byte_length=len(b)) for n, d, s, b in tensors]
    yield pb.PublishTensorsRequest(manifest=pb.TensorManifest(address=at, tensors=infos, block_bytes=block_bytes))
    size = block_bytes or BLOCK
    for index, (_, _, _, data) in enumerate(tensors):
        for block in range((len(data) + size - 1) // size):
            yield pb.PublishTensorsRequest(chunk=pb.TensorChunk(
                tensor=index, block=block, data=data[block * size:(block + 1) * size]))


def whole(responses):
    """(manifest, {name: bytes}) of a stream."""
    manifest, data = None, {}
    for response in responses:
        if response.HasField("manifest"):
            manifest = response.manifest
            data = {t.name: bytearray(t.byte_length) for t in manifest.tensors}
        else:
            chunk = response.chunk
            at = chunk.block * manifest.block_bytes
            data[manifest.tensors[chunk.tensor].name][at:at + len(chunk.data)] = chunk.data
    return manifest, data


class Interop(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon("--publisher-grace", "300ms")
        self.addCleanup(self.daemon.close)
        self.stage, self.publisher = self.daemon.stage, self.daemon.publisher

    def publish(self, at, m):
        return self.publisher.PublishLossMetrics(pb.PublishLossMetricsRequest(address=at, metrics=m), timeout=10)

    def get(self, at, **more):
        return self.stage.GetLossMetrics(pb.GetLossMetricsRequest(address=at, **more), timeout=10)

    def refused(self, code, why, call, *args, **more):
        with self.assertRaises(grpc.RpcError) as caught:
            call(*args, **more)
        self.assertEqual((caught.exception.code(), reason(caught.exception)[0]), (code, why), caught.exception.details())
        return reason(caught.exception)[1]

    def test_every_kind_of_value_arrives_as_it_was_published(self):
        m = pb.LossMetrics()
        v = m.single.values
        v["null"].null = 0
        v["true"].boolean = True
        v["min"].integer = -2**63
        v["max"].integer = 2**63 - 1
        v["half"].number = 0.5
        v["empty"].text = ""
        v["nul"].text = "a\0b"
        v["blob"].blob = b"\xff\x00"
        v["tensor"].tensor.CopyFrom(pb.Tensor(dtype=pb.DATA_TYPE_F32, shape=[2], data=struct.pack("<2f", 1, 2)))
        v["list"].list.items.add().integer = 1
        v["tuple"].tuple.SetInParent()
        v["map"].map.values["inner"].boolean = False
        v["extension"].extension.type = "py.int"
        v["extension"].extension.value.text = str(2**80)
        self.publish(address(step=1), m)
        self.assertEqual(self.get(address(step=1)).metrics, m)

    def test_doubles_keep_their_bits(self):
        m = pb.LossMetrics()
        bits = [0x7ff8dead0000beef, 0x8000000000000000, 0x7ff0000000000000, 0xfff0000000000000, 1]
        for i, b in enumerate(bits):
            m.single.values[str(i)].number = struct.unpack("<d", struct.pack("<Q", b))[0]
        self.publish(address(), m)
        got = self.get(address()).metrics.single.values
        self.assertEqual([struct.unpack("<Q", struct.pack("<d", got[str(i)].number))[0] for i in range(len(bits))], bits)

    def test_an_empty_list_an_empty_dict_and_a_list_of_one_empty_dict_are_three_things(self):
        empty_list, empty_dict, list_of_one = pb.LossMetrics(), pb.LossMetrics(), pb.LossMetrics()
        empty_list.list.SetInParent()
        empty_dict.single.SetInParent()
        list_of_one.list.items.add()
        for step, m in enumerate((empty_list, empty_dict, list_of_one)):
            self.publish(address(step=step), m)
            self.assertEqual(self.get(address(step=step)).metrics, m)
            self.refused(grpc.StatusCode.ALREADY_EXISTS, "CONFLICT", self.publish, address(step=step), metrics(a=1))

    def test_ten_thousand_keys(self):
        m = metrics(**{"key%d" % i: i / 7 for i in range(10000)})
        self.publish(address(), m)
        self.assertEqual(self.get(address()).metrics, m)

    def test_depth_16_arrives_and_17_is_malformed(self):
        def nested(depth):
            m = pb.LossMetrics()
            value = m.single.values["v"]
            for _ in range(depth - 1):
                value = value.list.items.add()
            value.integer = 1
            return m
        self.publish(address(), nested(16))
        self.assertEqual(self.get(address()).metrics, nested(16))
        metadata = self.refused(grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED", self.publish, address(step=1), nested(17))
        self.assertIn("metrics.v", metadata["path"])

    def test_a_value_of_no_kind_is_malformed_with_its_path(self):
        m = pb.LossMetrics()
        m.single.values["grad"].map.values["norm"].SetInParent()
        metadata = self.refused(grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED", self.publish, address(), m)
        self.assertEqual(metadata["path"], "metrics.grad.norm")

    def test_a_stream_gives_what_was_published_with_hashes_that_fit(self):
        tensors = [("logits", pb.DATA_TYPE_BF16, [3, 400001], os.urandom(2400006)), ("empty", pb.DATA_TYPE_F32, [0, 5], b""),
                   ("scalar", pb.DATA_TYPE_I64, [], struct.pack("<q", -7)), ("exact", pb.DATA_TYPE_U8, [BLOCK], os.urandom(BLOCK))]
        self.publisher.PublishTensors(parts(address("t"), tensors), timeout=20)
        manifest, data = whole(self.stage.StreamTensors(pb.StreamTensorsRequest(address=address("t")), timeout=20))
        self.assertEqual(manifest.block_bytes, BLOCK)
        self.assertEqual((manifest.address.generation, manifest.address.stage, manifest.address.run_id), (1, 3, "run-a"))
        self.assertEqual([(t.name, t.dtype, list(t.shape)) for t in manifest.tensors], [t[:3] for t in tensors])
        self.assertEqual({n: bytes(b) for n, b in data.items()}, {n: b for n, _, _, b in tensors})

    def test_a_publisher_may_choose_its_block_size(self):
        data = os.urandom(100000)
        self.publisher.PublishTensors(parts(address("t"), [("x", pb.DATA_TYPE_U8, [len(data)], data)], 4096), timeout=20)
        manifest, got = whole(self.stage.StreamTensors(pb.StreamTensorsRequest(address=address("t")), timeout=20))
        self.assertEqual((manifest.block_bytes, bytes(got["x"])), (4096, data))

    def test_a_stream_of_some_tensors_and_some_blocks(self):
        data = os.urandom(3 * BLOCK + 5)
        self.publisher.PublishTensors(parts(address("t"), [("x", pb.DATA_TYPE_U8, [len(data)], data), ("y", pb.DATA_TYPE_U8, [3], b"abc")]), timeout=20)
        responses = list(self.stage.StreamTensors(pb.StreamTensorsRequest(
            address=address("t"), ranges=[pb.TensorRange(name="x", first_block=2)]), timeout=20))
        self.assertEqual([(r.chunk.tensor, r.chunk.block, len(r.chunk.data)) for r in responses[1:]], [(0, 2, BLOCK), (0, 3, 5)])
        only = list(self.stage.StreamTensors(pb.StreamTensorsRequest(address=address("t"), manifest_only=True), timeout=20))
        self.assertEqual([t.name for t in only[0].manifest.tensors], ["x", "y"])
        self.assertEqual(len(only), 1)

    def test_a_stream_with_a_limit_ends_with_the_block_that_reaches_it(self):
        small, data = b"abc", os.urandom(3 * BLOCK + 5)
        self.publisher.PublishTensors(parts(address("t"), [("y", pb.DATA_TYPE_U8, [3], small), ("x", pb.DATA_TYPE_U8, [len(data)], data)]), timeout=20)
        for limit, blocks in [(1, [(0, 0)]), (3, [(0, 0)]), (4, [(0, 0), (1, 0)]), (BLOCK + 4, [(0, 0), (1, 0), (1, 1)]),
                              (2**64 - 1, [(0, 0), (1, 0), (1, 1), (1, 2), (1, 3)])]:
            with self.subTest(limit=limit):
                responses = list(self.stage.StreamTensors(pb.StreamTensorsRequest(address=address("t"), byte_limit=limit), timeout=20))
                self.assertEqual([(r.chunk.tensor, r.chunk.block) for r in responses[1:]], blocks)

    def test_a_watch_tells_items_failures_closings_and_generations(self):
        self.publish(address(step=1), metrics(loss=1.0))
        watch = self.stage.WatchLossMetrics(pb.WatchLossMetricsRequest(start=pb.WATCH_START_OLDEST_HELD))
        list(watch.initial_metadata())
        events = iter(watch)
        self.assertEqual(next(events).published.address.step, 1)
        self.publish(address(step=2), metrics(loss=0.5))
        self.assertEqual(next(events).published.metrics.single.values["loss"].number, 0.5)
        self.publisher.PublishFailure(pb.PublishFailureRequest(address=address(step=3), kind=pb.ITEM_KIND_METRICS, message="nan"), timeout=10)
        failed = next(events).failed
        self.assertEqual((failed.address.step, failed.message), (3, "nan"))
        self.publisher.CloseChannel(pb.CloseChannelRequest(address=address(), kind=pb.ITEM_KIND_METRICS, reason=pb.CLOSE_REASON_FINISHED), timeout=10)
        closed = next(events).closed
        self.assertEqual((closed.last.channel, closed.last.step, closed.reason, closed.items), ("train", 3, pb.CLOSE_REASON_FINISHED, 3))
        lease = self.stage.Attach(pb.AttachRequest(generation=2, stage=3, stage_count=4))
        self.assertEqual(next(lease).generation, 2)
        self.assertEqual(next(events).generation.generation, 2)
        self.publish(address(step=0), metrics(loss=9.0))
        self.assertEqual(next(events).published.address.generation, 2)
        watch.cancel()
        lease.cancel()

    def test_a_watch_from_a_position_tells_a_gap(self):
        daemon = Daemon("--keep-steps", "2")
        self.addCleanup(daemon.close)
        for step in range(6):
            daemon.publisher.PublishLossMetrics(pb.PublishLossMetricsRequest(address=address(step=step), metrics=metrics(v=step)), timeout=10)
        watch = daemon.stage.WatchLossMetrics(pb.WatchLossMetricsRequest(
            start=pb.WATCH_START_POSITIONS, positions=[address(step=1, generation=1, stage=3)]))
        events = iter(watch)
        gap = next(events).gap
        self.assertEqual((gap.first_missing.step, gap.next_held.step), (1, 4))
        self.assertEqual([next(events).published.address.step for _ in range(2)], [4, 5])
        watch.cancel()

    def test_a_heartbeat_comes_every_ten_seconds(self):
        begun = time.monotonic()
        watch = self.stage.WatchLossMetrics(pb.WatchLossMetricsRequest())
        beat = next(iter(watch)).heartbeat
        self.assertLess(abs(beat.unix_ns / 1e9 - time.time()), 5)
        self.assertTrue(8 < time.monotonic() - begun < 20)
        watch.cancel()

    def exchange(self, stage, value=None, step=0, count=2, **more):
        request = pb.ExchangeObjectRequest(address=address("objects", step, stage=stage), stage_count=count, present=value is not None, **more)
        if value is not None:
            request.value.integer = value
        return self.stage.ExchangeObject.future(request, timeout=10)

    def test_an_exchange_answers_all_when_all_have_spoken(self):
        first = self.exchange(0)
        second = self.exchange(1, 42)
        for answer in (first.result(), second.result(), self.exchange(0).result()):
            self.assertEqual((list(answer.owners), answer.value.integer), ([1], 42))
        nobody = [self.exchange(stage, None, step=1) for stage in (0, 1)]
        self.assertEqual([list(a.result().owners) for a in nobody], [[], []])
        both = [self.exchange(stage, 7, step=2) for stage in (0, 1)]
        for answer in both:
            self.assertEqual((list(answer.result().owners), answer.result().HasField("value")), ([0, 1], False))

    def test_another_word_of_the_same_stage_is_a_conflict_and_a_silent_stage_is_named(self):
        self.refused(grpc.StatusCode.NOT_FOUND, "NOT_YET", self.exchange(0, 1, wait=pb.Wait(no_wait=True)).result)
        self.refused(grpc.StatusCode.ALREADY_EXISTS, "CONFLICT", self.exchange(0, 2).result)
        self.refused(grpc.StatusCode.ALREADY_EXISTS, "CONFLICT", self.exchange(0, 1, count=3).result)
        metadata = self.refused(grpc.StatusCode.DEADLINE_EXCEEDED, "NOT_YET", self.exchange(0, 1, wait=pb.Wait(wait_ms=100)).result)
        self.assertEqual(metadata["stages"], "[1]")

    def test_an_exchange_ends_when_the_silent_stage_is_lost(self):
        lease = self.stage.Attach(pb.AttachRequest(stage=1, stage_count=2))
        next(lease)
        word = self.exchange(0, 5)
        lease.cancel()
        self.refused(grpc.StatusCode.ABORTED, "PUBLISHER_LOST", word.result)

    def test_present_and_value_that_do_not_agree_are_malformed_and_null_is_a_value(self):
        bad = pb.ExchangeObjectRequest(address=address("objects", stage=0), stage_count=1, present=True)
        self.refused(grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED", self.stage.ExchangeObject, bad, timeout=10)
        bad.value.null = 0
        self.assertTrue(self.stage.ExchangeObject(bad, timeout=10).value.HasField("null"))

    def test_a_cancelled_pull_and_a_dead_client_leave_nothing_behind(self):
        pulls = [self.stage.GetLossMetrics.future(pb.GetLossMetricsRequest(address=address(step=s)), timeout=60) for s in range(50)]
        while self.info().load.waiting != 50:
            pass
        for pull in pulls:
            pull.cancel()
        while self.info().load.waiting:
            pass
        self.assertEqual(self.info().load.open_calls, 1)

    def info(self):
        return self.stage.GetStageInfo(pb.GetStageInfoRequest(), timeout=10)

    def test_info_tells_channels_budgets_and_leases(self):
        lease = self.stage.Attach(pb.AttachRequest(stage=3, stage_count=4, policies=[
            pb.ChannelPolicy(channel="train", kind=pb.ITEM_KIND_METRICS, consumers=["dash"])]))
        next(lease)
        self.publish(address(step=3), metrics(a=1))
        self.stage.Release(pb.ReleaseRequest(address=address(), kind=pb.ITEM_KIND_METRICS, consumers=[pb.Consumer(id="dash", release_below=2)]), timeout=10)
        info = self.info()
        self.assertEqual((info.run_id, info.generation, len(info.leases), info.leases[0].stage), ("run-a", 1, 1, 3))
        channel = next(c for c in info.channels if c.oldest.channel == "train")
        self.assertEqual((channel.latest.step, channel.items, channel.consumers[0].id, channel.consumers[0].release_below), (3, 1, "dash", 2))
        self.assertTrue(info.version and info.incarnation and info.store_bytes)

    def test_many_channels_come_in_pages(self):
        for i in range(3000):
            self.publish(address("c/%04d" % i), metrics(a=1))
        seen, token, pages = set(), "", 0
        while True:
            page = self.stage.GetStageInfo(pb.GetStageInfoRequest(page_token=token), timeout=10)
            names = {c.latest.channel for c in page.channels}
            self.assertFalse(seen & names)
            seen |= names
            token, pages = page.next_page_token, pages + 1
            if not token:
                break
        self.assertEqual(len(seen), 3000)

    def test_an_unknown_method_is_unimplemented_at_once(self):
        call = self.daemon.channel.unary_unary("/stagewire.v1.StageService/Nonsense")
        with self.assertRaises(grpc.RpcError) as caught:
            call(b"", timeout=10)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)

    def test_every_response_tells_the_incarnation(self):
        seen = set()
        for _ in range(2):
            _, call = self.stage.GetStageInfo.with_call(pb.GetStageInfoRequest(), timeout=10)
            seen.add(dict(call.initial_metadata())["stagewire-incarnation"])
        with self.assertRaises(grpc.RpcError) as caught:  # headers by themselves would say that a watch stands
            self.get(address(), wait=pb.Wait(no_wait=True))
        seen.add(dict(caught.exception.trailing_metadata())["stagewire-incarnation"])
        self.assertEqual(len(seen), 1)

    def test_512_waiting_pulls_are_woken_by_one_publish(self):
        pulls = [self.stage.GetLossMetrics.future(pb.GetLossMetricsRequest(address=address(step=5)), timeout=60) for _ in range(512)]
        while self.info().load.waiting != 512:
            pass
        self.publish(address(step=5), metrics(v=55))
        self.assertEqual({p.result().metrics.single.values["v"].integer for p in pulls}, {55})

    def test_a_thousand_pulls_during_a_supersede_get_the_old_value_whole_or_superseded(self):
        old, new = b"\1" * (3 * BLOCK), b"\2" * (3 * BLOCK)
        self.publisher.PublishTensors(parts(address("t"), [("x", pb.DATA_TYPE_U8, [len(old)], old)]), timeout=20)
        answers, gate = [], threading.Barrier(5)

        def pull():
            gate.wait()
            for _ in range(250):
                try:
                    _, data = whole(self.stage.StreamTensors(pb.StreamTensorsRequest(address=address("t", generation=1)), timeout=20))
                    answers.append(bytes(data["x"]) == old)
                except grpc.RpcError as e:
                    answers.append(reason(e)[0])
        threads = [threading.Thread(target=pull) for _ in range(4)]
        for t in threads:
            t.start()
        gate.wait()
        while len(answers) < 100:
            pass
        lease = self.stage.Attach(pb.AttachRequest(generation=2, stage=3, stage_count=4))
        next(lease)
        self.publisher.PublishTensors(parts(address("t", generation=2), [("x", pb.DATA_TYPE_U8, [len(new)], new)]), timeout=20)
        for t in threads:
            t.join()
        self.assertEqual(len(answers), 1000)
        self.assertEqual(set(answers), {True, "SUPERSEDED"})
        lease.cancel()

    def test_sigterm_exits_with_0_even_when_idle(self):
        self.daemon.terminate()
        self.assertEqual(self.daemon.process.wait(10), 0)

    def test_traceparent_is_logged_with_the_call(self):
        daemon = Daemon("--log-level", "debug")
        self.addCleanup(daemon.close)
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        daemon.stage.GetStageInfo(pb.GetStageInfoRequest(), timeout=10, metadata=[("traceparent", trace)])
        logged, = [line for line in daemon.text().splitlines() if trace in line]
        self.assertIn("/stagewire.v1.StageService/GetStageInfo", logged)

    def test_the_publisher_service_is_not_for_everybody(self):
        closed = Daemon(publish_on_loopback=False)
        self.addCleanup(closed.close)
        with self.assertRaises(grpc.RpcError) as caught:
            closed.publisher.PublishLossMetrics(pb.PublishLossMetricsRequest(address=address(), metrics=metrics(a=1)), timeout=10)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.PERMISSION_DENIED)
        self.assertIn("--publish-on-loopback", caught.exception.details())


if __name__ == "__main__":
    unittest.main()
