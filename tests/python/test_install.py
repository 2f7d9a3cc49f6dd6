"""The package installs from the tree without a network, finds its library, and says clearly when it cannot."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIBRARY = os.environ["STAGEWIRE_LIBRARY"]


def imported(program="import stagewire; print(stagewire.__version__)", path=f"{ROOT}/client/python", **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("STAGEWIRE_", "PYTHONPATH"))}
    return subprocess.run([sys.executable, "-c", program], env={**clean, "PYTHONPATH": path, **environment}, text=True,
                          capture_output=True)


class Install(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_its_types_agree_for_the_oldest_python_that_it_is_for(self):
        done = subprocess.run(["mypy", "--python-version", "3.9", "--ignore-missing-imports", "--cache-dir", self.folder, "-p", "stagewire"],
                              cwd=f"{ROOT}/client/python", text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_pip_installs_it_with_its_types_and_the_library_beside_it_is_found(self):
        tree, target = f"{self.folder}/tree", f"{self.folder}/target"
        shutil.copytree(f"{ROOT}/client/python", tree)
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation",
                        "--root-user-action=ignore", "--target", target, tree], check=True)
        self.assertTrue(os.path.exists(f"{target}/stagewire/py.typed"))
        shutil.copy(LIBRARY, f"{target}/stagewire/libstagewire.so.0")
        found = imported(path=target)
        self.assertEqual((found.returncode, found.stdout), (0, "0.1.0\n"), found.stderr)

    def test_neither_pytorch_nor_numpy_is_imported_or_needed(self):
        found = imported("""
import sys
sys.modules["torch"] = sys.modules["numpy"] = None  # as if they were not installed
import stagewire
with stagewire.Endpoint("run", linger=0) as endpoint, stagewire.Client(endpoint.address) as client:
    endpoint.publisher.publish_tensors("t", 1, {"t": stagewire.RawTensor("F32", (1,), b"abcd")})
    print(client.get_tensors("t", 1).value["t"])
    endpoint.publisher.publish_metrics("m", 1, {"set": {1}})
    print(client.get_metrics("m", 1).value)
print(stagewire.pipeline_parallel.broadcast_loss_metrics_from_last_stage({"loss": 1}))
""", STAGEWIRE_LIBRARY=LIBRARY)
        self.assertEqual((found.stdout, found.stderr),
                         ("RawTensor('F32', (1,), 4 bytes)\n{'set': {1}}\n{'loss': 1}\n", ""))
        found = imported("import sys, stagewire; print('torch' in sys.modules, 'numpy' in sys.modules)",
                         STAGEWIRE_LIBRARY=LIBRARY)
        self.assertEqual(found.stdout, "False False\n")

    def test_a_library_that_is_not_there_is_named_with_what_to_do(self):
        found = imported(STAGEWIRE_LIBRARY="/nonexistent/libstagewire.so.0")
        self.assertIn("ImportError: stagewire needs its C library", found.stderr)
        self.assertIn("/nonexistent/libstagewire.so.0", found.stderr)
        self.assertIn("STAGEWIRE_LIBRARY", found.stderr)

    def built(self, source):
        library = f"{self.folder}/libother.so"
        subprocess.run(["cc", "-shared", "-o", library, "-x", "c", "-"], input=source, text=True, check=True)
        return library

    def test_a_library_of_another_version_is_told_apart(self):
        found = imported(STAGEWIRE_LIBRARY=self.built('const char *sw_version(void) { return "0.2.0"; }'))
        self.assertRegex(found.stderr, r"ImportError: the Python package stagewire is 0\.1\.0, and the library .* is 0\.2\.0")

    def test_an_older_library_is_told_apart(self):
        found = imported(STAGEWIRE_LIBRARY=self.built('const char *sw_version(void) { return "0.1.0"; }'))
        self.assertRegex(found.stderr, r"ImportError: .* lacks sw_\w+: it is older than the Python package stagewire 0\.1\.0")

    def test_a_library_that_is_not_stagewires_is_told_apart(self):
        found = imported(STAGEWIRE_LIBRARY=self.built("int nothing;"))
        self.assertRegex(found.stderr, r"ImportError: .*libother\.so is no library of stagewire's")

    def test_package_and_library_have_one_version(self):
        with open(f"{ROOT}/CMakeLists.txt") as file:
            self.assertIn(f"VERSION {imported(STAGEWIRE_LIBRARY=LIBRARY).stdout.strip()} ", file.read())


if __name__ == "__main__":
    unittest.main()
