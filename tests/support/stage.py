"""stage.proto through Debian's protoc and grpcio, with nothing of stagewire linked, and a daemon to talk to."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import grpc

import tool

STATUS_PROTO = """syntax = "proto3";
package sw.status;
message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
message Any { string type_url = 1; bytes value = 2; }
message ErrorInfo { string reason = 1; string domain = 2; map<string, string> metadata = 3; }
"""


def generate(proto):
    """(messages, services, status messages), made from the file alone."""
    folder = tempfile.mkdtemp(prefix="stagewire-proto-")
    try:
        shutil.copy(proto, folder)  # its package stagewire.v1 would hide ours, or be hidden by it
        with open(os.path.join(folder, "sw_status.proto"), "w") as f:
            f.write(STATUS_PROTO)
        plugin = "--plugin=protoc-gen-grpc=" + shutil.which("grpc_python_plugin")
        subprocess.check_call(["protoc", "-I", folder, "--python_out", folder, "--grpc_out", folder, plugin,
                               "stage.proto", "sw_status.proto"])
        sys.path.insert(0, folder)
        import stage_pb2
        import stage_pb2_grpc
        import sw_status_pb2
        return stage_pb2, stage_pb2_grpc, sw_status_pb2
    finally:
        shutil.rmtree(folder)


pb, rpc, status_pb = generate(os.environ["STAGE_PROTO"])


class Daemon:
    """stagewired as a user starts it: on loopback, with a port file that is written whole."""

    def __init__(self, *args, listen="127.0.0.1:0", publish_on_loopback=True, descriptors=None):
        self.folder = tempfile.mkdtemp(prefix="stagewire-daemon-")
        port_file = os.path.join(self.folder, "ports")
        self.log = open(os.path.join(self.folder, "log"), "w+")
        limit = ["prlimit", f"--nofile={descriptors}:{descriptors}"] if descriptors else []
        self.process = subprocess.Popen(
            [*limit, os.environ["STAGEWIRED"], "--listen", listen, "--port-file", port_file, "--run-id", "run-a",
             "--stage", "3", "--stages", "4", *(["--publish-on-loopback"] if publish_on_loopback else []), *args],
            stderr=self.log, stdout=self.log)
        while not os.path.exists(port_file):
            if self.process.poll() is not None:
                raise RuntimeError("stagewired ended: " + self.text())
        with open(port_file) as f:
            self.targets = f.read().split()
        self.channel = grpc.insecure_channel(self.targets[0], options=[
            ("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)])
        self.stage = rpc.StageServiceStub(self.channel)
        self.publisher = rpc.PublisherServiceStub(self.channel)

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def close(self):
        self.channel.close()
        tool.end(self.process)
        self.log.close()
        shutil.rmtree(self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def reason(error):
    """(reason, metadata) of a grpc.RpcError, as any client may read them."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for detail in status_pb.Status.FromString(value).details:
                if detail.type_url == "type.googleapis.com/google.rpc.ErrorInfo":
                    info = status_pb.ErrorInfo.FromString(detail.value)
                    assert info.domain == "stagewire", info.domain
                    return info.reason, dict(info.metadata)
    return "", {}


def address(channel="train", step=0, **more):
    return pb.Address(channel=channel, step=step, **more)


def metrics(**values):
    result = pb.LossMetrics()
    for key, value in values.items():
        field = {bool: "boolean", int: "integer", float: "number", str: "text", bytes: "blob"}[type(value)]
        setattr(result.single.values[key], field, value)
    result.single.SetInParent()
    return result
