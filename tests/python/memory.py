"""What a job's processes take besides their tensors, and that 10,000 steps leave nothing behind; tests/long/python runs it.

test_tensors.py and test_pipeline.py show the same with less.
"""
import os
import subprocess
import sys
import unittest

MIB = 1 << 20
SIZE = int(os.environ.get("TENSOR_MIB", 1024)) * MIB
SPARE = 32 * MIB  # for what is on its way
STEPS = int(os.environ.get("STEPS", 10000))

MEASURING = """
import os, sys
import numpy
import stagewire

size, steps = int(sys.argv[1]), int(sys.argv[2])

def resident(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key)) * 1024

class Peak:
    def __enter__(self):
        with open("/proc/self/clear_refs", "w") as peak:
            peak.write("5")
        self.before = resident("VmRSS")
        return self

    def __exit__(self, *_):
        self.rise = resident("VmHWM") - self.before

def last_stage(**more):
    return stagewire.init(run_id="run", generation=1, stage=1, stage_count=2, **more)
"""

PUBLISHES = MEASURING + """
pipeline = last_stage(listen=["127.0.0.1:0"])
tensor = numpy.full(size, 7, numpy.uint8)
borrow = sys.argv[3] == "borrow"
with Peak() as peak:
    pipeline.broadcast_tensors_from_last_stage({"x": tensor}, borrow=borrow)
print(peak.rise, stagewire._environment._current.endpoint.address, flush=True)
with Peak() as peak:
    sys.stdin.readline()
print(peak.rise, flush=True)
"""

PULLS = MEASURING + """
stagewire.init(run_id="run", generation=1, stage=0, stage_count=2, last_stage_endpoint=sys.argv[3])
out = {"x": numpy.full(size, 1, numpy.uint8)} if sys.argv[4] == "out" else None
with Peak() as peak:
    got = stagewire.pipeline_parallel.broadcast_tensors_from_last_stage({"x": None}, out=out)["x"]
assert got.nbytes == size and got[0] == got[-1] == 7 and (out is None or got is out["x"])
print(peak.rise)
"""

GOES_ON = MEASURING + """
# Little is kept.
endpoint = stagewire.Endpoint("run", ["127.0.0.1:0"], stage=1, stage_count=2, keep_steps=16, linger=0)
stages = {stage: stagewire.Pipeline(stage, 2, run_id="run", last_stage_endpoint=endpoint.address,
                                    publisher=endpoint.publisher if stage else None) for stage in (1, 0)}
metrics = [{f"loss {i}": i * 0.5 for i in range(20)}] * 8
tensor = numpy.arange(1000.0)

def step(n):
    for stage in stages.values():
        with stage.step(n):
            assert stage.broadcast_loss_metrics_from_last_stage(metrics) == metrics
            assert (stage.broadcast_tensors_from_last_stage({"x": tensor})["x"] == tensor).all()
    try:
        stages[1].broadcast_loss_metrics_from_last_stage(None)
    except ValueError:
        pass
    try:
        stages[0].broadcast_loss_metrics_from_last_stage()
    except RuntimeError:
        pass

for n in range(steps // 2):
    step(n)
before = resident("VmRSS"), len(os.listdir("/proc/self/fd"))
for n in range(steps // 2, steps):
    step(n)
print(resident("VmRSS") - before[0], len(os.listdir("/proc/self/fd")) - before[1])
"""


class Memory(unittest.TestCase):
    def start(self, script, *args):
        process = subprocess.Popen([sys.executable, "-c", script, str(SIZE), str(STEPS), *args], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def rises(self, how_published, how_pulled):
        """Of the publisher's memory while it publishes and while it serves, and of the puller's, in bytes."""
        publisher = self.start(PUBLISHES, how_published)
        publishing, address = publisher.stdout.readline().split()
        puller = self.start(PULLS, address, how_pulled)
        pulling, _ = puller.communicate()
        self.assertEqual(puller.returncode, 0)
        publisher.stdin.write("\n")
        publisher.stdin.flush()
        rises = int(publishing), int(publisher.stdout.readline()), int(pulling)
        print("publishing %s, pulled %s: %.1f MiB while publishing, %.1f while serving, %.1f while pulling"
              % (how_published, how_pulled, *(rise / MIB for rise in rises)))
        return rises

    def test_publishing_takes_one_copy_and_pulling_nothing_but_the_result(self):
        publishing, serving, pulling = self.rises("copy", "new")
        self.assertLess(publishing, SIZE + 16 * MIB)
        self.assertLess(serving, SPARE)
        self.assertLess(pulling, SIZE + SPARE)

    def test_what_is_borrowed_and_pulled_into_memory_that_is_there_takes_none(self):
        publishing, serving, pulling = self.rises("borrow", "out")
        self.assertLess(publishing, 16 * MIB)
        self.assertLess(serving, SPARE)
        self.assertLess(pulling, SPARE)

    def test_thousands_of_steps_leave_neither_memory_nor_descriptors_behind(self):
        out, _ = self.start(GOES_ON).communicate()
        memory, descriptors = map(int, out.split())
        print("%d steps: %.1f MiB and %d descriptors more at their end than half way" % (STEPS, memory / MIB, descriptors))
        self.assertLess(memory, 4 * MIB)
        self.assertEqual(descriptors, 0)


if __name__ == "__main__":
    unittest.main()
