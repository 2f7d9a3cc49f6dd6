"""Which pipeline this process belongs to: what was passed, else STAGEWIRE_*, else what the launcher sets."""

from __future__ import annotations

import os
import sys
from typing import Any, Iterator, Mapping, Optional, Sequence

import contextlib

from ._client import Client
from ._endpoint import Endpoint
from ._pipeline import Pipeline

_current: Optional["Joined"] = None


class Joined:
    """A pipeline, and what was opened for it."""

    def __init__(self, pipeline: Pipeline, endpoint: Optional[Endpoint], sidecar: Optional[Client]):
        self.pipeline = pipeline
        self.endpoint = endpoint
        self.sidecar = sidecar

    def close(self, failure: Optional[str]) -> None:
        try:
            self.pipeline.end(failure)
        finally:
            for owner in (self.endpoint, self.sidecar):
                if owner is not None:
                    owner.close()


def _number(environment: Mapping[str, str], name: str) -> Optional[int]:
    words = environment.get(name)
    if not words:
        return None
    try:
        number = int(words)
    except ValueError:
        raise ValueError(f"{name}={words!r} is no number") from None
    if number < 0:
        raise ValueError(f"{name}={words!r} is negative")
    return number


def _seconds(environment: Mapping[str, str], name: str) -> Optional[float]:
    words = environment.get(name)
    if not words:
        return None
    try:
        seconds = float(words)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{name}={words!r} is no number of seconds above 0")
    return seconds


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None and value != ""), None)


class _Place:
    """Which stage of which pipeline this process is, and whether its launcher knows all of them."""

    def __init__(self, stage: int, stage_count: int, group: int, within_one_launcher: bool):
        self.stage, self.stage_count, self.group = stage, stage_count, group
        self.within_one_launcher = within_one_launcher


def _place_of_megatron(state: Any) -> _Place:
    try:
        data = state.get_data_parallel_rank(with_context_parallel=True)
    except TypeError:  # before Megatron had context parallelism
        data = state.get_data_parallel_rank()
    group = data * state.get_tensor_model_parallel_world_size() + state.get_tensor_model_parallel_rank()
    return _Place(state.get_pipeline_model_parallel_rank(), state.get_pipeline_model_parallel_world_size(), group, True)


def _megatron_if_present() -> Any:
    state = sys.modules.get("megatron.core.parallel_state")
    return state if state is not None and state.model_parallel_is_initialized() else None


def _place(environment: Mapping[str, str], stage: Optional[int], stage_count: Optional[int], group: Optional[int],
           parallel_state: Any) -> _Place:
    stage = _first(stage, _number(environment, "STAGEWIRE_STAGE"))
    stage_count = _first(stage_count, _number(environment, "STAGEWIRE_STAGES"))
    group = _first(group, _number(environment, "STAGEWIRE_GROUP"))
    if (stage is None) != (stage_count is None):
        raise ValueError("only one of stage and stage_count (STAGEWIRE_STAGE, STAGEWIRE_STAGES) is known; set both")
    if stage is not None and stage_count is not None:
        place = _Place(stage, stage_count, 0, stage_count == 1)
    elif parallel_state is not None or _megatron_if_present() is not None:
        place = _place_of_megatron(parallel_state if parallel_state is not None else _megatron_if_present())
    else:
        rank, ranks = _number(environment, "RANK"), _number(environment, "WORLD_SIZE")
        place = _Place(rank or 0, ranks or 1, 0, True)
    if group is not None:
        place.group = group
    if not 0 <= place.stage < place.stage_count:
        raise ValueError(f"stage {place.stage} of {place.stage_count}: stages count from 0")
    return place


def _generation(environment: Mapping[str, str], place: _Place, generation: Optional[int]) -> int:
    said = _first(generation, _number(environment, "STAGEWIRE_GENERATION"))
    if said is not None:
        if said < 1:
            raise ValueError(f"generation {said}: it counts from 1")
        return said
    restarts = _number(environment, "TORCHELASTIC_RESTART_COUNT")
    if place.within_one_launcher and restarts is not None:
        return restarts + 1
    if place.stage_count == 1:
        return 1
    why = "the stages may belong to several launchers, each of which counts its own restarts" \
        if not place.within_one_launcher else "there is no launcher that counts restarts (TORCHELASTIC_RESTART_COUNT)"
    raise ValueError(f"set STAGEWIRE_GENERATION to how often the job has been started, from 1 and the same on every "
                     f"rank: {why}; without it a step repeated after a resume could get its old value")


def _run_id(environment: Mapping[str, str], run_id: Optional[str]) -> Optional[str]:
    launcher = environment.get("TORCHELASTIC_RUN_ID")
    return _first(run_id, environment.get("STAGEWIRE_RUN_ID"), launcher if launcher != "none" else None)


def init(*, run_id: Optional[str] = None, generation: Optional[int] = None, stage: Optional[int] = None,
         stage_count: Optional[int] = None, group: Optional[int] = None, last_stage_endpoint: Optional[str] = None,
         sidecar: Optional[str] = None, listen: Optional[Sequence[str]] = None, timeout: Optional[float] = None,
         parallel_state: Any = None, tls_key: Optional[str] = None, tls_cert: Optional[str] = None,
         tls_ca: Optional[str] = None, tls_crl: Optional[str] = None, peer_identity: Optional[str] = None,
         **options: Any) -> Pipeline:
    """Joins this process's pipeline; `stagewire.pipeline_parallel` and `stagewire.step` use it from now on.

    What is not passed is taken from the environment. Without `init` the first operation does it.

    Parameters
    ----------
    run_id : str, optional
        ``STAGEWIRE_RUN_ID``, else ``TORCHELASTIC_RUN_ID``.
    generation : int, optional
        ``STAGEWIRE_GENERATION``: how often the job has been started, from 1. Within one launcher, else its
        ``TORCHELASTIC_RESTART_COUNT`` plus one; across launchers it must be said.
    stage, stage_count, group : int, optional
        ``STAGEWIRE_STAGE``, ``STAGEWIRE_STAGES``, ``STAGEWIRE_GROUP``; else of `parallel_state`, or of Megatron's if
        that is imported and initialised; else ``RANK`` and ``WORLD_SIZE`` with one group.
    last_stage_endpoint : str, optional
        ``STAGEWIRE_LAST_STAGE_ENDPOINT``: where the others reach the last stage's endpoint.
    sidecar : str, optional
        ``STAGEWIRE_SIDECAR``: the endpoint beside the last stage to which it publishes, as ``"unix:PATH"``.
    listen : sequence of str, optional
        ``STAGEWIRE_LISTEN``, with commas: where the last stage serves an endpoint in this process. Without `sidecar`
        and `listen` the last stage publishes to `last_stage_endpoint`.
    timeout : float, optional
        ``STAGEWIRE_TIMEOUT``: seconds for an operation, 600.
    parallel_state : optional
        Something with Megatron's ``get_pipeline_model_parallel_rank`` and so on.
    tls_key, tls_cert, tls_ca, tls_crl, peer_identity : str, optional
        ``STAGEWIRE_TLS_KEY``, ``STAGEWIRE_TLS_CERT``, ``STAGEWIRE_TLS_CA``, ``STAGEWIRE_TLS_CRL``,
        ``STAGEWIRE_PEER_IDENTITY``.
    **options
        Of `Pipeline`.

    Returns
    -------
    Pipeline

    Raises
    ------
    ValueError
        What is missing or does not fit, and how to say it.
    """
    global _current
    if _current is not None and not _current.pipeline.closed:
        raise RuntimeError("stagewire.init was called before; stagewire.shutdown ends what it began")
    environment = os.environ
    place = _place(environment, stage, stage_count, group, parallel_state)
    generation = _generation(environment, place, generation)
    run_id = _run_id(environment, run_id)
    timeout = _first(timeout, _seconds(environment, "STAGEWIRE_TIMEOUT"))
    last_stage_endpoint = _first(last_stage_endpoint, environment.get("STAGEWIRE_LAST_STAGE_ENDPOINT"))
    tls = {"tls_key": _first(tls_key, environment.get("STAGEWIRE_TLS_KEY")),
           "tls_cert": _first(tls_cert, environment.get("STAGEWIRE_TLS_CERT")),
           "tls_ca": _first(tls_ca, environment.get("STAGEWIRE_TLS_CA")),
           "tls_crl": _first(tls_crl, environment.get("STAGEWIRE_TLS_CRL"))}
    endpoint = client = None
    if place.stage == place.stage_count - 1:
        endpoint, client = _where_to_publish(environment, place, run_id, last_stage_endpoint, sidecar, listen, tls)
    if last_stage_endpoint is None and endpoint is not None:
        last_stage_endpoint = endpoint.address
    if last_stage_endpoint is None and place.stage_count > 1:
        raise ValueError("where is the last stage's endpoint? Set STAGEWIRE_LAST_STAGE_ENDPOINT, or pass "
                         "last_stage_endpoint")
    owner = endpoint or client
    try:
        pipeline = Pipeline(
            place.stage, place.stage_count, run_id=run_id, generation=generation, group=place.group,
            publisher=owner.publisher if owner is not None else None, last_stage_endpoint=last_stage_endpoint,
            timeout=timeout, peer_identity=_first(peer_identity, environment.get("STAGEWIRE_PEER_IDENTITY")), **tls,
            **options)
    except BaseException:
        if owner is not None:
            owner.close()
        raise
    _current = Joined(pipeline, endpoint, client)
    return pipeline


def _where_to_publish(environment: Mapping[str, str], place: _Place, run_id: Optional[str], last: Optional[str],
                      sidecar: Optional[str], listen: Optional[Sequence[str]], tls: Mapping[str, Any]):
    sidecar = _first(sidecar, environment.get("STAGEWIRE_SIDECAR"))
    if listen is None and sidecar is None and environment.get("STAGEWIRE_LISTEN"):
        listen = environment["STAGEWIRE_LISTEN"].split(",")
    if listen:
        if run_id is None:
            raise ValueError("an endpoint serves one run: set STAGEWIRE_RUN_ID, or pass run_id")
        return Endpoint(run_id, listen, stage=place.stage, stage_count=place.stage_count, **tls), None
    sidecar = _first(sidecar, last)
    return None, Client(sidecar, run_id=run_id, **tls) if sidecar else None


def current() -> Pipeline:
    """The pipeline of `init`, which is called without arguments if need be."""
    if _current is None:
        return init()
    return _current.pipeline


def shutdown(failure: Optional[str] = None) -> None:
    """Ends what `init` began; on the last stage every channel is finished, or aborted with `failure`.

    At the interpreter's exit it happens by itself, with the exception that nobody caught.
    """
    global _current
    joined, _current = _current, None
    if joined is not None:
        joined.close(failure)


@contextlib.contextmanager
def step(number: int, channel: str = "train") -> Iterator[None]:
    """Names the step for the operations inside; see `Pipeline.step`.

    Evaluation, log-probabilities and training use channels of their own.
    """
    with current().step(number, channel):
        yield
