"""stagewire explain: every word in brackets that an error ends with."""
import os
import re
import subprocess
import unittest

import command


class Explain(unittest.TestCase):
    def explain(self, *args, expect=0):
        code, out, err = command.run("explain", *args)
        self.assertEqual(code, expect, out + err)
        return out, err

    def test_without_a_word_all_reasons_are_listed(self):
        out, err = self.explain()
        self.assertEqual(err, "")
        rows = out.splitlines()
        self.assertEqual(rows[0].split(), ["reason", "code", "meaning"])
        reasons = [row.split()[0] for row in rows[1:]]
        self.assertEqual(len(reasons), len(set(reasons)))
        for reason in ("MALFORMED", "EVICTED", "NOT_YET", "ENDPOINT_LOST", "OUT_OF_STEP"):
            self.assertIn(reason, reasons)

    def test_each_reason_says_what_why_and_what_to_do(self):
        listed, _ = self.explain("--json")
        for row in command.lines(listed):
            out, _ = self.explain(row["reason"])
            self.assertEqual(out.splitlines()[0], "%s (%s)" % (row["reason"], row["code"]))
            flat = " ".join(out.split())
            for key in ("meaning", "cause", "remedy"):
                self.assertIn(row[key], flat)
            self.assertLessEqual(max(map(len, out.splitlines())), 80)

    def test_what_it_says_to_do_can_be_done(self):
        listed, _ = self.explain("--json")
        known = command.run("--help")[1] + subprocess.run([os.environ["STAGEWIRED"], "--help"], capture_output=True,
                                                          text=True).stdout
        known += "".join(command.run(name, "--help")[1] for name in command.names())
        for row in command.lines(listed):
            for option in re.findall(r"--[a-z-]+", row["cause"] + row["remedy"]):
                self.assertRegex(known, option + r"\b", row["reason"])
            for name in re.findall(r"'stagewire (\w+)", row["cause"] + row["remedy"]):
                self.assertIn(name, command.names())

    def test_it_takes_the_word_however_it_is_written(self):
        expected, _ = self.explain("NOT_YET")
        for word in ("not_yet", "Not-Yet", "not-yet"):
            self.assertEqual(self.explain(word)[0], expected)

    def test_plain_codes_are_explained_too(self):
        for code in ("UNAVAILABLE", "UNIMPLEMENTED", "PERMISSION_DENIED", "deadline_exceeded"):
            self.assertIn("what to do", self.explain(code)[0])

    def test_a_word_that_is_none_gets_the_one_that_was_meant(self):
        out, err = self.explain("EVICTD", expect=2)
        self.assertEqual(out, "")
        self.assertIn("there is no reason 'EVICTD'; did you mean 'EVICTED'?", err)
        self.assertIn("'stagewire explain' lists them", self.explain("frobnicate", expect=2)[1])
        self.assertIn("\\x1b", self.explain("\x1b[31m", expect=2)[1])
        self.explain("x" * 5000, expect=2)

    def test_what_an_error_ends_with_can_be_explained(self):
        _, _, err = command.run("info", "unix:/nonexistent/stagewire.sock", "--timeout", "300ms")
        word = re.search(r"\[(\w+)\]$", err.strip()).group(1)
        self.assertIn(word, self.explain(word)[0])


if __name__ == "__main__":
    unittest.main()
