"""The command as a user runs it."""
import json
import os
import subprocess

import tool

STAGEWIRE = os.environ["STAGEWIRE"]


def start(*args, **more):
    more.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([STAGEWIRE, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def run(*args, given="", **more):
    """(exit status, standard output, standard error)"""
    process = start(*args, stdin=subprocess.PIPE, **more)
    out, err = process.communicate(given, timeout=240)
    return process.returncode, out, err


def end(process):
    """Whatever a test left of it."""
    tool.end(process)
    for stream in (process.stdout, process.stderr):
        if stream:
            stream.close()


def strict(text):
    """JSON as its grammar has it: Python's own reader takes NaN, too."""
    def refuse(constant):
        raise ValueError("no JSON: " + constant)
    return json.loads(text, parse_constant=refuse)


def lines(text):
    return [strict(line) for line in text.splitlines()]


def names():
    """The commands that --help lists."""
    _, out, _ = run("--help")
    table = out.split("Commands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in table.splitlines()]
