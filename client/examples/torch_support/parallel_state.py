"""Which rank does what, in the order that Megatron has: tensor parallel ranks side by side, then data parallel, then stages."""
import torch.distributed as dist

_axes = {}


class Axis:
    """The ranks that differ from this one in one coordinate only, and the group in which they talk."""

    def __init__(self, ranks, group):
        self.ranks = ranks
        self.group = group
        self.size = len(ranks)
        self.rank = ranks.index(dist.get_rank())


def initialize(tensor=1, data=1, pipeline=1):
    """Make the groups of all ranks; to be called by each, once."""
    sizes = {"tensor": tensor, "data": data, "pipeline": pipeline}
    assert tensor * data * pipeline == dist.get_world_size()
    stride = 1
    for name, size in sizes.items():
        firsts = [r for r in range(dist.get_world_size()) if r // stride % size == 0]
        for ranks in ([first + i * stride for i in range(size)] for first in firsts):
            group = dist.new_group(ranks)
            if dist.get_rank() in ranks:
                _axes[name] = Axis(ranks, group)
        stride *= size


def tensor():
    return _axes["tensor"]


def data():
    return _axes["data"]


def pipeline():
    return _axes["pipeline"]


def is_first_stage():
    return pipeline().rank == 0


def is_last_stage():
    return pipeline().rank == pipeline().size - 1


# ---- the same under Megatron's names ----


def get_tensor_model_parallel_rank():
    return tensor().rank


def get_tensor_model_parallel_world_size():
    return tensor().size


def get_data_parallel_rank():
    return data().rank


def get_pipeline_model_parallel_rank():
    return pipeline().rank


def get_pipeline_model_parallel_world_size():
    return pipeline().size
