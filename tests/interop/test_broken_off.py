#!/usr/bin/env python3
"""A call that the other side breaks off has had no answer: the client asks again."""
import concurrent.futures
import unittest

import grpc

import command
from stage import pb, rpc


class BreaksOff(rpc.StageServiceServicer):
    """As an endpoint that ends does with what is under way."""

    def __init__(self, tries):
        self.tries = tries

    def GetLossMetrics(self, request, context):
        self.tries -= 1
        if self.tries > 0:
            context.abort(grpc.StatusCode.CANCELLED, "CANCELLED")
        context.abort(grpc.StatusCode.NOT_FOUND, "asked again")


class BrokenOff(unittest.TestCase):
    def serve(self, servicer):
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
        rpc.add_StageServiceServicer_to_server(servicer, server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.addCleanup(lambda: server.stop(0).wait())
        return "127.0.0.1:%d" % port

    def test_a_call_that_was_cancelled_by_the_other_side_is_made_again(self):
        endpoint = self.serve(BreaksOff(tries=3))
        _, _, err = command.run("get", endpoint, "train", "1", "--timeout", "20s")
        self.assertIn("asked again", err)

    def test_one_that_is_always_broken_off_ends_at_its_deadline(self):
        endpoint = self.serve(BreaksOff(tries=10000))
        _, _, err = command.run("get", endpoint, "train", "1", "--timeout", "500ms")
        self.assertIn("broken off by the other side", err)


if __name__ == "__main__":
    unittest.main()
