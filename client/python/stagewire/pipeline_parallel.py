"""The four operations of a pipeline-parallel trainer, by name and deadline instead of a collective.

They stand in for the functions of the same names on ``torch.distributed``: change the import, and wrap a training step
in ``with stagewire.step(n):``. The last stage is the last physical one. Every operation has a timeout of 10 minutes,
and raises TimeoutError with what was there instead.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from . import errors
from ._environment import current
from ._pipeline import materialize

__all__ = ["broadcast_obj_from_pp_rank", "_materialize_loss_metrics_for_object_broadcast",
           "broadcast_loss_metrics_from_last_stage", "broadcast_tensors_from_last_stage"]

# Where the library says one of these, trainers know it as exactly this built-in exception.
_KNOWN = ("Object must exist on at least one PP rank", "Object present on multiple PP ranks: ",
          "Last PP stage must provide ")


def _as_known(error: errors.StagewireError) -> BaseException:
    if error.code == "INVALID_ARGUMENT" and error.message.startswith(_KNOWN):
        return ValueError(error.message)
    if error.reason == "STEP_FAILED" and error.metadata.get("message"):
        return type(error)(error.metadata["message"], error.code, error.reason, error.metadata)
    return error


def broadcast_obj_from_pp_rank(obj: Any) -> Any:
    """Hands the object of the one stage that has it to every stage.

    Parameters
    ----------
    obj
        None means "not mine"; 0, False and "" are objects. Every stage calls it.

    Returns
    -------
    object
        The owner's own object on the owner, a copy elsewhere. With one stage `obj`, even None.

    Raises
    ------
    ValueError
        "Object must exist on at least one PP rank", or "Object present on multiple PP ranks: [0, 2]": on every rank.
    """
    try:
        return current().broadcast_obj_from_pp_rank(obj)
    except errors.StagewireError as error:
        raise _as_known(error) from None


def _materialize_loss_metrics_for_object_broadcast(loss_metrics: Any) -> Any:
    """Copies each dict shallowly, with host values for tensors.

    A tensor with one element, of any shape, becomes a Python scalar of its kind; scalars are moved in one copy for each
    device and type. Any other tensor becomes a detached host tensor. Only the dict's own values are looked at.
    """
    return materialize(loss_metrics)


def broadcast_loss_metrics_from_last_stage(loss_metrics: Any = None) -> Any:
    """Hands the last stage's loss metrics, a dict or a list of dicts, to every stage.

    Returns
    -------
    dict or list of dict
        With one stage the very object that was passed, which is still published for those who watch where an endpoint
        is configured. With several the materialised copy, in the same shape.

    Raises
    ------
    ValueError
        "Last PP stage must provide loss metrics.", on the last stage; the others raise RuntimeError with that text.
    RuntimeError
        "Pipeline loss metric broadcast returned no metrics."
    """
    pipeline = current()
    try:
        metrics = pipeline.broadcast_loss_metrics_from_last_stage(loss_metrics)
    except errors.StagewireError as error:
        raise _as_known(error) from None
    if metrics is None:
        raise RuntimeError("Pipeline loss metric broadcast returned no metrics.")
    return metrics


def broadcast_tensors_from_last_stage(tensors: Mapping[str, Any], *, out: Optional[Mapping[str, Any]] = None,
                                      device: Any = None) -> Dict[str, Any]:
    """Hands the last stage's tensors to every stage, by name.

    Parameters
    ----------
    tensors : mapping of str to tensor or None
        The last stage passes every tensor, of any stride and device; the others their names, whose values are ignored.
    out : mapping of str to tensor, optional
        Tensors to write to; one of another type or shape is a ValueError that says how it differs.
    device : optional
        Of results without `out`: by default the current CUDA device where CUDA is initialised, else the host.

    Returns
    -------
    dict of str to tensor
        The last stage's own tensors on the last stage.

    Raises
    ------
    ValueError
        "Last PP stage must provide tensor 'NAME' for broadcast.", on the last stage; the others raise RuntimeError with
        that text.
    KeyError
        A name that the last stage did not publish, with those that it did.
    """
    try:
        return current().broadcast_tensors_from_last_stage(tensors, out=out, device=device)
    except errors.StagewireError as error:
        raise _as_known(error) from None
