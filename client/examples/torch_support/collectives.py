"""The four operations as trainers have them today: collectives of the pipeline's process group.

Every stage waits for every other, values are pickled, calls are matched by their order, and a stage that fails or leaves out a call
leaves the others waiting.
"""
import torch
import torch.distributed as dist

from torch_support import parallel_state


def _broadcast_object(obj, source):
    pipeline = parallel_state.pipeline()
    box = [obj]
    dist.broadcast_object_list(box, src=pipeline.ranks[source], group=pipeline.group)
    return box[0]


def broadcast_obj_from_pp_rank(obj):
    pipeline = parallel_state.pipeline()
    if pipeline.size == 1:
        return obj
    present = [None] * pipeline.size
    dist.all_gather_object(present, obj is not None, group=pipeline.group)
    owners = [rank for rank, has_it in enumerate(present) if has_it]
    if not owners:
        raise ValueError("Object must exist on at least one PP rank")
    if len(owners) > 1:
        raise ValueError(f"Object present on multiple PP ranks: {owners}")
    return _broadcast_object(obj, owners[0])


def _materialize_loss_metrics_for_object_broadcast(loss_metrics):
    return {name: _on_host(value) if torch.is_tensor(value) else value for name, value in loss_metrics.items()}


def _on_host(tensor):
    return tensor.item() if tensor.numel() == 1 else tensor.detach().cpu()


def broadcast_loss_metrics_from_last_stage(loss_metrics=None):
    pipeline = parallel_state.pipeline()
    if parallel_state.is_last_stage() and loss_metrics is None:
        raise ValueError("Last PP stage must provide loss metrics.")
    if pipeline.size == 1:
        return loss_metrics
    payload = None
    if parallel_state.is_last_stage():
        one = _materialize_loss_metrics_for_object_broadcast
        payload = one(loss_metrics) if isinstance(loss_metrics, dict) else [one(metrics) for metrics in loss_metrics]
    payload = _broadcast_object(payload, pipeline.size - 1)
    if payload is None:
        raise RuntimeError("Pipeline loss metric broadcast returned no metrics.")
    return payload


def broadcast_tensors_from_last_stage(tensors):
    """Every stage must name the tensors in the same order."""
    return {name: _broadcast_tensor(name, tensor) for name, tensor in tensors.items()}


def _broadcast_tensor(name, tensor):
    pipeline = parallel_state.pipeline()
    last = parallel_state.is_last_stage()
    if last and tensor is None:
        raise ValueError(f"Last PP stage must provide tensor '{name}' for broadcast.")
    if pipeline.size == 1:
        return tensor
    shape, dtype = _broadcast_object((tensor.shape, tensor.dtype) if last else None, pipeline.size - 1)
    sent = tensor.detach().contiguous() if last else torch.empty(shape, dtype=dtype)
    dist.broadcast(sent, src=pipeline.ranks[-1], group=pipeline.group)
    return tensor if last else sent
