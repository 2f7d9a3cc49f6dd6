"""stagewire watch, as a user runs it against a daemon."""
import os
import pty
import signal
import unittest

import command
import stage
from cli import WithDaemon
from stage import pb


class Watching(WithDaemon):
    def watch(self, *args, **more):
        before = self.load().watches
        process = self.start("watch", *args, **more)
        self.until(lambda load: load.watches > before)
        return process

    def line(self, process):
        text = process.stdout.readline()
        self.assertTrue(text.endswith("\n"), "no line; " + (process.stderr.read() if not text else text))
        return text[:-1]

    def event(self, process):
        return command.strict(self.line(process))

    def end(self, process, with_signal=signal.SIGINT):
        process.send_signal(with_signal)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def close_channel(self, reason, message="", channel="train"):
        self.daemon.publisher.CloseChannel(pb.CloseChannelRequest(
            address=stage.address(channel), kind=pb.ITEM_KIND_METRICS, reason=reason, message=message), timeout=10)

    def fail_step(self, step, message):
        self.daemon.publisher.PublishFailure(pb.PublishFailureRequest(
            address=stage.address("train", step), kind=pb.ITEM_KIND_METRICS, message=message), timeout=10)


class Lines(Watching):
    def test_what_comes_new_is_a_line_each_and_what_was_there_is_none(self):
        self.publish("train", 1, {"loss": 1.0})
        process = self.watch()
        self.publish("train", 2, {"loss": 0.5, "text": "a b", "nested": {"x": [1]}})
        self.publish("eval/a", 2, [{"n": 1}, {"n": 2}])
        self.assertEqual(self.line(process), 'stage 3  train 2/0  loss=0.5 text="a b" nested={"x": [1]}')
        self.assertEqual(self.line(process), "stage 3  eval/a 2/0  [0] n=1  [1] n=2")

    def test_ctrl_c_ends_it_cleanly(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.watch()
            self.put("train", int(number), n=1)
            self.line(process)
            self.assertEqual(self.end(process, number), (130, "", ""))

    def test_a_reader_that_leaves_ends_it_quietly_and_at_once(self):
        process = self.watch()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=60), 0, "nothing more was published")
        self.assertEqual(process.stderr.read(), "")

    def test_an_output_that_is_full_is_a_failure(self):
        with open("/dev/full", "w") as full:
            process = command.subprocess.Popen([command.STAGEWIRE, "watch", self.endpoint], stdout=full,
                                               stderr=command.subprocess.PIPE, text=True)
        self.addCleanup(command.end, process)
        self.until(lambda load: load.watches == 1)
        self.put("train", 1)
        self.assertEqual(process.wait(timeout=60), 1)
        self.assertIn("standard output", process.stderr.read())

    def test_failures_closings_and_generations_are_told(self):
        process = self.watch()
        self.fail_step(4, "out of memory")
        self.close_channel(pb.CLOSE_REASON_ABORTED, "no more", "train")
        self.assertEqual(self.line(process), "stage 3  train 4/0  failed: out of memory")
        self.assertEqual(self.line(process), "stage 3  train  aborted after 4/0: no more")
        self.put("eval", 7)
        self.close_channel(pb.CLOSE_REASON_FINISHED, channel="eval")
        self.assertEqual(self.line(process), "stage 3  eval 7/0  ")
        self.assertEqual(self.line(process), "stage 3  eval  finished after 7/0")
        lease = self.daemon.stage.Attach(pb.AttachRequest(stage=3, stage_count=4, generation=2))
        self.addCleanup(lease.cancel)
        self.assertEqual(self.line(process), "generation 2 begins")

    def test_a_line_cannot_steer_the_terminal(self):
        process = self.watch()
        self.publish("train", 1, {"\x1b[31mred": 1, "\nline": "\x07"})
        self.fail_step(2, "\x1b]0;title\x07")
        for _ in range(2):
            self.assertNotRegex(self.line(process), r"[\x00-\x1f]")

    def test_colours_are_for_terminals_without_no_color(self):
        cases = (({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False),
                 ({"TERM": "dumb"}, False), ({"TERM": "xterm", "NO_COLOR": ""}, True))
        for step, (environment, colored) in enumerate(cases):
            main, side = pty.openpty()
            clean = {key: value for key, value in os.environ.items() if key not in ("TERM", "NO_COLOR")}
            process = command.subprocess.Popen([command.STAGEWIRE, "watch", self.endpoint, "train"], stdout=side,
                                               env={**clean, **environment})
            self.until(lambda load: load.watches == 1)
            os.close(side)
            self.fail_step(step, "x")
            text = b""
            while not text.endswith(b"\n"):
                text += os.read(main, 1000)
            self.assertEqual(b"\x1b[31m" in text, colored, environment)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=60), 130)
            os.close(main)
            self.until(lambda load: load.watches == 0)


class Json(Watching):
    arguments = ("--keep-steps", "2", "--publisher-grace", "100ms", "--metrics-bytes", "1m")

    def test_metrics_have_all_that_get_prints(self):
        process = self.watch("--json")
        self.publish("train", 7, {"loss": 0.25})
        event = self.event(process)
        self.assertEqual(event.pop("event"), "metrics")
        self.assertEqual(event, self.get_json("train", "7"))

    def test_a_line_of_it_can_be_published_elsewhere(self):
        process = self.watch("train", "--json")
        self.publish("train", 7, {"loss": "NaN"})
        self.run_command("publish", "copy", "7", "--from-get", given=self.line(process))
        self.assertEqual(self.held("copy", 7).single.values["loss"].WhichOneof("kind"), "number")

    def test_every_event_has_a_name_and_its_place(self):
        process = self.watch("train", "--json")
        lease = self.daemon.stage.Attach(pb.AttachRequest(stage=3, stage_count=4))
        next(lease)
        self.put("train", 1)
        self.fail_step(2, "broke")
        self.assertEqual(self.event(process)["event"], "metrics")
        place = {"run_id": "run-a", "generation": 1, "stage": 3, "group": 0, "channel": "train"}
        self.assertEqual(self.event(process), {"event": "failure", **place, "step": 2, "call": 0, "message": "broke"})
        lease.cancel()
        event = self.event(process)
        self.assertIsInstance(event.pop("message"), str)
        self.assertEqual(event, {"event": "loss", **place, "step": 2, "call": 0})

    def test_a_closing_names_the_last_and_null_where_there_is_none(self):
        process = self.watch("--json")
        self.put("train", 1)
        self.close_channel(pb.CLOSE_REASON_FINISHED)
        self.close_channel(pb.CLOSE_REASON_ABORTED, "why", channel="empty")
        events = {}
        while len(events) < 2:
            event = self.event(process)
            if event["event"] == "closing":
                events[event["channel"]] = event
        self.assertEqual((events["train"]["reason"], events["train"]["step"]), ("FINISHED", 1))
        empty = events["empty"]
        self.assertEqual((empty["reason"], empty["message"], empty["step"], empty["call"]),
                         ("ABORTED", "why", None, None))

    def test_from_oldest_all_that_is_held_comes_first(self):
        for step in range(1, 4):
            self.put("train", step, n=step)
        process = self.watch("train", "--from", "oldest", "--json")
        self.assertEqual([self.event(process)["step"] for _ in range(2)], [2, 3])

    def publish_and_lose(self):
        """Steps 1 to 9, of which the last two are held."""
        for step in range(1, 10):
            self.put("train", step, n=step)
        self.put("other", 1, n=1)

    def test_from_a_position_it_goes_on_there(self):
        self.publish_and_lose()
        process = self.watch("train", "--from", "1:9", "--json")
        event = self.event(process)
        self.assertEqual((event["event"], event["step"]), ("metrics", 9))

    def test_what_is_gone_since_the_position_is_a_gap(self):
        self.publish_and_lose()
        process = self.watch("tr*", "--from", "1:3", "--json")
        event = self.event(process)
        self.assertEqual((event["event"], event["step"], event["next"]), ("gap", 3, {"step": 8, "call": 0}))
        self.assertEqual([self.event(process)["step"] for _ in range(2)], [8, 9])
        text = self.watch("tr*", "--from", "1:3")
        self.assertEqual(self.line(text), "stage 3  train 3/0  gap: gone up to 8/0, the next held")

    def test_a_channel_that_comes_later_begins_at_the_position_too(self):
        self.put("other", 1)
        process = self.watch("late", "--from", "1:5", "--json")
        self.put("late", 4)
        self.put("late", 5)
        self.assertEqual(self.event(process)["step"], 5)

    def test_stages_and_groups_can_be_left_out(self):
        process = self.watch("--stage", "1", "--group", "2", "--json")
        self.put("train", 1)
        self.put("train", 2, {"stage": 1})
        self.put("train", 3, {"stage": 1, "group": 2})
        event = self.event(process)
        self.assertEqual((event["stage"], event["group"], event["step"]), (1, 2, 3))

    def test_several_channels_and_patterns(self):
        process = self.watch("a", "b/*", "--json")
        for channel in ("x", "a", "ab", "b/1", "b"):
            self.put(channel, 1)
        self.assertEqual([self.event(process)["channel"] for _ in range(2)], ["a", "b/1"])


class Misuse(WithDaemon):
    def test_it_is_named(self):
        def expect(code, words, *args):
            self.assertIn(words, self.run_command("watch", *args, expect=code)[1])
        for wrong in ("5", "0:5", "x:5", "1:", "1:x", ":5", "newest", "1:9223372036854775808", "1:2:3", ""):
            expect(2, "GENERATION:STEP", "--from", wrong)
        expect(6, "RUN_MISMATCH", "--run", "other")
        expect(6, "MALFORMED", "two words")
        code, _, err = command.run("watch")
        self.assertEqual(code, 2)
        self.assertIn("ENDPOINT is missing", err)

    def test_an_endpoint_that_goes_away_for_good_ends_it(self):
        process = self.start("watch", "--timeout", "2s")
        self.until(lambda load: load.watches == 1)
        self.daemon.process.kill()
        self.daemon.process.wait()
        out, err = process.communicate(timeout=120)
        self.assertEqual((process.returncode, out), (5, ""), err)
        self.assertIn("[ENDPOINT_LOST]", err)


if __name__ == "__main__":
    unittest.main()
