#!/usr/bin/env python3
"""stagewired as a service of systemd: what it tells, what the watchdog sees, and the unit that is shipped."""
import ctypes
import glob
import os
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

import stage

UNIT = "stagewired.service"
SHIPPED = os.path.join(os.path.dirname(__file__), "../../deploy/systemd")

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000  # waitpid looks at threads, too


def ptrace(request, thread):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(request, thread, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


class Manager:
    """The end of NOTIFY_SOCKET that systemd has."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="stagewire-notify-")
        self.path = os.path.join(self.folder, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)

    def next(self, within=20):
        """What was told as a dict; None if nothing is within so many seconds."""
        self.socket.settimeout(within)
        try:
            return dict(line.split("=", 1) for line in self.socket.recv(65536).decode().splitlines())
        except (TimeoutError, BlockingIOError):
            return None

    def next_but_beats(self):
        while (told := self.next()) == {"WATCHDOG": "1"}:
            pass
        return told

    def close(self):
        self.socket.close()
        shutil.rmtree(self.folder)


class Service(unittest.TestCase):
    def start(self, *args, **variables):
        self.manager = Manager()
        self.addCleanup(self.manager.close)
        variables["NOTIFY_SOCKET"] = self.manager.path
        self.addCleanup(lambda: [os.environ.pop(name) for name in variables])
        os.environ.update(variables)
        self.daemon = stage.Daemon(*args)
        self.addCleanup(self.daemon.close)

    def test_it_is_ready_once_it_listens_and_says_when_it_stops(self):
        self.start()
        self.assertEqual(self.manager.next(), {"READY": "1", "STATUS": "serving on " + self.daemon.targets[0]})
        self.daemon.terminate()
        told = self.manager.next()
        self.assertEqual((told["STOPPING"], told["STATUS"][:8]), ("1", "draining"))
        self.assertEqual(self.daemon.process.wait(10), 0)
        self.assertIsNone(self.manager.next(0))

    def test_one_that_cannot_serve_is_never_ready(self):
        with self.assertRaises(RuntimeError):
            self.start("--listen", "203.0.113.1:1", "--insecure-plaintext")
        self.assertIsNone(self.manager.next(0))

    def test_without_a_watchdog_there_are_no_signs_of_life(self):
        self.start()
        self.assertIn("READY", self.manager.next())
        self.assertIsNone(self.manager.next(0.5))

    def test_the_watchdog_gets_signs_of_life_also_while_draining(self):
        self.start("--drain-grace", "2s", WATCHDOG_USEC="300000")
        self.assertIn("READY", self.manager.next_but_beats())
        for _ in range(3):
            self.assertEqual(self.manager.next(), {"WATCHDOG": "1"})
        self.daemon.terminate()
        self.assertIn("STOPPING", self.manager.next_but_beats())
        self.assertEqual(self.manager.next(), {"WATCHDOG": "1"})

    def test_a_stuck_loop_gives_no_sign_of_life(self):
        self.start(WATCHDOG_USEC="600000")
        self.assertIn("READY", self.manager.next_but_beats())
        self.assertEqual(self.manager.next(), {"WATCHDOG": "1"})  # so the loop runs, and has its name
        loop = self.loop_thread()
        ptrace(PTRACE_SEIZE, loop)
        ptrace(PTRACE_INTERRUPT, loop)
        os.waitpid(loop, WALL)
        while self.manager.next(0):
            pass
        self.assertIsNone(self.manager.next(1.0))
        self.assertIsNone(self.daemon.process.poll())
        ptrace(PTRACE_DETACH, loop)
        self.assertEqual(self.manager.next(), {"WATCHDOG": "1"})

    def loop_thread(self):
        for name in glob.glob(f"/proc/{self.daemon.process.pid}/task/*/comm"):
            with open(name) as f:
                if f.read().strip() == "stagewire-loop":
                    return int(name.split("/")[4])
        raise AssertionError("no loop")

    def test_a_manager_that_is_gone_is_logged_and_harms_nobody(self):
        self.start(WATCHDOG_USEC="soon")
        self.assertIn("no signs of life", self.daemon.text())
        self.assertIn("READY", self.manager.next())
        self.manager.socket.close()
        self.daemon.terminate()
        self.assertEqual(self.daemon.process.wait(10), 0)
        self.assertIn("cannot tell systemd", self.daemon.text())


class TheUnit(unittest.TestCase):
    """As systemd reads it, with the programs that were built in place of those that will be installed."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="stagewire-unit-")
        self.addCleanup(shutil.rmtree, self.folder)
        for name in os.listdir(SHIPPED):
            shutil.copy(os.path.join(SHIPPED, name), self.folder)
        self.unit = os.path.join(self.folder, UNIT)
        with open(self.unit) as f:
            text = f.read()
        self.assertIn("ExecStart=/usr/bin/stagewired ", text)
        with open(self.unit, "w") as f:
            f.write(text.replace("/usr/bin/stagewired", os.environ["STAGEWIRED"]))

    def analyze(self, *args):
        done = subprocess.run(["systemd-analyze", *args], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "SYSTEMD_UNIT_PATH": self.folder + ":", "SYSTEMD_COLORS": "0"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def with_drop_in(self, name):
        os.mkdir(self.unit + ".d")
        shutil.copy(os.path.join(SHIPPED, name), self.unit + ".d")

    def expect_good(self):
        said = self.analyze("verify", "--man=no", "--recursive-errors=no", self.unit)
        self.assertNotIn(UNIT, said)
        said = self.analyze("security", "--offline=true", "--threshold=20", "--no-pager", self.unit)
        self.assertRegex(said, rf"Overall exposure level for {UNIT}: \d\.\d OK")

    def test_systemd_finds_nothing_wrong_with_it_and_rates_it_ok(self):
        self.expect_good()

    def test_so_does_it_with_certificates_as_credentials(self):
        self.with_drop_in("credentials.conf")
        self.expect_good()

    def test_the_daemon_understands_its_configuration(self):
        config = os.path.join(self.folder, "stagewired.conf")
        done = subprocess.run([os.environ["STAGEWIRED"], "--config", config, "--print-config"], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(config) as f:
            keys = re.findall(r"^#? ?([a-z-]+) = ", f.read(), re.M)
        self.assertIn("run-id", keys)
        for key in keys:
            self.assertRegex(done.stdout, rf"(?m)^#? ?{key} ", key)


if __name__ == "__main__":
    unittest.main()
