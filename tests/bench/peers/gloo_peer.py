#!/usr/bin/python3
"""gloo, through torch.distributed: a broadcast from the last of N processes, until the slowest of the others has it.

    gloo_peer.py N
"""
import os
import socket
import subprocess
import sys
import time

import torch
import torch.distributed as dist

from peer import answer_all


def join(rank, count, port):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=count)


def broadcast(size, source):
    tensor = torch.zeros(size, dtype=torch.uint8)
    dist.barrier()
    begun = time.perf_counter()
    dist.broadcast(tensor, src=source)
    slowest = torch.tensor([time.perf_counter() - begun], dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return slowest.item() * 1e6


def told_size(size):
    told = torch.tensor([size], dtype=torch.int64)
    dist.broadcast(told, src=0)
    return told.item()


def follow(rank, count, port):
    join(rank, count, port)
    while size := told_size(0):
        broadcast(size, count - 1)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def lead(count):
    port = free_port()
    others = [subprocess.Popen([sys.executable, __file__, str(count), str(rank), port]) for rank in range(1, count)]
    join(0, count, port)
    answer_all(lambda size: broadcast(told_size(size), count - 1))
    told_size(0)
    for other in others:
        other.wait()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        lead(int(sys.argv[1]))
    else:
        follow(int(sys.argv[2]), int(sys.argv[1]), sys.argv[3])
