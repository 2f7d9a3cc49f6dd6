"""Programs: those of others, which must do what they are told, and any that must end."""
import contextlib
import os
import subprocess

GENTLY_SECONDS = 5


def run(*command, **more):
    """Its standard output; an AssertionError with all that it said if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, **more)
    if done.returncode != 0:
        raise AssertionError("%s\n%s%s" % (" ".join(command), done.stdout, done.stderr))
    return done.stdout


def end(process):
    """Kills it. That way it doesn't tell what it ran, so tests/long/coverage has each given the time to."""
    if "STAGEWIRE_GENTLY" in os.environ:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GENTLY_SECONDS)
    process.kill()
    process.wait()
