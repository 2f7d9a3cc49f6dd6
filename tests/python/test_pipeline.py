"""The four operations as contract.md has them: stages as threads of this process, and as processes where they end."""
import concurrent.futures
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import torch

import stagewire
from stagewire import pipeline_parallel

@contextlib.contextmanager
def environment(**variables):
    kept = {name: value for name, value in os.environ.items()
            if name == "STAGEWIRE_LIBRARY" or not name.startswith(("STAGEWIRE_", "TORCHELASTIC_", "RANK", "WORLD_SIZE"))}
    with mock.patch.dict(os.environ, {**kept, **variables}, clear=True):
        try:
            yield
        finally:
            stagewire.shutdown()


class Stages:
    """A pipeline of threads: `each(work)` runs work(pipeline) on every stage and brings what it returned or raised."""

    def __init__(self, count, **options):
        self.endpoint = stagewire.Endpoint("run", stage=count - 1, stage_count=count, linger=0)
        self.threads = [concurrent.futures.ThreadPoolExecutor(1) for _ in range(count)]
        opened = [thread.submit(stagewire.Pipeline, stage, count, run_id="run", timeout=20,
                                publisher=self.endpoint.publisher if stage == count - 1 else None,
                                last_stage_endpoint=self.endpoint.address, **options)
                  for stage, thread in enumerate(self.threads)]
        self.pipelines = [pipeline.result() for pipeline in opened]

    def each(self, *works):
        works = works * len(self.pipelines) if len(works) == 1 else works
        futures = [thread.submit(work, pipeline) for thread, pipeline, work in zip(self.threads, self.pipelines, works)]
        return [future.exception() or future.result() for future in futures]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.each(lambda pipeline: pipeline.close())
        for thread in self.threads:
            thread.shutdown()
        self.endpoint.close()


class Operations(unittest.TestCase):
    def test_every_stage_gets_the_metrics_of_the_last_in_their_shape(self):
        payloads = [[], {}, [{}], {"loss": 0.5, "aux": None}, [{"b": 1, "a": torch.tensor([2])}, {"v": torch.arange(3)}]]
        with Stages(3) as stages:
            for payload in payloads:
                results = stages.each(lambda p: p.broadcast_loss_metrics_from_last_stage(payload if p.is_last else 1))
                for result in results:
                    self.assertEqual(repr(result), repr(stagewire._pipeline.materialize(payload)))

    def test_the_object_of_its_only_owner_reaches_all(self):
        mine = {"sizes": [1, 2]}
        with Stages(3) as stages:
            results = stages.each(lambda p: p.broadcast_obj_from_pp_rank(mine if p.stage == 1 else None))
            self.assertEqual(results, [mine] * 3)
            self.assertIs(results[1], mine, "the owner gets its own back")
            for falsy in (0, False, "", [], 0.0):
                results = stages.each(lambda p: p.broadcast_obj_from_pp_rank(falsy if p.stage == 0 else None))
                self.assertEqual([(type(r), r) for r in results], [(type(falsy), falsy)] * 3)

    def test_no_owner_and_several_are_told_on_every_rank(self):
        with Stages(3) as stages:
            for result in stages.each(lambda p: p.broadcast_obj_from_pp_rank(None)):
                self.assertEqual((isinstance(result, ValueError), str(result)),
                                 (True, "Object must exist on at least one PP rank"))
            for result in stages.each(lambda p: p.broadcast_obj_from_pp_rank(None if p.stage == 1 else 5)):
                self.assertEqual((isinstance(result, ValueError), str(result)),
                                 (True, "Object present on multiple PP ranks: [0, 2]"))

    def test_tensors_are_matched_by_name_and_the_last_stage_keeps_its_own(self):
        sent = {"a": torch.randn(3, 4).t(), "b": torch.empty(0, 2), "c": torch.tensor(7, dtype=torch.int16)}
        with Stages(2) as stages:
            first, last = stages.each(lambda p: p.broadcast_tensors_from_last_stage(sent if p.is_last else {"c": 1, "a": None}))
            self.assertEqual(list(first), ["c", "a"])
            self.assertTrue(torch.equal(first["a"], sent["a"]) and torch.equal(first["c"], sent["c"]))
            for name in sent:
                self.assertIs(last[name], sent[name])

    def test_results_go_into_out_or_say_how_it_differs(self):
        sent = {"a": torch.arange(6.).view(2, 3)}
        strided = torch.empty(3, 2).t()
        with Stages(2) as stages:
            for given in (torch.empty(2, 3), strided):
                first, _ = stages.each(
                    lambda p: p.broadcast_tensors_from_last_stage({"a": None}, out={"a": given}),
                    lambda p: p.broadcast_tensors_from_last_stage(sent))
                self.assertIs(first["a"], given)
                self.assertTrue(torch.equal(given, sent["a"]))
            for given in (torch.empty(6), torch.empty(2, 3, dtype=torch.int32), torch.empty(2, 2), strided.double()):
                first, _ = stages.each(
                    lambda p: p.broadcast_tensors_from_last_stage({"a": None}, out={"a": given}),
                    lambda p: p.broadcast_tensors_from_last_stage(sent))
                self.assertIsInstance(first, ValueError)

    def test_a_name_that_was_not_published_is_an_error_that_lists_those_that_were(self):
        with Stages(2) as stages:
            first, _ = stages.each(lambda p: p.broadcast_tensors_from_last_stage({"a": torch.ones(1)} if p.is_last else {"b": 0}))
            self.assertIsInstance(first, KeyError)
            self.assertEqual(first.metadata["tensors"], ["a"])

    def test_the_caller_may_zero_its_tensors_right_after_the_call(self):
        zeroed = threading.Event()
        with Stages(2) as stages:
            def last(pipeline):
                whole, strided = torch.ones(1 << 18), torch.ones(512, 512).t()
                pipeline.broadcast_tensors_from_last_stage({"whole": whole, "strided": strided})
                metrics = pipeline.broadcast_loss_metrics_from_last_stage({"v": (vector := torch.ones(3))})
                whole.zero_(), strided.zero_(), vector.zero_()
                zeroed.set()
                return metrics["v"].sum().item()

            def first(pipeline):
                self.assertTrue(zeroed.wait(30))
                tensors = pipeline.broadcast_tensors_from_last_stage({"whole": None, "strided": None})
                metrics = pipeline.broadcast_loss_metrics_from_last_stage()
                return tensors["whole"].sum().item(), tensors["strided"].sum().item(), metrics["v"].sum().item()
            self.assertEqual(stages.each(first, last), [(2.0**18, 2.0**18, 3.0), 3.0])

    def test_what_is_pulled_may_be_written_to_and_outlives_all(self):
        with Stages(2) as stages:
            first, _ = stages.each(lambda p: p.broadcast_tensors_from_last_stage({"a": torch.ones(1000) if p.is_last else None}))
        first["a"] += 1
        self.assertEqual(first["a"].sum().item(), 2000)

    def test_a_value_without_a_plain_form_fails_on_every_rank_and_the_next_call_works(self):
        with Stages(2) as stages:
            first, last = stages.each(lambda p: p.broadcast_loss_metrics_from_last_stage({"f": print}))
            self.assertIsInstance(last, ValueError)
            self.assertIsInstance(first, RuntimeError)
            self.assertIn("metrics.f", str(first))
            self.assertEqual(stages.each(lambda p: p.broadcast_loss_metrics_from_last_stage({"f": 1})), [{"f": 1}] * 2)
            first, last = stages.each(lambda p: p.broadcast_tensors_from_last_stage({"t": "no tensor" if p.is_last else 0}))
            self.assertIsInstance(last, ValueError)
            self.assertIsInstance(first, RuntimeError)
            first, _ = stages.each(lambda p: p.broadcast_tensors_from_last_stage({"t": torch.ones(1)}))
            self.assertEqual(first["t"].item(), 1)


class Steps(unittest.TestCase):
    def test_the_last_stage_raising_in_a_step_is_told_within_two_seconds(self):
        def work(pipeline):
            begun = time.monotonic()
            try:
                with pipeline.step(4):
                    if pipeline.is_last:
                        raise ArithmeticError("the loss is not a number")
                    pipeline.broadcast_loss_metrics_from_last_stage()
            except Exception as error:
                return error, time.monotonic() - begun
        with Stages(3) as stages:
            *others, (raised, _) = stages.each(work)
            self.assertIsInstance(raised, ArithmeticError)
            for error, seconds in others:
                self.assertIsInstance(error, RuntimeError)
                self.assertEqual(error.reason, "STEP_FAILED")
                self.assertEqual(error.metadata["message"], "ArithmeticError: the loss is not a number")
                self.assertLess(seconds, 2)
            self.assertEqual(stages.each(through_a_step(5)), [{"step": 5}] * 3, "the next step works")

    def test_a_rank_that_skips_a_call_is_told_and_never_gets_another_steps_value(self):
        def skips(pipeline):
            with pipeline.step(1):
                pass

        def makes_one(pipeline):
            with pipeline.step(1):
                return pipeline.broadcast_loss_metrics_from_last_stage({"step": 1})
        with Stages(2) as stages:
            first, last = stages.each(skips, makes_one)
            self.assertEqual((first.reason, last), ("OUT_OF_STEP", {"step": 1}))
            self.assertEqual(stages.each(through_a_step(2)), [{"step": 2}] * 2)

    def test_a_rank_that_never_calls_holds_nobody_up_to_its_lag(self):
        def sends(step):
            def work(pipeline):
                with pipeline.step(step):
                    pipeline.broadcast_tensors_from_last_stage({"t": torch.ones(1)})
            return work
        with Stages(2, max_lag_steps=4) as stages:
            for step in range(20):
                stages.threads[1].submit(sends(step), stages.pipelines[1]).result(timeout=20)
            late = stages.threads[0].submit(sends(1), stages.pipelines[0]).exception()
            self.assertEqual(late.reason, "EVICTED")
            self.assertIn("fell too far behind", str(late))


class Flat(unittest.TestCase):
    def test_memory_and_descriptors_stay_as_they_are_over_many_steps(self):
        metrics, tensors = {"loss": torch.tensor(0.5), "v": torch.ones(10)}, {"a": torch.ones(1000), "b": torch.ones(9, 9).t()}

        def steps(numbers):
            def work(pipeline):
                for number in numbers:
                    with pipeline.step(number):
                        pipeline.broadcast_loss_metrics_from_last_stage(metrics)
                        pipeline.broadcast_tensors_from_last_stage(tensors)
                        pipeline.broadcast_obj_from_pp_rank({"x": [1, 2]} if pipeline.is_last else None)
            return work
        with Stages(2) as stages:
            stages.each(steps(range(1100)))  # as many as are kept
            memory, descriptors = used()
            stages.each(steps(range(1100, 1600)))
            self.assertLess(used()[0] - memory, 1 << 20)
            self.assertLessEqual(used()[1], descriptors)


def used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE"), len(os.listdir("/proc/self/fd"))


def through_a_step(number):
    def work(pipeline):
        with pipeline.step(number):
            return pipeline.broadcast_loss_metrics_from_last_stage({"step": number})
    return work


class Alone(unittest.TestCase):
    def test_a_single_stage_gets_the_very_objects_that_it_passed(self):
        metrics, tensors, thing = {"loss": torch.tensor(1.0)}, {"a": torch.ones(2)}, object()
        with environment():
            self.assertIs(pipeline_parallel.broadcast_loss_metrics_from_last_stage(metrics), metrics)
            self.assertIs(pipeline_parallel.broadcast_tensors_from_last_stage(tensors)["a"], tensors["a"])
            self.assertIs(pipeline_parallel.broadcast_obj_from_pp_rank(thing), thing)
            self.assertIsNone(pipeline_parallel.broadcast_obj_from_pp_rank(None))

    def test_a_single_stage_must_provide_what_it_broadcasts(self):
        with environment():
            with self.assertRaisesRegex(ValueError, r"^Last PP stage must provide loss metrics\.$"):
                pipeline_parallel.broadcast_loss_metrics_from_last_stage()
            with self.assertRaisesRegex(ValueError, r"^Last PP stage must provide tensor 'a' for broadcast\.$"):
                pipeline_parallel.broadcast_tensors_from_last_stage({"a": None})

    def test_a_single_stage_with_an_endpoint_publishes_for_those_who_watch(self):
        with stagewire.Endpoint("run", publish_on_loopback=True, linger=0) as endpoint:
            with environment(STAGEWIRE_SIDECAR=endpoint.address), stagewire.Client(endpoint.address) as watcher:
                with stagewire.step(3, channel="eval"):
                    pipeline_parallel.broadcast_loss_metrics_from_last_stage([{"loss": torch.tensor([0.5])}])
                self.assertEqual(watcher.get_metrics("eval", 3, timeout=10).value, [{"loss": 0.5}])

    def test_materialized_are_the_dicts_own_values_alone(self):
        own = torch.tensor([[1.5]], requires_grad=True)
        metrics = {"loss": own, "n": torch.tensor(3), "ok": torch.tensor(True), "half": torch.tensor(0.5).half(),
                   "empty": torch.empty(0), "vector": torch.ones(2, requires_grad=True), "deep": [own], "text": "a"}
        copy = pipeline_parallel._materialize_loss_metrics_for_object_broadcast(metrics)
        self.assertEqual(list(copy), list(metrics))
        self.assertIs(metrics["loss"], own, "the caller's is untouched")
        self.assertEqual([(type(copy[k]), copy[k]) for k in ("loss", "n", "ok", "half")],
                         [(float, 1.5), (int, 3), (bool, True), (float, 0.5)])
        self.assertFalse(copy["vector"].requires_grad)
        self.assertEqual(copy["empty"].shape, (0,))
        self.assertIs(copy["deep"][0], own)
        self.assertEqual(pipeline_parallel._materialize_loss_metrics_for_object_broadcast([metrics, {}])[1], {})


class Environment(unittest.TestCase):
    def init(self, _parallel_state=None, **variables):
        with environment(**variables), mock.patch.object(stagewire._environment, "Pipeline") as pipeline, \
                mock.patch.object(stagewire._environment, "Client"):
            pipeline.return_value.closed = True
            stagewire.init(parallel_state=_parallel_state)
            (stage, count), options = pipeline.call_args
            return stage, count, options["group"], options["generation"], options["run_id"]

    def refuses(self, words, **variables):
        with self.assertRaisesRegex(ValueError, words):
            self.init(**variables)

    def test_torchruns_variables_name_a_pipeline_of_all_its_ranks(self):
        self.assertEqual(self.init(RANK="1", WORLD_SIZE="4", TORCHELASTIC_RESTART_COUNT="2", TORCHELASTIC_RUN_ID="job",
                                   STAGEWIRE_LAST_STAGE_ENDPOINT="node:1"), (1, 4, 0, 3, "job"))

    def test_stagewires_own_variables_come_first(self):
        self.assertEqual(self.init(RANK="1", WORLD_SIZE="4", TORCHELASTIC_RESTART_COUNT="2", TORCHELASTIC_RUN_ID="none",
                                   STAGEWIRE_STAGE="0", STAGEWIRE_STAGES="2", STAGEWIRE_GROUP="3", STAGEWIRE_RUN_ID="mine",
                                   STAGEWIRE_GENERATION="7", STAGEWIRE_LAST_STAGE_ENDPOINT="node:1"), (0, 2, 3, 7, "mine"))

    def test_across_launchers_the_generation_must_be_said(self):
        self.refuses("STAGEWIRE_GENERATION", STAGEWIRE_STAGE="0", STAGEWIRE_STAGES="2", TORCHELASTIC_RESTART_COUNT="2",
                     STAGEWIRE_LAST_STAGE_ENDPOINT="node:1")
        self.refuses("STAGEWIRE_GENERATION", RANK="0", WORLD_SIZE="2", STAGEWIRE_LAST_STAGE_ENDPOINT="node:1")

    def test_what_is_missing_or_wrong_is_named(self):
        self.refuses("STAGEWIRE_LAST_STAGE_ENDPOINT", STAGEWIRE_STAGE="0", STAGEWIRE_STAGES="2", STAGEWIRE_GENERATION="1")
        self.refuses("STAGEWIRE_STAGES", STAGEWIRE_STAGE="0")
        self.refuses("STAGEWIRE_STAGE='x'", STAGEWIRE_STAGE="x", STAGEWIRE_STAGES="2")
        self.refuses("stage 2 of 2", STAGEWIRE_STAGE="2", STAGEWIRE_STAGES="2")
        self.refuses("counts from 1", STAGEWIRE_GENERATION="0")
        for words in ("soon", "0", "-1", "nan", "inf"):
            self.refuses(f"STAGEWIRE_TIMEOUT='{words}'", STAGEWIRE_TIMEOUT=words)

    def test_megatrons_ranks_are_taken_where_they_are_passed(self):
        state = mock.Mock(**{
            "get_pipeline_model_parallel_rank.return_value": 1, "get_pipeline_model_parallel_world_size.return_value": 2,
            "get_data_parallel_rank.return_value": 3, "get_tensor_model_parallel_rank.return_value": 1,
            "get_tensor_model_parallel_world_size.return_value": 2})
        variables = {"RANK": "5", "WORLD_SIZE": "16", "TORCHELASTIC_RESTART_COUNT": "0",
                     "STAGEWIRE_LAST_STAGE_ENDPOINT": "node:1"}
        self.assertEqual(self.init(state, **variables), (1, 2, 7, 1, None))
        with mock.patch.dict(sys.modules, {"megatron.core.parallel_state": state}):
            self.assertEqual(self.init(**variables), (1, 2, 7, 1, None))


LAST = """
import os, sys, stagewire
from stagewire.pipeline_parallel import broadcast_loss_metrics_from_last_stage
stagewire.init()
broadcast_loss_metrics_from_last_stage({"loss": 0.5})
print("published", flush=True)
sys.stdin.readline()
"""


class Ends(unittest.TestCase):
    """What the others see of a last stage whose process ends."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.endpoint = stagewire.Endpoint("run", [f"unix:{folder.name}/socket"], stage=1, stage_count=2, linger=0,
                                           publisher_grace=0.5)
        self.addCleanup(self.endpoint.close)

    def seen(self, ends):
        """What the first stage's second pull raised, and how long after the last stage ended."""
        program = subprocess.Popen([sys.executable, "-c", LAST + ends[0]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, env={
                                       **os.environ, "STAGEWIRE_STAGE": "1", "STAGEWIRE_STAGES": "2",
                                       "STAGEWIRE_GENERATION": "1", "STAGEWIRE_LAST_STAGE_ENDPOINT": self.endpoint.address})
        with program, stagewire.Pipeline(0, 2, last_stage_endpoint=self.endpoint.address) as first:
            self.assertEqual(first.broadcast_loss_metrics_from_last_stage(), {"loss": 0.5})
            program.stdout.readline()
            begun = time.monotonic()
            ends[1](program)
            with self.assertRaises(Exception) as raised:
                first.broadcast_loss_metrics_from_last_stage()
            return raised.exception, time.monotonic() - begun

    def test_one_that_exits_has_finished(self):
        error, seconds = self.seen(("", lambda program: program.stdin.close()))
        self.assertEqual(error.reason, "FINISHED")
        self.assertLess(seconds, 2)

    def test_one_that_raises_says_what(self):
        error, seconds = self.seen(("raise ArithmeticError('not a number')", lambda program: program.stdin.close()))
        self.assertEqual((error.reason, error.metadata["message"]),
                         ("PUBLISHER_ABORTED", "ArithmeticError: not a number"))
        self.assertLess(seconds, 2)

    def test_one_that_is_killed_is_lost_within_the_grace(self):
        error, seconds = self.seen(("", lambda program: program.kill()))
        self.assertEqual(error.reason, "PUBLISHER_LOST")
        self.assertLess(seconds, 0.5 + 2)


if __name__ == "__main__":
    unittest.main()
