#!/usr/bin/env python3
"""Health and reflection, as probes and tools meet them."""
import unittest

import grpc

import probes
import stage
from probes import Health, Reflection
from stage import pb

SERVICES = ["stagewire.v1.StageService", "stagewire.v1.PublisherService", "grpc.health.v1.Health"]
REFLECTION = ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"]
NAMES = ["", "liveness", "readiness", *SERVICES]


EVERYWHERE = "0.0.0.0:0"  # beyond this machine, but the tests stay on it


class WithDaemon(unittest.TestCase):
    def start(self, *args, **more):
        self.daemon = stage.Daemon(*args, **more)
        self.addCleanup(self.daemon.close)
        self.health = Health(self.daemon.channel)
        return self.daemon

    def connect(self, target):
        channel = probes.channel(target.replace("0.0.0.0", "127.0.0.1"))
        self.addCleanup(channel.close)
        return channel

    def refused(self, code, call, *args, **more):
        with self.assertRaises(grpc.RpcError) as caught:
            call(*args, **more)
        self.assertEqual(caught.exception.code(), code, caught.exception.details())
        return caught.exception.details()

    def hold_a_step(self):
        """From now on a drain lasts until c0 has pulled it."""
        attached = self.daemon.stage.Attach(pb.AttachRequest(stage=3, stage_count=4, generation=1, policies=[
            pb.ChannelPolicy(channel="train", kind=pb.ITEM_KIND_METRICS, consumers=["c0"])]))
        next(attached)
        self.daemon.publisher.PublishLossMetrics(
            pb.PublishLossMetricsRequest(address=stage.address(), metrics=stage.metrics(v=1)), timeout=10)
        return attached


class HealthOfAnEndpoint(WithDaemon):
    def test_check_knows_the_whole_liveness_readiness_and_each_service(self):
        self.start()
        for name in NAMES + REFLECTION:
            self.assertEqual(self.health.check(name), Health.SERVING, name)

    def test_check_of_an_unknown_service_is_not_found(self):
        self.start()
        for name in ("train", "stagewire.v1", "stagewire.v1.StageServic", "Liveness"):
            self.assertIn(name, self.refused(grpc.StatusCode.NOT_FOUND, self.health.check, name))

    def test_list_names_all_with_their_status(self):
        self.start()
        self.assertEqual(self.health.list(), {name: Health.SERVING for name in NAMES + REFLECTION})

    def test_watch_of_an_unknown_service_says_so_and_stays(self):
        self.start()
        watch = self.health.watch("train")
        self.assertEqual(next(watch).status, Health.SERVICE_UNKNOWN)
        self.daemon.terminate()
        self.refused(grpc.StatusCode.UNAVAILABLE, next, watch)

    def test_while_draining_only_liveness_serves_and_watches_are_told(self):
        self.start("--drain-grace", "60s")
        lease = self.hold_a_step()
        watches = {name: self.health.watch(name) for name in NAMES}
        for name, watch in watches.items():
            self.assertEqual(next(watch).status, Health.SERVING, name)
        self.daemon.terminate()
        for name, watch in watches.items():
            if name != "liveness":
                self.assertEqual(next(watch).status, Health.NOT_SERVING, name)
        for name in NAMES:
            expected = Health.SERVING if name == "liveness" else Health.NOT_SERVING
            self.assertEqual(self.health.check(name), expected, name)
            self.assertEqual(self.health.list()[name], expected, name)
        request = pb.ReleaseRequest(address=stage.address(), kind=pb.ITEM_KIND_METRICS,
                                    consumers=[pb.Consumer(id="c0", release_below=1)])
        self.daemon.stage.Release(request, timeout=10)
        for name, watch in watches.items():
            self.refused(grpc.StatusCode.UNAVAILABLE, next, watch)
        self.refused(grpc.StatusCode.UNAVAILABLE, next, lease)
        self.assertEqual(self.daemon.process.wait(10), 0, self.daemon.text())

    def test_watches_beyond_the_limit_are_refused_and_a_place_comes_back(self):
        self.start()
        watches = [self.health.watch() for _ in range(256)]
        for watch in watches:
            self.assertEqual(next(watch).status, Health.SERVING)
        self.assertIn("256 watches", self.refused(grpc.StatusCode.RESOURCE_EXHAUSTED, next, self.health.watch()))
        watches[0].cancel()
        while True:
            try:
                self.assertEqual(next(self.health.watch()).status, Health.SERVING)
                break
            except grpc.RpcError as error:  # the cancellation may still be on its way
                self.assertEqual(error.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)

    def test_a_name_that_is_no_text_is_refused(self):
        self.start()
        check = self.daemon.channel.unary_unary("/grpc.health.v1.Health/Check")
        self.refused(grpc.StatusCode.INVALID_ARGUMENT, check, b"\n\x02\xff\xfe", timeout=10)


class TheListenerForProbes(WithDaemon):
    def setUp(self):
        self.start("--health-listen", EVERYWHERE)
        self.probed = self.connect(self.daemon.targets[1])

    def test_it_may_be_beyond_this_machine_and_tells_the_endpoints_health(self):
        health = Health(self.probed)
        self.assertEqual(health.list(), {name: Health.SERVING for name in NAMES})
        self.assertEqual(health.check("readiness"), Health.SERVING)
        watch = health.watch("readiness")
        self.assertEqual(next(watch).status, Health.SERVING)
        self.daemon.terminate()
        self.assertEqual(next(watch).status, Health.NOT_SERVING)

    def test_it_serves_nothing_else(self):
        methods = [m.full_name.rsplit(".", 1) for s in ("StageService", "PublisherService")
                   for m in pb.DESCRIPTOR.services_by_name[s].methods]
        methods += [(name, "ServerReflectionInfo") for name in REFLECTION]
        self.assertGreater(len(methods), 10)
        for service, method in methods:
            call = self.probed.unary_unary(f"/{service}/{method}")
            words = self.refused(grpc.StatusCode.UNIMPLEMENTED, call, b"", timeout=10)
            self.assertIn("served are grpc.health.v1.Health", words)
            self.assertNotIn("StageService,", words)

    def test_a_unix_socket_is_none(self):
        with self.assertRaisesRegex(RuntimeError, "write HOST:PORT"):
            self.start("--health-listen", "unix:/tmp/probes.sock")


class WhatReflectionTells(WithDaemon):
    def setUp(self):
        self.start()
        self.reflection = Reflection(self.daemon.channel)

    def files(self, answer):
        return [probes.descriptor_pb2.FileDescriptorProto.FromString(f)
                for f in answer.file_descriptor_response.file_descriptor_proto]

    def test_both_versions_list_the_services(self):
        for version in ("v1", "v1alpha"):
            self.assertEqual(Reflection(self.daemon.channel, version).services(), SERVICES + REFLECTION)

    def test_every_file_is_what_googles_compiler_makes_of_it(self):
        for name in ("stagewire/v1/stage.proto", *probes.PROTOS):
            files = self.files(self.reflection.ask_one(file_by_filename=name))
            self.assertEqual(files, [probes.file_of(name, probes.proto_root())])

    def test_every_symbol_leads_to_its_file(self):
        symbols = []

        def collect(scope, message):
            symbols.append(f"{scope}.{message.name}")
            symbols.extend(f"{scope}.{message.name}.{f.name}" for f in [*message.field, *message.oneof_decl])
            for nested in message.nested_type:
                collect(f"{scope}.{message.name}", nested)
            for enum in message.enum_type:
                symbols.extend(f"{scope}.{message.name}.{n}" for n in [enum.name, *(v.name for v in enum.value)])

        for name in ("stagewire/v1/stage.proto", *probes.PROTOS):
            file = probes.file_of(name, probes.proto_root())
            symbols.clear()
            for message in file.message_type:
                collect(file.package, message)
            for enum in file.enum_type:
                symbols.extend(f"{file.package}.{n}" for n in [enum.name, *(v.name for v in enum.value)])
            for service in file.service:
                symbols.append(f"{file.package}.{service.name}")
                symbols.extend(f"{file.package}.{service.name}.{m.name}" for m in service.method)
            requests = [self.reflection.request(file_containing_symbol=s) for s in symbols]
            answers = self.reflection.ask(*requests)
            self.assertEqual(len(answers), len(symbols))
            for symbol, answer in zip(symbols, answers):
                self.assertEqual(answer.original_request.file_containing_symbol, symbol)
                self.assertEqual([f.name for f in self.files(answer)], [name], symbol)

    def test_what_is_not_there_is_an_answer_and_the_stream_goes_on(self):
        ask = self.reflection.request
        none = ask(file_containing_extension={"containing_type": "stagewire.v1.Address", "extension_number": 100})
        answers = self.reflection.ask(
            ask(file_by_filename="stage.proto"), ask(file_containing_symbol="stagewire.v1.Addres"),
            ask(file_containing_symbol="stagewire.v1"), ask(file_containing_symbol=""), none,
            ask(all_extension_numbers_of_type="stagewire.v1.Nothing"),
            ask(all_extension_numbers_of_type="stagewire.v1.StageService"), ask(host="h"), ask(list_services="*"))
        codes = [a.error_response.error_code for a in answers]
        self.assertEqual(codes, [5, 5, 5, 5, 5, 5, 5, 3, 0])
        self.assertEqual(answers[4].original_request, none)
        self.assertEqual((answers[7].valid_host, answers[7].original_request.host), ("h", "h"))

    def test_messages_have_no_extensions(self):
        answer = self.reflection.ask_one(all_extension_numbers_of_type="stagewire.v1.Address")
        self.assertEqual(answer.all_extension_numbers_response.base_type_name, "stagewire.v1.Address")
        self.assertEqual(list(answer.all_extension_numbers_response.extension_number), [])

    def test_a_call_can_be_made_from_what_it_tells_alone(self):
        pool = probes.descriptor_pool.DescriptorPool()
        for file in self.files(self.reflection.ask_one(file_containing_symbol="stagewire.v1.StageService")):
            pool.AddSerializedFile(file.SerializeToString())
        service = probes.Service(self.daemon.channel, "stagewire.v1.StageService", pool)
        self.assertEqual(service.GetStageInfo(service.GetStageInfoRequest(), timeout=10).run_id, "run-a")

    def test_a_message_that_is_none_ends_the_stream(self):
        ask = self.daemon.channel.stream_stream("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
        self.refused(grpc.StatusCode.INVALID_ARGUMENT, list, ask(iter([b"\x1a\x7f"]), timeout=10))

    def test_an_idle_stream_ends_with_the_endpoint(self):
        def one_then_wait():
            yield self.reflection.request(list_services="")
            self.daemon.process.wait()
        stream = self.reflection.service.ServerReflectionInfo(one_then_wait(), timeout=60)
        next(stream)
        self.daemon.terminate()
        self.refused(grpc.StatusCode.UNAVAILABLE, next, stream)
        self.assertEqual(self.daemon.process.wait(10), 0)


class WhereReflectionIs(WithDaemon):
    def services(self, target):
        return Reflection(self.connect(target)).services()

    def test_beyond_this_machine_only_where_that_was_asked_for(self):
        daemon = self.start("--listen", EVERYWHERE, "--insecure-plaintext")
        self.assertEqual(self.services(daemon.targets[0]), SERVICES + REFLECTION)
        words = self.refused(grpc.StatusCode.UNIMPLEMENTED, self.services, daemon.targets[1])
        self.assertIn("--reflection", words)
        self.assertEqual(Health(self.connect(daemon.targets[1])).list(), {name: Health.SERVING for name in NAMES})
        daemon = self.start("--listen", EVERYWHERE, "--insecure-plaintext", "--reflection")
        self.assertEqual(self.services(daemon.targets[1]), SERVICES + REFLECTION)


if __name__ == "__main__":
    unittest.main()
