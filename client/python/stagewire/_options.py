"""Option structs of the library, from keywords: times in seconds, as everywhere in this package."""

from __future__ import annotations

import ctypes
from typing import Any, Dict

from ._address import natural
from ._calls import milliseconds, text


def fill(options: Any, init: Any, given: Dict[str, Any]) -> Any:
    """Sets what is not None. `timeout` is the field timeout_ms, and so on; an unknown name is a TypeError."""
    init(options, ctypes.sizeof(options))
    types = dict(options._fields_)
    for name, value in given.items():
        field = name if name in types else f"{name}_ms"
        if field not in types or field == "size":
            known = ", ".join(field.removesuffix("_ms") for field in types if field != "size")
            raise TypeError(f"there is no option {name!r}; there are {known}")
        if value is not None:
            setattr(options, field, _as_c(types[field], field, value))
    return options


def _as_c(kind: Any, field: str, value: Any) -> Any:
    if kind is ctypes.c_char_p:
        return text(value)
    if field.endswith("_ms"):
        return milliseconds(value)
    if kind is ctypes.c_bool:
        return bool(value)
    if kind in (ctypes.c_uint32, ctypes.c_uint64):
        return natural(field, value, 8 * ctypes.sizeof(kind))
    return value
