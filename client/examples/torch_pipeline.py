"""Trains the digits with data, tensor and pipeline parallelism of two each, in the way of a reinforcement learning trainer.

Eight processes on one machine, over gloo. torch_pipeline_collectives.py is the same program with collectives only.
"""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
from torch.nn import functional

from torch_support import checkpoint, digits, launcher, model, parallel_state, sidecars
import stagewire
from stagewire.pipeline_parallel import (
    broadcast_loss_metrics_from_last_stage,
    broadcast_obj_from_pp_rank,
    broadcast_tensors_from_last_stage,
)

SEED = 1
GLOBAL_BATCHES, MICROBATCHES, ROWS = 2, 2, 64  # a step has several batches; each data parallel rank learns from its own rows of them
LEARNING_RATE = 0.05


def rows_of(step, batch, images):
    """Which images each microbatch of this rank learns from: [MICROBATCHES, ROWS]."""
    random = torch.Generator().manual_seed(SEED + step * GLOBAL_BATCHES + batch)
    chosen = torch.randperm(images, generator=random)
    return chosen[parallel_state.data().rank :: parallel_state.data().size][: MICROBATCHES * ROWS].view(MICROBATCHES, ROWS)


def sizes_of_parameters(stage, count):
    """What the weights' transfer to the inference engine begins with: each size is known to the stage that has the parameter."""
    own = [parameter.numel() * parameter.element_size() for parameter in stage.parameters()]
    total = 0
    for i in range(count):
        mine = i % parallel_state.pipeline().size == parallel_state.pipeline().rank
        size_in_bytes = own[i % len(own)] if mine else None
        total += broadcast_obj_from_pp_rank(size_in_bytes)
    return total


def train_on_global_batch(stage, optimizer, pixels, labels, fails):
    passes, metrics = [], []
    for microbatch in range(MICROBATCHES):
        given, made = model.forward(stage, pixels[microbatch])
        loss = None
        if parallel_state.is_last_stage():
            loss = functional.cross_entropy(made, labels[microbatch])
            hits = (made.argmax(1) == labels[microbatch]).float()
            metrics.append({"loss": loss.detach(), "accuracy": hits.mean(), "lr": LEARNING_RATE, "num_valid_samples": ROWS})
        passes.append((given, made, loss))
    for given, made, loss in passes:
        model.backward(given, made, None if loss is None else loss / MICROBATCHES)
    model.learn(stage, optimizer)
    if fails:
        raise FloatingPointError("the loss is not a number any more")
    return broadcast_loss_metrics_from_last_stage(metrics)


@torch.no_grad()
def log_probabilities(stage, pixels, labels):
    """Of each image's own label, on every stage: [images]."""
    _, logits = model.forward(stage, pixels)
    mine = {"logprobs": None}
    if parallel_state.is_last_stage():
        mine["logprobs"] = functional.log_softmax(logits, 1).gather(1, labels[:, None]).squeeze(1)
    return broadcast_tensors_from_last_stage(mine)["logprobs"]


def take_step(stage, reference, optimizer, step, training, fails):
    """What the step's report is made of, on every stage."""
    pixels, labels = training
    sample = rows_of(step, 0, len(pixels))[0]
    now = log_probabilities(stage, pixels[sample], labels[sample])
    before = log_probabilities(reference, pixels[sample], labels[sample])
    metrics = []
    for batch in range(GLOBAL_BATCHES):
        rows = rows_of(step, batch, len(pixels))
        metrics += train_on_global_batch(stage, optimizer, pixels[rows], labels[rows], fails and batch == GLOBAL_BATCHES - 1)
    loss = sum(one["loss"] for one in metrics) / len(metrics)
    return f"step {step}: loss {loss!r}, drift {(now - before).mean().item()!r}"


@torch.no_grad()
def top_k(logits, k=3):
    """The k largest logits of each image and the digits they stand for, on every stage: [images, k] each."""
    mine = {"topk_logits": None, "topk_indices": None}
    if parallel_state.is_last_stage():
        mine["topk_logits"], mine["topk_indices"] = torch.topk(logits, k, dim=1)
    return broadcast_tensors_from_last_stage(mine)


@torch.no_grad()
def evaluate(stage, pixels, labels):
    _, logits = model.forward(stage, pixels)
    metrics = None
    if parallel_state.is_last_stage():
        metrics = {"loss": functional.cross_entropy(logits, labels), "right": (logits.argmax(1) == labels).sum()}
    metrics = broadcast_loss_metrics_from_last_stage(metrics)
    best = top_k(logits)
    within = (best["topk_indices"] == labels[:, None]).any(1).sum().item()
    margin = -best["topk_logits"].diff().mean().item()
    return f"held out: loss {metrics['loss']!r}, {metrics['right']} of {len(labels)} right, {within} within three, margin {margin!r}"


def say(line):
    """By a rank of the first stage, which computed none of it."""
    if dist.get_rank() == 0:
        print(line, flush=True)


def run(options):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    parallel_state.initialize(tensor=2, data=2, pipeline=2)
    stagewire.init(parallel_state=parallel_state)
    training, held_out = digits.load()
    stage, reference = model.Stage(SEED), model.Stage(SEED)
    optimizer = torch.optim.SGD(stage.parameters(), LEARNING_RATE, momentum=0.9)
    first = checkpoint.resume(options.checkpoints, stage=stage, optimizer=optimizer)
    say(f"from step {first}; {options.parameters} parameters of {sizes_of_parameters(stage, options.parameters)} bytes")

    first_life = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    for step in range(first, options.steps):
        fails = first_life and step == options.fail_at and dist.get_rank() == dist.get_world_size() - 1
        with stagewire.step(step):
            say(take_step(stage, reference, optimizer, step, training, fails))
        if (step + 1) % options.evaluate_every == 0:
            with stagewire.step(step, channel="evaluation"):
                say(evaluate(stage, *held_out))
        if (step + 1) % options.save_every == 0:
            checkpoint.save(options.checkpoints, step + 1, stage=stage, optimizer=optimizer)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--parameters", type=int, default=1000, help="whose sizes are told at the start")
    parser.add_argument("--fail-at", type=int, help="the step at which the last rank raises, in its first life")
    parser.add_argument("--evaluate-every", type=int, default=2, help="steps")
    parser.add_argument("--save-every", type=int, default=3, help="steps")
    parser.add_argument("--max-restarts", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="torch-pipeline-") as options.checkpoints, sidecars.one_for_each_stage(2, 8) as environment:
        return launcher.launch(lambda: run(options), 8, options.max_restarts, environment)


if __name__ == "__main__":
    raise SystemExit(main())
