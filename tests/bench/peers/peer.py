"""What a peer in Python says to bench_peers: a line with how many bytes to move comes in, the microseconds that it
took go out."""
import sys


def answer_all(move):
    for line in sys.stdin:
        print(f"{move(int(line)):.1f}", flush=True)
