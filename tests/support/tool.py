"""Programs of others, which must do what they are told."""
import subprocess


def run(*command, **more):
    """Its standard output; an AssertionError with all that it said if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, **more)
    if done.returncode != 0:
        raise AssertionError("%s\n%s%s" % (" ".join(command), done.stdout, done.stderr))
    return done.stdout
