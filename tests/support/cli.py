"""What tests of the command share: a daemon, and the command against it."""
import json
import unittest

import command
import stage
from stage import pb


class WithDaemon(unittest.TestCase):
    arguments = ()

    def setUp(self):
        self.daemon = stage.Daemon(*self.arguments)
        self.addCleanup(self.daemon.close)
        self.endpoint = self.daemon.targets[0]

    def run_command(self, name, *args, given="", expect=0):
        code, out, err = command.run(name, self.endpoint, *args, given=given)
        self.assertEqual(code, expect, f"{args}: {out}{err}")
        return out, err

    def publish(self, channel, step, value, *args, **more):
        return self.run_command("publish", channel, str(step), *args, given=json.dumps(value), **more)

    def get_json(self, *args):
        out, err = self.run_command("get", *args, "--json")
        self.assertEqual(err, "")
        self.assertEqual(out.count("\n"), 1, "one object, one line")
        return command.strict(out)

    def held(self, channel, step):
        request = pb.GetLossMetricsRequest(address=stage.address(channel, step), wait=pb.Wait(no_wait=True))
        return self.daemon.stage.GetLossMetrics(request, timeout=10).metrics

    def info(self):
        out, _ = self.run_command("info", "--json")
        return command.strict(out)

    def put(self, channel, step, more=None, **values):
        """Publishes without the command, which takes its time."""
        self.daemon.publisher.PublishLossMetrics(pb.PublishLossMetricsRequest(
            address=stage.address(channel, step, **(more or {})), metrics=stage.metrics(**values)), timeout=10)

    def load(self):
        return self.daemon.stage.GetStageInfo(pb.GetStageInfoRequest(), timeout=10).load

    def until(self, is_so):
        """Asks the endpoint until its load is so."""
        while not is_so(self.load()):
            pass

    def start(self, name, *args, **more):
        process = command.start(name, self.endpoint, *args, **more)
        self.addCleanup(command.end, process)
        return process
