"""Starts the ranks of a program and, when one fails, all of them again, and tells them what torchrun tells them.

Debian's torchrun 1.13 does not run with its Python 3.11. This one also forks ranks that have PyTorch imported already, which matters
for a test on two cores.
"""
import os
import signal
import sys
import time
import traceback

import torch.distributed as dist

GRACE_S = 10  # for the others to say what they noticed of it


def launch(main, world_size, max_restarts=0, environment_of=lambda rank: {}):
    """Run `main()` in `world_size` processes, each with what `environment_of(rank)` says besides.

    Returns 0 as soon as all of them have ended well, and 1 if one failed in the last of 1 + `max_restarts` lives. Each finds RANK,
    WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and TORCHELASTIC_RESTART_COUNT in its environment.
    """
    store = dist.TCPStore("127.0.0.1", 0, world_size, True, wait_for_workers=False)
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port), "WORLD_SIZE": str(world_size),
              "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_MAX_RESTARTS": str(max_restarts)}
    for life in range(max_restarts + 1):
        ranks = {}
        for rank in range(world_size):
            own = {"RANK": str(rank), "LOCAL_RANK": str(rank), "TORCHELASTIC_RESTART_COUNT": str(life), **environment_of(rank)}
            ranks[_start(main, {**shared, **own})] = rank
        if _all_end_well(ranks):
            return 0
    return 1


def _start(main, environment):
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    os.environ.update(environment)
    status = 1
    try:
        main()
        status = 0
    except BaseException:
        sys.stderr.write("".join(f"[rank {environment['RANK']}] {line}\n" for line in traceback.format_exc().splitlines()))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _all_end_well(ranks):
    deadline = None
    well = True
    while ranks:
        pid, status = os.waitpid(-1, os.WNOHANG if deadline else 0)
        if pid:
            rank = ranks.pop(pid)
            if status:
                print(f"rank {rank} ended with {os.waitstatus_to_exitcode(status)}", file=sys.stderr)
                well, deadline = False, deadline or time.monotonic() + GRACE_S
        elif time.monotonic() < deadline:
            time.sleep(0.05)
        else:
            for pid in ranks:
                os.kill(pid, signal.SIGKILL)
            deadline = float("inf")
    return well
