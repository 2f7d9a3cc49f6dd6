"""Whether two values are the same: types, order and bits."""
import struct

import numpy
import torch


def difference(a, b, path="value"):
    """Where and how the two differ, or None. Of tensors, type, shape and elements count; not how they lie in memory."""
    if type(a) is not type(b):
        return f"{path}: {type(a).__name__} is not {type(b).__name__}"
    if isinstance(a, torch.Tensor):
        return _between_tensors(a, b, path)
    if isinstance(a, float):
        return None if struct.pack("<d", a) == struct.pack("<d", b) else f"{path}: {a!r} is not {b!r}"
    if isinstance(a, (numpy.ndarray, numpy.generic)):
        return difference((a.dtype, a.shape, a.tobytes()), (b.dtype, b.shape, b.tobytes()), path)
    if isinstance(a, complex):
        return difference((a.real, a.imag), (b.real, b.imag), path)
    if isinstance(a, dict):
        if list(a) != list(b):
            return f"{path}: keys {list(a)} are not {list(b)}"
        return next(filter(None, (difference(a[key], b[key], f"{path}[{key!r}]") for key in a)), None)
    if isinstance(a, (list, tuple)):
        if len(a) != len(b):
            return f"{path}: {len(a)} are not {len(b)}"
        return next(filter(None, (difference(x, y, f"{path}[{i}]") for i, (x, y) in enumerate(zip(a, b)))), None)
    return None if a == b else f"{path}: {a!r} is not {b!r}"


def _between_tensors(a, b, path):
    for what in ("dtype", "shape", "device"):
        if getattr(a, what) != getattr(b, what):
            return f"{path}.{what}: {getattr(a, what)} is not {getattr(b, what)}"
    return None if bits(a) == bits(b) else f"{path}: {a} is not {b}"


def bits(tensor):
    """Its elements as they are in memory, row after row."""
    plain = torch.empty(tensor.numel(), dtype=tensor.dtype)
    plain.view(tensor.shape).copy_(tensor.detach())
    return plain.view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
