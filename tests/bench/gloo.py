"""The pipeline operations of the Python package as ratios to PyTorch's collectives over gloo, which do the same in the same run.

Both sides alternate. A latency is that of one call, from when the last stage calls until the last of the others has the value; all
begin together. The last stage publishes at an endpoint in its own process, or at a sidecar (stagewired). Prints a row a measure:
median, range, ratio. Asserts nothing.

    gloo.py [ROUNDS]      5 rounds by default
"""
import contextlib
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

import stagewire
from torch_support import collectives, launcher, parallel_state
from torch_support.sidecars import sidecar

MIB = 1 << 20
METRICS = [{f"train/policy/some_loss_component_no_{i:02}": i * 0.1234567 + j for i in range(20)} for j in range(8)]


def seconds_until_all_have_it(call, count=1):
    """From when the last stage begins until the last rank is through `count` calls."""
    dist.barrier()
    begun = time.monotonic()
    for _ in range(count):
        call()
    times = [None] * dist.get_world_size()
    dist.all_gather_object(times, (begun, time.monotonic()))
    return max(ended for _, ended in times) - times[-1][0]


def metrics(side, _):
    mine = METRICS if parallel_state.is_last_stage() else None
    return statistics.median(seconds_until_all_have_it(lambda: side.broadcast_loss_metrics_from_last_stage(mine)) for _ in range(100))


def objects(side, _):
    mine = 4096 if parallel_state.is_first_stage() else None
    return seconds_until_all_have_it(lambda: side.broadcast_obj_from_pp_rank(mine), 1000) / 1000


def tensors(side, size):
    mine = {"x": torch.ones(size // 4) if parallel_state.is_last_stage() else None}
    repeat = max(1, 64 * MIB // size)
    seconds = [seconds_until_all_have_it(lambda: side.broadcast_tensors_from_last_stage(mine)) for _ in range(repeat)]
    return statistics.median(seconds)


def write(name, unit, both):
    """A row as bench_rows.c writes it, for the report."""
    path = os.environ.get("STAGEWIRE_BENCH_ROWS")
    if path is None:
        return
    base, values = (list(side) for side in zip(*both))
    with open(path, "a") as file:
        print(json.dumps({"name": name, "against": "gloo", "unit": unit, "less_is_better": unit == "us", "reach_ratio": 0,
                          "reach_value": 0, "base": base, "ours": values, "ratios": [b / a for a, b in both]}), file=file)


def row(name, unit, rounds, sides, measure, argument=None, show=lambda seconds: seconds * 1e6):
    for side in sides:
        measure(side, argument)
    both = [[show(measure(side, argument)) for side in sides] for _ in range(rounds)]
    if dist.get_rank() == 0:
        write(name, unit, both)
        gloo, stagewire_ = (statistics.median(values) for values in zip(*both))
        ratios = sorted(b / a for a, b in both)
        print(f"{name:42} {stagewire_:9.2f} {unit:4} {gloo:9.2f} of {'gloo':22} {statistics.median(ratios):5.2f}"
              f"  ({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)


def join(beside):
    """The pipeline; the last stage publishes at `beside`, (its sidecar, where others reach it), or serves by itself."""
    rank, count = dist.get_rank(), dist.get_world_size()
    own, address = beside or (None, None)
    owner = None
    if parallel_state.is_last_stage():
        owner = stagewire.Client(own) if beside else stagewire.Endpoint("bench", stage=rank, stage_count=count)
        address = address or owner.address
    shared = [address]
    dist.broadcast_object_list(shared, src=count - 1)
    return stagewire.Pipeline(rank, count, run_id="bench", last_stage_endpoint=shared[0], publisher=owner and owner.publisher)


def bench(rounds, beside):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    count = dist.get_world_size()
    parallel_state.initialize(pipeline=count)
    how = f", {count} processes, {'sidecar' if beside else 'one hop'}"
    with join(beside) as pipeline:
        sides = (collectives, pipeline)
        row("8 dicts of 20" + how, "us", rounds, sides, metrics)
        row("1,000 ints" + how, "us", rounds, sides, objects)
        for mib in (1, 16, 256):
            row(f"{mib} MiB" + how, "GB/s", rounds, sides, tensors, mib * MIB, lambda seconds: mib * MIB / seconds / 1e9)
        dist.barrier()


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for count in (2, 4):
        for beside in (contextlib.nullcontext(), sidecar(count - 1, count, run_id="bench")):
            with beside as endpoints:
                if launcher.launch(lambda: bench(rounds, endpoints), count):
                    return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
