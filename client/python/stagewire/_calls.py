"""Calling the library: errors become exceptions, and signals are answered while a call waits.

The library runs without the interpreter's lock; ctypes gives it up around every call.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
from ctypes import byref, c_void_p
from typing import Any, Callable, Optional

from . import _abi, errors
from ._library import lib


class _Signals:
    """Runs Python's signal handlers while the main thread waits in the library, and keeps what they raise."""

    def __init__(self) -> None:
        self.raised: Optional[BaseException] = None
        self.asked: Any = None  # what the library asks; None before it does, and after the answer was yes

    def _answers(self):
        # A generator, because Python runs signal handlers as it enters a frame: what they raise is caught only where
        # a `try` is open by then, as in a frame that is resumed. After its last yield nobody resumes it.
        try:
            while True:
                yield False
                ctypes.pythonapi.PyErr_CheckSignals()
        except GeneratorExit:
            return
        except BaseException as raised:
            self.raised = raised
        yield True

    def listen(self) -> None:
        """Has the library ask this thread, if it is the one that runs signal handlers."""
        if threading.current_thread() is threading.main_thread():
            answers = self._answers()
            next(answers)
            self.asked = _abi.IsInterrupted(answers.send)
            lib.sw_interrupt_set(self.asked, None)

    def throw(self) -> None:
        """Raises what a handler raised, in the main thread."""
        if threading.current_thread() is threading.main_thread():
            raised, self.raised, self.asked = self.raised, None, None
            if raised is not None:
                raise raised


_signals = _Signals()


def call(function: Callable[..., int], *arguments: Any) -> None:
    """Calls what answers an `sw_status` and takes an `sw_error` last."""
    if _signals.asked is None:
        _signals.listen()
    error = _abi.Error()
    status = function(*arguments, error)
    if _signals.raised is not None:
        _signals.throw()
    if status:
        raise errors.from_c(error)


def make(function: Callable[..., int], *arguments: Any, destroy: Callable[[c_void_p], None]) -> Optional[int]:
    """The same for what hands out a handle before its `sw_error`; `destroy` is for one that nobody gets."""
    made = c_void_p()
    try:
        call(function, *arguments, byref(made))
    except BaseException:
        if made:
            destroy(made)
        raise
    return made.value


def run(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls what cannot fail, and may wait."""
    if _signals.asked is None:
        _signals.listen()
    result = function(*arguments)
    if _signals.raised is not None:
        _signals.throw()
    return result


def milliseconds(seconds: Optional[float]) -> int:
    """A timeout for the library; None is its default, which is 0 there. What is less than a millisecond is one."""
    if seconds is None:
        return 0
    if seconds < 0:
        raise ValueError(f"a timeout of {seconds} s; it is None or 0 and more")
    return max(1, min(int(seconds * 1000), 2**62))


def text(value: Optional[str]) -> Optional[bytes]:
    """A C string; None stays NULL."""
    if value is None:
        return None
    encoded = str(value).encode()
    if b"\0" in encoded:
        raise ValueError(f"{value!r} has a NUL in it, which no name may have")
    return encoded


def texts(values) -> Any:
    """A C array of strings."""
    return (ctypes.c_char_p * len(values))(*(text(value) for value in values))


async def readable(descriptor: int) -> None:
    """Waits until a descriptor can be read."""
    loop = asyncio.get_running_loop()
    news = loop.create_future()

    def tell() -> None:
        if not news.done():
            news.set_result(None)

    loop.add_reader(descriptor, tell)
    try:
        await news
    finally:
        loop.remove_reader(descriptor)
