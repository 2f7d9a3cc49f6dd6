"""A name that moved to another address is followed by whoever is at it, without being started anew."""
import os
import subprocess
import tempfile
import time
import unittest

import command
import stage
from stage import pb

NAME = "stage-3.test"
OLD, NEW = "127.0.0.2", "127.0.0.3"
IN_TIME_S = 15  # gRPC's own pause between two look-ups is 30 s, which is the whole grace of an endpoint

# In a mount namespace of its own, where files and nothing else say what a name is.
NAMESPACE = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount"]
BIND = 'mount --bind "$1/hosts" /etc/hosts && mount --bind "$1/nsswitch.conf" /etc/nsswitch.conf || exit; shift; exec "$@"'


class MovedName(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stagewire-name-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("nsswitch.conf", "hosts: files\n")
        self.name_is(OLD)
        tried = subprocess.run(self.inside("getent", "hosts", NAME), capture_output=True, text=True)
        if tried.returncode != 0:
            self.skipTest("no mount namespace of its own is to be had here: " + tried.stderr.strip())
        self.assertIn(OLD, tried.stdout)

    def write(self, name, text):
        """In place: what is bound is the file, and not its name."""
        with open(os.path.join(self.folder, name), "w") as f:
            f.write(text)

    def name_is(self, address):
        self.write("hosts", f"{address} {NAME}\n")

    def inside(self, *args):
        return [*NAMESPACE, "bash", "-c", BIND, "bash", self.folder, *args]

    def daemon(self, listen):
        daemon = stage.Daemon(listen=listen)
        self.addCleanup(daemon.close)
        return daemon

    def daemons(self):
        """One at the old address, and one at the same port of the new."""
        while True:
            old = self.daemon(OLD + ":0")
            port = old.targets[0].rsplit(":", 1)[1]
            try:
                return old, self.daemon(f"{NEW}:{port}"), port
            except RuntimeError as error:
                self.assertIn("in use", str(error))

    def await_watch(self, daemon, begun):
        while daemon.stage.GetStageInfo(pb.GetStageInfoRequest(), timeout=10).load.watches == 0:
            self.assertLess(time.monotonic() - begun, IN_TIME_S, "nobody came to " + daemon.targets[0])

    def publish(self, daemon, step):
        daemon.publisher.PublishLossMetrics(pb.PublishLossMetricsRequest(
            address=stage.address("train", step), metrics=stage.metrics(n=step)), timeout=10)

    def watch(self, port):
        process = subprocess.Popen(self.inside(command.STAGEWIRE, "watch", f"{NAME}:{port}"), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(command.end, process)
        return process

    def test_an_open_watch_goes_on_at_the_new_address_by_itself(self):
        old, new, port = self.daemons()
        process = self.watch(port)
        self.await_watch(old, time.monotonic())
        self.publish(old, 1)
        self.assertEqual(process.stdout.readline(), "stage 3  train 1/0  n=1\n")
        old.process.kill()
        old.process.wait()
        self.name_is(NEW)
        self.await_watch(new, time.monotonic())
        self.publish(new, 2)
        self.assertEqual(process.stdout.readline(), "stage 3  train 2/0  n=2\n")


if __name__ == "__main__":
    unittest.main()
