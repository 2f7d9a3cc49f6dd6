#!/usr/bin/env python3
"""The reference that Doxygen makes of the public headers is whole, readable, and free of warnings."""
import html
import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOXYFILE = os.path.join(os.environ["STAGEWIRE_BUILD"], "deploy", "Doxyfile")
HEADERS = [os.path.join(folder, name) for side in ("proto", "service", "client")
           for folder, _, names in os.walk(os.path.join(ROOT, side, "include")) for name in names]


def doxygen(folder, **settings):
    with open(DOXYFILE) as f:
        lines = f.read() + "OUTPUT_DIRECTORY = %s\n" % folder
    lines += "".join("%s = %s\n" % setting for setting in settings.items())
    return subprocess.run(["doxygen", "-"], input=lines, capture_output=True, text=True, timeout=240)


def words(page):
    text = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="stagewire-reference-")
        cls.done = doxygen(cls.folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def page(self, name):
        with open(os.path.join(self.folder, "html", name), encoding="utf-8") as f:
            return f.read()

    def test_doxygen_has_nothing_to_warn_of(self):
        self.assertEqual((self.done.stdout + self.done.stderr, self.done.returncode), ("", 0))

    def test_a_warning_is_a_failure(self):
        source = os.path.join(self.folder, "broken.md")
        with open(source, "w") as f:
            f.write("# Broken\n\n[nothing](there/is/no_such.h)\n")
        done = doxygen(os.path.join(self.folder, "broken"), INPUT=source, USE_MDFILE_AS_MAINPAGE=source)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no_such.h", done.stderr)

    def test_the_readme_is_its_first_page(self):
        first = words(self.page("index.html"))
        for text in ("Both sides in C", "What a pull may answer", "STEP_FAILED", "find_package(stagewire 0.1 REQUIRED)"):
            self.assertIn(text, first)
        self.assertIn('href="client_8h.html"', self.page("index.html"))

    def test_every_function_of_the_headers_is_in_it(self):
        listed = set(re.findall(r"sw_\w+", words(self.page("globals_func.html"))))
        for header in HEADERS:
            with open(header, encoding="utf-8") as f:
                declared = re.findall(r"^(?:SW_API|static inline)\s[^;{]*?\b(sw_\w+)\(", f.read(), re.M)
            self.assertLessEqual(set(declared), listed, header)

    def test_functions_have_the_words_that_the_header_has_for_them(self):
        client = words(self.page("client_8h.html"))
        self.assertIn("Connects in the background: a wrong name shows with the first call.", client)
        self.assertIn("Waits for the end if need be and hands out the result, once.", client)
        self.assertIn("DATA_LOSS / CHECKSUM what arrived is not what was published, or is not readable", client)
        options = words(self.page("structsw__client__options.html"))
        self.assertIn("who pulls; NULL: an observer, which nothing waits for", options)

    def test_every_status_reason_and_type_is_listed_with_what_it_means(self):
        status = words(self.page("status_8h.html"))
        for text in ("SW_DATA_LOSS", "SW_REASON_STORE_FULL", "No room, and expected consumers still need what is held."):
            self.assertIn(text, status)
        self.assertIn("SW_F8_E4M3FNUZ", words(self.page("tensor_8h.html")))


if __name__ == "__main__":
    unittest.main()
