"""Tensors go in and out bit for bit, whatever framework and layout, without needless copies."""
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np
import torch

import stagewire
from stagewire import RawTensor, _tensors

TYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
         torch.float32, torch.float64, torch.complex64, torch.complex128]
TYPES += [getattr(torch, name) for name in dir(torch) if name.startswith("float8_")]


def random_bits(dtype, *shape):
    """Any bits, so NaNs and infinities, too."""
    size = torch.empty(0, dtype=dtype).element_size() * int(np.prod(shape))
    generator = torch.Generator().manual_seed(size)
    raw = torch.randint(0, 2 if dtype is torch.bool else 256, (size,), dtype=torch.uint8, generator=generator)
    return torch.frombuffer(bytearray(raw.numpy().tobytes()), dtype=dtype).view(shape)


def bits(tensor):
    return tensor.detach().resolve_conj().resolve_neg().contiguous().flatten().view(torch.uint8).numpy().tobytes()


class Tensors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.endpoint = stagewire.Endpoint("run", stage=1, stage_count=2, linger=0)
        cls.client = stagewire.Client(cls.endpoint.address)
        cls.step = 0

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.endpoint.close()

    def publish(self, tensors, **options):
        type(self).step += 1
        self.endpoint.publisher.publish_tensors("tensors", self.step, tensors, **options)
        return self.step

    def through(self, tensor, borrow=False, **options):
        step = self.publish({"t": tensor}, borrow=borrow)
        return self.client.get_tensors("tensors", step, timeout=30, **options).value["t"]

    def test_every_type_of_the_installed_pytorch_is_bit_exact(self):
        for dtype in TYPES:
            for borrow in (False, True):
                with self.subTest(dtype=dtype, borrow=borrow):
                    sent = random_bits(dtype, 3, 5)
                    found = self.through(sent, borrow)
                    self.assertEqual((found.dtype, found.shape), (sent.dtype, sent.shape))
                    self.assertEqual(bits(found), bits(sent))

    def test_views_of_any_stride_are_what_they_show(self):
        base = torch.randn(4, 6, 8)
        views = [base.permute(2, 0, 1), base[::2, 1::3], base[1], base[..., 3], base.expand(2, 4, 6, 8), base[2:2],
                 torch.tensor(1.5), torch.randn(3, requires_grad=True) * 2, torch.complex(base, base).conj(),
                 torch.complex(base, base).conj().imag, torch.nn.Parameter(base)]
        for view in views:
            for borrow in (False, True):
                with self.subTest(stride=view.stride(), borrow=borrow):
                    found = self.through(view, borrow)
                    self.assertEqual((found.dtype, found.shape, found.requires_grad), (view.dtype, view.shape, False))
                    self.assertEqual(bits(found), bits(view))

    def test_numpy_in_and_out(self):
        for name in ("bool", "i1", "u2", "u4", "u8", "f2", "f8", "c8", ">f4", ">i8"):
            sent = (np.arange(12).reshape(3, 4) % 5).astype(name)[:, ::-2].T
            found = self.through(sent, framework="numpy")
            self.assertEqual(found.dtype, sent.dtype.newbyteorder("="))
            np.testing.assert_array_equal(found, sent)

    def test_a_type_that_the_framework_lacks_comes_as_bytes_with_its_name(self):
        self.assertEqual(self.through(np.array([1, 2], dtype="u2")), RawTensor("U16", (2,), b"\1\0\2\0"))
        self.assertEqual(self.through(torch.ones(1, dtype=torch.bfloat16), framework="numpy"),
                         RawTensor("BF16", (1,), b"\x80\x3f"))
        self.assertEqual(self.through(RawTensor("F4_E2M1FN_X2", (2,), b"ab")), RawTensor("F4_E2M1FN_X2", (2,), b"ab"))

    def test_dlpack_in_and_out(self):
        class Foreign:
            """Somebody's tensor that speaks nothing else."""

            def __init__(self, tensor):
                self._tensor = tensor

            def __dlpack__(self, stream=None):
                return self._tensor.__dlpack__()

            def __dlpack_device__(self):
                return self._tensor.__dlpack_device__()
        sent = torch.randn(2, 3)
        found = self.through(Foreign(sent))
        self.assertTrue(torch.equal(torch.from_dlpack(found), sent))
        np.testing.assert_array_equal(np.from_dlpack(self.through(sent, framework="numpy")), sent.numpy())

    def test_what_is_no_tensor_is_refused_with_its_name(self):
        for value in (1, [1.0], "text", np.array(["a"]), np.array([None]), torch.empty(1, device="meta")):
            with self.assertRaises(ValueError) as refused:
                self.publish({"bad": value})
            self.assertEqual(refused.exception.metadata["path"], "tensors['bad']")

    def test_results_go_into_out(self):
        sent = torch.randn(100)
        for out in (torch.empty(100), np.empty(100, dtype="f4")):
            found = self.through(sent, out={"t": out})
            self.assertIs(found, out)
            np.testing.assert_array_equal(np.asarray(out), sent.numpy())
        for out in (torch.empty(99), torch.empty(100, dtype=torch.int32), torch.empty(10, 10), torch.empty(200)[::2]):
            with self.assertRaises(ValueError):
                self.through(sent, out={"t": out})

    def test_what_came_as_memory_of_another_process_may_be_written_to(self):
        with tempfile.TemporaryDirectory() as folder, stagewire.Endpoint("run", [f"unix:{folder}/socket"], linger=0) as endpoint, \
                stagewire.Client(endpoint.address) as client:
            client.publisher.publish_tensors("tensors", 1, {"t": torch.ones(1 << 20)})
            first, second = (client.get_tensors("tensors", 1, timeout=30).value["t"] for _ in range(2))
            first += 1
            self.assertEqual((first.sum().item(), second.sum().item()), (2 << 20, 1 << 20))

    def test_a_manifest_has_types_and_shapes_without_bytes(self):
        step = self.publish({"a": torch.ones(2, 3), "b": torch.ones(0, dtype=torch.int8)})
        found = self.client.get_manifest("tensors", step, timeout=30).value
        self.assertEqual(found, {"a": stagewire.Manifest("F32", (2, 3), 24), "b": stagewire.Manifest("I8", (0,), 0)})

    def test_what_is_borrowed_is_shown_as_it_lies_and_let_go_of_once(self):
        before = len(_tensors._borrowed)
        with stagewire.Endpoint("run", linger=0) as endpoint:
            sent = torch.ones(1000)
            for step in range(3):
                endpoint.publisher.publish_tensors("borrowed", step, {"t": sent}, borrow=True)
                self.assertEqual(len(_tensors._borrowed), before + 1, "one step is kept")
        self.assertEqual(len(_tensors._borrowed), before)

    def test_threads_run_while_a_tensor_is_copied(self):
        sent, ticks, done = torch.zeros(64 << 20, dtype=torch.uint8), [0], threading.Event()

        def tick():
            while not done.is_set():
                ticks[0] += 1
        thread = threading.Thread(target=tick)
        step = self.publish({"t": sent})
        thread.start()
        before = ticks[0]
        self.client.get_tensors("tensors", step, timeout=30)
        self.assertGreater(ticks[0], before)
        done.set()
        thread.join()


PEAK = """
import resource, sys, torch, stagewire
SIZE = 256 << 20
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))
with stagewire.Client(sys.argv[1]) as client:
    client.get_metrics("warm", 1)
    out = torch.zeros(SIZE, dtype=torch.uint8) if sys.argv[2] == "out" else None
    before = peak()
    found = client.get_tensors("tensors", int(sys.argv[3]), out=None if out is None else {"t": out}).value["t"]
    print((peak() - before) / SIZE)
    assert found.min() == found.max() == 1
"""


class Memory(unittest.TestCase):
    def test_a_puller_needs_no_memory_beyond_the_result_and_a_publisher_one_copy(self):
        size = 256 << 20
        with stagewire.Endpoint("run", linger=0) as endpoint:
            endpoint.publisher.publish_metrics("warm", 1, {})
            sent = torch.ones(size, dtype=torch.uint8)
            for step, borrow, copies in ((1, True, 0), (2, False, 1)):
                reset_peak()
                before = resident()
                endpoint.publisher.publish_tensors("tensors", step, {"t": sent}, borrow=borrow)
                self.assertLess(abs((peak() - before) / size - copies), 0.25)
            for out, expected in (("own", 1), ("out", 0)):
                taken = float(subprocess.check_output([sys.executable, "-c", PEAK, endpoint.address, out, "2"]))
                self.assertLess(abs(taken - expected), 0.125, out)  # 32 MiB for what is on its way


def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))


def resident():
    return status("VmRSS")


def peak():
    return status("VmHWM")


def reset_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


if __name__ == "__main__":
    unittest.main()
