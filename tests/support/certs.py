"""Certificates for tests: those of 'stagewire certs dev', and what it would never make, made with openssl."""
import datetime
import os
import shutil
import subprocess
import tempfile

import command

CONFIG = """[ca]
default_ca = d
[d]
database = {folder}/index
rand_serial = yes
unique_subject = no
policy = p
x509_extensions = e
copy_extensions = none
default_md = sha256
[p]
commonName = supplied
[e]
{extensions}
"""


def openssl(*args):
    return subprocess.run(["openssl", *args], check=True, capture_output=True, text=True).stdout


def when(days):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)).strftime("%Y%m%d%H%M%SZ")


class Folder:
    """A folder with a throwaway CA, as a user makes it."""

    def __init__(self, *args):
        self.top = tempfile.mkdtemp(prefix="stagewire-certs-")
        self.path = os.path.join(self.top, "certs")
        code, self.out, err = command.run("certs", "dev", "--out", self.path, *args)
        assert code == 0, err

    def close(self):
        shutil.rmtree(self.top)

    def __call__(self, name):
        return os.path.join(self.path, name)

    def pair(self, name):
        return ["--tls-key", self(name + ".key"), "--tls-cert", self(name + ".pem"), "--tls-ca", self("ca.pem")]

    def leaf(self, name, names, first_day=-1, last_day=5, uses="serverAuth,clientAuth", also=""):
        """NAME.pem and NAME.key of the CA; `names` as openssl's subjectAltName has them, or "" for none."""
        extensions = ["basicConstraints = critical,CA:FALSE", "keyUsage = critical,digitalSignature"]
        extensions += ["extendedKeyUsage = " + uses] if uses else []
        extensions += ["subjectAltName = " + names] if names else []
        with tempfile.TemporaryDirectory(dir=self.top) as work:
            config, request = os.path.join(work, "config"), os.path.join(work, "request")
            with open(config, "w") as f:
                f.write(CONFIG.format(folder=work, extensions="\n".join(extensions) + "\n" + also))
            open(os.path.join(work, "index"), "w").close()
            openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=" + name,
                    "-keyout", self(name + ".key"), "-out", request)
            openssl("ca", "-batch", "-notext", "-config", config, "-in", request, "-cert", self("ca.pem"), "-keyfile",
                    self("ca.key"), "-startdate", when(first_day), "-enddate", when(last_day), "-outdir", work,
                    "-out", self(name + ".pem"))
        return self(name + ".pem")
