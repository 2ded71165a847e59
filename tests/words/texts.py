#!/usr/bin/env python3
"""texts.py FILE...: what people read in a file, a line for each text: 'FILE:LINE: TEXT'.

Of a C source these are its string literals, with neighbouring ones joined as the compiler joins them. Of any other file they are
its paragraphs, each on one line."""

import re
import sys

# A comment; a string; a character; a preprocessor's file name, which is no text; blanks, also before a continued line. What joins
# two strings is blanks and comments alone.
TOKEN = re.compile(
    r"""(?P<blank>(?:\s|\\\n)+|//[^\n]*|/\*.*?\*/)|(?P<include>\#\s*include[^\n]*)"""
    r"""|"(?P<text>(?:[^"\\\n]|\\.)*)"|'(?:[^'\\\n]|\\.)+'|[^\s"'/\#\\]+|.""",
    re.S,
)
ESCAPE = re.compile(r"\\(\n|x[0-9a-fA-F]+|[0-7]{1,3}|.)", re.S)
NAMED = {"n": " ", "t": " ", "r": " ", "\n": ""}


def plain(text):
    """The literal's text on one line; bytes by number are no letters of a phrase."""
    return ESCAPE.sub(lambda m: NAMED.get(m[1], m[1] if len(m[1]) == 1 and not m[1].isalnum() else " "), text)


def literals(source):
    joined, start = None, 0
    for token in TOKEN.finditer(source):
        if token["text"] is not None:
            if joined is None:
                joined, start = "", source.count("\n", 0, token.start()) + 1
            joined += token["text"]
        elif token["blank"] is None and joined is not None:
            yield start, plain(joined)
            joined = None
    if joined is not None:
        yield start, plain(joined)


def paragraphs(source):
    """A list's items and a table's rows are paragraphs too."""
    text, start = [], 0
    for number, line in enumerate(source.split("\n") + [""], 1):
        if text and (not line.strip() or re.match(r"\s*([-*|]|\d+\.) ?", line)):
            yield start, " ".join(text)
            text = []
        if line.strip():
            start = start if text else number
            text.append(line)


for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        source = file.read()
    for line, text in (literals if re.search(r"\.[ch]c?$", path) else paragraphs)(source):
        if " " in text.strip():
            print(f"{path}:{line}: {' '.join(text.split())}")
