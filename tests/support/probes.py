"""grpc.health.v1 and grpc.reflection as any tool speaks them: stubs made from the descriptions alone, since grpcio
brings neither, and a generated package of that name would hide grpcio's own."""
import os
import subprocess
import tempfile

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PROTOS = ("grpc/health/v1/health.proto", "grpc/reflection/v1/reflection.proto",
          "grpc/reflection/v1alpha/reflection.proto")


def file_of(name, root):
    """The FileDescriptorProto that Google's compiler makes of a file."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.check_call(["protoc", "-I", root, "--descriptor_set_out", out.name, name])
        return descriptor_pb2.FileDescriptorSet.FromString(out.read()).file[0]


def proto_root():
    return os.path.dirname(os.path.dirname(os.path.dirname(os.environ["STAGE_PROTO"])))


pool = descriptor_pool.DescriptorPool()
for proto in PROTOS:
    pool.AddSerializedFile(file_of(proto, proto_root()).SerializeToString())


class Service:
    """Methods of a service, by name, on a channel."""

    def __init__(self, channel, name, pool=pool):
        factory = message_factory.MessageFactory(pool)
        for method in pool.FindServiceByName(name).methods:
            kind = ("stream" if method.client_streaming else "unary") + "_" + (
                "stream" if method.server_streaming else "unary")
            request, response = factory.GetPrototype(method.input_type), factory.GetPrototype(method.output_type)
            stub = getattr(channel, kind)(f"/{name}/{method.name}", request.SerializeToString, response.FromString)
            setattr(self, method.name, stub)
            setattr(self, method.name + "Request", request)
            setattr(self, method.name + "Response", response)


class Health:
    UNKNOWN, SERVING, NOT_SERVING, SERVICE_UNKNOWN = range(4)

    def __init__(self, channel):
        self.service = Service(channel, "grpc.health.v1.Health")

    def check(self, name=""):
        return self.service.Check(self.service.CheckRequest(service=name), timeout=10).status

    def list(self):
        statuses = self.service.List(self.service.ListRequest(), timeout=10).statuses
        return {name: entry.status for name, entry in statuses.items()}

    def watch(self, name=""):
        return self.service.Watch(self.service.WatchRequest(service=name), timeout=60)


class Reflection:
    def __init__(self, channel, version="v1"):
        self.service = Service(channel, f"grpc.reflection.{version}.ServerReflection")
        self.request = self.service.ServerReflectionInfoRequest

    def ask(self, *requests):
        """The answers to these, in a stream of their own."""
        return list(self.service.ServerReflectionInfo(iter(requests), timeout=10))

    def ask_one(self, **question):
        answers = self.ask(self.request(**question))
        assert len(answers) == 1, answers
        return answers[0]

    def services(self):
        return [s.name for s in self.ask_one(list_services="").list_services_response.service]


def channel(target, credentials=None):
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)]
    if credentials:
        return grpc.secure_channel(target, credentials, options=options)
    return grpc.insecure_channel(target, options=options)
