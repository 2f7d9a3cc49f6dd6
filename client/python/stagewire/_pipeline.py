"""One rank's view of a pipeline, and the four operations on it."""

from __future__ import annotations

import contextlib
import sys
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional

from . import _abi, _tensors, errors
from ._calls import call, make, run, text
from ._client import Wanted, take_tensors
from ._handles import Closing
from ._library import lib
from ._options import fill
from ._publisher import Publisher
from ._values import Encoded, decode


class Pipeline(Closing):
    """One rank's view of one (data, tensor, context)-parallel group: stage `stage` of `stage_count`.

    The last stage publishes at its own endpoint and goes on; the others pull from it. One thread calls at a time.
    `stagewire.init` makes one from the environment.

    Parameters
    ----------
    stage, stage_count : int
    run_id : str, optional
    generation : int
        From 1: how often the job has been started.
    group : int
        The number of the pipeline among those of the job.
    publisher : Publisher, optional
        Where the last stage publishes; it must have one. A single stage may.
    last_stage_endpoint : str, optional
        The last stage's endpoint; each stage of several needs it.
    timeout : float, optional
        Seconds for an operation: 600.
    endpoint_grace, max_lag_steps, tls_key, tls_cert, tls_ca, tls_crl, peer_identity : optional
        As in ``stagewire/pipeline.h``.
    """

    def __init__(self, stage: int, stage_count: int, *, run_id: Optional[str] = None, generation: int = 1,
                 group: int = 0, publisher: Optional[Publisher] = None, last_stage_endpoint: Optional[str] = None,
                 timeout: Optional[float] = None, endpoint_grace: Optional[float] = None,
                 max_lag_steps: Optional[int] = None, tls_key: Optional[str] = None, tls_cert: Optional[str] = None,
                 tls_ca: Optional[str] = None, tls_crl: Optional[str] = None, peer_identity: Optional[str] = None):
        options = fill(_abi.PipelineOptions(), lib.sw_pipeline_options_init_sized, {
            "stage": stage, "stage_count": stage_count, "run_id": run_id, "generation": generation, "group": group,
            "last_stage_endpoint": last_stage_endpoint, "timeout": timeout, "endpoint_grace": endpoint_grace,
            "max_lag_steps": max_lag_steps, "tls_key": tls_key, "tls_cert": tls_cert, "tls_ca": tls_ca,
            "tls_crl": tls_crl, "peer_identity": peer_identity})
        options.publisher = publisher.handle if publisher is not None else None
        self.stage, self.stage_count, self.group = stage, stage_count, group
        self._publisher = publisher  # alive as long as this
        self._opened(make(lib.sw_pipeline_open, options, destroy=lib.sw_pipeline_close))

    @property
    def is_last(self) -> bool:
        return self.stage == self.stage_count - 1

    @property
    def is_single(self) -> bool:
        return self.stage_count == 1

    @property
    def generation(self) -> int:
        """The generation that the lease stands in."""
        return lib.sw_pipeline_generation(self.handle)

    def _close(self) -> None:
        run(lib.sw_pipeline_close, self._handle)

    def end(self, failure: Optional[str] = None) -> None:
        """Closes the pipeline for good: nobody waits for this stage any longer.

        On the last stage every channel is finished, or with a `failure` aborted, until a new generation begins; what
        is held stays pullable.
        """
        try:
            if self._publisher is not None and self.is_last and not self.closed:
                self._publisher.close_channel(None, "aborted" if failure else "finished", failure or "",
                                              stage=self.stage, group=self.group, generation=self.generation,
                                              timeout=5)
        finally:
            self.close()

    def _close_at_exit(self) -> None:
        uncaught = getattr(sys, "last_value", None)
        with contextlib.suppress(errors.StagewireError):
            self.end(_words(uncaught) if uncaught is not None else None)

    def __exit__(self, kind: Any, raised: Any, traceback: Any) -> None:
        if raised is None:
            self.close()
            return
        with contextlib.suppress(errors.StagewireError):  # what was raised matters more
            self.end(_words(raised))

    # ---- steps ----

    @contextlib.contextmanager
    def step(self, number: int, channel: str = "train") -> Iterator[None]:
        """Names the step for the operations inside, which count from 0.

        An exception inside is published as a failure for what the other stages still wait for in that step. At the
        end a rank whose calls differ in number from the last stage's is told: ``OUT_OF_STEP``.
        """
        call(lib.sw_pipeline_step_begin, self.handle, number, text(channel))
        try:
            yield
        except BaseException as raised:
            with contextlib.suppress(errors.StagewireError):  # what was raised matters more
                call(lib.sw_pipeline_step_end, self.handle, _words(raised).encode("utf-8", "replace"))
            raise
        call(lib.sw_pipeline_step_end, self.handle, None)

    def _prepare(self, kind: str, prepare: Callable[[], Any]) -> Any:
        """Every call counts, also one whose arguments have no plain form; the others are told."""
        try:
            return prepare()
        except BaseException as raised:
            with contextlib.suppress(errors.StagewireError):
                call(lib.sw_pipeline_call_failed, self.handle, _abi.KINDS[kind],
                     _words(raised).encode("utf-8", "replace"))
            raise

    # ---- the four operations ----

    def broadcast_obj_from_pp_rank(self, obj: Any) -> Any:
        """See `stagewire.pipeline_parallel.broadcast_obj_from_pp_rank`."""
        if self.is_single:
            return obj
        encoded = None if obj is None else self._prepare("object", lambda: Encoded(obj, "object"))
        handle = make(lib.sw_pipeline_broadcast_obj_from_pp_rank, self.handle, encoded and encoded.address,
                      destroy=lib.sw_object_destroy)
        try:
            return obj if encoded else decode(lib.sw_object_value(handle), _tensors.default_framework())
        finally:
            lib.sw_object_destroy(handle)

    def broadcast_loss_metrics_from_last_stage(self, loss_metrics: Any = None) -> Any:
        """See `stagewire.pipeline_parallel.broadcast_loss_metrics_from_last_stage`."""
        sent = encoded = None
        if self.is_last and loss_metrics is not None:
            sent = self._prepare("metrics", lambda: materialize(loss_metrics, own=True))
            encoded = self._prepare("metrics", lambda: Encoded(sent, "metrics"))
        if self.is_last:
            call(lib.sw_pipeline_broadcast_loss_metrics_from_last_stage, self.handle, encoded and encoded.address, None)
            return loss_metrics if self.is_single else sent
        handle = make(lib.sw_pipeline_broadcast_loss_metrics_from_last_stage, self.handle, None,
                      destroy=lib.sw_metrics_destroy)
        try:
            return decode(lib.sw_metrics_value(handle), _tensors.default_framework())
        finally:
            lib.sw_metrics_destroy(handle)

    def broadcast_tensors_from_last_stage(self, tensors: Mapping[str, Any], *, out: Optional[Mapping[str, Any]] = None,
                                          device: Any = None, borrow: bool = False) -> Dict[str, Any]:
        """See `stagewire.pipeline_parallel.broadcast_tensors_from_last_stage`."""
        if self.is_last:
            return self._send(tensors, borrow)
        landing = self._prepare("tensors", lambda: _Landing(list(tensors), out or {}, device))
        handle = make(lib.sw_pipeline_broadcast_tensors_from_last_stage, self.handle, None, landing.wanted.array,
                      landing.wanted.count, destroy=lib.sw_tensors_destroy)
        try:
            return landing.place(take_tensors(handle, landing.wanted, _tensors.default_framework()))
        finally:
            lib.sw_tensors_destroy(handle)

    def _send(self, tensors: Mapping[str, Any], borrow: bool) -> Dict[str, Any]:
        with self._prepare("tensors", lambda: _tensors.NamedTensors(tensors, borrow)) as named:
            make(lib.sw_pipeline_broadcast_tensors_from_last_stage, self.handle, named.array, None, named.count,
                 destroy=lib.sw_tensors_destroy)
        return dict(tensors)


def _words(raised: BaseException) -> str:
    return f"{type(raised).__name__}: {raised}" if str(raised) else type(raised).__name__


class _Landing:
    """Where pulled tensors go: into `out` at once where it is contiguous host memory, else by way of the host."""

    def __init__(self, names: List[str], out: Mapping[str, Any], device: Any):
        unknown = [name for name in out if name not in names]
        if unknown:
            raise ValueError(f"out names {unknown}, which tensors does not; it names {names}")
        self._out = {name: tensor for name, tensor in out.items() if tensor is not None}
        self._direct = {name: tensor for name, tensor in self._out.items()
                        if _tensors.host_tensor(tensor, f"out[{name!r}]").address is not None}
        self._device = device
        self.wanted = Wanted(names, self._direct)
        self._names = names

    def place(self, pulled: Dict[str, Any]) -> Dict[str, Any]:
        return {name: self._placed(name, pulled[name]) for name in self._names}

    def _placed(self, name: str, tensor: Any) -> Any:
        given = self._out.get(name)
        if given is None:
            return self._moved(tensor)
        if name not in self._direct:
            _check_like(name, given, tensor)
            given.copy_(tensor)
        return given

    def _moved(self, tensor: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(tensor, torch.Tensor):
            return tensor
        if self._device is not None:
            return tensor.to(self._device)
        return tensor.cuda() if torch.cuda.is_initialized() else tensor


def _check_like(name: str, given: Any, tensor: Any) -> None:
    ours = getattr(given, "dtype", None), tuple(given.shape)
    theirs = getattr(tensor, "dtype", None), tuple(tensor.shape)
    if ours != theirs:
        raise ValueError(f"out[{name!r}] is {ours[0]}{list(ours[1])}, and what was published is "
                         f"{theirs[0]}{list(theirs[1])}")


def materialize(loss_metrics: Any, own: bool = False) -> Any:
    """See `stagewire.pipeline_parallel._materialize_loss_metrics_for_object_broadcast`; with `own`, host tensors are
    copied, too, so that what the caller does to its own later does not show."""
    if isinstance(loss_metrics, dict):
        return _materialize_dicts([loss_metrics], own)[0]
    return _materialize_dicts(loss_metrics, own) if isinstance(loss_metrics, list) else loss_metrics


def _materialize_dicts(dicts: List[Any], own: bool) -> List[Any]:
    torch = sys.modules.get("torch")
    copies = [dict(metrics) if isinstance(metrics, dict) else metrics for metrics in dicts]
    if torch is None:
        return copies
    scalars: Dict[Any, List[Any]] = {}
    for copy in copies:
        if not isinstance(copy, dict):
            continue
        for key, value in copy.items():
            if not isinstance(value, torch.Tensor):
                continue
            value = value.detach()
            if value.numel() == 1 and value.layout is torch.strided and not value.is_quantized:
                scalars.setdefault((value.device, value.dtype), []).append((copy, key, value))
            else:
                copy[key] = value.to("cpu", copy=own)
    for of_one_kind in scalars.values():
        _move_scalars(torch, of_one_kind)
    return copies


def _move_scalars(torch: Any, scalars: List[Any]) -> None:
    """One copy to the host for all scalars of one device and type."""
    first = scalars[0][2]
    if first.device.type == "cpu":
        moved = [value.item() for _, _, value in scalars]
    else:
        moved = torch.cat([value.reshape(1) for _, _, value in scalars]).tolist()
    for (copy, key, _), value in zip(scalars, moved):
        copy[key] = value
