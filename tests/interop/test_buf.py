#!/usr/bin/env python3
"""buf, a tool that knows nothing of stagewire, finds its way by reflection alone."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import stage

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUF = os.path.join(TESTS, "npm/node_modules/@bufbuild/buf-linux-x64/bin/buf")


def curl(*args):
    """What `buf curl` prints; npm ci in tests/run brings it."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run([BUF, "curl", "--protocol", "grpc", "--connect-timeout", "10", *args], text=True, timeout=60,
                              capture_output=True, stdin=subprocess.DEVNULL,
                              env={**os.environ, "HOME": home, "XDG_CACHE_HOME": home, "BUF_CACHE_DIR": home})
    if done.returncode:
        raise RuntimeError(f"buf ended with {done.returncode}: {done.stderr}{done.stdout}")
    return done.stdout


def make_certificates(folder):
    """ca, stage and watcher, by a program that knows nothing of stagewire either."""
    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, cwd=folder, capture_output=True, timeout=60)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "1", "-subj", "/CN=ca")
    for name in ("stage", "watcher"):
        with open(os.path.join(folder, "names"), "w") as f:
            f.write(f"subjectAltName=DNS:localhost,URI:spiffe://stagewire.test/{name}\n")
        openssl("req", *key, "-keyout", f"{name}.key", "-out", "request", "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", "request", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "1",
                "-extfile", "names", "-out", f"{name}.pem")


class OverReflection(unittest.TestCase):
    def expect_all(self, url, *args):
        self.assertEqual(set(curl(url, "--list-services", *args).split()), {
            "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection", "stagewire.v1.PublisherService",
            "stagewire.v1.StageService"})
        for protocol in ("v1", "v1alpha"):
            info = curl(f"{url}/stagewire.v1.StageService/GetStageInfo", "--data", "{}",
                        "--reflect-protocol", f"grpc-{protocol}", *args)
            self.assertEqual(json.loads(info)["runId"], "run-a")
        health = curl(f"{url}/grpc.health.v1.Health/Check", "--data", '{"service": "readiness"}', *args)
        self.assertEqual(json.loads(health), {"status": "SERVING"})

    def test_in_plaintext_on_loopback(self):
        daemon = stage.Daemon()
        self.addCleanup(daemon.close)
        self.expect_all("http://" + daemon.targets[0])

    def test_over_mtls(self):
        folder = tempfile.mkdtemp(prefix="stagewire-buf-")
        self.addCleanup(shutil.rmtree, folder)
        make_certificates(folder)
        daemon = stage.Daemon("--tls-key", f"{folder}/stage.key", "--tls-cert", f"{folder}/stage.pem",
                              "--tls-ca", f"{folder}/ca.pem", listen="localhost:0")
        self.addCleanup(daemon.close)
        url = "https://" + daemon.targets[0]
        self.expect_all(url, "--cacert", f"{folder}/ca.pem", "--cert", f"{folder}/watcher.pem",
                        "--key", f"{folder}/watcher.key")
        with self.assertRaises(RuntimeError):  # in TLS 1.3 it shows with whatever is read or written next
            curl(url, "--list-services", "--cacert", f"{folder}/ca.pem")


if __name__ == "__main__":
    unittest.main()
