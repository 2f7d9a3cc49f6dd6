"""Pulling from an endpoint."""

from __future__ import annotations

import ctypes
import dataclasses
from ctypes import POINTER, byref
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _abi, _tensors
from ._address import Address, Step, address_of, kind_of, natural
from ._calls import call, make, milliseconds, readable, run, text
from ._handles import Closing
from ._library import lib
from ._options import fill
from ._publisher import Publisher
from ._values import Encoded, decode
from ._watch import Watch, open_watch


@dataclasses.dataclass(frozen=True)
class Item:
    """What a pull brought.

    Attributes
    ----------
    value
        Metrics: a dict or a list of dicts. Tensors: a dict by name.
    address : Address
        Resolved: it names run, generation, stage, step and call.
    published_unix_ns : int
        When it was published, nanoseconds since 1970.
    """

    value: Any
    address: Address
    published_unix_ns: int


@dataclasses.dataclass(frozen=True)
class Exchanged:
    """What a meeting of all stages came to.

    Attributes
    ----------
    owners : list of int
        The stages that have the object, ascending.
    value
        The object, where there is one owner; None otherwise.
    """

    owners: List[int]
    value: Any


@dataclasses.dataclass(frozen=True)
class Manifest:
    """A tensor's type and shape, without its bytes."""

    dtype: str
    shape: Tuple[int, ...]
    nbytes: int


class Client(Closing):
    """One connection to one endpoint.

    Any thread may call; signals are answered while the main thread waits, so that Ctrl-C ends a wait at once. Timeouts
    are seconds. No pull hangs, and none gets a made-up value: `stagewire.errors` says what is raised instead.

    Parameters
    ----------
    endpoint : str
        ``"HOST:PORT"`` or ``"unix:PATH"``. It is connected to in the background: a wrong name shows with the first call.
    run_id : str, optional
        Another run's endpoint is refused; by default any run is fine.
    consumer_id : str, optional
        Who pulls; by default an observer, which nothing waits for.
    timeout : float, optional
        Of calls that say nothing else: 600 s.
    endpoint_grace : float, optional
        For how long an endpoint that was reached once may be gone: 30 s.
    tls_key, tls_cert, tls_ca, tls_crl, peer_identity : str, optional
        PEM files, and whose the endpoint's certificate must be.
    connections : int, optional
        How many one pull of tensors may open over a long link, 1 to 16: 8, and only as many as bring more together.
    """

    def __init__(self, endpoint: str, *, run_id: Optional[str] = None, consumer_id: Optional[str] = None,
                 timeout: Optional[float] = None, endpoint_grace: Optional[float] = None,
                 tls_key: Optional[str] = None, tls_cert: Optional[str] = None, tls_ca: Optional[str] = None,
                 tls_crl: Optional[str] = None, peer_identity: Optional[str] = None,
                 connections: Optional[int] = None):
        options = fill(_abi.ClientOptions(), lib.sw_client_options_init_sized, {
            "run_id": run_id, "consumer_id": consumer_id, "timeout": timeout, "endpoint_grace": endpoint_grace,
            "tls_key": tls_key, "tls_cert": tls_cert, "tls_ca": tls_ca, "tls_crl": tls_crl,
            "peer_identity": peer_identity, "connections": connections})
        self.endpoint = endpoint
        self._opened(make(lib.sw_client_open, text(endpoint), options, destroy=lib.sw_client_close))

    def _close(self) -> None:
        run(lib.sw_client_close, self._handle)

    @property
    def publisher(self) -> Publisher:
        """Publishes to this endpoint, which must allow it: over a Unix socket, or loopback where it is told to."""
        return Publisher(self, lib.sw_client_publisher(self.handle))

    # ---- metrics ----

    def get_metrics(self, channel: str, step: Step = "latest", *, call: int = 0, stage: Optional[int] = None,
                    group: int = 0, generation: int = 0, timeout: Optional[float] = None, wait: bool = True,
                    keep: bool = False, framework: Optional[str] = None) -> Item:
        """Pulls metrics, and waits for them until the timeout.

        Parameters
        ----------
        step : int or "latest"
        wait : bool
            False: ``NOT_YET`` at once where there is nothing yet.
        keep : bool
            With a consumer id: the step is not released by a later pull, but by `release`.
        framework : {"torch", "numpy", "raw"}, optional
            Whose tensors come back; by default of what the program has imported, PyTorch before NumPy.
        """
        pull = _pull(channel, step, call, stage, group, generation, timeout, wait, keep)
        handle = make(lib.sw_client_get_metrics, self.handle, pull, destroy=lib.sw_metrics_destroy)
        return _metrics(handle, _tensors.check_framework(framework))

    async def get_metrics_async(self, channel: str, step: Step = "latest", *, call: int = 0,
                                stage: Optional[int] = None, group: int = 0, generation: int = 0,
                                timeout: Optional[float] = None, wait: bool = True, keep: bool = False,
                                framework: Optional[str] = None) -> Item:
        """`get_metrics` for asyncio; cancelling the task ends the pull."""
        framework = _tensors.check_framework(framework)
        pull = _pull(channel, step, call, stage, group, generation, timeout, wait, keep)
        started = make(lib.sw_client_start_metrics, self.handle, pull, destroy=lib.sw_call_destroy)
        return _metrics(await _finish(started, lib.sw_call_finish_metrics, lib.sw_metrics_destroy), framework)

    # ---- tensors ----

    def get_tensors(self, channel: str, step: Step = "latest", names: Optional[Sequence[str]] = None, *,
                    out: Optional[Mapping[str, Any]] = None, call: int = 0, stage: Optional[int] = None,
                    group: int = 0, generation: int = 0, timeout: Optional[float] = None, wait: bool = True,
                    keep: bool = False, framework: Optional[str] = None) -> Item:
        """Pulls tensors; the bytes land in the results' own memory, or in that of `out`.

        Parameters
        ----------
        names : sequence of str, optional
            By default all that the item has, or those of `out`.
        out : mapping of str to tensor, optional
            Contiguous host tensors to write to, of the same type and shape. One that does not fit is a ValueError that
            says how. A pull that fails may have written part of it.
        """
        framework = _tensors.check_framework(framework)
        pull = _pull(channel, step, call, stage, group, generation, timeout, wait, keep)
        wanted = Wanted(names, out)
        handle = make(lib.sw_client_get_tensors, self.handle, pull, wanted.array, wanted.count,
                      destroy=lib.sw_tensors_destroy)
        return _tensor_item(handle, wanted, framework)

    async def get_tensors_async(self, channel: str, step: Step = "latest", names: Optional[Sequence[str]] = None, *,
                                out: Optional[Mapping[str, Any]] = None, call: int = 0, stage: Optional[int] = None,
                                group: int = 0, generation: int = 0, timeout: Optional[float] = None,
                                wait: bool = True, keep: bool = False, framework: Optional[str] = None) -> Item:
        """`get_tensors` for asyncio; cancelling the task ends the pull."""
        framework = _tensors.check_framework(framework)
        pull = _pull(channel, step, call, stage, group, generation, timeout, wait, keep)
        wanted = Wanted(names, out)
        started = make(lib.sw_client_start_tensors, self.handle, pull, wanted.array, wanted.count,
                       destroy=lib.sw_call_destroy)
        handle = await _finish(started, lib.sw_call_finish_tensors, lib.sw_tensors_destroy)
        return _tensor_item(handle, wanted, framework)

    def get_manifest(self, channel: str, step: Step = "latest", *, call: int = 0, stage: Optional[int] = None,
                     group: int = 0, generation: int = 0, timeout: Optional[float] = None, wait: bool = True) -> Item:
        """Names, types and shapes of tensors: an item whose value is a dict of `Manifest`."""
        pull = _pull(channel, step, call, stage, group, generation, timeout, wait, False)
        handle = make(lib.sw_client_get_manifest, self.handle, pull, destroy=lib.sw_tensors_destroy)
        try:
            return _item_of_tensors(handle, {name: _tensors.manifest_of(view, Manifest)
                                             for _, name, view in _views(handle)})
        finally:
            lib.sw_tensors_destroy(handle)

    # ---- objects ----

    def exchange(self, channel: str, step: int, value: Any, *, stage: int, stage_count: int, present: bool = True,
                 call: int = 0, group: int = 0, generation: int = 0, timeout: Optional[float] = None,
                 wait: bool = True) -> Exchanged:
        """A meeting of all stages: each says whether it has the object, and all are answered when all have spoken.

        Parameters
        ----------
        value
            The object; ignored unless `present`.
        stage : int
            Who speaks.
        """
        spoken, encoded = _exchange(channel, step, value, stage, stage_count, present, call, group, generation, timeout,
                                    wait)
        return _object(make(lib.sw_client_exchange, self.handle, spoken, destroy=lib.sw_object_destroy))

    async def exchange_async(self, channel: str, step: int, value: Any, *, stage: int, stage_count: int,
                             present: bool = True, call: int = 0, group: int = 0, generation: int = 0,
                             timeout: Optional[float] = None, wait: bool = True) -> Exchanged:
        """`exchange` for asyncio; cancelling the task ends the wait."""
        spoken, encoded = _exchange(channel, step, value, stage, stage_count, present, call, group, generation, timeout,
                                    wait)
        started = make(lib.sw_client_start_exchange, self.handle, spoken, destroy=lib.sw_call_destroy)
        return _object(await _finish(started, lib.sw_call_finish_object, lib.sw_object_destroy))

    # ---- the rest ----

    def release(self, channel: str, release_below: int, *, kind: str = "metrics", stage: Optional[int] = None,
                group: int = 0, generation: int = 0, timeout: Optional[float] = None) -> None:
        """Says that this client's consumer needs no step below `release_below` any more."""
        address = Address(channel, 0, 0, stage, group, generation)._as_c()
        call(lib.sw_client_release, self.handle, address, kind_of(kind), natural("release_below", release_below, 64),
             milliseconds(timeout))

    def info(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """What the endpoint holds, for whom, and how it is: the members of ``sw_info`` as plain values."""
        found = POINTER(_abi.Info)()
        call(lib.sw_client_info, self.handle, milliseconds(timeout), byref(found))
        try:
            return _plain_info(found.contents)
        finally:
            lib.sw_info_destroy(found)

    def watch(self, channels: Union[str, Sequence[str], None] = None, *, stage: Optional[int] = None,
              group: Optional[int] = None, start: Union[str, Sequence[Address]] = "new",
              timeout: Optional[float] = None, framework: Optional[str] = None) -> Watch:
        """Follows metrics, across reconnects, restarts of the endpoint and generations: iterate over what it returns.

        Parameters
        ----------
        channels : str or sequence of str, optional
            Names; a trailing ``*`` matches the rest. By default every channel.
        start : {"new", "oldest"} or sequence of Address
            What comes from now on; what is held, too; or from these addresses on, one a channel, which name stage and
            generation.
        timeout : float, optional
            Until the watch stands. Iterating has none.
        """
        return open_watch(self, channels, stage, group, start, timeout, _tensors.check_framework(framework))


def _pull(channel: str, step: Step, call_number: int, stage: Optional[int], group: int, generation: int,
          timeout: Optional[float], wait: bool, keep: bool) -> _abi.Pull:
    if isinstance(step, str) and step != "latest":
        raise ValueError(f"step {step!r}: it is a number or 'latest'")
    latest = step == "latest"
    address = Address(channel, 0 if latest else step, call_number, stage, group, generation)._as_c()  # type: ignore
    return _abi.Pull(address, latest, not wait, milliseconds(timeout), keep)


def _metrics(handle: Optional[int], framework: str) -> Item:
    try:
        return Item(decode(lib.sw_metrics_value(handle), framework),
                    address_of(lib.sw_metrics_address(handle).contents), lib.sw_metrics_published_unix_ns(handle))
    finally:
        lib.sw_metrics_destroy(handle)


def _exchange(channel, step, value, stage, stage_count, present, call_number, group, generation, timeout, wait):
    encoded = Encoded(value, "value") if present else None
    address = Address(channel, step, call_number, stage, group, generation)._as_c()
    return _abi.Exchange(address, natural("stage_count", stage_count, 32), encoded and encoded.address, not wait,
                         milliseconds(timeout)), encoded


def _object(handle: Optional[int]) -> Exchanged:
    try:
        owners = [lib.sw_object_owner(handle, index) for index in range(lib.sw_object_owner_count(handle))]
        value = lib.sw_object_value(handle)
        return Exchanged(owners, decode(value, _tensors.default_framework()) if value else None)
    finally:
        lib.sw_object_destroy(handle)


# ---- tensors ----


class Wanted:
    """What to pull, and where to: names, and tensors that are written to."""

    def __init__(self, names: Optional[Sequence[str]], out: Optional[Mapping[str, Any]]):
        self.out = {name: tensor for name, tensor in (out or {}).items() if tensor is not None}
        if names is None:
            names = list(self.out) if out is not None else None
        self._hosts = {name: _tensors.host_tensor(tensor, f"out[{name!r}]") for name, tensor in self.out.items()}
        for name, host in self._hosts.items():
            if host.address is None:
                raise ValueError(f"out[{name!r}] is not contiguous host memory; pass one that is")
        into = None if names is None else {
            name: (self._hosts[name].address or None, self._hosts[name].nbytes) if name in self._hosts else None
            for name in names}
        self.array, self.count = _tensors.requests(into)

    def check(self, name: str, view: _abi.TensorView) -> Any:
        """The tensor of `out` that was written to, or None; a ValueError where it is of another kind."""
        host = self._hosts.get(name)
        if host is None:
            return None
        if (host.dtype, tuple(host.shape)) != (view.dtype, _tensors.shape_of(view)):
            ours, theirs = _tensors.in_words(host.view()), _tensors.in_words(view)
            raise ValueError(f"out[{name!r}] is {ours}, and what was published is {theirs}")
        return self.out[name]


def _views(handle: Optional[int]):
    for index in range(lib.sw_tensors_count(handle)):
        yield index, lib.sw_tensors_name(handle, index).decode(), lib.sw_tensors_view(handle, index).contents


def take_tensors(handle: Optional[int], wanted: Wanted, framework: str) -> Dict[str, Any]:
    """The tensors of a set, which stays its owner's."""
    found = {}
    for index, name, view in _views(handle):
        tensor = wanted.check(name, view)
        if tensor is None:
            tensor = _tensors.from_buffer(lib.sw_tensors_buffer(handle, index), view, framework)
        found[name] = tensor
    return found


def _item_of_tensors(handle: Optional[int], value: Any) -> Item:
    return Item(value, address_of(lib.sw_tensors_address(handle).contents), lib.sw_tensors_published_unix_ns(handle))


def _tensor_item(handle: Optional[int], wanted: Wanted, framework: str) -> Item:
    try:
        return _item_of_tensors(handle, take_tensors(handle, wanted, framework))
    finally:
        lib.sw_tensors_destroy(handle)


# ---- asyncio ----


async def _finish(started: Optional[int], finish: Callable[..., int], destroy: Callable[[Any], None]) -> Optional[int]:
    """Waits for a started call's descriptor, and hands out its result."""
    try:
        await readable(lib.sw_call_fd(started))
        return make(finish, started, destroy=destroy)
    finally:
        lib.sw_call_destroy(started)  # cancels it if it is under way, and then nothing writes to `out` any more


# ---- info ----


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, _abi.Address):
        return address_of(value)
    if isinstance(value, ctypes.Structure):
        return {name: _plain(getattr(value, name)) for name, *_ in value._fields_}
    return value


def _listed(plain: Dict[str, Any], owner: ctypes.Structure, name: str, count: str) -> None:
    plain[name] = [_plain(entry) for entry in getattr(owner, name)[:plain.pop(count)]]


def _plain_channel(channel: _abi.ChannelInfo) -> Dict[str, Any]:
    plain = _plain(channel)
    plain["released_below"] = channel.released_below[:channel.consumer_count]
    _listed(plain, channel, "consumers", "consumer_count")
    plain["kind"] = next(name for name, number in _abi.KINDS.items() if number == channel.kind)
    reasons = {number: name for name, number in _abi.CLOSE_REASONS.items()}
    plain["closed_reason"] = reasons.get(channel.closed_reason)
    return plain


def _plain_info(info: _abi.Info) -> Dict[str, Any]:
    plain = _plain(info)
    for name, count in (("features", "feature_count"), ("leases", "lease_count"), ("rights", "right_count"),
                        ("consumer_ids", "consumer_id_count"), ("warnings", "warning_count")):
        _listed(plain, info, name, count)
    plain["channels"] = [_plain_channel(channel) for channel in info.channels[:plain.pop("channel_count")]]
    return plain
