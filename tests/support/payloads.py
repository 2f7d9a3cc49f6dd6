"""Seeded random payloads, of everything that a trainer may hand over."""
import random
import struct

import numpy
import torch

DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32,
          torch.float64, torch.complex64, torch.complex128]
FLOATS = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 5e-324, 1.7976931348623157e308, 0.1]
INTEGERS = [0, -1, 1, 2**31, 2**63 - 1, -(2**63)]
TEXTS = ["", "loss", "Verlust/größe", "a\0b", "\U0001f4c9", " " * 300]


class Payloads:
    """What the same seed draws is the same, bit for bit, on every rank.

    Without `lazy`, what is only marked as conjugated or negated is so in memory: PyTorch 1.13 forgets the mark when it pickles.
    """

    def __init__(self, seed, lazy=True):
        self.random = random.Random(seed)
        self.lazy = lazy

    def number(self):
        if self.random.random() < 0.5:
            return self.random.choice(FLOATS)
        return struct.unpack("<d", self.random.randbytes(8))[0]  # any NaN, too

    def integer(self):
        if self.random.random() < 0.5:
            return self.random.choice(INTEGERS)
        return self.random.randrange(-(2**63), 2**63)

    def text(self):
        return self.random.choice(TEXTS) + self.random.choice(["", str(self.random.random())])

    def value(self, depth=4):
        """Of any kind, nested up to `depth` deep."""
        plain = [self.number, self.integer, self.text, lambda: self.random.randbytes(self.random.randrange(40)),
                 lambda: self.random.random() < 0.5, lambda: None, self.tensor]
        plain += [self.of_python]
        nested = [self.list, self.tuple, self.dict] if depth else []
        kind = self.random.choice(plain + 2 * nested)
        return kind(depth - 1) if kind in nested else kind()

    def of_python(self):
        """What other languages lack."""
        return self.random.choice([
            lambda: self.random.randrange(-(10**60), 10**60), lambda: complex(self.number(), self.number()),
            lambda: {self.integer(), self.text(), None}, lambda: frozenset([self.text(), (self.integer(), True)]),
            lambda: bytearray(self.random.randbytes(9)), lambda: {self.integer(): self.text(), (1, "a"): self.number()},
            lambda: self.random.choice(DTYPES), lambda: torch.Size([2, 0, 3]), lambda: torch.device("cpu"),
            lambda: numpy.frombuffer(self.random.randbytes(24), self.random.choice(["<f4", "<u8", "<i2"])).reshape(-1, 1),
            lambda: numpy.float32(self.random.random()), lambda: numpy.dtype("<u2")])()

    def list(self, depth):
        return [self.value(depth) for _ in range(self.random.randrange(4))]

    def tuple(self, depth):
        return tuple(self.list(depth))

    def dict(self, depth):
        return {f"{self.text()} {i}": self.value(depth) for i in range(self.random.randrange(5))}

    def metrics(self):
        """A dict or a list of them, in which tensors of one element are frequent."""
        one = lambda: {f"{self.text()} {i}": self.random.choice([self.value, self.scalar])() for i in range(self.random.randrange(6))}
        return one() if self.random.random() < 0.3 else [one() for _ in range(self.random.randrange(4))]

    def scalar(self):
        return self.tensor(shape=self.random.choice([(), (1,), (1, 1, 1)]))

    def tensors(self):
        name = lambda: self.text().replace("\0", "")  # which a name of the C library ends with
        return {f"{name()} {i}": self.tensor() for i in range(self.random.randrange(1, 6))}

    def tensor(self, dtype=None, shape=None):
        """Of random bits and the values at the type's edges; often a view, or one that the gradient goes through."""
        may_change = dtype is None
        dtype = dtype or self.random.choice(DTYPES)
        if shape is None:
            shape = [self.random.choice([0, 1, 2, 3, 7]) for _ in range(self.random.randrange(5))]
        tensor = self._view(self._filled(dtype, shape), may_change)
        if tensor.is_floating_point() and self.random.random() < 0.3:
            tensor = tensor.detach().requires_grad_()
            if self.random.random() < 0.5:
                tensor = tensor.view_as(tensor)
        return tensor

    def _filled(self, dtype, shape):
        """Twice as much as is asked for in each dimension, so that views are cut from it."""
        count = torch.Size([2 * n for n in shape]).numel()
        if dtype == torch.bool:
            return torch.tensor([self.random.random() < 0.5 for _ in range(count)], dtype=dtype).reshape([2 * n for n in shape])
        size = torch.empty(0, dtype=dtype).element_size()
        raw = bytearray(self.random.randbytes(count * size))
        tensor = torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)
        for i in range(0, count, 3):
            tensor[i] = self._edge(dtype)
        return tensor.reshape([2 * n for n in shape])

    def _edge(self, dtype):
        if dtype.is_complex or dtype.is_floating_point:
            limits = torch.finfo(dtype)
            edges = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), limits.max, limits.min, limits.tiny, limits.eps]
            real = self.random.choice(edges)
            return complex(real, self.random.choice(edges)) if dtype.is_complex else real
        return self.random.choice([torch.iinfo(dtype).min, torch.iinfo(dtype).max, 0])

    def _view(self, wide, may_change):
        """[2n, 2m, …] -> [n, m, …], cut out, with a stride, or as one row again and again; then perhaps turned or conjugated."""
        for dimension, twice in enumerate(wide.shape):
            count = twice // 2
            way = self.random.randrange(4)
            if way == 0:
                wide = wide.narrow(dimension, count, count)
            elif way == 1:
                wide = wide.transpose(0, dimension)[::2].transpose(0, dimension)
            elif way == 2:
                wide = wide.narrow(dimension, 0, count)
            else:
                wide = wide.narrow(dimension, 0, min(1, count)).expand([count if d == dimension else -1 for d in range(wide.dim())])
        if self.random.random() < 0.3:
            wide = wide.contiguous()
        if wide.is_complex() and self.random.random() < 0.5:
            wide = wide.conj()
            if may_change and self.random.random() < 0.5:
                wide = wide.imag  # the negative bit, and a floating type
        return wide if self.lazy else wide.resolve_conj().resolve_neg()


def zero(value):
    """What a trainer may do once a call has returned: every tensor's memory is used for something else."""
    if isinstance(value, torch.Tensor):
        value.storage().untyped().fill_(0)
    elif isinstance(value, dict):
        zero(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for part in value:
            zero(part)
