#!/usr/bin/env python3
"""Python's grpcio plays scenes.json: every call and every reason of the contract, as test_grpcjs.mjs does it."""
import base64
import json
import os
import queue
import unittest

import grpc
from google.protobuf.json_format import MessageToDict, ParseDict

from stage import Daemon, pb, reason

with open(os.path.join(os.path.dirname(__file__), "scenes.json")) as f:
    SCENES = json.load(f)

METHODS = {method.name: method for service in pb.DESCRIPTOR.services_by_name.values() for method in service.methods}
CLIENT_STREAMS = {"PublishTensors"}
SERVER_STREAMS = {"StreamTensors", "WatchLossMetrics", "Attach"}


def expand(value):
    """{"$zeros": N} stands for so many bytes, as base64."""
    if isinstance(value, list):
        return [expand(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if "$zeros" in value:
        return base64.b64encode(bytes(value["$zeros"])).decode()
    return {key: expand(inner) for key, inner in value.items()}


def has(got, wanted):
    """Whether all that is wanted is there."""
    if isinstance(wanted, list):
        return isinstance(got, list) and len(got) >= len(wanted) and all(map(has, got, wanted))
    if isinstance(wanted, dict):
        return isinstance(got, dict) and all(key in got and has(got[key], inner) for key, inner in wanted.items())
    return got == wanted


def plain(message):
    return MessageToDict(message, preserving_proto_field_name=True, including_default_value_fields=True)


def requests_of(step, left_open):
    """The requests of a step; `left_open` keeps the sending side open until something is put into it."""
    message = getattr(pb, METHODS[step["call"]].input_type.name)
    for request in step.get("requests") or [step["request"]]:
        yield ParseDict(expand(request), message())
    if step.get("half_open"):
        left_open.get()


class Under:
    """A call under way."""

    def __init__(self, daemon, step):
        stub = daemon.publisher if METHODS[step["call"]].containing_service.name == "PublisherService" else daemon.stage
        method, self.left_open = getattr(stub, step["call"]), queue.Queue()
        requests = requests_of(step, self.left_open)
        self.streams = step["call"] in SERVER_STREAMS
        if step["call"] in CLIENT_STREAMS:
            self.call = method.future(requests, timeout=60)
        elif self.streams:
            self.call = method(next(requests), timeout=60)
        else:
            self.call = method.future(next(requests), timeout=60)

    def first(self, count):
        return [plain(next(self.call)) for _ in range(count)]

    def all(self):
        return [plain(part) for part in self.call] if self.streams else [plain(self.call.result())]

    def cancel(self):
        self.call.cancel()
        self.left_open.put(None)


class Scenes(unittest.TestCase):
    maxDiff = 2000
    seen = set()

    def assert_has(self, got, wanted):
        self.assertTrue(has(got, wanted), "wanted %.2000s\ngot %.2000s" % (wanted, got))

    def assert_refused(self, under, code, why, metadata=None):
        with self.assertRaises(grpc.RpcError) as caught:
            under.all()
        error = caught.exception
        got, got_metadata = reason(error)
        self.assertEqual((error.code().name, got), (code, why), error.details())
        self.assert_has(got_metadata, metadata or {})
        Scenes.seen.add(got)

    def assert_answered(self, under, step):
        if "refused" in step:
            self.assert_refused(under, *step["refused"])
        elif "first" in step:
            self.assert_has(under.first(len(step["first"])), expand(step["first"]))
            under.cancel()
        else:
            got, wanted = under.all(), expand(step.get("responses") or [step.get("response", {})])
            self.assertEqual(len(got), len(wanted))
            self.assert_has(got, wanted)

    def until(self, daemon, wanted):
        while not has(plain(daemon.stage.GetStageInfo(pb.GetStageInfoRequest(), timeout=10)), wanted):
            pass

    def play(self, daemon, steps):
        under = {}
        for step in steps:
            if "until" in step:
                self.until(daemon, step["until"])
            elif "terminate" in step:
                daemon.terminate()
            elif "cancel" in step:
                under[step["cancel"]].cancel()
            elif "finish" in step:
                self.assert_answered(under[step["finish"]], step)
            elif "start" in step:
                under[step["start"]] = Under(daemon, step)
            elif "hold" in step:
                under[step["hold"]] = Under(daemon, step)
                self.assert_has(under[step["hold"]].first(1)[0], step["response"])
            else:
                self.assert_answered(Under(daemon, step), step)
        for call in under.values():
            call.cancel()

    def test_every_call_and_every_reason(self):
        for scene in SCENES:
            with self.subTest(scene["promise"]), Daemon(*scene.get("daemon", [])) as daemon:
                self.play(daemon, scene["steps"])
        given = {step["refused"][1] for scene in SCENES for step in scene["steps"] if "refused" in step}
        self.assertEqual(Scenes.seen, given)
        called = {step["call"] for scene in SCENES for step in scene["steps"] if "call" in step}
        self.assertEqual(called, set(METHODS))


if __name__ == "__main__":
    unittest.main()
