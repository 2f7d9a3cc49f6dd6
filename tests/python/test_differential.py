"""stagewire.pipeline_parallel beside the collectives it replaces: the same results bit by bit, of the same types, and the same exceptions.

Where the contract is better on purpose, a test says what differs.
"""
import collections
import contextlib
import itertools
import os
import tempfile
import unittest

import torch
import torch.distributed as dist

import stagewire
from payloads import DTYPES, Payloads, zero
from same import difference
from stagewire import pipeline_parallel as ours
from torch_support import collectives as plain
from torch_support import launcher, parallel_state
from torch_support.sidecars import sidecar

SEEDS = range(int(os.environ.get("SEED", 0)), int(os.environ.get("SEED", 0)) + int(os.environ.get("SEEDS", 40)))
WORLDS = (1, 2, 4)
GLOO_SENDS = [torch.uint8, torch.int8, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64]


def outcome(call, *args):
    """What it returns, or (type, text) of what it raises."""
    try:
        return call(*args)
    except Exception as error:
        return type(error), str(error)


def expect(expected, got, what):
    found = difference(expected, got)
    assert found is None, f"{what}: {found}"


def is_last():
    return parallel_state.is_last_stage()


# ---- what each rank does ----


def objects(seed):
    draw = lambda **more: Payloads(seed, **more).value()
    owner = seed % parallel_state.pipeline().size
    is_mine = parallel_state.pipeline().rank == owner
    if draw() is None:
        return
    theirs = outcome(plain.broadcast_obj_from_pp_rank, draw(lazy=False) if is_mine else None)
    mine = draw() if is_mine else None
    got = ours.broadcast_obj_from_pp_rank(mine)
    if is_mine:
        assert got is mine
        zero(mine)
    else:
        expect(theirs, got, "like the collective")
        expect(draw(), got, "like what was sent")


def metrics(seed):
    draw = lambda **more: Payloads(seed, **more).metrics()
    theirs = outcome(plain.broadcast_loss_metrics_from_last_stage, draw(lazy=False) if is_last() else None)
    if is_last():
        mine = draw()
        got = ours.broadcast_loss_metrics_from_last_stage(mine)
        if parallel_state.pipeline().size == 1:
            assert got is mine
        elif seed % 2:
            expect(theirs, got, "the last stage's own copy")
        zero(mine)
        dist.barrier()
    else:
        dist.barrier()
        expect(theirs, ours.broadcast_loss_metrics_from_last_stage([{"ignored": seed}]), "like the collective")


def tensors(seed):
    payload = Payloads(seed)
    mine, expected = payload.tensors(), Payloads(seed).tensors()
    sent = {name: tensor for name, tensor in expected.items() if tensor.dtype in GLOO_SENDS}
    theirs = plain.broadcast_tensors_from_last_stage({name: tensor if is_last() else None for name, tensor in sent.items()})
    if is_last():
        got = ours.broadcast_tensors_from_last_stage(mine)
        assert list(got) == list(mine) and all(got[name] is mine[name] for name in mine)
        zero(mine)
        dist.barrier()
        return
    dist.barrier()
    names = list(mine)
    payload.random.seed(dist.get_rank())
    payload.random.shuffle(names)
    got = ours.broadcast_tensors_from_last_stage(dict.fromkeys(names))
    assert list(got) == names
    for name in names:
        expect(expected[name], got[name], f"tensor {name!r}")
        assert not got[name].requires_grad and got[name].is_contiguous()
        if name in sent:
            expect(theirs[name], got[name], f"tensor {name!r} like the collective's")


def every_seed(*operations):
    for seed in SEEDS:
        for operation in operations:
            try:
                operation(seed)
            except Exception as error:
                raise AssertionError(f"{operation.__name__} with SEED={seed}") from error


def all_operations_outside_steps():
    every_seed(objects, metrics, tensors)


def all_operations_within_steps():
    for step in range(3):
        with stagewire.step(step):
            every_seed(objects, metrics, tensors)


def every_dtype():
    for dtype in DTYPES:
        for shape in ((), (0,), (1,), (2, 0, 3), (3, 5)):
            expected = Payloads(1).tensor(dtype, shape)
            theirs = outcome(plain.broadcast_tensors_from_last_stage, {"x": expected if is_last() else None})
            if dist.get_world_size() > 1:
                if dtype not in GLOO_SENDS:
                    assert theirs == (RuntimeError, "Invalid scalar type"), (dtype, theirs)
            got = ours.broadcast_tensors_from_last_stage({"x": expected if is_last() else None})
            expect(expected, got["x"], f"{dtype} {shape}")


def objects_that_nobody_or_several_have():
    rank, size = parallel_state.pipeline().rank, parallel_state.pipeline().size
    for present in ([], [0, size - 1], list(range(size))):
        if size == 1:
            continue
        mine = rank if rank in present else None
        theirs = outcome(plain.broadcast_obj_from_pp_rank, mine)
        assert theirs[0] is ValueError
        expect(theirs, outcome(ours.broadcast_obj_from_pp_rank, mine), f"present on {present}")
    for falsy in (0, False, "", [], {}):
        mine = falsy if rank == 0 else None
        expect(plain.broadcast_obj_from_pp_rank(mine), ours.broadcast_obj_from_pp_rank(mine), repr(falsy))
    if size == 1:
        assert ours.broadcast_obj_from_pp_rank(None) is None


def the_others_are_told_what_the_last_stage_lacks():
    """With the collectives they wait for ever: only the last stage raises."""
    lacking = [(lambda side: side.broadcast_loss_metrics_from_last_stage(None), "Last PP stage must provide loss metrics."),
               (lambda side: side.broadcast_tensors_from_last_stage({"logprobs": None}),
                "Last PP stage must provide tensor 'logprobs' for broadcast.")]
    for call, text in lacking:
        got = outcome(call, ours)
        if is_last():
            expect((ValueError, text), outcome(call, plain), "the collective")
            expect((ValueError, text), got, "the last stage")
        else:
            assert got[0] is RuntimeError or issubclass(got[0], RuntimeError), got
            assert text in got[1], got
        every_seed(metrics, tensors)  # the next call works


class Unplain:
    """The collectives pickle it, and run whatever unpickling it says."""


def what_has_no_plain_form():
    deep = ["the 17th list"]
    for _ in range(16):
        deep = [deep]
    for value, where in (([Unplain()], "metrics.a[0]"), ("\ud800", "metrics.a"), (deep, "deeper than 16")):
        payload = {"a": value} if is_last() else None
        plain.broadcast_loss_metrics_from_last_stage(payload)
        kind, text = outcome(ours.broadcast_loss_metrics_from_last_stage, payload)
        assert issubclass(kind, ValueError if is_last() else RuntimeError), (kind, text)
        assert where in text, text
    every_seed(metrics)  # the next call works


def an_object_without_a_plain_form():
    kind, text = outcome(ours.broadcast_obj_from_pp_rank, [Unplain()] if is_last() else None)
    assert issubclass(kind, ValueError if is_last() else RuntimeError), (kind, text)
    assert "object[0]" in text, text
    every_seed(objects)  # the next call works


def subclasses_and_shared_references():
    """What is one object twice arrives as two, and what derives from a built-in type as that."""
    shared = [1]
    value = collections.OrderedDict(a=shared, b=shared)
    theirs = plain.broadcast_obj_from_pp_rank(value if is_last() else None)
    got = ours.broadcast_obj_from_pp_rank(value if is_last() else None)
    if not is_last():
        assert type(theirs) is collections.OrderedDict and theirs["a"] is theirs["b"]
        assert type(got) is dict and got == theirs and got["a"] is not got["b"]


def names_in_any_order():
    """The collectives match tensors by their order, and give one under the name of the other."""
    names = ["a", "b"] if is_last() else ["b", "a"]
    mine = {name: torch.tensor(ord(name)) if is_last() else None for name in names}
    swapped = plain.broadcast_tensors_from_last_stage(mine)
    got = ours.broadcast_tensors_from_last_stage(mine)
    if not is_last():
        assert swapped["a"] == ord("b")
    assert got["a"] == ord("a") and got["b"] == ord("b")


# ---- the tests ----


@contextlib.contextmanager
def endpoint(count, has_sidecar):
    """What `stagewire.init` is told of the last stage's endpoint: a sidecar, or one in the last stage's process."""
    if has_sidecar:
        with sidecar(count - 1, count, run_id="differential") as (own, others):
            yield {"sidecar": own, "last_stage_endpoint": others}
    else:
        with tempfile.TemporaryDirectory(prefix="stagewire-test-") as folder:
            address = f"unix:{folder}/socket"
            yield {"listen": [address], "last_stage_endpoint": address}


def rank_of(check, where, options):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    parallel_state.initialize(pipeline=dist.get_world_size())
    stagewire.init(run_id="differential", generation=1, stage=dist.get_rank(), stage_count=dist.get_world_size(), **where, **options)
    check()
    dist.barrier()
    stagewire.shutdown()


class Differential(unittest.TestCase):
    def in_every_world(self, check, worlds=WORLDS, sidecars=(True,), **options):
        for count, has_sidecar in itertools.product(worlds, sidecars):
            with self.subTest(processes=count, sidecar=has_sidecar), endpoint(count, has_sidecar) as where:
                self.assertEqual(launcher.launch(lambda: rank_of(check, where, options), count), 0, "what the ranks said stands above")

    def test_results_are_the_same_bits_and_types_and_what_the_caller_zeroes_afterwards_still_arrives(self):
        self.in_every_world(all_operations_outside_steps, sidecars=(True, False))

    def test_within_steps_too(self):
        self.in_every_world(all_operations_within_steps, worlds=(2,))

    def test_every_dtype_arrives_also_those_that_gloo_cannot_send(self):
        self.in_every_world(every_dtype)

    def test_an_object_that_nobody_or_several_have_is_the_same_error_on_every_rank(self):
        self.in_every_world(objects_that_nobody_or_several_have)

    def test_the_others_are_told_at_once_what_the_last_stage_lacks(self):
        self.in_every_world(the_others_are_told_what_the_last_stage_lacks, worlds=(2,))

    def test_what_has_no_plain_form_is_an_error_that_names_its_path_on_every_rank(self):
        self.in_every_world(what_has_no_plain_form, worlds=(2,))

    def test_an_object_without_a_plain_form_is_an_error_with_its_path_on_every_rank(self):
        self.in_every_world(an_object_without_a_plain_form, worlds=(2,), timeout=1)

    def test_subclasses_arrive_as_what_they_derive_from_and_shared_objects_as_several(self):
        self.in_every_world(subclasses_and_shared_references, worlds=(2,))

    def test_tensors_are_matched_by_name_where_the_collectives_match_by_order(self):
        self.in_every_world(names_in_any_order, worlds=(2,))


if __name__ == "__main__":
    unittest.main()
