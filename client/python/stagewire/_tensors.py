"""Tensors of PyTorch, NumPy and whoever speaks DLPack, as the library sees them, and back.

Neither PyTorch nor NumPy is imported here before there is a tensor of theirs, or somebody asks for one.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from ctypes import c_void_p
from typing import Any, List, Optional, Tuple

from . import _abi
from ._calls import call
from ._library import lib
from .errors import malformed

# Our name of an element type: PyTorch's and NumPy's (with ml_dtypes), where they have it.
_NAMES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64", "C128": "complex128", "F8_E4M3FN": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
    "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz", "F8_E8M0FNU": "float8_e8m0fnu",
    "F4_E2M1FN_X2": "float4_e2m1fn_x2",
}
_BY_THEIR_NAME = {theirs: ours for ours, theirs in _NAMES.items()}
_BY_NUMBER = {number: name for name, (number, _) in _abi.DTYPES.items()}

FRAMEWORKS = ("torch", "numpy", "raw")


class RawTensor:
    """A tensor as bytes, where no framework that is installed has its type, or none was asked for.

    Parameters
    ----------
    dtype : str
        The element type, as safetensors names it: ``"BF16"``, ``"F8_E8M0FNU"``.
    shape : tuple of int
        ``"F4_E2M1FN_X2"`` counts bytes.
    data : bytes-like
        Little-endian, contiguous and row-major.
    """

    __slots__ = ("dtype", "shape", "data")

    def __init__(self, dtype: str, shape: Tuple[int, ...], data: Any):
        if dtype not in _abi.DTYPES:
            raise ValueError(f"{dtype!r} is no element type; they are {', '.join(_abi.DTYPES)}")
        self.dtype = dtype
        self.shape = tuple(int(dimension) for dimension in shape)
        self.data = memoryview(data).cast("B")
        expected = _abi.DTYPES[dtype][1]
        for dimension in self.shape:
            expected *= dimension
        if self.data.nbytes != expected:
            raise ValueError(f"{self.data.nbytes} bytes for a tensor of type {dtype} and shape {self.shape}, which "
                             f"has {expected}")

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, RawTensor) and self.dtype == other.dtype and self.shape == other.shape
                and self.data == other.data)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"RawTensor({self.dtype!r}, {self.shape}, {self.data.nbytes} bytes)"


class HostTensor:
    """A tensor on its way out: type, shape, and either an address to read from, or how to copy it elsewhere."""

    __slots__ = ("dtype", "shape", "nbytes", "address", "owner", "_copy")

    def __init__(self, dtype, shape, nbytes, address, owner, copy=None):
        self.dtype = dtype  # the wire's number
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.nbytes = nbytes
        self.address = address  # None: the elements do not lie there as they travel
        self.owner = owner  # keeps `address` alive
        self._copy = copy

    def copy_to(self, address: Any) -> None:
        """Writes the bytes there, contiguous."""
        if self.address is not None:
            ctypes.memmove(address, self.address, self.nbytes)
        elif self.nbytes:
            self._copy(_memory_at(address, self.nbytes))

    def contiguous(self) -> "HostTensor":
        """This one, or a copy that has an address."""
        if self.address is None:
            memory = (ctypes.c_char * self.nbytes)()
            self.copy_to(ctypes.addressof(memory))
            self.address, self.owner = ctypes.addressof(memory), memory
        return self

    def view(self) -> _abi.TensorView:
        shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        return _abi.TensorView(self.dtype, len(self.shape), shape, self.address or None, self.nbytes)


def _memory_at(address: int, nbytes: int):
    return (ctypes.c_char * nbytes).from_address(address)


def _is_little_endian_here() -> bool:
    return sys.byteorder == "little"


# ---- out ----


def is_tensor(value: Any) -> bool:
    """Whether `host_tensor` takes it."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    return (isinstance(value, RawTensor) or torch is not None and isinstance(value, torch.Tensor)
            or numpy is not None and isinstance(value, numpy.ndarray) or hasattr(value, "__dlpack__"))


def host_tensor(value: Any, path: str) -> HostTensor:
    """What the library may read of a tensor of any kind.

    Raises
    ------
    InvalidArgument
        Where it has no plain form, with its `path`.
    """
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(value, torch.Tensor):
        return _from_torch(torch, value, path)
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _from_numpy(numpy, value, path)
    if isinstance(value, RawTensor):
        return _from_raw(value)
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(value, path)
    raise malformed(path, f"is a {type(value).__qualname__}, and no tensor of PyTorch, NumPy or DLPack")


def _number(theirs: Any, path: str) -> int:
    name = _BY_THEIR_NAME.get(str(theirs).split(".")[-1])
    if name is None:
        raise malformed(path, f"is a tensor of type {theirs}, which has no plain form; convert it")
    return _abi.DTYPES[name][0]


def _from_torch(torch, tensor, path: str) -> HostTensor:
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.device.type == "meta":
        what = "quantized" if tensor.is_quantized else f"{tensor.layout} on {tensor.device}"
        raise malformed(path, f"is a tensor without plain bytes ({what}); pass a dense one")
    number = _number(tensor.dtype, path)
    tensor = tensor.detach()
    as_it_travels = (tensor.device.type == "cpu" and tensor.is_contiguous() and not tensor.is_conj()
                     and not tensor.is_neg())
    nbytes = tensor.numel() * tensor.element_size()

    def copy(memory) -> None:
        torch.frombuffer(memory, dtype=tensor.dtype).view(tensor.shape).copy_(tensor)

    return HostTensor(number, tuple(tensor.shape), nbytes, tensor.data_ptr() if as_it_travels else None, tensor, copy)


def _from_numpy(numpy, array, path: str) -> HostTensor:
    number = _number(array.dtype.newbyteorder("=") if array.dtype.kind in "iufcb" else array.dtype, path)
    native = array.dtype.isnative and _is_little_endian_here()
    as_it_travels = native and array.flags.c_contiguous

    def copy(memory) -> None:
        little = array.dtype if array.dtype.kind == "V" else array.dtype.newbyteorder("<")
        numpy.copyto(numpy.frombuffer(memory, dtype=little).reshape(array.shape), array)

    return HostTensor(number, array.shape, array.nbytes, array.ctypes.data if as_it_travels else None, array, copy)


def _from_raw(tensor: RawTensor) -> HostTensor:
    data = tensor.data
    memory = (ctypes.c_char * data.nbytes).from_buffer_copy(data) if data.readonly else \
        (ctypes.c_char * data.nbytes).from_buffer(data)
    return HostTensor(_abi.DTYPES[tensor.dtype][0], tensor.shape, data.nbytes, ctypes.addressof(memory), memory)


def _from_dlpack(value: Any, path: str) -> HostTensor:
    for name in ("torch", "numpy"):
        framework = sys.modules.get(name) or _installed(name)
        if framework is not None and hasattr(framework, "from_dlpack"):
            return host_tensor(framework.from_dlpack(value), path)
    raise malformed(path, f"is a {type(value).__qualname__}; to read its DLPack, install PyTorch or NumPy")


def _installed(name: str):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


# ---- in ----


def default_framework() -> str:
    """Whose tensors come back where nobody says: what the program has imported, PyTorch before NumPy."""
    return next((name for name in FRAMEWORKS if sys.modules.get(name) is not None), "raw")


def check_framework(name: Optional[str]) -> str:
    if name is None:
        return default_framework()
    if name not in FRAMEWORKS:
        raise ValueError(f"{name!r} is none of {', '.join(FRAMEWORKS)}")
    return name


def from_memory(memory: Any, number: int, shape: Tuple[int, ...], framework: str) -> Any:
    """A tensor over `memory`, a writable buffer that it keeps; a `RawTensor` where the framework lacks the type."""
    name = _BY_NUMBER.get(number)
    if name is None:
        raise malformed("", f"is a tensor of type {number}, which this version does not know")
    if framework == "torch":
        torch = importlib.import_module("torch")
        dtype = getattr(torch, _NAMES[name], None)
        if isinstance(dtype, torch.dtype) and _is_little_endian_here():
            if not len(memory):
                return torch.empty(shape, dtype=dtype)
            return torch.frombuffer(memory, dtype=dtype).view(shape)
    elif framework == "numpy":
        numpy = importlib.import_module("numpy")
        dtype = _numpy_dtype(numpy, _NAMES[name])
        if dtype is not None:
            return numpy.frombuffer(memory, dtype=dtype.newbyteorder("<") if dtype.kind in "iufc" else
                                    dtype).reshape(shape)
    return RawTensor(name, shape, memory)


def _numpy_dtype(numpy, theirs: str):
    try:
        return numpy.dtype(theirs)  # also those that ml_dtypes has added, if the program imported it
    except TypeError:
        return None


class _Reference:
    """Gives a library's buffer back when nobody looks at its memory any more."""

    __slots__ = ("_buffer",)

    def __init__(self, buffer: Any):
        self._buffer = buffer

    def __del__(self, unref=lib.sw_buffer_unref):
        unref(self._buffer)


def shape_of(view: _abi.TensorView) -> Tuple[int, ...]:
    return tuple(view.shape[:view.rank])


def from_buffer(buffer: Any, view: _abi.TensorView, framework: str) -> Any:
    """A tensor in the memory that a pull wrote to; takes over the reference to `buffer`."""
    if not view.size:
        lib.sw_buffer_unref(buffer)
        return from_memory(bytearray(), view.dtype, shape_of(view), framework)
    memory = _memory_at(view.data, view.size)
    memory.reference = _Reference(buffer)
    return from_memory(memory, view.dtype, shape_of(view), framework)


# ---- handing over ----

_borrowed: dict = {}


@_abi.Release
def _give_back(key) -> None:
    _borrowed.pop(key, None)


class NamedTensors:
    """An array of `sw_named_tensor` for the time of a call.

    Parameters
    ----------
    tensors : mapping of str to tensor
        None stays a tensor without bytes.
    borrow : bool
        Hands contiguous host memory over by reference: its owner stays alive until nobody needs it, and nobody may
        write to it meanwhile. Without it, and for all else, one copy is made.
    """

    def __init__(self, tensors, borrow: bool = False):
        self.count = len(tensors)
        self.array = (_abi.NamedTensor * max(1, self.count))()
        self._kept: List[Any] = []
        try:
            for slot, (name, tensor) in zip(self.array, tensors.items()):
                self._fill(slot, name, tensor, borrow)
        except BaseException:
            self.close()
            raise

    def _fill(self, slot, name: str, tensor: Any, borrow: bool) -> None:
        if not isinstance(name, str) or "\0" in name:
            raise malformed(f"tensors[{name!r}]", "is no name; it is a string without NUL")
        slot.name = name.encode()
        if tensor is None:
            one = (ctypes.c_int64 * 1)(1)
            slot.view = _abi.TensorView(_abi.DTYPES["U8"][0], 1, one, None, 0)
            self._kept.append(one)
            return
        host = host_tensor(tensor, f"tensors[{name!r}]")
        self._kept.append(host)
        if host.nbytes and (borrow or host.address is None):
            slot.buffer = self._wrapped(host) if host.address is not None else self._copied(host)
        slot.view = host.view()

    @staticmethod
    def _wrapped(host: HostTensor) -> Optional[int]:
        buffer = c_void_p()
        key = id(host)
        _borrowed[key] = host
        try:
            call(lib.sw_buffer_wrap, host.address, host.nbytes, _give_back, key, buffer)
        except BaseException:
            del _borrowed[key]
            raise
        return buffer.value

    @staticmethod
    def _copied(host: HostTensor) -> Optional[int]:
        buffer, memory = c_void_p(), c_void_p()
        call(lib.sw_buffer_create, host.nbytes, buffer, memory)
        host.copy_to(memory.value)
        return buffer.value

    def close(self) -> None:
        for slot in self.array:
            if slot.buffer:
                lib.sw_buffer_unref(slot.buffer)
                slot.buffer = None

    def __enter__(self) -> "NamedTensors":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def requests(tensors):
    """An array of `sw_tensor_request`, names only or with an address and a size each; None for every tensor."""
    if tensors is None:
        return None, 0
    array = (_abi.TensorRequest * max(1, len(tensors)))()
    for slot, (name, into) in zip(array, tensors.items()):
        slot.name = name.encode()
        if into is not None:
            slot.into, slot.into_size = into
    return array, len(tensors)


def has(name: str) -> bool:
    """Whether a framework is installed; it is imported to know it."""
    return _installed(name) is not None


def name_of(number: int) -> str:
    """``"F32"``, or the number where it is none of those known."""
    return _BY_NUMBER.get(number, str(number))


def in_words(view: _abi.TensorView) -> str:
    """``F32[2, 3]``."""
    return f"{name_of(view.dtype)}{list(shape_of(view))}"


def manifest_of(view: _abi.TensorView, manifest: Any) -> Any:
    return manifest(name_of(view.dtype), shape_of(view), view.size)
