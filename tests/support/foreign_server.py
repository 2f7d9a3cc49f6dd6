#!/usr/bin/python3
"""A server of stage.proto by Python's grpcio that holds nothing: how it behaves says the channel that it is asked for.

foreign_server.mjs behaves the same, and says what each is for.

    foreign_server.py --port-file FILE
"""
import os
import sys
import threading
from concurrent import futures

import grpc

from stage import metrics, pb, rpc, status_pb

BLOCK, MIB = 4096, 1 << 20
BYTES = bytes(i % 251 for i in range(6000))
HASHES = [8157707384269159537, 1624244542206642382]
DIGEST = 3918222240079804594

asked = set()
nudged = threading.Event()


def is_first(what):
    first = what not in asked
    asked.add(what)
    return first


def resolved(address):
    answer = pb.Address()
    answer.CopyFrom(address)
    answer.run_id, answer.generation, answer.stage = "run-f", 1, 3
    return answer


def at(step):
    return resolved(pb.Address(channel="train", step=step))


def refuse(context, code, message, why=None, domain="stagewire", **metadata):
    if why:
        info = status_pb.ErrorInfo(reason=why, domain=domain, metadata=metadata)
        status = status_pb.Status(code=code.value[0], message=message)
        status.details.add(type_url="type.googleapis.com/google.rpc.ErrorInfo", value=info.SerializeToString())
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(code, message)


def until_it_ends(context):
    ended = threading.Event()
    if context.add_callback(ended.set):
        ended.wait()


def chunk(block, xxh3=None):
    data = BYTES[block * BLOCK:(block + 1) * BLOCK]
    return pb.StreamTensorsResponse(chunk=pb.TensorChunk(block=block, xxh3=HASHES[block] if xxh3 is None else xxh3, data=data))


def large_chunk(block):
    return pb.StreamTensorsResponse(chunk=pb.TensorChunk(block=block, data=bytes([block]) * MIB))


class Stage(rpc.StageServiceServicer):
    def GetStageInfo(self, request, context):
        name, kind, token = ("b", pb.ITEM_KIND_TENSORS, "") if request.page_token else ("a", pb.ITEM_KIND_METRICS, "second")
        address = resolved(pb.Address(channel=name))
        return pb.GetStageInfoResponse(
            run_id="run-f", generation=1, version="9", features=["x"], next_page_token=token, incarnation=5,
            channels=[pb.ChannelInfo(latest=address, oldest=address, kind=kind, items=1)])

    def GetLossMetrics(self, request, context):
        channel, address, value = request.address.channel, resolved(request.address), 1
        if channel == "refused":
            refuse(context, grpc.StatusCode.ABORTED, "it is over", "SUPERSEDED", generation="7")
        elif channel == "bare":
            refuse(context, grpc.StatusCode.NOT_FOUND, "nothing here")
        elif channel == "of-another-domain":
            refuse(context, grpc.StatusCode.NOT_FOUND, "nothing here", "EVICTED", "somebody.else")
        elif channel == "once" and is_first("once"):
            refuse(context, grpc.StatusCode.UNAVAILABLE, "not now")
        elif channel == "silent":
            until_it_ends(context)
        elif channel == "slow":
            nudged.wait()
            value = 2
        elif channel == "nudge":
            nudged.set()
            value = 3
        elif channel == "another":
            address.step = 99
        elif channel == "consumer":
            value = request.consumer.id
        answer = pb.GetLossMetricsResponse(address=address, metrics=metrics(v=value))
        if channel == "unreadable":
            answer.metrics.single.values["v"].Clear()
        return answer

    def StreamTensors(self, request, context):
        channel = request.address.channel
        if channel == "refused":
            refuse(context, grpc.StatusCode.NOT_FOUND, "no such tensor", "NO_SUCH_TENSOR", tensors='["x"]')
        info = pb.TensorInfo(name="x", dtype=pb.DATA_TYPE_U8, shape=[2, 3000], byte_length=6000,
                             digest=0 if channel == "unhashed" else DIGEST)
        if channel == "endless":
            info = pb.TensorInfo(name="x", dtype=pb.DATA_TYPE_U8, shape=[8, MIB], byte_length=8 * MIB)
        yield pb.StreamTensorsResponse(manifest=pb.TensorManifest(
            address=resolved(request.address), tensors=[info], block_bytes=MIB if channel == "endless" else BLOCK,
            pin=request.pin or 77))
        if request.manifest_only:
            return
        if channel == "whole":
            yield from (chunk(1), chunk(0))
        elif channel == "unhashed":
            yield from (chunk(0, 0), chunk(1, 0))
        elif channel == "wrong":
            yield from (chunk(0), chunk(1, 12345))
        elif channel == "cut" and is_first("cut"):
            yield chunk(0)
            refuse(context, grpc.StatusCode.UNAVAILABLE, "gone")
        elif channel == "cut":
            yield from (chunk(wanted.first_block) for wanted in request.ranges)
        elif channel == "endless" and request.ranges:
            yield from (large_chunk(block) for wanted in request.ranges
                        for block in range(wanted.first_block, wanted.first_block + wanted.block_count))
        elif channel == "endless":
            yield from map(large_chunk, range(5))
            until_it_ends(context)
        elif channel in ("short", "stuck"):
            yield chunk(0)
            if channel == "stuck":
                until_it_ends(context)

    def WatchLossMetrics(self, request, context):
        context.send_initial_metadata(())
        yield pb.WatchLossMetricsResponse(published=pb.GetLossMetricsResponse(address=at(1), metrics=metrics(v=0.5)))
        yield pb.WatchLossMetricsResponse(heartbeat=pb.Heartbeat(unix_ns=1))
        yield pb.WatchLossMetricsResponse(failed=pb.StepFailed(address=at(2), message="nan"))
        yield pb.WatchLossMetricsResponse(gap=pb.Gap(first_missing=at(3), next_held=at(5)))
        yield pb.WatchLossMetricsResponse(closed=pb.ChannelClosed(
            last=at(6), kind=pb.ITEM_KIND_METRICS, reason=pb.CLOSE_REASON_ABORTED, message="why", items=4))
        yield pb.WatchLossMetricsResponse(generation=pb.GenerationStarted(generation=2))
        until_it_ends(context)

    def Release(self, request, context):
        if request.consumers[0].release_below != 5:
            refuse(context, grpc.StatusCode.ABORTED, "it is over", "SUPERSEDED", generation="7")
        return pb.ReleaseResponse()

    def ExchangeObject(self, request, context):
        return pb.ExchangeObjectResponse(address=resolved(request.address), owners=[1], value=pb.Value(text="object"))

    def Attach(self, request, context):
        context.send_initial_metadata(())
        yield pb.AttachResponse(generation=request.generation)
        until_it_ends(context)


class Publisher(rpc.PublisherServiceServicer):
    def PublishLossMetrics(self, request, context):
        if is_first("publish"):
            refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, "no room", "STORE_FULL", consumers="[]")
        return pb.PublishLossMetricsResponse(duplicate=True)

    def PublishTensors(self, requests, context):
        wanted = sum(tensor.byte_length for tensor in next(requests).manifest.tensors)
        got = sum(len(part.chunk.data) for part in requests)
        if got != wanted:
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "%d bytes of %d" % (got, wanted), "MALFORMED")
        return pb.PublishTensorsResponse(duplicate=True)

    def PublishFailure(self, request, context):
        return pb.PublishFailureResponse(duplicate=request.message == "nan")

    def CloseChannel(self, request, context):
        refuse(context, grpc.StatusCode.ALREADY_EXISTS, "closed otherwise", "CONFLICT")


server = grpc.server(futures.ThreadPoolExecutor(16))
rpc.add_StageServiceServicer_to_server(Stage(), server)
rpc.add_PublisherServiceServicer_to_server(Publisher(), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
port_file = sys.argv[sys.argv.index("--port-file") + 1]
with open(port_file + ".new", "w") as f:
    f.write("127.0.0.1:%d\n" % port)
os.rename(port_file + ".new", port_file)
server.wait_for_termination()
