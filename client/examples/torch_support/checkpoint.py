"""A folder with what every rank needs to go on, a file a rank and step."""
import os
import re

import torch
import torch.distributed as dist


def save(folder, step, **parts):
    """The state of each part after `step` steps. A file is there whole or not at all."""
    path = os.path.join(folder, _name(step))
    torch.save({name: part.state_dict() for name, part in parts.items()}, path + ".part")
    os.rename(path + ".part", path)


def resume(folder, **parts):
    """Take up the newest step that every rank has saved; returns it, 0 if there is none."""
    saved = [int(match[1]) for match in (re.fullmatch(_name(r"(\d+)"), name) for name in os.listdir(folder)) if match]
    step = torch.tensor(max(saved, default=0))
    dist.all_reduce(step, op=dist.ReduceOp.MIN)
    if step:
        state = torch.load(os.path.join(folder, _name(int(step))))
        for name, part in parts.items():
            part.load_state_dict(state[name])
    return int(step)


def _name(step):
    return f"rank-{dist.get_rank()}-step-{step}"
