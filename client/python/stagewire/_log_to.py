"""Logging what a pipeline publishes, in a thread that follows a watch."""

from __future__ import annotations

import importlib
import logging
import os
import select
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Union

from . import errors
from ._client import Client
from ._handles import Closing
from ._watch import Event, Watch

Numbers = Dict[str, float]
Log = Callable[[int, Numbers], Any]
_Key = Tuple[Optional[int], str]  # stage, channel
_Place = Tuple[int, int]  # step, generation
_Whole = Tuple[int, Numbers]  # a step, and its means

_MARKER = "/stagewire.calls"  # the channel beside "train" that says at a step's end how many calls it had
_CATCH_UP_S = 10.0
_RETRY_S = 1.0
_TLS = ("tls_key", "tls_cert", "tls_ca", "tls_crl", "peer_identity")

_logger = logging.getLogger("stagewire")


def log_to(sink: Union[str, Log], endpoint: Union[str, Client, None] = None, *,
           channels: Union[str, Sequence[str], None] = None, stage: Optional[int] = None, group: int = 0,
           after: int = -1, **options: Any) -> "Bridge":
    """Logs the metrics of every step once, from a thread, until it is closed.

    It goes on across reconnects, restarts of the endpoint and generations; a step that a later generation repeats is not
    logged again. A step is logged when the last stage has come to its end, or where it was published without
    `stagewire.step`, when the next one comes or the channel is finished. Several microbatches and calls of a step are one
    mean each; a name is ``CHANNEL/KEY``, with ``/`` between the keys of nested dicts. What is no number is left out.

    Parameters
    ----------
    sink : {"tensorboard", "wandb", "mlflow"} or callable
        Where to: a callable gets the step and a dict of numbers. The module is imported now, and not before. A run of
        wandb or mlflow that is active is used; else one is begun.
    endpoint : str or Client, optional
        By default ``STAGEWIRE_LAST_STAGE_ENDPOINT``, with the certificates of the environment.
    channels : str or sequence of str, optional
        Names; a trailing ``*`` matches the rest. By default every channel of metrics.
    stage, group : int, optional
        Of which stage, by default any, and which group.
    after : int
        Steps up to this one have been logged before.
    **options
        Of ``SummaryWriter``, ``wandb.init`` or ``mlflow.start_run``.

    Returns
    -------
    Bridge
        A context manager; `Bridge.close` logs what was published until then.
    """
    if isinstance(sink, str) and sink not in _SINKS:
        raise ValueError(f"sink {sink!r}: it is one of {', '.join(_SINKS)}, or a callable")
    named = [channels] if isinstance(channels, str) else None if channels is None else list(channels)
    client, own = _client_of(endpoint)
    try:
        log, finish = (_SINKS[sink] if isinstance(sink, str) else _open_callable)(sink, options)
    except BaseException:
        if own:
            client.close()
        raise
    return Bridge(client, own, _Filter(named, stage, group), _Steps(after), log, finish)


def _client_of(endpoint: Union[str, Client, None]) -> Tuple[Client, bool]:
    if isinstance(endpoint, Client):
        return endpoint, False
    endpoint = endpoint or os.environ.get("STAGEWIRE_LAST_STAGE_ENDPOINT")
    if not endpoint:
        raise ValueError("which endpoint? Pass one, or set STAGEWIRE_LAST_STAGE_ENDPOINT")
    tls: Dict[str, Any] = {name: os.environ.get("STAGEWIRE_" + name.upper()) for name in _TLS}
    return Client(endpoint, run_id=os.environ.get("STAGEWIRE_RUN_ID"), **tls), True


# ---- where to ----


def _open_callable(sink: Log, options: Mapping[str, Any]) -> Tuple[Log, Callable[[], Any]]:
    if not callable(sink):
        raise TypeError(f"sink {sink!r} is neither a name nor callable")
    if options:
        raise TypeError(f"a callable takes no options, and got {', '.join(options)}")
    return sink, lambda: None


def _open_tensorboard(_: str, options: Mapping[str, Any]) -> Tuple[Log, Callable[[], Any]]:
    writer = importlib.import_module("torch.utils.tensorboard").SummaryWriter(**options)

    def log(step: int, numbers: Numbers) -> None:
        for name, number in numbers.items():
            writer.add_scalar(name, number, step)
        writer.flush()

    return log, writer.close


def _open_wandb(_: str, options: Mapping[str, Any]) -> Tuple[Log, Callable[[], Any]]:
    wandb = importlib.import_module("wandb")
    active = wandb.run
    run = active if active is not None else wandb.init(**options)
    defined: Set[str] = set()

    def log(step: int, numbers: Numbers) -> None:
        # Of its own axis, because channels come in no order, and wandb's own step may not go back.
        axes = {name.split("/")[0] + "/step" for name in numbers}
        for axis in axes - defined:
            run.define_metric(axis[:-len("step")] + "*", step_metric=axis)
        defined.update(axes)
        run.log({**numbers, **dict.fromkeys(axes, step)})

    return log, run.finish if active is None else lambda: None


def _open_mlflow(_: str, options: Mapping[str, Any]) -> Tuple[Log, Callable[[], Any]]:
    mlflow = importlib.import_module("mlflow")
    active = mlflow.active_run()
    run = active if active is not None else mlflow.start_run(**options)
    client = importlib.import_module("mlflow.tracking").MlflowClient()  # the active run is another thread's

    def log(step: int, numbers: Numbers) -> None:
        for name, number in numbers.items():
            client.log_metric(run.info.run_id, name, number, step=step)

    return log, mlflow.end_run if active is None else lambda: None


_SINKS: Dict[str, Any] = {"tensorboard": _open_tensorboard, "wandb": _open_wandb, "mlflow": _open_mlflow}


# ---- what ----


def _numbers_of(value: Any, name: str) -> Iterator[Tuple[str, float]]:
    """The numbers in a payload, with their names."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers_of(item, f"{name}/{key}")
    elif isinstance(value, (bool, int, float)):
        yield name, float(value)
    elif getattr(value, "shape", None) is not None and hasattr(value, "item") and all(size == 1 for size in value.shape):
        yield from _numbers_of(value.item(), name)


class _Step:
    """What has been published of one step of one channel."""

    def __init__(self, number: int, generation: int):
        self.place = number, generation
        self.number = number
        self.calls = 0
        self._sums: Dict[str, Tuple[float, int]] = {}

    def add(self, channel: str, metrics: Any) -> None:
        self.calls += 1
        for payload in metrics if isinstance(metrics, list) else [metrics]:
            for name, number in _numbers_of(payload, channel):
                total, count = self._sums.get(name, (0.0, 0))
                self._sums[name] = total + number, count + 1

    def means(self) -> Numbers:
        return {name: total / count for name, (total, count) in self._sums.items()}


class _Steps:
    """Makes steps of events, each once."""

    def __init__(self, after: int):
        self._after = after
        self._logged: Dict[_Key, int] = {}
        self._open: Dict[_Key, _Step] = {}
        self._ends: Dict[_Key, Tuple[_Place, Optional[int]]] = {}  # where, and of how many calls; None: it failed

    def take(self, event: Event) -> List[_Whole]:
        """The steps of which an event says that they are whole."""
        channel = event.address.channel
        is_marker = channel.endswith(_MARKER)
        key = event.address.stage, channel[:-len(_MARKER)] if is_marker else channel
        place = event.address.step, event.address.generation
        if event.type in ("published", "failed"):
            return (self._ended if is_marker else self._called)(key, place, event)
        if event.type == "closed" and event.reason == "finished" and not is_marker:
            return self._flush(key)
        return []

    def rest(self) -> List[_Whole]:
        """What nobody will say any more that it is whole."""
        return [step for key in list(self._open) for step in self._flush(key)]

    def _called(self, key: _Key, place: _Place, event: Event) -> List[_Whole]:
        before = self._open.get(key)
        whole = []
        if before is not None and before.place != place:
            if place[0] > before.number:
                whole = self._flush(key)
            else:
                del self._open[key]  # a later generation repeats it
        if place[0] <= self._logged.get(key, self._after) or self._ends.get(key) == (place, None):
            return whole
        self._open.setdefault(key, _Step(*place)).add(key[1], event.metrics if event.type == "published" else [])
        return whole + self._flush_if_whole(key)

    def _ended(self, key: _Key, place: _Place, event: Event) -> List[_Whole]:
        failed = event.type == "failed"
        self._ends[key] = place, None if failed else event.metrics["metrics"]
        if failed and key in self._open and self._open[key].place == place:
            del self._open[key]
        return self._flush_if_whole(key)

    def _flush_if_whole(self, key: _Key) -> List[_Whole]:
        step = self._open.get(key)
        is_whole = step is not None and self._ends.get(key) == (step.place, step.calls)
        return self._flush(key) if is_whole else []

    def _flush(self, key: _Key) -> List[_Whole]:
        step = self._open.pop(key, None)
        if step is None:
            return []
        self._logged[key] = step.number
        means = step.means()
        return [(step.number, means)] if means else []


# ---- from where ----


class _Filter:
    """Which channels are followed, and which of them have been read to their end."""

    def __init__(self, channels: Optional[List[str]], stage: Optional[int], group: int):
        self.stage, self.group = stage, group
        self._named = channels
        self._seen: Dict[Tuple[Optional[int], str], Tuple[int, int, int]] = {}

    @property
    def channels(self) -> Optional[List[str]]:
        if self._named is None:
            return None
        return [name + suffix for name in self._named for suffix in ("", _MARKER) if not (suffix and name.endswith("*"))]

    def _wants(self, address: Any) -> bool:
        if address.group != self.group or self.stage not in (None, address.stage):
            return False
        channels = self.channels
        return channels is None or any(address.channel == name or name.endswith("*")
                                       and address.channel.startswith(name[:-1]) for name in channels)

    def saw(self, event: Event) -> None:
        if event.type in ("published", "failed"):
            self._seen[event.address.stage, event.address.channel] = _when(event.address)

    def lacks(self, info: Mapping[str, Any]) -> bool:
        """Whether an endpoint holds something that has not been seen."""
        latest = [channel["latest"] for channel in info["channels"] if channel["kind"] == "metrics" and channel["has_items"]]
        return any(self._wants(address) and self._seen.get((address.stage, address.channel), (0, 0, -1)) < _when(address)
                   for address in latest)


def _when(address: Any) -> Tuple[int, int, int]:
    return address.generation, address.step, address.call


class Bridge(Closing):
    """What `log_to` began; closed by `with`, by `close`, or at the interpreter's exit."""

    def __init__(self, client: Client, own: bool, wanted: _Filter, steps: _Steps, log: Log, finish: Callable[[], Any]):
        self._client, self._own = client, own
        self._wanted, self._steps = wanted, steps
        self._log, self._finish = log, finish
        self._error: Optional[BaseException] = None
        self._ending = threading.Event()
        self._wake = os.pipe()
        self._thread = threading.Thread(target=self._run, name="stagewire.log_to", daemon=True)
        self._opened(self._thread)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it still follows; False after an error, which `close` raises."""
        return not self.closed and self._thread.is_alive()

    def _close(self) -> None:
        """Logs what was published until now, within 10 s, and ends; raises what ended it before."""
        self._ending.set()
        os.write(self._wake[1], b"!")
        self._thread.join()
        for descriptor in self._wake:
            os.close(descriptor)
        if self._own:
            self._client.close()
        self._finish()
        if self._error is not None:
            raise self._error

    def _close_at_exit(self) -> None:
        try:
            self.close()
        except Exception:
            pass  # was logged when it happened

    def _run(self) -> None:
        try:
            while not self._ending.is_set():
                self._try()
            self._write(self._steps.rest())
        except Exception as error:
            self._error = error
            _logger.error("stagewire.log_to ends: %s: %s", type(error).__name__, error)

    def _try(self) -> None:
        try:
            with self._client.watch(self._wanted.channels, stage=self._wanted.stage, group=self._wanted.group,
                                    start="oldest", timeout=_RETRY_S) as watch:
                self._follow(watch)
        except (errors.Unavailable, errors.DeadlineExceeded) as error:
            _logger.warning("stagewire.log_to tries again: %s", error)
            self._ending.wait(_RETRY_S)

    def _follow(self, watch: Watch) -> None:
        while not self._ending.is_set():
            select.select([watch, self._wake[0]], [], [])
            self._read(watch)
        deadline = time.monotonic() + _CATCH_UP_S
        while self._wanted.lacks(self._client.info(timeout=_CATCH_UP_S)) and time.monotonic() < deadline:
            select.select([watch], [], [], max(0.0, deadline - time.monotonic()))
            self._read(watch)

    def _read(self, watch: Watch) -> None:
        """All events that are there."""
        while True:
            try:
                event = watch.next(0)
            except errors.DeadlineExceeded:
                return
            if event.type == "gap":
                _logger.warning("stagewire.log_to was too late for what %s held before step %s", event.address.channel,
                                event.next.step if event.next else "the next")
            self._wanted.saw(event)
            self._write(self._steps.take(event))

    def _write(self, steps: List[_Whole]) -> None:
        for number, numbers in steps:
            self._log(number, numbers)
