"""look.py FILE NAME...: foreign text in FILE is safe: no control character, no invisible one, no invalid UTF-8; and each NAME is there.
The kind of the file (text, json, csv, xml, pprof) is its suffix. Prints nothing and returns 0, or says why not."""
import csv, gzip, io, json, re, sys
import xml.etree.ElementTree

UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\U000e0000-\U000e007f]")


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def strings(data):
    """the string table of a pprof profile"""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            if key >> 3 == 6:
                yield data[at:at + value]
            at += value


def check_text(what, raw, breaks=True):
    try:
        text = raw.decode()
    except UnicodeDecodeError as e:
        return sys.exit("%s: no UTF-8: %r" % (what, raw[max(e.start - 20, 0):e.start + 10]))
    found = UNSAFE.search(text) or (not breaks and re.search("[\t\n]", text))
    if found:
        sys.exit("%s: U+%04X in %r" % (what, ord(found[0]), text[max(found.start() - 30, 0):found.start() + 20]))
    return text


def texts(value):
    """all strings of a JSON value"""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def main(path, names):
    raw, kind = open(path, "rb").read(), path.rsplit(".")[-1]
    if kind == "pprof":
        table = [check_text(path, s, False) for s in strings(gzip.decompress(raw))]
        found = "\n".join(table)
    elif kind == "json":
        found = "\n".join(texts(json.loads(check_text(path, raw))))
    elif kind == "csv":
        rows = list(csv.reader(io.StringIO(check_text(path, raw), newline=""), strict=True))
        if len({len(row) for row in rows}) != 1:
            sys.exit("%s: rows of %s cells" % (path, sorted({len(row) for row in rows})))
        for cell in (cell for row in rows for cell in row):
            if re.match(r"\s*[=+@\uff1d\uff0b\uff0d\uff20-]", cell) and not re.fullmatch(r"[+-]?[0-9.]+", cell):
                sys.exit("%s: a formula: %r" % (path, cell))
        found = "\n".join(cell for row in rows for cell in row)
    elif kind == "xml":
        found = "\n".join(xml.etree.ElementTree.fromstring(check_text(path, raw)).itertext())
    else:
        found = check_text(path, raw)
    for name in names:
        if name not in found:
            sys.exit("%s: %r is not there" % (path, name))


main(sys.argv[1], [a.encode().decode("unicode_escape") for a in sys.argv[2:]])
