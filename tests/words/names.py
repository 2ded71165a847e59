#!/usr/bin/env python3
"""names.py: what the documents name exists. Prints a line for each name that leads nowhere.

A link's file, and its heading; a page that is named as doc/NAME.md, in sources too; a path or a file name between backticks.
Such a path begins at the top, in core/, in tui/, in preload/ or beside the page. It may lack its .c or .h: 'core/capture/grid',
'view/', 'timeline_*'. NAME stands for any name."""

import glob
import os
import re
import sys

TOP = ["core", "debian", "doc", "preload", "tests", "themes", "tui"]
FOLDERS = set(TOP) | {name for top in ["core", "preload", "tui"] for name in os.listdir(top) if os.path.isdir(f"{top}/{name}")}
FILE = re.compile(r"[a-z0-9_*-]+\.(c|h|sh|py|md)")
PATH = re.compile(r"([a-z0-9_.*-]+)/[A-Za-z0-9_.*/-]*")
pages = ["README.md", "CONTRIBUTING.md"] + sorted(glob.glob("doc/*.md"))
# Files of a user in examples; what a build makes; what the text says is absent.
EXAMPLES = {"server.c", "debian/build", "debian/watch"}


def files(*ends):
    for top in TOP:
        for folder, _, names in os.walk(top):
            yield from (f"{folder}/{name}" for name in names if name.endswith(ends))


every = set(files(""))
basenames = {os.path.basename(path) for path in every} | set(os.listdir("."))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def headings(path):
    """The names by which a heading can be linked to."""
    text = re.sub(r"^```.*?^```", "", read(path), flags=re.S | re.M)
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        yield re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def exists(name, page):
    name = name.replace("NAME", "*")
    for start in [".", "core", "tui", "preload", os.path.dirname(page) or "."]:
        if any(glob.glob(f"{start}/{name}{end}") for end in ["", ".c", ".h"]):
            return True
    return False


def leads_nowhere(page):
    text = read(page)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, heading = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(target):
            yield f"link to {link}"
        elif heading and heading not in headings(target):
            yield f"link to {link}, a heading that {target} does not have"
    for name in re.findall(r"`([^`\s]+)`", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)):
        if name in EXAMPLES:
            continue
        path = PATH.fullmatch(name)
        if path and path[1] in FOLDERS and not exists(name, page):
            yield f"`{name}`"
        if FILE.fullmatch(name) and name not in basenames and not exists(f"**/{name}", page):
            yield f"`{name}`"


bad = [f"{page}: {what}" for page in pages for what in leads_nowhere(page)]
for path in pages + sorted(files(".c", ".h", ".sh", ".py")) + ["Makefile"]:
    for name in re.findall(r"\bdoc/[a-z-]+\.md", read(path)):
        if not os.path.exists(name):
            bad.append(f"{path}: {name}")
print("\n".join(bad), end="\n" if bad else "")
sys.exit(bool(bad))
