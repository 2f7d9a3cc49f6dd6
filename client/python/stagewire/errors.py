"""What a call of stagewire raises.

Every exception is a `StagewireError`, and one of the built-in kinds that a Python programmer would catch:

=====================  ==================  ==========================================================
exception              also a              of the reasons
=====================  ==================  ==========================================================
`InvalidArgument`      `ValueError`        ``MALFORMED``, ``AMBIGUOUS_STAGE``, ``TOO_LARGE``
`DeadlineExceeded`     `TimeoutError`      ``NOT_YET``
`NotFound`             `KeyError`          ``NO_SUCH_TENSOR``, ``SKIPPED``, ``NOT_YET`` without a wait
`OutOfRange`           `LookupError`       ``EVICTED``, ``FINISHED``, ``BAD_RANGE``
`AlreadyExists`        `ValueError`        ``CONFLICT``
`PermissionDenied`     `PermissionError`
`Unauthenticated`      `PermissionError`
`ResourceExhausted`    `MemoryError`       ``STORE_FULL``, ``LIMIT``
`FailedPrecondition`   `RuntimeError`      ``RUN_MISMATCH``, ``STALE_GENERATION``, ``OUT_OF_STEP``, …
`Aborted`              `RuntimeError`      ``STEP_FAILED``, ``PUBLISHER_LOST``, ``SUPERSEDED``, …
`Unavailable`          `ConnectionError`   ``ENDPOINT_LOST``, ``SHUTTING_DOWN``
`DataLoss`             `OSError`           ``CHECKSUM``
`Unimplemented`        `NotImplementedError`
`Cancelled`, others    `RuntimeError`
=====================  ==================  ==========================================================
"""

from __future__ import annotations

import json
from typing import Any, Dict, Optional

from . import _abi
from ._library import lib

__all__ = ["StagewireError", "Cancelled", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists",
           "PermissionDenied", "ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented",
           "Internal", "Unavailable", "DataLoss", "Unauthenticated"]

_LISTS = ("consumers", "tensors", "stages")
_METADATA = ("generation", "oldest", "latest", "last", "message", "limit", "path", "omitted") + _LISTS


class StagewireError(Exception):
    """What the library or an endpoint answered instead of what was asked for.

    Attributes
    ----------
    message : str
        A sentence that names stage, address and what to do.
    code : str
        The status code, as gRPC names it: ``"NOT_FOUND"``.
    reason : str
        Why, in one word that programs may compare: ``"EVICTED"``; ``""`` where there is none of stagewire's.
    metadata : dict
        What the reason comes with: ``generation``, ``oldest``, ``latest``, ``last`` (``"STEP/CALL"``), ``message``,
        ``consumers``, ``tensors``, ``stages`` (lists), ``limit``, ``path``, ``omitted``.
    """

    def __init__(self, message: str, code: str = "UNKNOWN", reason: str = "",
                 metadata: Optional[Dict[str, Any]] = None):
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.metadata: Dict[str, Any] = metadata or {}

    def __str__(self) -> str:
        return self.message

    def __reduce__(self):  # so that it comes whole out of a worker process
        return type(self), (self.message, self.code, self.reason, self.metadata)


class Cancelled(StagewireError, RuntimeError):
    """The call was cancelled, or its client closed."""


class InvalidArgument(StagewireError, ValueError):
    """Arguments that cannot be, or a value without a plain form; ``metadata["path"]`` says where."""

    problem = ""  # what is wrong there, for those who know a longer path


class DeadlineExceeded(StagewireError, TimeoutError):
    """What was asked for did not come in time."""


class NotFound(StagewireError, KeyError):
    """There is no such item, or no such tensor in it."""


class AlreadyExists(StagewireError, ValueError):
    """Something else stands there already."""


class PermissionDenied(StagewireError, PermissionError):
    """The endpoint does not allow that to this caller."""


class ResourceExhausted(StagewireError, MemoryError):
    """No room: in the endpoint's budget, below one of its limits, or in this process."""


class FailedPrecondition(StagewireError, RuntimeError):
    """Not in this state: another run, an older generation, a step back, a forked child."""


class Aborted(StagewireError, RuntimeError):
    """There will be no such item: its publisher failed, is lost, or was superseded."""


class OutOfRange(StagewireError, LookupError):
    """Published and gone, or beyond the end."""


class Unimplemented(StagewireError, NotImplementedError):
    """The endpoint does not know this call."""


class Internal(StagewireError, RuntimeError):
    """A mistake of stagewire's own."""


class Unavailable(StagewireError, ConnectionError):
    """The endpoint cannot be reached, or is going down."""


class DataLoss(StagewireError, OSError):
    """The bytes that arrived are not those that were published."""


class Unauthenticated(StagewireError, PermissionError):
    """The endpoint does not know who this is."""


_BY_CODE = {
    "CANCELLED": Cancelled, "UNKNOWN": Internal, "INVALID_ARGUMENT": InvalidArgument,
    "DEADLINE_EXCEEDED": DeadlineExceeded, "NOT_FOUND": NotFound, "ALREADY_EXISTS": AlreadyExists,
    "PERMISSION_DENIED": PermissionDenied, "RESOURCE_EXHAUSTED": ResourceExhausted,
    "FAILED_PRECONDITION": FailedPrecondition, "ABORTED": Aborted, "OUT_OF_RANGE": OutOfRange,
    "UNIMPLEMENTED": Unimplemented, "INTERNAL": Internal, "UNAVAILABLE": Unavailable, "DATA_LOSS": DataLoss,
    "UNAUTHENTICATED": Unauthenticated,
}


def make(message: str, code: str, reason: str = "", metadata: Optional[Dict[str, Any]] = None) -> StagewireError:
    """The exception of a status code."""
    return _BY_CODE.get(code, Internal)(message, code, reason, metadata)


def _metadata(error: _abi.Error) -> Dict[str, Any]:
    found = {}
    for key in _METADATA:
        text = lib.sw_error_metadata(error, key.encode())
        if text is not None:
            found[key] = json.loads(text) if key in _LISTS else text.decode("utf-8", "replace")
    return found


def from_c(error: _abi.Error) -> StagewireError:
    """The exception of an `sw_error`."""
    return make(error.message.decode("utf-8", "replace"), lib.sw_status_name(error.code).decode(),
                lib.sw_reason_name(error.reason).decode(), _metadata(error))


def malformed(path: str, problem: str) -> InvalidArgument:
    """What has no plain form, as the library words it."""
    error = InvalidArgument(f"{path or 'the value'} {problem}", "INVALID_ARGUMENT", "MALFORMED", {"path": path})
    error.problem = problem
    return error
