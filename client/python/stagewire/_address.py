"""Where an item lies."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional, Union

from . import _abi
from ._calls import text


@dataclasses.dataclass(frozen=True)
class Address:
    """Where an item lies: (run, generation, stage, group, channel, step, call)."""

    channel: str
    step: int = 0
    call: int = 0
    stage: Optional[int] = None
    group: int = 0
    generation: int = 0
    run: str = ""

    def _as_c(self) -> _abi.Address:
        return _abi.Address(text(self.run), natural("generation", self.generation, 64), self.stage is not None,
                            natural("stage", self.stage or 0, 32), natural("group", self.group, 32),
                            text(self.channel), natural("step", self.step, 64), natural("call", self.call, 32))


def natural(name: str, value: Any, bits: int) -> int:
    """A number that C can hold; ctypes would cut it silently."""
    number = value.__index__()
    if not 0 <= number < 2**bits:
        raise ValueError(f"{name} {number}: it is 0 to 2^{bits}-1")
    return number


def address_of(address: _abi.Address) -> Address:
    """A copy of what the library hands out."""
    return Address((address.channel or b"").decode(), address.step, address.call,
                   address.stage if address.has_stage else None, address.group, address.generation,
                   (address.run_id or b"").decode())


def kind_of(name: str) -> int:
    """The number of a kind of item."""
    if name not in _abi.KINDS:
        raise ValueError(f"kind {name!r}: it is one of {', '.join(_abi.KINDS)}")
    return _abi.KINDS[name]


Step = Union[int, str]  # a number, or "latest"
