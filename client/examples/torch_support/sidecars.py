"""One stagewired for each node's ranks, which systemd or a pod runs in earnest."""
import contextlib
import os
import subprocess
import tempfile
import time

START_S = 30


@contextlib.contextmanager
def sidecar(stage, stages, *options, run_id="digits"):
    """Yields (where the ranks beside it publish, where others pull from it)."""
    with tempfile.TemporaryDirectory(prefix="stagewired-") as folder:
        socket, ports = os.path.join(folder, "socket"), os.path.join(folder, "ports")
        process = subprocess.Popen([
            os.environ.get("STAGEWIRED", "stagewired"), "--run-id", run_id, "--stage", str(stage), "--stages", str(stages),
            "--listen", "unix:" + socket, "--listen", "127.0.0.1:0", "--port-file", ports, "--log-level", "warn", *options])
        try:
            _wait_for(ports, process)
            with open(ports) as listening:
                own, others = listening.read().split()
            yield own, others
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def one_for_each_stage(stages, world_size):
    """Yields what tells a rank's environment where its sidecar is, and the last stage's."""
    with contextlib.ExitStack() as stack:
        endpoints = [stack.enter_context(sidecar(stage, stages)) for stage in range(stages)]
        yield lambda rank: {"STAGEWIRE_RUN_ID": "digits", "STAGEWIRE_SIDECAR": endpoints[rank * stages // world_size][0],
                            "STAGEWIRE_LAST_STAGE_ENDPOINT": endpoints[-1][1]}


def _wait_for(file, process):
    deadline = time.monotonic() + START_S
    while not os.path.exists(file):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("stagewired does not serve; its log says why")
        time.sleep(0.01)
