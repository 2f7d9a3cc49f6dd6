"""Python values as trees of `sw_value`, and back.

None, bool, int, float, str, bytes, list, tuple, dict and tensors are what they are; what Python adds travels as an
extension of a type from the table below. Subclasses of dict, list, tuple, str, int and float travel as what they
derive from. Everything else is an error that names its path. Nothing that arrives is executed.
"""

from __future__ import annotations

import ctypes
import importlib
import struct
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import _abi, _tensors
from .errors import InvalidArgument, malformed

_INTEGER_MIN, _INTEGER_MAX = -2**63, 2**63 - 1

# An sw_value: its kind, and the union as four words. Checked against the headers by tests/python/test_abi.py.
_VALUE = struct.Struct("=I4x4Q")
_NUMBER = struct.Struct("=I4xd24x")
_INTEGER = struct.Struct("=I4xq24x")
_PAIR = struct.Struct("=2Q")
_VALUES_DOUBLE = struct.Struct("=8xd24x")
VALUE_SIZE = _VALUE.size

# An sw_entry: its key's address and size, and its value.
_ENTRY = struct.Struct("=2QI4x4Q")
_ENTRYS_DOUBLE = struct.Struct("=24xd24x")
_NUMBER_ENTRY = struct.Struct("=2QI4xd24x")
ENTRY_SIZE = _ENTRY.size

_PAGE = 4096  # the smallest there is


class Extension:
    """A value of a type that this Python does not know, as plain data."""

    __slots__ = ("type", "value")

    def __init__(self, type: str, value: Any):
        self.type = type
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Extension) and (self.type, self.value) == (other.type, other.value)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Extension({self.type!r}, {self.value!r})"


# ---- extensions: what Python adds, as plain values ----


def _order(value: Any) -> Tuple[str, str]:
    return type(value).__qualname__, repr(value)


def _extension_of(value: Any) -> Optional[Tuple[str, Any]]:
    """The extension's type and plain value, or None."""
    if isinstance(value, int):
        return "py.int", str(value)
    if isinstance(value, (set, frozenset)):  # in an order, so that the same set is the same content
        return "py.set" if isinstance(value, set) else "py.frozenset", sorted(value, key=_order)
    if isinstance(value, complex):
        return "py.complex", [value.real, value.imag]
    if isinstance(value, bytearray):
        return "py.bytearray", bytes(value)
    if isinstance(value, dict):  # with keys that are no strings
        return "py.dict", [[key, item] for key, item in value.items()]
    if isinstance(value, Extension):
        return value.type, value.value
    return _extension_of_torch(value) or _extension_of_numpy(value)


def _extension_of_torch(value: Any) -> Optional[Tuple[str, Any]]:
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    if isinstance(value, torch.Size):
        return "torch.Size", list(value)
    if isinstance(value, torch.dtype):
        return "torch.dtype", str(value).split(".")[-1]
    if isinstance(value, torch.device):
        return "torch.device", str(value)
    return None


def _extension_of_numpy(value: Any) -> Optional[Tuple[str, Any]]:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(value, numpy.ndarray):
        return "numpy.ndarray", _Plain(value)
    if isinstance(value, numpy.generic):
        return "numpy.generic", _Plain(numpy.asarray(value))
    if isinstance(value, numpy.dtype):
        return "numpy.dtype", value.str if value.kind != "V" else value.name
    return None


class _Plain:
    """A tensor that is not wrapped into an extension again."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any):
        self.tensor = tensor


def _to_int(digits: str) -> int:
    if not isinstance(digits, str) or len(digits) > 4096 or not digits.lstrip("-").isdecimal():
        raise ValueError("no decimal number of at most 4,096 digits")
    return int(digits)


def _torch_dtype(name: str) -> Any:
    torch = importlib.import_module("torch")
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"the installed PyTorch has no type {name!r}")
    return dtype


def _numpy_array(tensor: Any) -> Any:
    if isinstance(tensor, _tensors.RawTensor):
        return tensor
    return tensor if hasattr(tensor, "__array_interface__") else tensor.numpy()


def _numpy_dtype(name: Any) -> Any:
    if not isinstance(name, str):
        raise ValueError("no name of a type")
    return importlib.import_module("numpy").dtype(name)


_READERS: Dict[str, Callable[[Any], Any]] = {
    "py.int": _to_int,
    "py.set": set,
    "py.frozenset": frozenset,
    "py.complex": lambda parts: complex(*parts),
    "py.bytearray": bytearray,
    "py.dict": dict,
    "torch.Size": lambda sizes: importlib.import_module("torch").Size(sizes),
    "torch.dtype": _torch_dtype,
    "torch.device": lambda name: importlib.import_module("torch").device(name),
    "numpy.ndarray": _numpy_array,
    "numpy.generic": lambda array: _numpy_array(array)[()],
    "numpy.dtype": _numpy_dtype,
}


def _read_extension(name: str, value: Any) -> Any:
    """The Python object, or an `Extension` where the type, or the framework that has it, is not known here."""
    reader = _READERS.get(name)
    if reader is None or isinstance(value, _tensors.RawTensor):
        return Extension(name, value)
    try:
        return reader(value)
    except (ImportError, TypeError, ValueError, RuntimeError, IndexError, AttributeError):
        return Extension(name, value)


# ---- out ----


class Encoded:
    """A value as the library reads it, in memory of its own; `address` holds as long as this lives."""

    def __init__(self, value: Any, path: str = ""):
        self._kept: List[Any] = []
        memory, self.address = self._room(VALUE_SIZE)
        try:
            self._put(memory, 0, value, 0)
        except _Unplain as unplain:
            raise malformed((path + "".join(reversed(unplain.path))).lstrip("."), unplain.problem) from None

    def _keep(self, memory: bytearray) -> int:
        """Its address, which holds from now on."""
        if not memory:
            return 0
        first = ctypes.c_char.from_buffer(memory)
        self._kept.append(first)
        return ctypes.addressof(first)

    def _room(self, size: int) -> Tuple[bytearray, int]:
        memory = bytearray(size)
        return memory, self._keep(memory)

    # What these write is an sw_value, into `memory` from `at` on.

    def _put(self, memory: bytearray, at: int, value: Any, depth: int) -> None:
        writer = _WRITERS.get(type(value))
        if writer is None:
            writer = _writer_of(value)
        writer(self, memory, at, value, depth)

    def put_null(self, memory: bytearray, at: int, value: Any, depth: int) -> None:
        _VALUE.pack_into(memory, at, _abi.NULL, 0, 0, 0, 0)

    def put_bool(self, memory: bytearray, at: int, value: Any, depth: int) -> None:
        _VALUE.pack_into(memory, at, _abi.BOOL, bool(value), 0, 0, 0)

    def put_int(self, memory: bytearray, at: int, value: Any, depth: int) -> None:
        if _INTEGER_MIN <= value <= _INTEGER_MAX:
            _INTEGER.pack_into(memory, at, _abi.INTEGER, value)
        else:
            self.put_extension(memory, at, int(value), depth)

    def put_float(self, memory: bytearray, at: int, value: Any, depth: int) -> None:
        _NUMBER.pack_into(memory, at, _abi.NUMBER, value)

    def put_str(self, memory: bytearray, at: int, value: Any, depth: int) -> None:
        text = bytearray(_utf8(value))
        _VALUE.pack_into(memory, at, _abi.TEXT, self._keep(text), len(text), 0, 0)

    def put_bytes(self, memory: bytearray, at: int, value: Any, depth: int) -> None:
        _VALUE.pack_into(memory, at, _abi.BLOB, self._keep(bytearray(value)), len(value), 0, 0)

    def _items(self, count: int, size: int, depth: int) -> Tuple[bytearray, int]:
        if depth >= _abi.DEPTH_MAX + 1:  # a payload's list of dicts is no level; the library counts exactly
            raise _Unplain(f"nests deeper than {_abi.DEPTH_MAX} levels; flatten it, or send it as bytes")
        return self._room(count * size)

    def _put_sequence(self, memory: bytearray, at: int, kind: int, values: Any, depth: int) -> None:
        items, address = self._items(len(values), VALUE_SIZE, depth)
        _VALUE.pack_into(memory, at, kind, address, len(values), 0, 0)
        for index, value in enumerate(values):
            try:
                self._put(items, index * VALUE_SIZE, value, depth + 1)
            except _Unplain as unplain:
                unplain.path.append(f"[{index}]")
                raise

    def put_list(self, memory: bytearray, at: int, value: Any, depth: int) -> None:
        self._put_sequence(memory, at, _abi.LIST, value, depth)

    def put_tuple(self, memory: bytearray, at: int, value: Any, depth: int) -> None:
        self._put_sequence(memory, at, _abi.TUPLE, value, depth)

    def put_dict(self, memory: bytearray, at: int, value: Dict[Any, Any], depth: int) -> None:
        try:
            keys = list(map(str.encode, value))
        except TypeError:  # a key that is no string
            self.put_extension(memory, at, value, depth)
            return
        except UnicodeEncodeError:
            raise _Unplain("has a key that is not UTF-8") from None
        text = self._keep(bytearray(b"".join(keys)))
        entries, address = self._items(len(value), ENTRY_SIZE, depth)
        _VALUE.pack_into(memory, at, _abi.DICT, address, len(value), 0, 0)
        entry = 0
        for encoded, (key, item) in zip(keys, value.items()):
            size = len(encoded)
            if type(item) is float:  # what metrics are made of, at half the price
                _NUMBER_ENTRY.pack_into(entries, entry, text, size, _abi.NUMBER, item)
            else:
                _PAIR.pack_into(entries, entry, text, size)
                try:
                    self._put(entries, entry + _PAIR.size, item, depth + 1)
                except _Unplain as unplain:
                    unplain.path.append(f".{key}" if key.isprintable() and key else f"[{key!r}]")
                    raise
            text += size
            entry += ENTRY_SIZE

    def put_tensor(self, memory: bytearray, at: int, value: Any, depth: int) -> None:
        try:
            host = _tensors.host_tensor(value, "").contiguous()
        except InvalidArgument as error:
            raise _Unplain(error.problem) from None
        self._kept.append(host)
        _VALUE.pack_into(memory, at, _abi.TENSOR, len(host.shape) << 32 | host.dtype, ctypes.addressof(host.shape),
                         host.address or 0, host.nbytes)

    def put_plain(self, memory: bytearray, at: int, value: Any, depth: int) -> None:
        self.put_tensor(memory, at, value.tensor, depth)

    def put_extension(self, memory: bytearray, at: int, value: Any, depth: int) -> None:
        extension = _extension_of(value)
        if extension is None:
            raise _Unplain(f"is a {type(value).__module__}.{type(value).__qualname__}, which has no plain form; pass "
                           "what it holds")
        name, plain = bytearray(_utf8(extension[0])), extension[1]
        inner, address = self._items(1, VALUE_SIZE, depth)
        _VALUE.pack_into(memory, at, _abi.EXTENSION, self._keep(name), len(name), address, 0)
        self._put(inner, 0, plain, depth + 1)


class _Unplain(Exception):
    """What has no plain form; its path is put together on the way up."""

    def __init__(self, problem: str):
        super().__init__(problem)
        self.problem = problem
        self.path: List[str] = []


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise _Unplain("has text that is not UTF-8; bytes that are no text travel as bytes") from None


_WRITERS = {
    type(None): Encoded.put_null, bool: Encoded.put_bool, int: Encoded.put_int, float: Encoded.put_float,
    str: Encoded.put_str, bytes: Encoded.put_bytes, list: Encoded.put_list, tuple: Encoded.put_tuple,
    dict: Encoded.put_dict, _Plain: Encoded.put_plain,
}


def _writer_of(value: Any):
    """For types that are not in the table; those that have an extension come before what they derive from."""
    if _extension_of_torch(value) or _extension_of_numpy(value):
        return Encoded.put_extension
    for base in (str, int, float, bytes, list, tuple, dict):
        if isinstance(value, base):
            return _WRITERS[base]
    return Encoded.put_tensor if _tensors.is_tensor(value) else Encoded.put_extension


# ---- in ----


def decode(address: int, framework: str) -> Any:
    """A Python value of the `sw_value` at an address, which it copies."""
    return _read_all(address, 1, framework)[0]


def _text(data: int, size: int) -> str:
    return ctypes.string_at(data, size).decode() if size else ""


def _keys(entries: List[Tuple[int, ...]]) -> List[str]:
    """Of entries that begin with a key's address and size. Keys mostly lie side by side, and are read at once then: where
    all lie within a page's length, they and what is between them lie in two pages that are there."""
    if not entries:
        return []
    first, (last, last_size, *_) = min(entries)[0], max(entries)
    if last + last_size - first > _PAGE:
        return [_text(data, size) for data, size, *_ in entries]
    span = ctypes.string_at(first, last + last_size - first)
    return [span[entry[0] - first:entry[0] - first + entry[1]].decode() for entry in entries]


def _read_all(address: int, count: int, framework: str) -> List[Any]:
    """The values of an array of `sw_value`."""
    memory = ctypes.string_at(address, count * VALUE_SIZE) if count else b""
    return [_read(kind, a, b, c, d, double, framework) for (kind, a, b, c, d), (double,) in
            zip(_VALUE.iter_unpack(memory), _VALUES_DOUBLE.iter_unpack(memory))]


def _read_dict(address: int, count: int, framework: str) -> Dict[str, Any]:
    """The dict of an array of `sw_entry`."""
    memory = ctypes.string_at(address, count * ENTRY_SIZE) if count else b""
    entries = list(_ENTRY.iter_unpack(memory))
    return {key: double if kind == _abi.NUMBER else _read(kind, a, b, c, d, double, framework)
            for key, (_, _, kind, a, b, c, d), (double,) in zip(_keys(entries), entries, _ENTRYS_DOUBLE.iter_unpack(memory))}


def _read(kind: int, a: int, b: int, c: int, d: int, double: float, framework: str) -> Any:
    """The value of a kind, with the union as four words and as a double."""
    if kind == _abi.NUMBER:
        return double
    if kind == _abi.INTEGER:
        return a - 2**64 if a >= 2**63 else a
    if kind == _abi.TEXT:
        return _text(a, b)
    if kind == _abi.BOOL:
        return bool(a & 0xff)
    if kind == _abi.NULL:
        return None
    if kind == _abi.BLOB:
        return ctypes.string_at(a, b) if b else b""
    if kind == _abi.DICT:
        return _read_dict(a, b, framework)
    if kind == _abi.LIST:
        return _read_all(a, b, framework)
    if kind == _abi.TUPLE:
        return tuple(_read_all(a, b, framework))
    if kind == _abi.TENSOR:
        rank = a >> 32
        shape = tuple((ctypes.c_int64 * rank).from_address(b)) if rank else ()
        return _tensors.from_memory(bytearray(ctypes.string_at(c, d) if d else b""), a & 0xffffffff, shape, framework)
    if kind == _abi.EXTENSION:
        name = _text(a, b)
        inner = "numpy" if name.startswith("numpy.") and _tensors.has("numpy") else framework
        return _read_extension(name, decode(c, inner))
    raise malformed("", f"is a value of kind {kind}, which this version does not know")
