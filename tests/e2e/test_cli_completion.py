"""The shells' completions, which ask the command, and its manual page, which the command makes."""
import os
import re
import shlex
import subprocess
import unittest

import command
import safetensors
from cli import WithDaemon

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


def source(path):
    return os.path.normpath(os.path.join(ROOT, path))


COMPLETIONS = source("client/cli/completions")
PATH = os.path.dirname(command.STAGEWIRE) + ":" + os.environ["PATH"]


def shell(*args, **more):
    process = subprocess.run(args, capture_output=True, text=True, env={**os.environ, "PATH": PATH}, timeout=60, **more)
    assert process.returncode == 0, process.stderr
    return process.stdout


def bash(line):
    """What bash puts into COMPREPLY."""
    script = (f"source {shlex.quote(COMPLETIONS + '/stagewire')}; COMP_LINE={shlex.quote(line)}; "
              "COMP_POINT=${#COMP_LINE}; _stagewire; printf '%s\\n' \"${COMPREPLY[@]}\"")
    return shell("bash", "--norc", "--noprofile", "-c", script).split()


def fish(line):
    script = f"source {COMPLETIONS}/stagewire.fish; complete -C {shlex.quote(line)}"
    return [row.split("\t")[0] for row in shell("fish", "--no-config", "-c", script).splitlines()]


class Shells(WithDaemon):
    def test_commands(self):
        for ask in (bash, fish):
            self.assertEqual(set(ask("stagewire ")) & set(command.names()), set(command.names()))
            self.assertEqual(ask("stagewire exp"), ["explain"])
            self.assertNotIn("demo-stage", ask("stagewire demo"))

    def test_options_and_their_values(self):
        for ask in (bash, fish):
            self.assertEqual(set(ask("stagewire get --te")), {"--tensors"})
            self.assertEqual(ask("stagewire close a:1 x --kind ten"), ["tensors"])
            self.assertEqual(set(ask("stagewire explain NOT")), {"NOT_YET", "NOT_ATTACHED"})

    def test_every_option_of_every_help_is_offered(self):
        for name in command.names():
            _, page, _ = command.run(name, "--help")
            options = re.findall(r"^ +(?:-., )? *(--[a-z-]+)", page, re.M)
            self.assertEqual(set(bash(f"stagewire {name} --")), set(options), name)

    def test_channels_and_tensors_are_the_endpoints_own(self):
        self.publish("train", 1, {})
        self.publish("eval/loss", 1, {})
        for ask in (bash, fish):
            self.assertEqual(ask(f"stagewire get {self.endpoint} tr"), ["train"])
            self.assertEqual(set(ask(f"stagewire watch {self.endpoint} train ")), {"train", "eval/loss"})
            self.assertEqual(ask("stagewire get 127.0.0.1:1 tr"), [])
        path = os.path.join(self.daemon.folder, "weights")
        with open(path, "wb") as f:
            f.write(safetensors.write({"lm_head": ("U8", [1], b"x"), "embed": ("U8", [1], b"y")}))
        self.run_command("publish", "weights", "1", "--tensors", path)
        for ask in (bash, fish):
            self.assertEqual(ask(f"stagewire stream {self.endpoint} weights 1 -o x lm"), ["lm_head"])

    def test_files_where_files_are_wanted(self):
        folder = COMPLETIONS
        for ask in (bash, fish):
            found = ask(f"stagewire stream a:1 weights 1 -o {folder}/stagewire.f")
            self.assertEqual([os.path.basename(name) for name in found], ["stagewire.fish"])

    def test_what_the_shell_breaks_at_colons_is_put_together(self):
        self.assertEqual(bash("stagewire get unix"), ["unix:"])
        self.assertEqual(bash("stagewire close --kind=ten"), ["tensors"])

    def test_nothing_is_said_beside_the_candidates(self):
        for words in (("",), ("frobnicate", ""), ("get", "nonsense", ""), ("get", "127.0.0.1:1", ""), ()):
            code, out, err = command.run("complete", *words)
            self.assertEqual(code, 0)
            for line in out.splitlines():
                self.assertRegex(line, r"^[^\t]+\t[^\t]*$")

    def test_every_shell_can_read_its_file(self):
        shell("bash", "-n", COMPLETIONS + "/stagewire")
        shell("zsh", "-n", COMPLETIONS + "/_stagewire")
        shell("fish", "--no-execute", COMPLETIONS + "/stagewire.fish")


class Manual(unittest.TestCase):
    def check(self, page):
        lint = subprocess.run(["mandoc", "-T", "lint", "-W", "style", page], capture_output=True, text=True)
        self.assertEqual(lint.stdout, "", "mandoc")
        man = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], capture_output=True,
                             text=True, env={**os.environ, "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80"})
        self.assertEqual((man.returncode, man.stderr), (0, ""))

    def rendered(self, page):
        text = shell("mandoc", "-T", "utf8", "-O", "width=200", page)
        return re.sub(".\b", "", text)

    def test_the_command_s_page_is_the_one_that_the_command_makes(self):
        path = source("client/cli/man/stagewire.1")
        _, made, _ = command.run("man-page")
        with open(path) as f:
            self.assertEqual(f.read(), made, "make it anew: stagewire man-page > client/cli/man/stagewire.1")
        self.check(path)

    def test_it_has_every_command_option_and_exit_status(self):
        text = self.rendered(source("client/cli/man/stagewire.1"))
        for name in command.names():
            self.assertIn(f"stagewire {name} [OPTION...]", text)
            _, page, _ = command.run(name, "--help")
            for option in re.findall(r"^ +(?:-., )? *(--[a-z-]+)", page, re.M):
                self.assertIn(option, text)
        for row in re.findall(r"^ +(\d+)  ", command.run("--help")[1], re.M):
            self.assertRegex(text, rf"(?m)^ +{row}\b")

    def test_the_daemon_s_page_is_of_its_options(self):
        path, make = source("service/daemon/man/stagewired.8"), source("service/daemon/man/make-page")
        made = shell(make, os.environ["STAGEWIRED"])
        with open(path) as f:
            self.assertEqual(f.read(), made, "make it anew: service/daemon/man/make-page STAGEWIRED > " + path)
        self.check(path)
        text = self.rendered(path)
        page = shell(os.environ["STAGEWIRED"], "--help")
        self.assertEqual(re.findall(r"^ +(--[a-z-]+)", text, re.M), re.findall(r"^  (--[a-z-]+)", page, re.M))
        for variable in re.findall(r"^ +(STAGEWIRE_[A-Z_]+)", page, re.M):
            self.assertIn(variable, text)


if __name__ == "__main__":
    unittest.main()
