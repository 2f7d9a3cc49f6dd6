"""What a Python program puts in comes out again, of the same type, or is refused with its path."""
import collections
import math
import struct
import unittest

import numpy as np
import torch

import stagewire
from stagewire import Extension, RawTensor


def bits(number):
    return struct.pack("<d", number)


def same(a, b):
    """Equal, of the same types all the way down, doubles and tensors by their bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return bits(a) == bits(b)
    if isinstance(a, torch.Tensor):
        return (a.dtype == b.dtype and a.shape == b.shape
                and a.resolve_conj().contiguous().numpy().tobytes() == b.contiguous().numpy().tobytes())
    if isinstance(a, (np.ndarray, np.generic)):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


class Values(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.endpoint = stagewire.Endpoint("run", stage=1, stage_count=2)
        cls.client = stagewire.Client(cls.endpoint.address)
        cls.step = 0

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.endpoint.close()

    def through(self, metrics):
        type(self).step += 1
        self.endpoint.publisher.publish_metrics("values", self.step, metrics)
        return self.client.get_metrics("values", self.step, timeout=10).value

    def assert_comes_back(self, value):
        self.assertTrue(same({"value": value}, found := self.through({"value": value})), (value, found))

    def test_plain_values_stay_what_they_are(self):
        for value in (None, True, False, 0, -1, 2**63 - 1, -2**63, 0.25, -0.0, math.inf, -math.inf, 5e-324, "", "ß\0",
                      b"", b"\0\xff", [], (), {}, [1, (2, {"three": [None]})], {"b": 1, "a": 2}, [[], ((),)]):
            with self.subTest(value=value):
                self.assert_comes_back(value)

    def test_doubles_keep_the_bits_of_a_nan(self):
        self.assert_comes_back(struct.unpack("<d", struct.pack("<Q", 0x7ff8dead_beef0001))[0])
        self.assert_comes_back(struct.unpack("<d", struct.pack("<Q", 0xfff8000000000000))[0])

    def test_what_python_adds_stays_what_it_is(self):
        for value in (2**63, -2**63 - 1, 10**300, {1, "a", (2, 3)}, set(), frozenset({1.5}), 1 - 0j, complex(-0.0, 1),
                      bytearray(b"xy"), {1: "one", (2, 3): {None: 4}}, torch.float32, torch.Size([2, 0]),
                      torch.device("cpu"), np.dtype("int16"), np.float32(0.1), np.int64(-3), np.bool_(True)):
            with self.subTest(value=value):
                self.assert_comes_back(value)

    def test_the_same_set_is_the_same_content(self):
        publisher = self.endpoint.publisher
        self.assertFalse(publisher.publish_metrics("sets", 1, {"value": set("abcdefgh")}))
        self.assertTrue(publisher.publish_metrics("sets", 1, {"value": set("hgfedcba")}))

    def test_tensors_in_values_stay_what_they_are(self):
        for value in (torch.arange(6).view(2, 3).t(), torch.tensor(1.5, requires_grad=True), torch.empty(0, 3),
                      torch.tensor([1 + 2j, 3 - 4j]).conj(), torch.tensor([True, False]),
                      torch.tensor([1.5], dtype=torch.bfloat16), np.arange(6, dtype=">i4").reshape(2, 3).T[::-1]):
            with self.subTest(value=value):
                found = self.through({"value": value})["value"]
                if isinstance(value, np.ndarray):
                    self.assertIs(type(found), np.ndarray)
                    np.testing.assert_array_equal(found, value)
                else:
                    self.assertEqual((found.dtype, found.shape, found.requires_grad), (value.dtype, value.shape, False))
                    self.assertTrue(torch.equal(found, value.detach().resolve_conj()))

    def test_a_type_that_is_not_known_comes_as_an_extension(self):
        value = Extension("rust.Ipv4", {"octets": [127, 0, 0, 1]})
        self.assert_comes_back(value)

    def test_a_tensor_of_a_type_that_is_not_known_comes_as_bytes_with_its_name(self):
        self.assert_comes_back(RawTensor("F8_E4M3FN", (1, 2), b"ab"))

    def test_subclasses_travel_as_what_they_derive_from(self):
        class Loss(float):
            pass
        ordered = collections.OrderedDict(loss=Loss(0.5), counts=collections.Counter("aa"))
        self.assertTrue(same(self.through(ordered), {"loss": 0.5, "counts": {"a": 2}}))

    def test_a_list_of_dicts_comes_in_that_shape(self):
        for value in ([], {}, [{}], [{"a": 1}, {"a": 2}]):
            with self.subTest(value=value):
                self.assertEqual(self.through(value), value)

    def assert_refused(self, value, path):
        with self.assertRaises(ValueError) as refused:
            self.through(value)
        self.assertEqual(refused.exception.reason, "MALFORMED")
        self.assertEqual(refused.exception.metadata["path"], path)
        self.assertIn(path, str(refused.exception))

    def test_what_has_no_plain_form_is_refused_with_its_path(self):
        for value in (print, object(), lambda: 1, type, open, (x for x in ()), torch.nn.Linear(1, 1), "\ud800",
                      np.array([object()]), torch.empty(1, device="meta"), torch.eye(2).to_sparse()):
            with self.subTest(value=type(value)):
                self.assert_refused({"a": [{"b": (1, value)}]}, "metrics.a[0].b[1]")

    def test_a_key_that_is_not_utf8_is_refused(self):
        self.assert_refused({"a": {"\ud800": 1}}, "metrics.a")

    def test_what_holds_itself_is_refused(self):
        knot = []
        knot.append(knot)
        with self.assertRaises(ValueError):
            self.through({"a": knot})

    def test_a_payload_is_a_dict_or_a_list_of_dicts(self):
        for value in (1, [1], "text", None):
            with self.subTest(value=value), self.assertRaises(ValueError):
                self.through(value)


if __name__ == "__main__":
    unittest.main()
