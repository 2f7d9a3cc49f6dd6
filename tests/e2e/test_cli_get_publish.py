"""stagewire get and publish, as a user runs them against a daemon."""
import json
import struct
import unittest

import command
import stage
from cli import WithDaemon
from stage import pb

EXTENSION = pb.Extension(type="py.int", value=pb.Value(text="12345678901234567890"))


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


if __name__ == "__main__":
    unittest.main()
