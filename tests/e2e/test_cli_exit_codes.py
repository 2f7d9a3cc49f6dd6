"""What the command's exit status says."""
import json
import unittest
from concurrent import futures

import grpc

import command
import stage
from cli import WithDaemon
from stage import pb, rpc


class ExitCodes(WithDaemon):
    arguments = ("--metrics-bytes", "1m")

    def expect(self, code, reason, name, *args, given=""):
        out, err = self.run_command(name, *args, given=given, expect=code)
        self.assertEqual(out, "")
        self.assertIn(f"[{reason}]", err)
        return err

    def test_3_is_not_there(self):
        self.publish("train", 1, {})
        self.publish("train", 3, {})
        self.expect(3, "SKIPPED", "get", "train", "2")
        self.expect(3, "NOT_YET", "get", "train", "4", "--no-wait")
        self.daemon.publisher.CloseChannel(pb.CloseChannelRequest(
            address=stage.address("train"), kind=pb.ITEM_KIND_METRICS, reason=pb.CLOSE_REASON_FINISHED), timeout=10)
        self.expect(3, "FINISHED", "get", "train", "4")

    def test_4_is_too_late(self):
        err = self.expect(4, "NOT_YET", "get", "train", "1", "--timeout", "200ms")
        self.assertIn("stage 3", err)
        self.assertIn("step 1", err)
        self.assertIn('there is no channel "train" for metrics yet; \'stagewire info\' lists', err)

    def test_a_channel_that_is_misspelt_gets_the_one_that_was_meant(self):
        self.publish("train", 1, {})
        hint = 'there is no channel "trian" for metrics yet; did you mean "train"?'
        self.assertIn(hint, self.expect(3, "NOT_YET", "get", "trian", "1", "--no-wait"))
        self.assertIn(hint, self.expect(4, "NOT_YET", "wait", "trian", "--step", "1", "--timeout", "200ms"))
        self.assertNotIn("there is no channel", self.expect(3, "NOT_YET", "get", "train", "2", "--no-wait"))
        self.assertIn("for tensors yet", self.expect(3, "NOT_YET", "get", "train", "1", "--no-wait", "--tensors"))

    def test_6_is_refused(self):
        self.publish("train", 1, {})
        self.expect(6, "RUN_MISMATCH", "get", "train", "1", "--run", "other")
        self.expect(6, "MALFORMED", "get", "two words", "1")
        self.expect(6, "CONFLICT", "publish", "train", "1", given='{"a": 1}')
        self.expect(6, "STEP_WENT_BACK", "publish", "train", "0", given='{"a": 1}')
        self.expect(6, "NOT_ATTACHED", "publish", "train", "2", "--generation", "2", given="{}")
        self.expect(6, "TOO_LARGE", "publish", "train", "2", given='{"a": "%s"}' % ("x" * (2 << 20)))
        deep = "[" * 17 + "]" * 17
        self.expect(6, "MALFORMED", "publish", "train", "2", given='{"a": %s}' % deep)

    def test_7_is_over(self):
        self.daemon.publisher.PublishFailure(pb.PublishFailureRequest(
            address=stage.address("train", 1), kind=pb.ITEM_KIND_METRICS, message="out of memory"), timeout=10)
        self.assertIn("out of memory", self.expect(7, "STEP_FAILED", "get", "train", "1"))

    def test_9_is_no_room(self):
        policy = pb.ChannelPolicy(channel="train", kind=pb.ITEM_KIND_METRICS, consumers=["stage-0"])
        lease = self.daemon.stage.Attach(pb.AttachRequest(stage=3, stage_count=4, policies=[policy]))
        next(lease)
        big = json.dumps({"a": "x" * 600_000})
        self.run_command("publish", "train", "0", given=big)
        self.expect(9, "STORE_FULL", "publish", "train", "1", "--timeout", "3s", given=big)
        lease.cancel()

    def test_publishing_where_it_is_not_allowed_is_refused(self):
        with stage.Daemon(publish_on_loopback=False) as closed:
            code, _, err = command.run("publish", closed.targets[0], "train", "0", given="{}")
        self.assertEqual(code, 6, err)


class AnyStatus(rpc.StageServiceServicer):
    """An endpoint that answers every pull with one status."""
    code = None

    def GetLossMetrics(self, request, context):
        context.abort(self.code, "for the test")


class EveryStatusHasAnExitCode(unittest.TestCase):
    def test_it_does(self):
        code = grpc.StatusCode
        servicer = AnyStatus()
        server = grpc.server(futures.ThreadPoolExecutor(1))
        rpc.add_StageServiceServicer_to_server(servicer, server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.addCleanup(server.stop, None)
        for answer, expected in ((code.NOT_FOUND, 3), (code.OUT_OF_RANGE, 3),
                                 (code.INVALID_ARGUMENT, 6), (code.FAILED_PRECONDITION, 6), (code.ALREADY_EXISTS, 6),
                                 (code.PERMISSION_DENIED, 6), (code.UNAUTHENTICATED, 6), (code.UNIMPLEMENTED, 6),
                                 (code.ABORTED, 7), (code.DATA_LOSS, 8), (code.RESOURCE_EXHAUSTED, 9),
                                 (code.INTERNAL, 1), (code.UNKNOWN, 1)):
            servicer.code = answer
            status, out, err = command.run("get", f"127.0.0.1:{port}", "train", "1", "--timeout", "10s")
            self.assertEqual((status, out), (expected, ""), f"{answer}: {err}")
            self.assertIn("for the test", err)


if __name__ == "__main__":
    unittest.main()
