"""Google's protobuf beside ours.

    beside_google.py STAGE_PROTO QUESTIONS ANSWERS

QUESTIONS and ANSWERS hold frames: a letter, then two strings of bytes, each behind its length (4 bytes, little-endian).
'P' TYPE MESSAGE is answered by the message as Google's implementation understood it and writes it again, without what it did
not know. 'B' NAME '' is answered by the message of that name below, built by the names of its fields.
"""
import importlib
import os
import struct
import subprocess
import sys
import tempfile


def load(proto):
    """As a module of no package: `stagewire` is that of client/python."""
    out = tempfile.mkdtemp(prefix="stagewire-golden-", dir=os.path.dirname(os.path.abspath(sys.argv[3])))
    subprocess.run(["protoc", "-I", os.path.dirname(proto), "--python_out", out, "stage.proto"], check=True)
    sys.path.insert(0, out)
    return importlib.import_module("stage_pb2")


def number_of_bits(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


class Built:
    """What requests.c and values.c hold, by the names of stage.proto."""

    def __init__(self, pb):
        self.pb = pb

    def address(self, **other):
        fields = dict(run_id="run-ä", generation=3, stage=2, group=1, channel="train/loss_0.A-z", step=2**63 - 1, call=2**32 - 1)
        return self.pb.Address(**{**fields, **other})

    def get_metrics_request(self):
        return self.pb.GetLossMetricsRequest(
            address=self.address(), latest=True, wait=self.pb.Wait(no_wait=True, wait_ms=1500),
            consumer=self.pb.Consumer(id="rank-1", release_below=77, ends_pins=True))

    def stream_tensors_request(self):
        ranges = [self.pb.TensorRange(name="weight", first_block=5, block_count=6),
                  self.pb.TensorRange(name="损失", block_count=2**64 - 1), self.pb.TensorRange(name="weight", first_block=1)]
        return self.pb.StreamTensorsRequest(
            address=self.address(), latest=True, wait=self.pb.Wait(no_wait=True, wait_ms=1500),
            consumer=self.pb.Consumer(id="rank-1", release_below=77, ends_pins=True), ranges=ranges, manifest_only=True, pin=2**64 - 1,
            hand_over=8, byte_limit=2**64 - 1)

    def manifest(self):
        pb = self.pb
        tensors = [pb.TensorInfo(name="weight", dtype=pb.DATA_TYPE_BF16, shape=[3, 1000], byte_length=6000, digest=2**64 - 1),
                   pb.TensorInfo(name="scalar", dtype=pb.DATA_TYPE_C128, byte_length=16, digest=1),
                   pb.TensorInfo(name="empty", dtype=pb.DATA_TYPE_U8, shape=[0, 2**63 - 1])]
        return pb.StreamTensorsResponse(manifest=pb.TensorManifest(
            address=self.address(), tensors=tensors, block_bytes=4096, published_unix_ns=-5, pin=9, via=["relay-a", "relay-b"]))

    def publish_failure_request(self):
        return self.pb.PublishFailureRequest(address=self.address(), kind=self.pb.ITEM_KIND_TENSORS, message="损失 is NaN")

    def close_channel_request(self):
        return self.pb.CloseChannelRequest(
            address=self.address(), kind=self.pb.ITEM_KIND_METRICS, all=True, reason=self.pb.CLOSE_REASON_ABORTED, message="why")

    def release_request(self):
        consumers = [self.pb.Consumer(id=i, release_below=below, ends_pins=ends)
                     for i, below, ends in [("a", 1, False), ("b", 2**64 - 1, True), ("a", 3, False)]]
        return self.pb.ReleaseRequest(address=self.address(), kind=self.pb.ITEM_KIND_OBJECT, consumers=consumers)

    def attach_request(self):
        pb = self.pb
        policies = [pb.ChannelPolicy(channel="train", kind=pb.ITEM_KIND_METRICS, keep_steps=5, consumers=["a", "b"], max_lag_steps=64,
                                     next_step=2**64 - 1),
                    pb.ChannelPolicy(channel="train", kind=pb.ITEM_KIND_TENSORS)]
        return pb.AttachRequest(run_id="run-a", generation=2, stage=3, stage_count=4, group=1, policies=policies)

    def watch_request(self):
        pb = self.pb
        filters = [pb.ChannelFilter(stages=[3, 2], groups=[0], channels=["train", "tr*", "*"]), pb.ChannelFilter()]
        return pb.WatchLossMetricsRequest(run_id="run-a", filters=filters, start=pb.WATCH_START_POSITIONS,
                                          positions=[self.address(), self.address(stage=4)])

    def exchange_request(self):
        return self.pb.ExchangeObjectRequest(address=self.address(), stage_count=4, present=True, value=self.pb.Value(text="an object"),
                                             wait=self.pb.Wait(no_wait=True, wait_ms=9))

    def closed(self):
        return self.pb.ChannelClosed(last=self.address(), kind=self.pb.ITEM_KIND_METRICS, reason=self.pb.CLOSE_REASON_PUBLISHER_LOST,
                                     message="gone", items=7)

    def event_closed(self):
        return self.pb.WatchLossMetricsResponse(closed=self.closed())

    def event_failed(self):
        return self.pb.WatchLossMetricsResponse(failed=self.pb.StepFailed(address=self.address(), message="why"))

    def event_gap(self):
        return self.pb.WatchLossMetricsResponse(gap=self.pb.Gap(first_missing=self.address(), next_held=self.address()))

    def event_generation(self):
        return self.pb.WatchLossMetricsResponse(generation=self.pb.GenerationStarted(generation=5))

    def event_heartbeat(self):
        return self.pb.WatchLossMetricsResponse(heartbeat=self.pb.Heartbeat(unix_ns=-5))

    def stage_info(self):
        pb = self.pb
        channels = [pb.ChannelInfo(oldest=self.address(), latest=self.address(), kind=pb.ITEM_KIND_TENSORS, items=4, held_bytes=5,
                                   consumers=[pb.Consumer(id="a", release_below=5)], closed=self.closed()),
                    pb.ChannelInfo(latest=self.address(), kind=pb.ITEM_KIND_METRICS)]
        security = pb.Security(tls=True, insecure_plaintext=True, name="spiffe://d/a", issuer="CN = ca", sha256="00ff",
                               not_after_unix_s=-1, taken_unix_s=2**63 - 1, failed_unix_s=3, taken=4, failed=5,
                               error="is empty")
        load = pb.Load(open_calls=1, waiting=2, watches=3, streams=4, open_publishes=5, pinned_bytes=6, metrics_held_bytes=7,
                       metrics_bytes=8)
        return pb.GetStageInfoResponse(
            run_id="run-a", generation=3, leases=[pb.Lease(stage=3, stage_count=4), pb.Lease(stage=2, group=1, stage_count=4, lost=True)],
            version="0.1.0", features=["pins", "x"], channels=channels, next_page_token="next", incarnation=2**64 - 1, held_bytes=11,
            store_bytes=12, load=load, security=security, warnings=["careful"],
            hand_over=pb.HandOver(connections=1, waiting=2, tensors_in=3, bytes_in=4, tensors_out=5, bytes_out=6),
            caller=pb.Caller(identity="spiffe://a/b", rights=["watch", "pull"], consumer_ids=["stage-*"]))

    def dtypes(self):
        names = ("BOOL U8 I8 U16 I16 U32 I32 U64 I64 F16 BF16 F32 F64 C64 C128 F8_E4M3FN F8_E5M2 F8_E4M3FNUZ F8_E5M2FNUZ F8_E8M0FNU "
                 "F4_E2M1FN_X2").split()
        return self.pb.StreamTensorsResponse(manifest=self.pb.TensorManifest(
            address=self.address(), tensors=[self.pb.TensorInfo(name=name, dtype="DATA_TYPE_" + name, shape=[0]) for name in names]))

    def metrics_response(self):
        return self.pb.GetLossMetricsResponse(address=self.address(), metrics=self.metrics(), published_unix_ns=-1)

    def published_event(self):
        return self.pb.WatchLossMetricsResponse(published=self.metrics_response())

    def publish_metrics_request(self):
        return self.pb.PublishLossMetricsRequest(address=self.address(), metrics=self.metrics())

    def exchange_response(self):
        return self.pb.ExchangeObjectResponse(address=self.address(), owners=[0, 7, 2**32 - 1], value=self.pb.Value(text="an object"))

    def metrics(self):
        """every_kind() of values.c."""
        pb = self.pb
        pair = pb.ValueList(items=[pb.Value(integer=1), pb.Value(null=pb.NULL_VALUE)])
        tensor = lambda dtype, shape, data: pb.Value(tensor=pb.Tensor(dtype=dtype, shape=shape, data=data))
        values = {
            "null": pb.Value(null=pb.NULL_VALUE), "false": pb.Value(boolean=False), "true": pb.Value(boolean=True),
            "zero": pb.Value(integer=0), "smallest": pb.Value(integer=-2**63), "largest": pb.Value(integer=2**63 - 1),
            "loss": pb.Value(number=0.25), "minus zero": pb.Value(number=-0.0), "infinity": pb.Value(number=float("inf")),
            "-infinity": pb.Value(number=float("-inf")), "quiet nan": pb.Value(number=number_of_bits(0x7FF80000DEADBEEF)),
            "signalling nan": pb.Value(number=number_of_bits(0xFFF0000000000001)), "empty text": pb.Value(text=""),
            "text": pb.Value(text="損失 📉"), "text with nul": pb.Value(text="a\0b\0"), "empty blob": pb.Value(blob=b""),
            "blob": pb.Value(blob=b"\xff\x00\x80"), "scalar": tensor(pb.DATA_TYPE_F64, [], b"12345678"),
            "matrix": tensor(pb.DATA_TYPE_BF16, [2, 3], b"abcdefghijkl"), "empty tensor": tensor(pb.DATA_TYPE_F32, [4, 0, 7], b""),
            "rank 16": tensor(pb.DATA_TYPE_U8, [1] * 16, b"x"), "empty list": pb.Value(list=pb.ValueList()), "list": pb.Value(list=pair),
            "empty tuple": pb.Value(tuple=pb.ValueList()), "tuple": pb.Value(tuple=pair), "empty dict": pb.Value(map=pb.MetricMap()),
            "dict": pb.Value(map=pb.MetricMap(values={"": pb.Value(boolean=True)})),
            "extension": pb.Value(extension=pb.Extension(type="py.int", value=pb.Value(text="123456789012345678901234567890"))),
            "nul\0in key": pb.Value(integer=-1), "": pb.Value(text="an empty key"),
        }
        return pb.LossMetrics(single=pb.MetricMap(values=values))


def read_frames(file):
    while head := file.read(1):
        parts = []
        for _ in range(2):
            (size,) = struct.unpack("<I", file.read(4))
            parts.append(file.read(size))
        yield head.decode(), parts[0].decode(), parts[1]


def main():
    pb = load(sys.argv[1])
    built = Built(pb)
    with open(sys.argv[2], "rb") as questions, open(sys.argv[3], "wb") as answers:
        for letter, name, data in read_frames(questions):
            if letter == "P":
                message = getattr(pb, name).FromString(data)
                message.DiscardUnknownFields()
            else:
                message = getattr(built, name)()
            answer = message.SerializeToString(deterministic=True)
            answers.write(struct.pack("<I", len(answer)) + answer)


if __name__ == "__main__":
    main()
