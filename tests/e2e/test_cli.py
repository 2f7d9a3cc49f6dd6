"""stagewire info, get and publish, as a user runs them against a daemon."""
import json
import struct
import unittest
from concurrent import futures

import grpc

import command
import stage
from stage import pb, rpc

EXTENSION = pb.Extension(type="py.int", value=pb.Value(text="12345678901234567890"))


class WithDaemon(unittest.TestCase):
    arguments = ()

    def setUp(self):
        self.daemon = stage.Daemon(*self.arguments)
        self.addCleanup(self.daemon.close)
        self.endpoint = self.daemon.targets[0]

    def run_command(self, name, *args, given="", expect=0):
        code, out, err = command.run(name, self.endpoint, *args, given=given)
        self.assertEqual(code, expect, f"{args}: {out}{err}")
        return out, err

    def publish(self, channel, step, value, *args, **more):
        return self.run_command("publish", channel, str(step), *args, given=json.dumps(value), **more)

    def get_json(self, *args):
        out, err = self.run_command("get", *args, "--json")
        self.assertEqual(err, "")
        self.assertEqual(out.count("\n"), 1, "one object, one line")
        return command.strict(out)

    def held(self, channel, step):
        request = pb.GetLossMetricsRequest(address=stage.address(channel, step), wait=pb.Wait(no_wait=True))
        return self.daemon.stage.GetLossMetrics(request, timeout=10).metrics


class TheWordsOfTheCommand(unittest.TestCase):
    def test_help_names_commands_and_exit_codes(self):
        code, out, err = command.run("--help")
        self.assertEqual((code, err), (0, ""))
        for word in ("info", "get", "publish", "demo", "Exit status", "unix:PATH", "  9  "):
            self.assertIn(word, out)
        self.assertNotIn("demo-stage", out)

    def test_each_command_has_help(self):
        for name in ("info", "get", "publish", "demo"):
            code, out, err = command.run(name, "--help")
            self.assertEqual((code, err), (0, ""))
            self.assertIn("Usage: stagewire " + name, out)

    def test_version(self):
        code, out, _ = command.run("--version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^stagewire \d+\.\d+\.\d+\n$")

    def expect_misuse(self, *args, words):
        code, out, err = command.run(*args)
        self.assertEqual((code, out), (2, ""), args)
        self.assertIn(words, err)

    def test_misuse_is_named_and_exits_with_2(self):
        self.expect_misuse(words="no command")
        self.expect_misuse("pubish", words="did you mean 'publish'?")
        self.expect_misuse("frobnicate", words="'frobnicate' is no command")
        self.expect_misuse("--frobnicate", words="frobnicate")
        self.expect_misuse("info", words="ENDPOINT is missing")
        self.expect_misuse("info", "a:1", "b", words="'b' is one argument too many")
        self.expect_misuse("get", words="ENDPOINT and CHANNEL are missing")
        self.expect_misuse("get", "a:1", words="CHANNEL is missing")
        self.expect_misuse("get", "a:1", "train", "newest", words="STEP 'newest'")
        self.expect_misuse("get", "a:1", "train", "9223372036854775808", words="9223372036854775807")
        self.expect_misuse("get", "a:1", "train", "1", "2", words="'2' is one argument too many")
        self.expect_misuse("get", "a:1", "train", "--stage", "x", words="--stage 'x'")
        self.expect_misuse("get", "a:1", "train", "--timeout", "30", words="500ms or 30s")
        self.expect_misuse("publish", "a:1", words="CHANNEL and STEP are missing")
        self.expect_misuse("publish", "a:1", "train", "latest", words="STEP 'latest'")

    def test_an_endpoint_that_is_none_is_misuse(self):
        for endpoint in ("nonsense", "host:", ":1", "host:99999", "unix:"):
            self.expect_misuse("info", endpoint, words=endpoint)

    def test_an_unreachable_endpoint(self):
        code, out, err = command.run("info", "unix:/nonexistent/stagewire.sock", "--timeout", "500ms")
        self.assertEqual((code, out), (5, ""))
        self.assertIn("/nonexistent/stagewire.sock", err)


class Items(WithDaemon):
    def test_what_is_published_is_there(self):
        value = {"loss": 0.25, "n": 3, "zero": 1.0, "flag": True, "none": None, "text": "ä\n\"",
                 "nested": {"list": [1, [2.5, []], {}]}, "big": -2**63}
        out, err = self.publish("train", 7, value)
        self.assertEqual(out, "")
        self.assertIn("published", err)
        got = self.get_json("train", "7")
        self.assertEqual(got["metrics"], value)
        self.assertEqual(list(got["metrics"]), list(value), "keys keep their order")
        self.assertIsInstance(got["metrics"]["zero"], float)
        self.assertIsInstance(got["metrics"]["n"], int)
        self.assertEqual({key: got[key] for key in ("run_id", "generation", "stage", "group", "channel", "step", "call")},
                         {"run_id": "run-a", "generation": 1, "stage": 3, "group": 0, "channel": "train", "step": 7,
                          "call": 0})
        self.assertGreater(got["published_unix_ns"], 1_600_000_000_000_000_000)

    def test_shapes_arrive_as_they_were(self):
        for step, value in enumerate(([], {}, [{}], [{"a": 1}, {"b": 2}])):
            self.publish("shapes", step, value)
            self.assertEqual(self.get_json("shapes", str(step))["metrics"], value)

    def test_latest_is_the_default(self):
        self.publish("train", 1, {"v": 1})
        self.publish("train", 5, {"v": 5})
        self.assertEqual(self.get_json("train")["step"], 5)
        self.assertEqual(self.get_json("train", "latest")["step"], 5)
        self.assertEqual(self.get_json("train", "1")["metrics"], {"v": 1})

    def test_addresses_have_options(self):
        self.publish("train", 1, {"v": 1}, "--stage", "2", "--group", "4", "--call", "6", "--run", "run-a",
                     "--generation", "1")
        got = self.get_json("train", "1", "-s2", "-G4", "-c6", "-rrun-a", "-g1")
        self.assertEqual((got["stage"], got["group"], got["call"]), (2, 4, 6))

    def test_the_same_again_is_fine_and_json_says_so(self):
        first, _ = self.publish("train", 1, {"a": 1, "b": 2}, "--json")
        again, err = self.publish("train", 1, {"b": 2, "a": 1}, "--json")
        self.assertEqual(command.lines(first), [{"channel": "train", "step": 1, "call": 0, "duplicate": False}])
        self.assertTrue(command.strict(again)["duplicate"])
        self.assertIn("already", err)

    def test_a_dict_is_a_table_of_names_and_values(self):
        self.publish("train", 7, {"loss": 0.25, "long_name": 3})
        out, err = self.run_command("get", "train", "7")
        self.assertEqual(err, "")
        rows = out.splitlines()
        self.assertIn('"train"', rows[0])
        self.assertEqual(rows[1:], ["name       value", "loss       0.25", "long_name  3"])

    def test_a_list_is_a_table_with_a_row_a_dict(self):
        self.publish("train", 7, [{"loss": 0.25, "n": 3}, {"n": 4, "x": "y"}])
        rows = self.run_command("get", "train", "7")[0].splitlines()
        self.assertEqual([row.split() for row in rows[1:]],
                         [["item", "loss", "n", "x"], ["0", "0.25", "3"], ["1", "4", '"y"']])

    def test_a_table_cannot_steer_the_terminal(self):
        self.publish("train", 1, {"\x1b[31mred": "\x1b]0;title\x07"})
        out, _ = self.run_command("get", "train", "1")
        self.assertNotIn("\x1b", out)
        self.assertIn("red", out)

    def publish_every_kind(self, step):
        dict_of_all = pb.LossMetrics()
        values = dict_of_all.single.values
        values["nan"].number = struct.unpack("<d", struct.pack("<Q", 0x7ff8000000000000))[0]
        values["inf"].number = float("inf")
        values["minus_inf"].number = float("-inf")
        values["blob"].blob = b"\xff\x00"
        values["extension"].extension.CopyFrom(EXTENSION)
        values["minus_zero"].number = -0.0
        self.daemon.publisher.PublishLossMetrics(
            pb.PublishLossMetricsRequest(address=stage.address("kinds", step), metrics=dict_of_all), timeout=10)
        return dict_of_all

    def test_what_json_lacks_is_written_in_words(self):
        self.publish_every_kind(0)
        metrics = self.get_json("kinds", "0")["metrics"]
        self.assertEqual((metrics["nan"], metrics["inf"], metrics["minus_inf"]), ("NaN", "Infinity", "-Infinity"))
        self.assertEqual(metrics["blob"], {"$blob": "/wA="})
        self.assertEqual(metrics["extension"], {"$extension": "py.int", "value": "12345678901234567890"})
        self.assertEqual(str(metrics["minus_zero"]), "-0.0")

    def test_a_tensor_in_metrics_is_its_type_shape_and_summary(self):
        payload = pb.LossMetrics()
        tensor = payload.single.values["grads"].tensor
        tensor.dtype = pb.DATA_TYPE_F32
        tensor.shape.extend([2, 2])
        tensor.data = struct.pack("<4f", 1, 2, 3, 6)
        self.daemon.publisher.PublishLossMetrics(
            pb.PublishLossMetricsRequest(address=stage.address("kinds"), metrics=payload), timeout=10)
        self.assertEqual(self.get_json("kinds", "0")["metrics"]["grads"],
                         {"$tensor": {"dtype": "F32", "shape": [2, 2], "min": 1.0, "max": 6.0, "mean": 3.0}})

    def test_what_get_printed_can_be_published(self):
        expected = self.publish_every_kind(0)
        line, _ = self.run_command("get", "kinds", "0", "--json")
        self.run_command("publish", "copy", "0", "--from-get", given=line)
        self.assertEqual(self.held("copy", 0).SerializeToString(deterministic=True),
                         expected.SerializeToString(deterministic=True))

    def test_without_from_get_the_words_stay_words(self):
        self.publish("train", 0, {"a": "NaN", "b": {"$blob": "/wA="}})
        values = self.held("train", 0).single.values
        self.assertEqual(values["a"].text, "NaN")
        self.assertEqual(values["b"].map.values["$blob"].text, "/wA=")

    def test_tensors_are_listed_with_types_and_shapes(self):
        manifest = pb.TensorManifest(address=stage.address("weights", 2), tensors=[
            pb.TensorInfo(name="empty", dtype=pb.DATA_TYPE_BF16, shape=[0, 3], byte_length=0)])
        self.daemon.publisher.PublishTensors(iter([pb.PublishTensorsRequest(manifest=manifest)]), timeout=10)
        out, _ = self.run_command("get", "weights", "--tensors")
        self.assertEqual([row.split() for row in out.splitlines()[1:]],
                         [["name", "dtype", "shape", "bytes"], ["empty", "BF16", "[0,", "3]", "0"]])
        self.assertEqual(self.get_json("weights", "--tensors")["tensors"],
                         [{"name": "empty", "dtype": "BF16", "shape": [0, 3], "bytes": 0}])

    def test_a_get_waits_until_it_is_published(self):
        process = command.start("get", self.endpoint, "train", "3", "--json")
        self.publish("train", 3, {"v": 1})
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(command.strict(out)["metrics"], {"v": 1})

    def test_output_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "w") as full:
            process = command.subprocess.run([command.STAGEWIRE, "info", self.endpoint], stdout=full,
                                             stderr=command.subprocess.PIPE, text=True)
        self.assertEqual(process.returncode, 1)
        self.assertIn("standard output", process.stderr)


class WrongInput(WithDaemon):
    def expect(self, given, words, *options):
        out, err = self.run_command("publish", "train", "0", *options, given=given, expect=2)
        self.assertEqual(out, "")
        self.assertIn(words, err)

    def test_json_that_is_wrong_is_named_with_its_place_and_nothing_is_published(self):
        self.expect("", "line 1")
        self.expect('{"loss": 1', "line 1, column 10")
        self.expect('{"loss": NaN}', "NaN")
        self.expect('{"a": 1, "a": 2}', "duplicate")
        self.expect('{"a": 9223372036854775808}', "too big integer")
        self.expect("1", "no JSON object or array")
        self.expect('[{"a": 1}, "b"]', "item 1 of the array is a string")
        self.expect('{"loss": 1}', "get --json", "--from-get")
        self.run_command("get", "train", "0", "--no-wait", expect=3)


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
