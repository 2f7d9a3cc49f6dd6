"""What the ranks of a job, each a process, get to know and when, as one of them raises, exits, is killed or lags behind."""
import json
import os
import subprocess
import sys
import time
import unittest

import command
from torch_support.sidecars import sidecar

STAGES = 3
SOON_S = 2
GRACE_S = 1

RANK = """
import json, os, signal, sys
import stagewire
from stagewire.pipeline_parallel import broadcast_loss_metrics_from_last_stage as broadcast
stage, stages, endpoint, last_stage_endpoint = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
is_last = stage == stages - 1
stagewire.init(run_id="digits", generation=1, stage=stage, stage_count=stages, sidecar=endpoint,
               last_stage_endpoint=last_stage_endpoint, max_lag_steps=8)

def metrics(step):
    return {"step": step} if is_last else None

def say(*words):
    print(json.dumps(words), flush=True)

def attempt(call):
    try:
        say("got", call())
    except stagewire.StagewireError as error:
        say(error.reason, [base.__name__ for base in type(error).__mro__], str(error))

with stagewire.step(0):
    assert broadcast(metrics(0)) == {"step": 0}
"""

WAIT_FOR_STEP_1 = """
def step_1():
    with stagewire.step(1):
        return broadcast()
attempt(step_1)
"""


class Rank:
    def __init__(self, stage, endpoints, script):
        self.process = subprocess.Popen([sys.executable, "-c", RANK + script, str(stage), str(STAGES), *endpoints],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("a rank ended and said: " + self.process.communicate(timeout=30)[1])
        return json.loads(line)

    def end(self):
        """Its exit status, and what it wrote to standard error."""
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said

    def close(self):
        self.process.kill()
        self.process.communicate()


class Failures(unittest.TestCase):
    def ranks(self, others, last):
        """All stages' processes, the last stage's at the end; `others` is a script, or one a stage."""
        scripts = [others] * (STAGES - 1) if isinstance(others, str) else others
        own, self.endpoint = self.enterContext(sidecar(STAGES - 1, STAGES, "--publisher-grace", f"{GRACE_S}s"))
        ranks = [Rank(stage, (own, self.endpoint), script) for stage, script in enumerate([*scripts, last])]
        for rank in ranks:
            self.addCleanup(rank.close)
        return ranks

    def await_waiting(self, count):
        while self.waiting() < count:
            pass

    def waiting(self):
        code, out, err = command.run("info", self.endpoint, "--json")
        self.assertEqual(code, 0, err)
        return json.loads(out)["load"]["waiting"]

    def others_raise(self, act, within_s, base, *texts):
        """Once all wait for the last stage in step 1, it acts; returns its exit status and its last words."""
        *others, last = self.ranks(WAIT_FOR_STEP_1, f"sys.stdin.readline()\n{act}\n")
        self.await_waiting(len(others))
        begun = time.monotonic()
        last.go()
        for rank in others:
            reason, bases, message = rank.hear()
            self.assertLess(time.monotonic() - begun, within_s)
            self.assertIn(base, bases)
            for text in texts:
                self.assertIn(text, f"{reason} {message}")
        return last.end()

    def test_the_last_stage_raises_in_a_step_and_all_others_raise_with_its_words_within_2_s(self):
        status, said = self.others_raise('with stagewire.step(1): raise FloatingPointError("the loss is NaN")', SOON_S,
                                         "RuntimeError", "STEP_FAILED", "the loss is NaN")
        self.assertEqual(status, 1)
        self.assertIn("FloatingPointError: the loss is NaN", said)

    def test_the_last_stage_exits_in_a_step_and_all_others_raise_within_2_s(self):
        status, _ = self.others_raise('with stagewire.step(1): sys.exit(3)', SOON_S, "RuntimeError", "STEP_FAILED")
        self.assertEqual(status, 3)

    def test_the_last_stage_is_killed_and_all_others_raise_within_the_grace(self):
        status, _ = self.others_raise("os.kill(os.getpid(), signal.SIGKILL)", GRACE_S + SOON_S, "RuntimeError", "PUBLISHER_LOST")
        self.assertEqual(status, -9)

    def test_a_rank_that_lags_holds_nobody_up_finds_what_it_lacks_and_is_dropped_beyond_max_lag_steps(self):
        steps = """
import numpy
def take(first, end):
    for n in range(first, end):
        with stagewire.step(n):
            mine = numpy.array([n]) if is_last else None
            got = stagewire.pipeline_parallel.broadcast_tensors_from_last_stage({"x": mine})["x"]
            assert got.tolist() == [n], (n, got)
"""
        at_once = steps + """
for first in range(1, 29, 7):
    take(first, first + 7)
    say("7 steps")
    sys.stdin.readline()
"""
        late = steps + """
sys.stdin.readline()
take(1, 4)
say("what it lacked")
sys.stdin.readline()
attempt(lambda: take(4, 5))
"""
        lagging, prompt, last = self.ranks([late, at_once], at_once)

        def others_take_7_steps():  # no more, or a busy machine makes one of them lag by 8
            for rank in (last, prompt):
                self.assertEqual(rank.hear(), ["7 steps"])
        others_take_7_steps()
        lagging.go()
        self.assertEqual(lagging.hear(), ["what it lacked"])
        for _ in range(3):
            for rank in (last, prompt):
                rank.go()
            others_take_7_steps()
        lagging.go()
        reason, bases, message = lagging.hear()
        self.assertEqual((reason, "LookupError" in bases), ("EVICTED", True))
        self.assertRegex(message, "behind|lag")


if __name__ == "__main__":
    unittest.main()
