"""Who may call what: every method of every service, for every right alone, and what the table and its file do."""
import os
import tempfile
import unittest

import grpc

import command
import stage
from stage import pb, rpc

READERS = {"watch", "pull", "contribute"}
ALL = READERS | {"publish"}
NEEDS = {
    "stagewire.v1.StageService": {
        "GetStageInfo": ALL, "GetLossMetrics": {"pull"}, "StreamTensors": {"pull"}, "Release": {"pull"},
        "WatchLossMetrics": {"watch"}, "ExchangeObject": {"contribute"}, "Attach": {"contribute", "publish"}},
    "stagewire.v1.PublisherService": {
        "PublishLossMetrics": {"publish"}, "PublishTensors": {"publish"}, "PublishFailure": {"publish"},
        "CloseChannel": {"publish"}},
}
OPEN = {  # to whoever gets as far
    "grpc.health.v1.Health": ("Check", "List", "Watch"),
    "stagewire.v1.StageService": ("NoSuchMethod",), "no.such.Service": ("Method",),
}
REFLECTION = ("grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection")


class WithTable(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stagewire-access-")
        self.addCleanup(folder.cleanup)
        self.folder, self.table, self.daemons = folder.name, os.path.join(folder.name, "access"), 0

    def write(self, *lines):
        with open(self.table + ".new", "w") as f:
            f.write("\n".join(lines))
        os.rename(self.table + ".new", self.table)

    def start(self, *args, **more):
        self.daemons += 1
        daemon = stage.Daemon("--listen", f"unix:{self.folder}/s{self.daemons}", *args, **more)
        self.addCleanup(daemon.close)
        return daemon

    def start_with(self, *lines, **more):
        self.write(*lines)
        return self.start("--access", self.table, publish_on_loopback=False, **more)


def ask(channel, service, method, request=b"\xff\xff", **more):
    """The answer to a request that no method understands: (code, details)."""
    call = channel.stream_stream(f"/{service}/{method}", None, None)(iter((request,)), timeout=10, **more)
    try:
        for _ in call:
            break
    except grpc.RpcError:
        pass
    call.cancel()
    return call.code(), call.details()


class EveryMethod(WithTable):
    """Of the services in stage.proto, whatever they are, and of those that stand beside them."""

    def test_all_of_stage_proto_are_in_the_table_of_this_test(self):
        services = {s.full_name: {m.name for m in s.methods} for s in pb.DESCRIPTOR.services_by_name.values()}
        self.assertEqual(services, {name: set(methods) for name, methods in NEEDS.items()})

    def expect(self, channel, rights):
        for service, methods in NEEDS.items():
            for method, any_of in methods.items():
                self.expect_gate(channel, service, method, bool(any_of & rights), sorted(any_of))
        for service in REFLECTION:
            self.expect_gate(channel, service, "ServerReflectionInfo", bool(rights), sorted(ALL))
        for service, methods in OPEN.items():
            for method in methods:
                self.expect_gate(channel, service, method, True, [])

    def expect_gate(self, channel, service, method, passes, any_of):
        code, details = ask(channel, service, method)
        with self.subTest(service=service, method=method, details=details):
            if passes:
                self.assertNotEqual(code, grpc.StatusCode.PERMISSION_DENIED)
            else:
                self.assertEqual(code, grpc.StatusCode.PERMISSION_DENIED)
                self.assertIn(f"/{service}/{method}", details)
                for right in any_of:
                    self.assertIn(right, details)

    def test_each_right_alone(self):
        for right in sorted(ALL):
            with self.subTest(right=right):
                daemon = self.start_with(f"@loopback {right}")
                self.expect(daemon.channel, {right})

    def test_loopback_without_a_table_reads_and_a_unix_socket_does_everything(self):
        daemon = self.start(publish_on_loopback=False)
        self.expect(daemon.channel, READERS)
        with grpc.insecure_channel(daemon.targets[1]) as beside:
            self.expect(beside, ALL)

    def test_loopback_publishes_where_it_is_allowed(self):
        self.expect(self.start().channel, ALL)

    def test_plaintext_beyond_the_machine_reads_and_with_a_table_does_nothing(self):
        daemon = self.start("--insecure-plaintext", "--reflection", listen="0.0.0.0:0")
        self.expect(daemon.channel, READERS)
        self.write("spiffe://prod/a watch")
        closed = self.start("--insecure-plaintext", "--reflection", "--access", self.table, listen="0.0.0.0:0")
        self.expect(closed.channel, set())


class Consumers(WithTable):
    def test_one_pulls_and_releases_under_the_ids_of_its_line_alone(self):
        daemon = self.start_with("@loopback pull as stage-*, board")
        pull = daemon.stage.GetLossMetrics
        for name, passes in (("", True), ("stage-0", True), ("board", True), ("boar", False), ("stage", False)):
            request = pb.GetLossMetricsRequest(address=stage.address(), wait=pb.Wait(no_wait=True),
                                               consumer=pb.Consumer(id=name))
            release = pb.ReleaseRequest(address=stage.address(generation=1, stage=3), kind=pb.ITEM_KIND_METRICS,
                                        consumers=[pb.Consumer(id="stage-0"), pb.Consumer(id=name or "board")])
            with self.subTest(consumer=name):
                self.assertEqual(self.is_denied(pull, request, f'consumer "{name}"'), not passes)
                self.assertEqual(self.is_denied(daemon.stage.Release, release, f'consumer "{name}"'), not passes)

    def is_denied(self, call, request, words):
        try:
            call(request, timeout=10)
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.PERMISSION_DENIED:
                return False
            self.assertIn(words, error.details())
            return True
        return False


class Policies(WithTable):
    def test_who_contributes_attaches_and_declares_nothing(self):
        daemon = self.start_with("@loopback contribute")
        with grpc.insecure_channel(daemon.targets[1]) as beside:
            publisher = rpc.PublisherServiceStub(beside)
            publisher.PublishLossMetrics(pb.PublishLossMetricsRequest(
                address=stage.address("train", 1), metrics=stage.metrics(v=1)), timeout=10)
        lease = daemon.stage.Attach(pb.AttachRequest(stage=2, stage_count=4), timeout=20)
        self.assertEqual(next(lease).generation, 1)
        lease.cancel()
        policy = pb.ChannelPolicy(channel="x", kind=pb.ITEM_KIND_METRICS)
        with self.assertRaises(grpc.RpcError) as caught:
            next(daemon.stage.Attach(pb.AttachRequest(stage=2, stage_count=4, policies=[policy]), timeout=20))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.PERMISSION_DENIED)


class TheFile(WithTable):
    def info(self, daemon):
        return daemon.stage.GetStageInfo(pb.GetStageInfoRequest(), timeout=10)

    def wait_for(self, daemon, reached):
        while not reached(self.info(daemon)):
            pass

    def test_the_caller_is_told_who_it_is_and_what_it_may(self):
        daemon = self.start_with("@loopback watch pull as stage-*")
        caller = self.info(daemon).caller
        self.assertEqual((caller.identity, list(caller.rights), list(caller.consumer_ids)),
                         ("@loopback", ["watch", "pull"], ["stage-*"]))
        code, out, _ = command.run("info", daemon.targets[0], "--json")
        self.assertEqual(code, 0)
        shown = command.strict(out)
        self.assertEqual(shown["caller"], {"identity": "@loopback", "rights": ["watch", "pull"],
                                           "consumer_ids": ["stage-*"]})
        self.assertEqual(shown["warnings"], [])
        code, out, _ = command.run("info", daemon.targets[0])
        self.assertRegex(out, r"you may +watch pull\n")

    def test_a_change_is_taken_and_a_wrong_file_is_told_and_changes_nothing(self):
        daemon = self.start_with("@loopback watch")
        self.write("@loopback watch pull")
        self.wait_for(daemon, lambda info: "pull" in info.caller.rights)
        self.write("@loopback watch", "@loopback read")
        self.wait_for(daemon, lambda info: info.warnings)
        info = self.info(daemon)
        self.assertEqual(list(info.caller.rights), ["watch", "pull"])
        self.assertIn(f"{self.table}:2: 'read': no right", info.warnings[0])
        self.assertIn("the one before stays in force", daemon.text())
        os.unlink(self.table)
        self.wait_for(daemon, lambda info: "No such file" in "".join(info.warnings))
        self.write("@loopback contribute")
        self.wait_for(daemon, lambda info: not info.warnings)
        self.assertEqual(list(self.info(daemon).caller.rights), ["contribute"])

    def test_a_wrong_file_is_no_beginning(self):
        with self.assertRaisesRegex(RuntimeError, "access:1: 'read': no right"):
            self.start_with("@loopback read")

    def test_refusals_are_logged_with_the_peer_and_not_without_end(self):
        daemon = self.start_with("@loopback watch")
        for _ in range(300):
            ask(daemon.channel, "stagewire.v1.PublisherService", "CloseChannel")
        lines = [line for line in daemon.text().splitlines() if "event=refused" in line]
        self.assertIn("peer=ipv4:127.0.0.1:", lines[0])
        self.assertIn("identity=@loopback", lines[0])
        self.assertLess(len(lines), 60)


if __name__ == "__main__":
    unittest.main()
