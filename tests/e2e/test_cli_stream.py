"""stagewire stream, and publish --tensors: tensors into safetensors files and back."""
import os
import pty
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import unittest
from concurrent import futures

import grpc

import command
import safetensors
import stage
from cli import WithDaemon
from stage import pb, rpc

BLOCK = 524288


class WithFolder(WithDaemon):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="stagewire-stream-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def put(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)
        return self.path(name)

    def publish_file(self, channel, step, tensors, metadata=None, *args, **more):
        path = self.put("given.safetensors", safetensors.write(tensors, metadata))
        return self.run_command("publish", channel, str(step), "--tensors", path, *args, **more)

    def stream(self, *args, name="out.safetensors", expect=0):
        out, err = self.run_command("stream", *args, "-o", self.path(name), expect=expect)
        return out, err

    def read(self, name="out.safetensors"):
        with open(self.path(name), "rb") as f:
            return safetensors.read(f.read())

    def left(self):
        return sorted(set(os.listdir(self.folder)) - {"given.safetensors"})

    def publish_raw(self, channel, step, infos, data=b""):
        """Tensors of types that no file has."""
        manifest = pb.TensorManifest(address=stage.address(channel, step), tensors=infos)
        parts = [pb.PublishTensorsRequest(manifest=manifest)]
        for index, info in enumerate(infos):
            if info.byte_length:
                parts.append(pb.PublishTensorsRequest(chunk=pb.TensorChunk(
                    tensor=index, data=data[:info.byte_length])))
        self.daemon.publisher.PublishTensors(iter(parts), timeout=10)

    def manifest(self, channel, step):
        request = pb.StreamTensorsRequest(address=stage.address(channel, step), manifest_only=True,
                                          wait=pb.Wait(no_wait=True))
        part, = self.daemon.stage.StreamTensors(request, timeout=10)
        return {info.name: info for info in part.manifest.tensors}


class Files(WithFolder):
    def test_every_type_of_the_format_goes_in_and_out(self):
        given = {}
        for dtype, bits in safetensors.BITS.items():
            if not dtype.startswith("F6"):
                given[f"t.{dtype}"] = (dtype, [3, 4], bytes(range(12 * bits // 8)))
        self.publish_file("weights", 1, given)
        out, err = self.stream("weights", "1")
        self.assertEqual(out, "")
        self.assertNotIn("written as U8", err)
        tensors, metadata = self.read()
        self.assertEqual(tensors, given)
        self.assertEqual({key: metadata[key] for key in metadata if key != "stagewire.published_unix_ns"}, {
            "stagewire.run": "run-a", "stagewire.channel": "weights", "stagewire.generation": "1",
            "stagewire.stage": "3", "stagewire.group": "0", "stagewire.step": "1", "stagewire.call": "0"})

    def test_their_types_on_the_wire_are_those_that_were_meant(self):
        self.publish_file("weights", 1, {"e4m3": ("F8_E4M3", [2], b"ab"), "f4": ("F4", [2, 6], b"abcdef"),
                                         "e8": ("F8_E8M0", [], b"x")})
        infos = self.manifest("weights", 1)
        self.assertEqual((infos["e4m3"].dtype, list(infos["e4m3"].shape)), (pb.DATA_TYPE_F8_E4M3FN, [2]))
        self.assertEqual((infos["f4"].dtype, list(infos["f4"].shape)), (pb.DATA_TYPE_F4_E2M1FN_X2, [2, 3]))
        self.assertEqual((infos["e8"].dtype, list(infos["e8"].shape)), (pb.DATA_TYPE_F8_E8M0FNU, []))

    def test_a_type_that_the_format_lacks_is_u8_with_its_type_noted_and_reads_back_as_itself(self):
        infos = [pb.TensorInfo(name="c", dtype=pb.DATA_TYPE_C128, shape=[2, 1], byte_length=32),
                 pb.TensorInfo(name="scalar", dtype=pb.DATA_TYPE_C128, byte_length=16),
                 pb.TensorInfo(name="empty", dtype=pb.DATA_TYPE_C128, shape=[0], byte_length=0),
                 pb.TensorInfo(name="f4", dtype=pb.DATA_TYPE_F4_E2M1FN_X2, byte_length=1),
                 pb.TensorInfo(name="deep", dtype=pb.DATA_TYPE_C128, shape=[1] * 16, byte_length=16)]
        self.publish_raw("weights", 1, infos, bytes(range(32)))
        _, err = self.stream("weights", "1")
        self.assertEqual(err.count("it is written as U8"), 5, err)
        tensors, metadata = self.read()
        self.assertEqual(tensors["c"], ("U8", [2, 1, 16], bytes(range(32))))
        self.assertEqual(tensors["scalar"], ("U8", [16], bytes(range(16))))
        self.assertEqual(tensors["empty"], ("U8", [0, 16], b""))
        self.assertEqual(tensors["f4"], ("U8", [], b"\0"))
        self.assertEqual(metadata["stagewire.dtype.c"], "C128")
        self.run_command("publish", "copy", "1", "--tensors", self.path("out.safetensors"))
        back = self.manifest("copy", 1)
        for info in infos:
            self.assertEqual((back[info.name].dtype, back[info.name].shape), (info.dtype, info.shape))
            self.assertEqual(back[info.name].digest, self.manifest("weights", 1)[info.name].digest)

    def test_empty_tensors_scalars_and_a_step_without_tensors(self):
        given = {"none": ("F32", [0, 7], b""), "one": ("F64", [], b"12345678"), "also": ("U8", [3, 0], b"")}
        self.publish_file("weights", 1, given)
        self.stream("weights", "1")
        self.assertEqual(self.read()[0], given)
        self.publish_file("weights", 2, {})
        self.stream("weights", "latest", name="empty")
        self.assertEqual(self.read("empty")[0], {})

    def test_large_tensors_arrive_byte_by_byte(self):
        given = {"big": ("F32", [3, BLOCK // 4 + 1], os.urandom(3 * (BLOCK + 4))), "small": ("U8", [5], b"small")}
        self.publish_file("weights", 1, given)
        self.stream("weights", "1")
        self.assertEqual(self.read()[0], given)

    def test_names_choose_and_the_data_begins_aligned(self):
        given = {"a": ("U8", [3], b"abc"), "b": ("F64", [1], b"12345678"), 'odd "\n\u00e4': ("U16", [1], b"xy")}
        self.publish_file("weights", 1, given)
        self.stream("weights", "1", 'odd "\n\u00e4', "b")
        tensors, _ = self.read()
        self.assertEqual(tensors, {name: given[name] for name in ("b", 'odd "\n\u00e4')})
        self.assertEqual(list(tensors)[0], "b", "larger elements come first")
        with open(self.path("out.safetensors"), "rb") as f:
            self.assertEqual(int.from_bytes(f.read(8), "little") % 8, 0)

    def test_a_name_that_is_none_gets_the_one_that_was_meant(self):
        self.publish_file("weights", 1, {"lm_head": ("U8", [1], b"x")})
        self.assertIn('did you mean "lm_head"?', self.stream("weights", "1", "lm_haed", expect=3)[1])
        self.assertIn("'stagewire get --tensors' lists the 1", self.stream("weights", "1", "other", expect=3)[1])
        self.assertEqual(self.left(), [])

    def test_a_name_twice_is_refused(self):
        self.publish_file("weights", 1, {"a": ("U8", [1], b"x")})
        self.assertIn("two of this name", self.stream("weights", "1", "a", "a", expect=2)[1])

    def test_it_waits_for_the_step(self):
        process = self.start("stream", "weights", "2", "-o", self.path("out.safetensors"))
        self.until(lambda load: load.waiting + load.streams > 0)
        self.publish_file("weights", 2, {"a": ("U8", [1], b"x")})
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (0, ""), err)
        self.assertEqual(self.read()[0], {"a": ("U8", [1], b"x")})

    def test_json_and_quiet(self):
        self.publish_file("weights", 1, {"a": ("U8", [3], b"xyz")})
        out, err = self.stream("weights", "1", "--quiet", "--json")
        self.assertEqual(err, "")
        row, = command.lines(out)
        self.assertEqual((row["channel"], row["step"], row["tensors"], row["bytes"], row["file"]),
                         ("weights", 1, 1, 3, self.path("out.safetensors")))

    def test_what_fails_leaves_no_file(self):
        self.assertIn("[NOT_YET]", self.stream("weights", "1", "--timeout", "200ms", expect=4)[1])
        self.assertIn("[RUN_MISMATCH]", self.stream("weights", "1", "--run", "b", expect=6)[1])
        self.assertEqual(self.left(), [])


class Places(WithFolder):
    def setUp(self):
        super().setUp()
        self.publish_file("weights", 1, {"a": ("U8", [3], b"new")})

    def test_a_file_that_is_there_is_replaced_and_a_link_stays_a_link(self):
        self.put("real", b"old")
        os.symlink("real", self.path("link"))
        self.stream("weights", "1", name="link")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(self.read("real")[0]["a"][2], b"new")
        self.assertEqual(self.left(), ["link", "real"])

    def test_its_permissions_are_those_that_new_files_get(self):
        previous = os.umask(0o027)
        self.addCleanup(os.umask, previous)
        self.stream("weights", "1")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("out.safetensors")).st_mode), 0o640)

    def test_a_path_that_cannot_be_is_refused_and_named(self):
        os.mkfifo(self.path("fifo"))
        os.symlink("nowhere", self.path("dangling"))
        os.mkdir(self.path("folder"))
        for name, words in (("fifo", "no regular file"), ("dangling", "No such file"), ("folder", "directory"),
                            ("folder/", "directory"), ("missing/x", "No such file"), ("fifo/x", "Not a directory"),
                            ("x" * 300, "too long")):
            _, err = self.stream("weights", "1", name=name, expect=2)
            self.assertIn(words, err)
        _, err = self.run_command("stream", "weights", "1", "-o", "/dev/null", expect=2)
        self.assertIn("no regular file", err)
        self.assertIn("No such file", self.run_command("stream", "weights", "1", "-o", "", expect=2)[1])
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_in_the_current_folder_a_name_is_enough(self):
        code, _, err = command.run("stream", self.endpoint, "weights", "1", "-o", "here", cwd=self.folder)
        self.assertEqual(code, 0, err)
        self.assertEqual(self.left(), ["here"])

    def test_a_limit_of_file_sizes_is_an_error_and_leaves_nothing(self):
        self.publish_file("weights", 2, {"a": ("U8", [1 << 20], bytes(1 << 20))})
        process = subprocess.run(["bash", "-c", "ulimit -f 100; exec \"$@\"", "x", command.STAGEWIRE, "stream",
                                  self.endpoint, "weights", "2", "-o", self.path("out")],
                                 capture_output=True, text=True)
        self.assertEqual(process.returncode, 9, process.stderr)
        self.assertIn("no room for", process.stderr)
        self.assertEqual(self.left(), [])

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small file system needs root")
    def test_a_full_disk_is_an_error_and_leaves_nothing(self):
        disk = self.path("disk")
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk]).returncode != 0:
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        self.publish_file("weights", 2, {"a": ("U8", [1 << 20], bytes(1 << 20))})
        _, err = self.stream("weights", "2", name="disk/out", expect=9)
        self.assertIn("No space left", err)
        self.assertEqual(os.listdir(disk), [])


class Slow(rpc.StageServiceServicer):
    """An endpoint that sends a manifest and one of two blocks, and then what `go_on` says."""

    def __init__(self):
        self.began, self.go_on, self.ends = threading.Event(), threading.Event(), False
        self.replaced, self.claims = False, 0

    def StreamTensors(self, request, context):
        shape = [2 * BLOCK] if not self.replaced or request.manifest_only else [2, BLOCK]
        info = pb.TensorInfo(name="a", dtype=pb.DATA_TYPE_U8, shape=shape, byte_length=2 * BLOCK)
        if self.claims:
            info.shape[:], info.byte_length = [self.claims], self.claims
        address = stage.address("weights", 1, run_id="run-a", generation=1, stage=3)
        yield pb.StreamTensorsResponse(manifest=pb.TensorManifest(address=address, tensors=[info],
                                                                  block_bytes=BLOCK, pin=7))
        if request.manifest_only:
            return
        yield pb.StreamTensorsResponse(chunk=pb.TensorChunk(tensor=0, block=0, data=b"x" * BLOCK))
        self.began.set()
        self.go_on.wait()
        yield pb.StreamTensorsResponse(chunk=pb.TensorChunk(tensor=0, block=1, data=b"y" * BLOCK))


class InTheMiddle(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="stagewire-stream-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.output = os.path.join(self.folder, "out")
        self.servicer = Slow()
        self.server = grpc.server(futures.ThreadPoolExecutor(4))
        rpc.add_StageServiceServicer_to_server(self.servicer, self.server)
        self.endpoint = "127.0.0.1:%d" % self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()
        self.addCleanup(self.server.stop, None)
        self.addCleanup(self.servicer.go_on.set)

    def begin(self, *args, **more):
        process = command.start("stream", self.endpoint, "weights", "1", "-o", self.output, *args, **more)
        self.addCleanup(command.end, process)
        self.assertTrue(self.servicer.began.wait(60))
        return process

    def test_when_it_goes_on_the_file_is_whole(self):
        process = self.begin()
        self.assertEqual(os.listdir(self.folder), [])
        self.servicer.go_on.set()
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (0, ""), err)
        with open(self.output, "rb") as f:
            tensors, _ = safetensors.read(f.read())
        self.assertEqual(tensors["a"][2], b"x" * BLOCK + b"y" * BLOCK)

    def test_killed_it_leaves_nothing(self):
        with open(self.output, "wb") as f:
            f.write(b"before")
        process = self.begin()
        process.kill()
        process.communicate(timeout=60)
        self.assertEqual(os.listdir(self.folder), ["out"])
        with open(self.output, "rb") as f:
            self.assertEqual(f.read(), b"before")

    def test_interrupted_it_leaves_nothing_and_says_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.servicer.began.clear()
            process = self.begin()
            process.send_signal(number)
            self.assertEqual(process.communicate(timeout=60), ("", ""))
            self.assertEqual((process.returncode, os.listdir(self.folder)), (130, []))

    def test_where_nothing_comes_for_too_long_it_gives_up(self):
        process = self.begin("--timeout", "300ms")
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (4, ""), err)
        self.assertIn(f"after {BLOCK} of {2 * BLOCK} bytes", err)
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_was_replaced_meanwhile_is_not_written_under_the_old_header(self):
        self.servicer.replaced = True
        process = self.begin()
        self.servicer.go_on.set()
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 7, err)
        self.assertIn("replaced by another one", err)
        self.assertEqual(os.listdir(self.folder), [])

    def test_an_endpoint_that_goes_away_for_good_leaves_nothing(self):
        process = self.begin("--timeout", "2s")
        self.server.stop(0)
        out, err = process.communicate(timeout=60)
        self.assertIn(process.returncode, (4, 5), err)
        self.assertEqual((out, os.listdir(self.folder)), ("", []))

    def test_a_claim_that_no_disk_can_hold_is_refused(self):
        for claims in (1 << 60, (1 << 63) - 1):
            self.servicer.claims = claims
            code, out, err = command.run("stream", self.endpoint, "weights", "1", "-o", self.output)
            self.assertIn(code, (2, 9), err)
            self.assertEqual((out, os.listdir(self.folder)), ("", []))
            self.assertRegex(err, "no room for 11529215|more bytes than a file can have")

    def drawn(self, *args, **environment):
        main, side = pty.openpty()
        clean = {key: value for key, value in os.environ.items() if key not in ("TERM", "NO_COLOR")}
        process = subprocess.Popen([command.STAGEWIRE, "stream", self.endpoint, "weights", "1", "-o", self.output,
                                    *args], stdout=subprocess.DEVNULL, stderr=side, env={**clean, **environment})
        os.close(side)
        self.addCleanup(os.close, main)
        return process, main

    def test_a_terminal_sees_a_bar_and_then_the_end(self):
        process, main = self.drawn(TERM="xterm", NO_COLOR="1")
        text = b""
        while b" 50%" not in text:
            text += os.read(main, 1000)
        self.servicer.go_on.set()
        while b"1 tensor, 1.0 MiB" not in text:
            text += os.read(main, 1000)
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertIn(b"\r\x1b[K", text)
        self.assertNotIn(b"\x1b[3", text)

    def test_quiet_and_dumb_terminals_see_none(self):
        for args, environment, expected in ((("--quiet",), {"TERM": "xterm"}, b""), ((), {"TERM": "dumb"}, b"1 tensor")):
            self.servicer.began.clear()
            process, main = self.drawn(*args, **environment)
            self.assertTrue(self.servicer.began.wait(60))
            self.servicer.go_on.set()
            self.assertEqual(process.wait(timeout=60), 0)
            os.set_blocking(main, False)
            try:
                text = os.read(main, 10000)
            except (BlockingIOError, OSError):
                text = b""
            self.assertNotIn(b"%", text)
            self.assertIn(expected, text)


class WrongFiles(WithFolder):
    def expect(self, data, words):
        path = self.put("given.safetensors", data)
        out, err = self.run_command("publish", "weights", "1", "--tensors", path, expect=2)
        self.assertEqual(out, "")
        self.assertIn(words, err)
        self.assertIn("given.safetensors", err)

    def test_what_is_wrong_with_a_file_is_said_and_nothing_is_published(self):
        good = safetensors.write({"a": ("U8", [3], b"abc")})
        self.expect(b"", "is empty")
        self.expect(good[:7], "7 bytes are no safetensors file")
        self.expect(good[:-1], 'tensor "a": its bytes end at 3, and the file has 2')
        self.expect(good + b"x", "the tensors' bytes end at 3, and the file has 4")
        self.expect(b"\xff" * 100, "is it a safetensors file?")
        self.expect(good[:20], "the file is cut off")
        self.run_command("get", "weights", "--tensors", "--no-wait", expect=3)

    def test_a_path_that_cannot_be_read_is_named(self):
        os.mkfifo(self.path("fifo"))
        for name, words in (("missing", "No such file"), (".", "no regular file"), ("fifo", "no regular file")):
            _, err = self.run_command("publish", "weights", "1", "--tensors", self.path(name), expect=2)
            self.assertIn(words, err)

    def test_a_tensor_that_the_endpoint_cannot_take_is_refused_by_name(self):
        self.run_command("publish", "weights", "1", "--tensors", self.path("x"), "--from-get", expect=2)

    def test_the_same_again_is_fine_and_another_is_a_conflict(self):
        given = {"a": ("U8", [3], b"abc")}
        self.assertIn("published", self.publish_file("weights", 1, given)[1])
        out, err = self.publish_file("weights", 1, given, None, "--json")
        self.assertTrue(command.strict(out)["duplicate"])
        self.assertIn("already", err)
        self.assertIn("[CONFLICT]", self.publish_file("weights", 1, {"a": ("U8", [3], b"abd")}, expect=6)[1])


class Misuse(unittest.TestCase):
    def test_it_is_named(self):
        def expect(words, *args):
            code, out, err = command.run("stream", *args)
            self.assertEqual((code, out), (2, ""), args)
            self.assertIn(words, err)
        expect("ENDPOINT, CHANNEL and STEP are missing")
        expect("STEP is missing", "a:1", "weights")
        expect("-o FILE is missing", "a:1", "weights", "1")
        expect("STEP 'newest'", "a:1", "weights", "newest", "-o", "x")
        expect("--stage 'x'", "a:1", "weights", "1", "-o", "x", "-s", "x")
        expect("did you mean '--output'?", "a:1", "weights", "1", "--ouptut", "x")


if __name__ == "__main__":
    unittest.main()
