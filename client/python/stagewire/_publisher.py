"""Publishing, to an endpoint in the process or beside it."""

from __future__ import annotations

import dataclasses
from ctypes import c_bool, c_uint64
from typing import Any, Mapping, Optional, Sequence

from . import _abi
from ._address import Address, kind_of, natural
from ._calls import call, make, milliseconds, run, text, texts
from ._handles import Closing
from ._library import lib
from ._tensors import NamedTensors
from ._values import Encoded


@dataclasses.dataclass(frozen=True)
class Policy:
    """How a channel is kept. The first declaration of a channel in a generation stands.

    Parameters
    ----------
    channel : str
    kind : {"metrics", "tensors", "object"}
    consumers : sequence of str
        Ids that must release a step before it may go.
    keep_steps : int
        Kept for observers; 0 is the endpoint's default.
    max_lag_steps : int
        A consumer further behind is dropped; 0 is the endpoint's default.
    next_step : int
        Steps below were published before this endpoint began.
    """

    channel: str
    kind: str = "metrics"
    consumers: Sequence[str] = ()
    keep_steps: int = 0
    max_lag_steps: int = 0
    next_step: int = 0

    def _as_c(self) -> _abi.ChannelPolicy:
        return _abi.ChannelPolicy(text(self.channel), kind_of(self.kind), natural("keep_steps", self.keep_steps, 32),
                                  texts(self.consumers), len(self.consumers),
                                  natural("max_lag_steps", self.max_lag_steps, 32),
                                  natural("next_step", self.next_step, 64))


class Lease(Closing):
    """What a trainer holds open while it lives; when the last one of (stage, group) ends, others are told.

    Attributes
    ----------
    generation : int
        The one that the lease stands in.
    """

    def __init__(self, handle: Any, generation: int, publisher: "Publisher"):
        self._opened(handle)
        self.generation = generation
        self._publisher = publisher

    def check(self) -> None:
        """Raises why the lease ended, if it did."""
        call(lib.sw_lease_check, self.handle)

    def _close_at_exit(self) -> None:
        self.close()

    def _close(self) -> None:
        run(lib.sw_lease_release, self._handle)


class Publisher:
    """Publishes what a stage owns. Got from `Endpoint.publisher` or `Client.publisher`, whose life it shares.

    Items are immutable and appear whole; publishing waits for no consumer. When a call returns, the caller may change
    what it passed, unless it was borrowed. Steps and calls grow strictly within a channel. Any thread may call, one at
    a time for one channel. Timeouts are seconds; None is 10 minutes.
    """

    def __init__(self, owner: Any, handle: int):
        self._owner = owner  # alive as long as this
        self._pointer = handle

    @property
    def handle(self) -> int:
        """The library's publisher; a RuntimeError once its owner is closed."""
        self._owner.handle
        return self._pointer

    def publish_metrics(self, channel: str, step: int, metrics: Any, *, call: int = 0, stage: Optional[int] = None,
                        group: int = 0, generation: int = 0, timeout: Optional[float] = None) -> bool:
        """Publishes a dict, or a list of dicts.

        Returns
        -------
        bool
            Whether the same content was there already.

        Raises
        ------
        StagewireError
            As `stagewire.errors` says; ``MALFORMED`` with the path of what has no plain form.
        """
        address = Address(channel, step, call, stage, group, generation)._as_c()
        encoded = Encoded(metrics, "metrics")
        return _publish(lib.sw_publish_metrics, self.handle, address, encoded.address, milliseconds(timeout))

    def publish_tensors(self, channel: str, step: int, tensors: Mapping[str, Any], *, borrow: bool = False,
                        call: int = 0, stage: Optional[int] = None, group: int = 0, generation: int = 0,
                        timeout: Optional[float] = None) -> bool:
        """Publishes named tensors of PyTorch, NumPy or DLPack, of any stride and device: all, or none.

        Parameters
        ----------
        borrow : bool
            Hands contiguous host memory over by reference instead of copying it: it stays alive until the endpoint has
            let go of it, and nobody may write to it meanwhile.

        Returns
        -------
        bool
            Whether the same content was there already.
        """
        address = Address(channel, step, call, stage, group, generation)._as_c()
        with NamedTensors(tensors, borrow) as named:
            return _publish(lib.sw_publish_tensors, self.handle, address, named.array, named.count,
                            milliseconds(timeout))

    def publish_failure(self, channel: str, step: int, message: str, *, kind: str = "metrics", call: int = 0,
                        stage: Optional[int] = None, group: int = 0, generation: int = 0,
                        timeout: Optional[float] = None) -> bool:
        """Says that there will be no such item, and why: who pulls it gets ``STEP_FAILED`` at once."""
        address = Address(channel, step, call, stage, group, generation)._as_c()
        return _publish(lib.sw_publish_failure, self.handle, address, kind_of(kind), text(message),
                        milliseconds(timeout))

    def close_channel(self, channel: Optional[str], reason: str = "finished", message: str = "", *,
                      kind: str = "metrics", stage: Optional[int] = None, group: int = 0, generation: int = 0,
                      timeout: Optional[float] = None) -> None:
        """Closes a channel, or with None every channel and kind of (stage, group), until a new generation begins.

        Parameters
        ----------
        reason : {"finished", "aborted"}
        """
        if reason not in _abi.CLOSE_REASONS:
            raise ValueError(f"reason {reason!r}: it is 'finished' or 'aborted'")
        address = Address(channel or "", 0, 0, stage, group, generation)._as_c()
        call(lib.sw_close_channel, self.handle, address, kind_of(kind), channel is None, _abi.CLOSE_REASONS[reason],
             text(message), milliseconds(timeout))

    def attach(self, stage: int, stage_count: int, *, group: int = 0, generation: int = 0, run_id: Optional[str] = None,
               policies: Sequence[Policy] = (), timeout: Optional[float] = None) -> Lease:
        """Holds a lease of (stage, group), and declares how channels are kept. A higher generation begins with it."""
        declared = (_abi.ChannelPolicy * max(1, len(policies)))(*(policy._as_c() for policy in policies))
        attachment = _abi.Attachment(text(run_id), natural("generation", generation, 64), natural("stage", stage, 32),
                                     natural("stage_count", stage_count, 32), natural("group", group, 32), declared,
                                     len(policies))
        begun = c_uint64()
        handle = make(_attach, self.handle, attachment, milliseconds(timeout), begun, destroy=lib.sw_lease_release)
        return Lease(handle, begun.value, self)


def _publish(function: Any, *arguments: Any) -> bool:
    duplicate = c_bool()
    call(function, *arguments, duplicate)
    return duplicate.value


def _attach(publisher, attachment, timeout_ms, begun, lease, error) -> int:
    return lib.sw_attach(publisher, attachment, timeout_ms, lease, begun, error)
