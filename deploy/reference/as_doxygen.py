#!/usr/bin/env python3
"""Doxygen's INPUT_FILTER: our headers are written to be read, and this marks their comments up.

    as_doxygen.py FILE

A comment belongs to the declarations that follow it until the next blank line, or to what stands before it in its line.
Indented lines stay as they are set. Enumerators that a map makes are written out, with what the map says of them.
The README's links into the tree become links into the reference, or plain text where it has no such page."""
import re
import sys

COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
SECTION = re.compile(r"\s*-{4} (.*) -{4}\s*$")


def escaped(text):
    return re.sub(r"([\\@<>#%*])", r"\\\1", text)


def body(comment):
    """The words of a comment, without the stars in front; what is indented further is kept as it is set."""
    lines = [re.sub(r"^\s*\* ?", "", line) if i else line.strip() for i, line in enumerate(comment.split("\n"))]
    result, verbatim = [], False
    for line in lines:
        if line.startswith("X("):
            continue
        is_set = line.startswith("  ") if line.strip() else verbatim
        if is_set != verbatim:
            result.append("@verbatim" if is_set else "@endverbatim")
            verbatim = is_set
        result.append(line.rstrip() if is_set else escaped(line.strip()))
    return "\n".join(result + ["@endverbatim"] * verbatim).strip()


MAP = re.compile(r"#define (SW_\w+_MAP)\(X\)((?:[^\n]*\\\n)*[^\n]*\n)\n*")
CELL = re.compile(r'(?:"(?:[^"\\]|\\.)*"\s*)+|[^,"]+')
ENUM = re.compile(r"#define SW_\w+_ENUM\(.*?\) (SW_\w*?)##name( = number)?,\n\s*(SW_\w+_MAP)\(SW_\w+_ENUM\)\n#undef .*")


def maps(text):
    """What X-macros list: {"SW_REASON_MAP": [["MALFORMED", "INVALID_ARGUMENT", "..."], ...]}"""
    return {name: [[re.sub(r'"\s*"', "", cell.strip()).strip('"') for cell in CELL.findall(row) if cell.strip()]
                   for row in re.findall(r'X\(((?:"(?:[^"\\]|\\.)*"|[^")])*)\)', listed.replace("\\\n", " "))]
            for name, listed in MAP.findall(text)}


def enumerators(text):
    """Writes out what `SW_X_MAP(SW_X_ENUM)` makes within an enum."""
    rows = maps(text)

    def expand(match):
        prefix, number, name = match.groups()
        lines = []
        for row in rows[name]:
            says = ". ".join(cell[0].upper() + cell[1:] for cell in row[1:] if not cell.isdigit())
            lines.append("    %s%s%s, %s" % (prefix, row[0], " = " + row[1] if number else "", says and "/* %s. */" % says))
        return "\n".join(lines)

    return MAP.sub("", ENUM.sub(expand, text))


def block(match, first, shared):
    """A comment that has a line, or several, for itself."""
    words = body(match.group(1))
    if SECTION.match(match.group(1)) or not words:
        return ""
    if first:
        return "/** @file\n" + words + " */"
    shared.append("/** " + words + " */")
    return shared[-1]


def header(text):
    result, shared, position, first = [], [], 0, True
    text = enumerators(text)
    for match in COMMENT.finditer(text):
        code = text[position:match.start()]
        result.append(repeated(code, shared))
        before = code[code.rfind("\n") + 1:]
        if before.strip():
            words = body(match.group(1))
            result.append("/**< " + words + " */" if words and not before.lstrip().startswith("#include") else "")
        else:
            shared.clear()
            result.append(block(match, first, shared))
        first = False
        position = match.end()
    result.append(repeated(text[position:], shared))
    return "".join(result)


def repeated(code, shared):
    """Functions that share a comment get it each, but for those with words of their own; a blank line ends that."""
    if code.lstrip().startswith("typedef"):
        shared.clear()
    if not shared:
        return code
    lines = code.split("\n")
    end = next((i for i, line in enumerate(lines) if i and not line.strip()), None)
    own = len(lines) - 1 if lines[-1].strip() else None
    result, seen = [], False
    for i, line in enumerate(lines):
        is_function = line.startswith(("SW_API ", "static inline "))
        if is_function and seen and i != own and (end is None or i < end):
            result.append(shared[-1])
        seen = seen or is_function
        result.append(line)
    if end is not None:
        shared.clear()
    return "\n".join(result)


def readme(text):
    def link(match):
        words, path = match.groups()
        if path.endswith(".h"):
            return "@ref %s \"%s\"" % (path.rsplit("/", 1)[1], words)
        return match.group(0) if "://" in path else "`%s`" % words

    return re.sub(r"\[([^]]+)\]\(([^)]+)\)", link, text)


with open(sys.argv[1], encoding="utf-8") as source:
    content = source.read()
sys.stdout.write(readme(content) if sys.argv[1].endswith(".md") else header(content))
