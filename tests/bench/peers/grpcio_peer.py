#!/usr/bin/python3
"""Python grpcio: a server that streams chunks of 512 KiB, and a client that puts them together in memory of its own.
Without protobuf around the bytes, which is the best that it can do."""
import subprocess
import sys
import time
from concurrent import futures

import grpc

from peer import answer_all

CHUNK = 512 << 10
OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Pull(grpc.GenericRpcHandler):
    def __init__(self):
        self.chunk = b"\x5a" * CHUNK

    def service(self, details):
        return grpc.unary_stream_rpc_method_handler(self.stream)

    def stream(self, request, context):
        for left in range(int(request), 0, -CHUNK):
            yield self.chunk if left >= CHUNK else self.chunk[:left]


def serve():
    server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[Pull()], options=OPTIONS)
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    sys.stdin.read()


def main():
    server = subprocess.Popen([sys.executable, __file__, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port = int(server.stdout.readline())
    channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=OPTIONS)
    pull = channel.unary_stream("/peer/Pull")
    into = bytearray()

    def move(size):
        nonlocal into
        if len(into) != size:
            into = bytearray(size)
        view, at = memoryview(into), 0
        begun = time.perf_counter()
        for chunk in pull(str(size).encode()):
            view[at : at + len(chunk)] = chunk
            at += len(chunk)
        took = time.perf_counter() - begun
        assert at == size
        return took * 1e6

    answer_all(move)
    server.stdin.close()
    server.wait()


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else main()
