"""Following metrics."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

from . import _abi, errors
from ._address import Address, address_of, natural
from ._calls import call, make, milliseconds, readable, run, text
from ._handles import Closing
from ._library import lib
from ._values import decode

if TYPE_CHECKING:
    from ._client import Client

_FOREVER_MS = 2**62
_TYPES = {number: name for name, number in _abi.EVENT_TYPES.items()}
_REASONS = {number: name for name, number in _abi.CLOSE_REASONS.items()}


@dataclasses.dataclass(frozen=True)
class Event:
    """What a watch saw.

    Attributes
    ----------
    type : {"published", "failed", "gap", "closed", "generation"}
    address : Address
        Of a gap: where the watch was. Of what was closed: its last step and call, if `has_last`.
    metrics
        What was published.
    published_unix_ns : int
        When, nanoseconds since 1970.
    message : str
        Of a failure or a closing.
    reason : {"finished", "aborted", "publisher_lost", "superseded"} or None
        Of a closing.
    next : Address or None
        Of a gap: the next item that is held.
    has_last : bool
    generation : int
        That has begun.
    """

    type: str
    address: Address
    metrics: Any = None
    published_unix_ns: int = 0
    message: str = ""
    reason: Optional[str] = None
    next: Optional[Address] = None
    has_last: bool = False
    generation: int = 0


class Watch(Closing):
    """Iterates over events, also with ``async for``, until it is closed. One thread at a time."""

    def __init__(self, client: "Client", handle: Optional[int], framework: str):
        self._opened(handle)
        self._client = client  # alive as long as this
        self._framework = framework

    def _close(self) -> None:
        run(lib.sw_watch_close, self._handle)

    def fileno(self) -> int:
        """A descriptor that is readable when there is an event, for `select`."""
        return lib.sw_watch_fd(self.handle)

    def next(self, timeout: Optional[float] = None) -> Event:
        """The next event; a TimeoutError if none came within `timeout` seconds. None waits on."""
        event = _abi.WatchEvent()
        call(lib.sw_watch_next, self.handle, _FOREVER_MS if timeout is None else int(timeout * 1000), event)
        return self._event(event)

    def __iter__(self) -> "Watch":
        return self

    def __next__(self) -> Event:
        if self.closed:
            raise StopIteration
        return self.next()

    def __aiter__(self) -> "Watch":
        return self

    async def __anext__(self) -> Event:
        if self.closed:
            raise StopAsyncIteration
        while True:
            await readable(self.fileno())
            try:
                return self.next(0)
            except errors.DeadlineExceeded:
                continue

    async def __aenter__(self) -> "Watch":
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.close()

    def _event(self, event: _abi.WatchEvent) -> Event:
        return Event(
            _TYPES[event.type], address_of(event.address),
            decode(event.metrics, self._framework) if event.metrics else None, event.published_unix_ns,
            (event.message or b"").decode("utf-8", "replace"), _REASONS.get(event.reason),
            address_of(event.next) if event.has_next else None, event.has_last, event.generation)


def open_watch(client: "Client", channels: Union[str, Sequence[str], None], stage: Optional[int],
               group: Optional[int], start: Union[str, Sequence[Address]], timeout: Optional[float],
               framework: str) -> Watch:
    """See `Client.watch`."""
    named: Sequence[Optional[str]] = [channels] if channels is None or isinstance(channels, str) else list(channels)
    filters = (_abi.WatchFilter * max(1, len(named)))(*(
        _abi.WatchFilter(text(name), stage is not None, group is not None, natural("stage", stage or 0, 32),
                         natural("group", group or 0, 32)) for name in named))
    positions = () if isinstance(start, str) else tuple(position._as_c() for position in start)
    begin = start if isinstance(start, str) else "positions"
    if begin not in _abi.WATCH_STARTS:
        raise ValueError(f"start {start!r}: it is 'new', 'oldest', or a sequence of Address")
    handle = make(lib.sw_client_watch, client.handle, filters, len(named), _abi.WATCH_STARTS[begin],
                  (_abi.Address * max(1, len(positions)))(*positions), len(positions), milliseconds(timeout),
                  destroy=lib.sw_watch_close)
    return Watch(client, handle, framework)
