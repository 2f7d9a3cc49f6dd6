"""stagewire certs: what it makes is what OpenSSL and Python's ssl take; what it says of any file is true."""
import os
import shutil
import socket
import ssl
import stat
import subprocess
import unittest

import certs
import command


class WithFolder(unittest.TestCase):
    arguments = ("--stages", "2")

    def setUp(self):
        self.folder = certs.Folder(*self.arguments)
        self.addCleanup(self.folder.close)

    def dev(self, *args):
        return command.run("certs", "dev", "--out", self.folder.path, *args)

    def show(self, *files, expect=0):
        code, out, err = command.run("certs", "show", "--json", *files)
        self.assertEqual((code, err), (expect, ""), out)
        return command.lines(out)

    def show_one(self, file, *others, expect=0):
        return self.show(file, *others, expect=expect)[0]

    def problems(self, file, *others):
        """All that is wrong with the first file."""
        shown = self.show_one(file, *others, expect=10)
        self.assertFalse(shown["ok"])
        return [p for p in [shown["problem"]] + [q for b in shown["blocks"] for q in b["problems"]] if p]

    def read(self, name):
        with open(self.folder(name)) as f:
            return f.read()

    def write(self, name, text, mode="w"):
        with open(self.folder(name), mode) as f:
            f.write(text)
        return self.folder(name)


class Dev(WithFolder):
    arguments = ("--stages", "2", "--run", "r-7", "--trust-domain", "example.org", "--dns", "node-1.example", "--dns", "10.1.2.3")

    def test_openssl_takes_every_leaf_for_both_ends(self):
        for name in ("stage-0", "stage-1", "watcher"):
            for purpose in ("sslserver", "sslclient"):
                out = certs.openssl("verify", "-x509_strict", "-CAfile", self.folder("ca.pem"), "-purpose", purpose,
                                    self.folder(name + ".pem"))
                self.assertIn("OK", out)

    def test_a_stage_has_its_spiffe_id_and_the_names_that_were_given(self):
        names = certs.openssl("x509", "-in", self.folder("stage-1.pem"), "-noout", "-ext", "subjectAltName")
        for name in ("URI:spiffe://example.org/stagewire/r-7/stage/1", "DNS:localhost", "DNS:node-1.example", "IP Address:10.1.2.3",
                     "IP Address:127.0.0.1"):
            self.assertIn(name, names)

    def test_the_watcher_has_its_spiffe_id_and_no_host(self):
        names = certs.openssl("x509", "-in", self.folder("watcher.pem"), "-noout", "-ext", "subjectAltName")
        self.assertIn("URI:spiffe://example.org/stagewire/r-7/watcher", names)
        self.assertNotIn("DNS:", names)

    def test_a_handshake_of_both_ends_succeeds(self):
        def context(purpose, name):
            made = ssl.create_default_context(purpose, cafile=self.folder("ca.pem"))
            made.load_cert_chain(self.folder(name + ".pem"), self.folder(name + ".key"))
            made.verify_mode = ssl.CERT_REQUIRED
            return made
        a, b = socket.socketpair()
        with a, b:
            into_client, into_server = ssl.MemoryBIO(), ssl.MemoryBIO()
            client = context(ssl.Purpose.SERVER_AUTH, "watcher").wrap_bio(into_client, into_server, server_hostname="node-1.example")
            server = context(ssl.Purpose.CLIENT_AUTH, "stage-0").wrap_bio(into_server, into_client, server_side=True)
            pending = [client, server]
            for _ in range(10):
                for side in list(pending):
                    try:
                        side.do_handshake()
                        pending.remove(side)
                    except ssl.SSLWantReadError:
                        continue
            self.assertEqual(pending, [])

    def test_keys_are_for_their_owner_alone(self):
        for name in os.listdir(self.folder.path):
            mode = stat.S_IMODE(os.stat(self.folder(name)).st_mode)
            self.assertEqual(mode, 0o600 if name.endswith(".key") else 0o644, name)

    def test_it_says_how_to_use_what_it_made(self):
        for word in ("stagewired --listen", "--tls-key", "--tls-cert", "--tls-ca", "stagewire doctor node-1.example:4317"):
            self.assertIn(word, self.folder.out)

    def test_nothing_half_written_stays_behind(self):
        self.assertEqual(sorted(os.listdir(self.folder.path)),
                         ["ca.key", "ca.pem", "crl.pem", "stage-0.key", "stage-0.pem", "stage-1.key", "stage-1.pem", "watcher.key",
                          "watcher.pem"])


class DevAgain(WithFolder):
    def contents(self):
        return {name: self.read(name) for name in os.listdir(self.folder.path)}

    def test_more_stages_come_from_the_same_ca_and_what_is_there_stays(self):
        before = self.contents()
        code, out, err = self.dev("--stages", "3")
        self.assertEqual((code, err), (0, ""))
        after = self.contents()
        self.assertEqual({name: after[name] for name in before}, before)
        self.assertEqual(set(after) - set(before), {"stage-2.pem", "stage-2.key"})
        self.assertIn("kept     " + self.folder("stage-0.pem"), out)
        self.assertIn("made     " + self.folder("stage-2.pem"), out)
        certs.openssl("verify", "-CAfile", self.folder("ca.pem"), self.folder("stage-2.pem"))

    def test_force_replaces_the_leaves_and_keeps_the_ca(self):
        before = self.contents()
        self.assertEqual(self.dev("--stages", "2", "--force")[0], 0)
        after = self.contents()
        same = {name for name in before if before[name] == after[name]}
        self.assertEqual(same, {"ca.key", "ca.pem", "crl.pem"})
        self.show(self.folder("stage-0.pem"), self.folder("stage-0.key"), self.folder("ca.pem"))

    def refused(self, *args, words):
        before = self.contents()
        code, _, err = self.dev("--stages", "2", *args)
        self.assertEqual(code, 2, err)
        for word in words:
            self.assertIn(word, err)
        self.assertEqual(self.contents(), before)

    def test_a_leaf_for_another_name_is_not_kept_as_if_it_were_right(self):
        self.refused("--run", "other", words=["stage-0.pem", "other/stage/0", "--force"])

    def test_a_leaf_without_its_key_or_with_another_one_is_named(self):
        os.remove(self.folder("stage-1.key"))
        self.refused(words=["stage-1.key", "No such file", "--force"])
        shutil.copy(self.folder("stage-0.key"), self.folder("stage-1.key"))
        self.refused(words=["stage-1.key", "does not belong to the certificate", "--force"])

    def test_an_expired_leaf_is_named(self):
        self.folder.leaf("stage-1", "URI:spiffe://stagewire.test/stagewire/dev/stage/1", first_day=-3, last_day=-1)
        self.refused(words=["stage-1.pem", "has expired", "--force"])

    def test_a_ca_that_is_of_no_use_is_named_and_not_replaced(self):
        os.remove(self.folder("ca.key"))
        self.refused("--force", words=["ca.key", "No such file", "remove ca.key and ca.pem"])
        self.write("ca.key", "junk")
        self.refused("--force", words=["ca.key", "no PEM"])


class DevMisused(unittest.TestCase):
    def expect(self, *args, words):
        code, out, err = command.run("certs", *args)
        self.assertEqual((code, out), (2, ""), args)
        self.assertIn(words, err)

    def test_misuse_is_named_and_exits_with_2(self):
        self.expect(words="dev, show or revoke")
        self.expect("make", words="'make' is neither dev, show nor revoke")
        self.expect("dev", "x", words="'x'")
        self.expect("dev", "--stages", "0", words="--stages 0")
        self.expect("dev", "--stages", "many", words="--stages 'many'")
        self.expect("dev", "--days", "9999", words="365")
        self.expect("dev", "--run", "a/b", words="slash")
        self.expect("dev", "--run", "..", words="..")
        self.expect("dev", "--run", "a b", words="--run")
        self.expect("dev", "--trust-domain", "Big", words="--trust-domain")
        self.expect("dev", "--dns", "a,URI:spiffe://evil/x", words="--dns")
        self.expect("dev", "--out", "/nowhere/at/all", words="/nowhere/at/all: cannot be made")
        self.expect("show", words="FILE is missing")
        self.expect("revoke", words="LEAF is missing")

    def test_each_has_help(self):
        for name in ("dev", "show", "revoke"):
            code, out, err = command.run("certs", name, "--help")
            self.assertEqual((code, err), (0, ""))
            self.assertIn("Usage: stagewire certs " + name, out)
        self.assertIn("revoke LEAF", command.run("certs", "--help")[1])


class Show(WithFolder):
    def test_a_leaf_is_told_with_names_uses_issuer_and_end(self):
        block, = self.show_one(self.folder("stage-0.pem"), self.folder("stage-0.key"), self.folder("ca.pem"))["blocks"]
        self.assertEqual(block["spiffe"], ["spiffe://stagewire.test/stagewire/dev/stage/0"])
        self.assertEqual(block["dns"], ["localhost"])
        self.assertEqual(block["ip"], ["127.0.0.1", "::1"])
        self.assertEqual((block["server"], block["client"], block["ca"]), (True, True, False))
        self.assertEqual(block["issuer"], "stagewire throwaway CA")
        self.assertEqual(block["issuer_in"], self.folder("ca.pem"))
        self.assertEqual(block["key_in"], self.folder("stage-0.key"))
        self.assertTrue(6.9 * 86400 < block["seconds_left"] <= 7 * 86400)
        self.assertIn(block["sha256"], certs.openssl("x509", "-in", self.folder("stage-0.pem"), "-noout", "-sha256",
                                                     "-fingerprint").replace(":", "").lower())

    def test_in_words_too(self):
        code, out, _ = command.run("certs", "show", self.folder("stage-0.pem"), self.folder("stage-0.key"))
        self.assertEqual(code, 0)
        for words in ("spiffe://stagewire.test/stagewire/dev/stage/0, localhost", "server and client", "matches", "private key"):
            self.assertIn(words, out)
        self.assertRegex(out, "until .* UTC, in [67] days")
        self.assertNotIn("problem", out)
        self.assertNotIn("\033", out, "no colour where there is no terminal")

    def test_a_bundle_with_key_and_chain_is_one_file(self):
        bundle = self.write("bundle.pem", self.read("stage-0.pem") + self.read("ca.pem") + self.read("stage-0.key"))
        os.chmod(bundle, 0o600)
        shown = self.show_one(bundle)
        self.assertEqual([block["kind"] for block in shown["blocks"]], ["certificate", "certificate", "key"])
        self.assertEqual(shown["blocks"][2]["certificate_in"], bundle)

    def test_a_wrong_key_is_told(self):
        problems = self.problems(self.folder("stage-0.key"), self.folder("stage-1.pem"))
        self.assertIn("belongs to none of the certificates", problems[0])

    def test_an_expired_and_a_future_certificate_are_told_with_dates(self):
        self.assertIn("expired 2 days ago (20",
                      self.problems(self.folder.leaf("old", "DNS:a.example", first_day=-9, last_day=-2.1))[0])
        future = self.problems(self.folder.leaf("new", "DNS:a.example", first_day=2.1))[0]
        self.assertIn("not good before in 2 days", future)
        self.assertIn("clock", future)

    def test_two_spiffe_ids_are_told(self):
        leaf = self.folder.leaf("two", "URI:spiffe://a.example/x,URI:spiffe://a.example/y")
        self.assertIn("2 SPIFFE ids", self.problems(leaf)[0])

    def test_a_spiffe_id_that_breaks_the_rules_is_told(self):
        self.assertIn("is wrong", self.problems(self.folder.leaf("odd", "URI:spiffe://a.example/x/../y"))[0])

    def test_no_name_at_all_and_no_use_are_told(self):
        self.assertIn("names nobody", self.problems(self.folder.leaf("nameless", ""))[0])
        self.assertIn("neither for a server nor for a client",
                      self.problems(self.folder.leaf("coder", "DNS:a.example", uses="codeSigning"))[0])

    def test_a_namesake_of_the_ca_is_not_the_ca(self):
        other = certs.Folder("--stages", "1")
        self.addCleanup(other.close)
        problems = self.problems(self.folder("stage-0.pem"), other("ca.pem"))
        self.assertIn("another key signed it", problems[0])

    def test_a_chain_in_the_wrong_order_is_told(self):
        chain = self.write("chain.pem", self.read("stage-0.pem") + self.read("stage-1.pem"))
        self.assertIn("a second leaf", self.problems(chain)[0])
        other = certs.Folder("--stages", "1")
        self.addCleanup(other.close)
        with open(other("ca.pem")) as f:
            chain = self.write("chain.pem", self.read("stage-0.pem") + f.read())
        self.assertTrue(any("did not sign" in problem for problem in self.problems(chain)))

    def test_revoked_is_told_by_the_list_beside_it(self):
        self.show(self.folder("stage-0.pem"), self.folder("crl.pem"), self.folder("ca.pem"))
        code, out, err = command.run("certs", "revoke", self.folder("stage-0.pem"))
        self.assertEqual((code, err), (0, ""))
        self.assertIn("crl.pem", out)
        self.assertIn("revoked by", self.problems(self.folder("stage-0.pem"), self.folder("crl.pem"))[0])
        self.show(self.folder("stage-1.pem"), self.folder("crl.pem"), self.folder("ca.pem"))

    def test_a_key_that_anybody_can_read_is_told(self):
        os.chmod(self.folder("stage-0.key"), 0o644)
        self.assertIn("chmod", self.problems(self.folder("stage-0.key"))[0])
        os.chmod(self.folder("stage-0.key"), 0o640)
        self.show(self.folder("stage-0.key"))

    def test_a_name_with_a_hidden_end_is_shown_whole(self):
        leaf = self.folder.leaf("nul", "email:a@b.example,DNS:good.example")
        with open(leaf) as f:
            der = ssl.PEM_cert_to_DER_cert(f.read())
        forged = der.replace(b"good.example", b"good\0\x1b[2mevi")
        file = self.write("forged.pem", ssl.DER_cert_to_PEM_cert(forged))
        self.assertEqual(self.show_one(file)["blocks"][0]["dns"], ["good\\x00\\x1b[2mevi"])


class ShowInWords(WithFolder):
    def rows(self, *names):
        code, out, err = command.run("certs", "show", *map(self.folder, names))
        self.assertEqual((code, err), (0, ""))
        return [" ".join(row.split()) for row in out.splitlines()]

    def test_a_key_tells_its_kind_and_whose_it_is(self):
        rows = self.rows("stage-0.key", "stage-0.pem")
        for row in ("private key", "kind EC, 256 bits", f"certificate in {self.folder('stage-0.pem')}, matches",
                    f"key in {self.folder('stage-0.key')}, matches"):
            self.assertIn(row, rows)

    def test_a_revocation_list_tells_by_whom_and_how_many(self):
        rows = self.rows("crl.pem", "ca.pem")
        for row in ("revocation list", "issued by stagewire throwaway CA", f"in {self.folder('ca.pem')}", "revoked 0"):
            self.assertIn(row, rows)
        self.assertEqual(command.run("certs", "revoke", self.folder("stage-0.pem"))[0], 0)
        self.assertIn("revoked 1", self.rows("crl.pem"))

    def test_a_request_is_told_from_a_certificate(self):
        certs.openssl("req", "-new", "-key", self.folder("stage-0.key"), "-subj", "/CN=wanted", "-out", self.folder("request.pem"))
        rows = self.rows("request.pem")
        for row in ("request for a certificate", "subject wanted", "use send it to a CA, which makes a certificate of it; it is none itself"):
            self.assertIn(row, rows)


class ShowOfWhatIsNone(WithFolder):
    def expect(self, path, *words):
        text = "\n".join(self.problems(path))
        for word in words:
            self.assertIn(word, text)

    def test_junk_empty_missing_and_folders_are_each_one_clear_sentence(self):
        self.expect(self.write("junk", "no pem at all\n"), "no PEM")
        self.expect(self.write("binary", os.urandom(4096), "wb"), "no PEM")
        self.expect(self.write("empty", ""), "empty")
        self.expect(self.folder("missing"), "No such file")
        self.expect(self.folder.path, "a directory")
        os.mkfifo(self.folder("pipe"))
        self.expect(self.folder("pipe"), "no plain file")
        with open(self.folder("huge"), "wb") as f:
            f.truncate(1 << 40)
        self.expect(self.folder("huge"), "larger than 16 MiB")

    def test_half_a_file_is_told(self):
        half = self.read("stage-0.pem")
        self.expect(self.write("half", half[:len(half) // 2]), "breaks off")
        self.expect(self.write("mangled", half.replace(half[80:90], "!!!!!!!!!!")), "breaks off")
        body = ssl.PEM_cert_to_DER_cert(half)
        self.expect(self.write("short", ssl.DER_cert_to_PEM_cert(body[:-20])), "damaged")

    def test_der_and_pkcs12_come_with_the_command_that_makes_pem_of_them(self):
        certs.openssl("x509", "-in", self.folder("stage-0.pem"), "-outform", "DER", "-out", self.folder("leaf.der"))
        certs.openssl("pkey", "-in", self.folder("stage-0.key"), "-outform", "DER", "-out", self.folder("key.der"))
        certs.openssl("crl", "-in", self.folder("crl.pem"), "-outform", "DER", "-out", self.folder("crl.der"))
        certs.openssl("pkcs12", "-export", "-in", self.folder("stage-0.pem"), "-inkey", self.folder("stage-0.key"), "-passout",
                      "pass:x", "-out", self.folder("all.p12"))
        self.expect(self.folder("leaf.der"), "a certificate in DER", "openssl x509 -inform DER")
        self.expect(self.folder("key.der"), "a key in DER", "openssl pkey -inform DER")
        self.expect(self.folder("crl.der"), "a revocation list in DER", "openssl crl -inform DER")
        self.expect(self.folder("all.p12"), "PKCS #12", "openssl pkcs12")

    def test_a_locked_key_is_told_in_both_forms(self):
        certs.openssl("pkey", "-in", self.folder("stage-0.key"), "-aes128", "-passout", "pass:x", "-out", self.folder("new"))
        certs.openssl("ec", "-in", self.folder("stage-0.key"), "-aes128", "-passout", "pass:x", "-out", self.folder("old"))
        for name in ("new", "old"):
            self.expect(self.folder(name), "passphrase", "openssl pkey")

    def test_a_request_is_told_from_a_certificate(self):
        certs.openssl("req", "-new", "-key", self.folder("stage-0.key"), "-subj", "/CN=me", "-out", self.folder("me.csr"))
        block, = self.show_one(self.folder("me.csr"))["blocks"]
        self.assertEqual((block["kind"], block["subject"]), ("request", "me"))

    def test_other_pem_is_named(self):
        self.expect(self.write("ssh", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"),
                    "OPENSSH PRIVATE KEY")


class Revoke(WithFolder):
    def test_openssl_finds_both_on_the_list_and_no_other(self):
        for name in ("stage-0", "watcher", "stage-0"):
            self.assertEqual(command.run("certs", "revoke", self.folder(name + ".pem"))[0], 0)
        for name, is_good in (("stage-0", False), ("watcher", False), ("stage-1", True)):
            checked = subprocess.run(["openssl", "verify", "-crl_check", "-CAfile", self.folder("ca.pem"), "-CRLfile",
                                      self.folder("crl.pem"), self.folder(name + ".pem")], capture_output=True, text=True)
            self.assertEqual(checked.returncode == 0, is_good, checked.stdout + checked.stderr)
        self.assertEqual(self.show_one(self.folder("crl.pem"))["blocks"][0]["revoked"], 2)

    def test_another_cas_leaf_is_refused(self):
        other = certs.Folder("--stages", "1")
        self.addCleanup(other.close)
        code, _, err = command.run("certs", "revoke", other("stage-0.pem"), "--out", self.folder.path)
        self.assertEqual(code, 2)
        self.assertIn("has not issued it", err)


if __name__ == "__main__":
    unittest.main()
