"""What every Python of a test suite does first: errors over memtui's output tell what memtui said (see ../asked.sh)."""
import json
import subprocess

read = json.loads


def loads(text, *arguments, **options):
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    answer, _, told = text.partition("\x1e")
    try:
        return read(answer, *arguments, **options)
    except json.JSONDecodeError as error:
        # one line, with the reason at its end: suites show the last line of what Python prints
        raise ValueError(f"no JSON: {error} in {answer[:200]!r}; {told or 'it gave no status'}") from None


json.loads = loads
json.load = lambda file, *arguments, **options: loads(file.read(), *arguments, **options)
explain = subprocess.CalledProcessError.__str__


def explained(error):
    said = error.stderr.decode("utf-8", "replace") if isinstance(error.stderr, bytes) else error.stderr
    return explain(error) + (" " + " ".join(said.split()) if said else "")


subprocess.CalledProcessError.__str__ = explained
