"""pytest_memtui.py: fails a test that loses memory of native code. Beside conftest.py, with pytest_plugins = ["pytest_memtui"]:

    memtui record -o tests.dat -- python3 -m pytest

and a test, or all, with the mark no_lost_memory:

    @pytest.mark.no_lost_memory
    def test_parse(): ...

Blocks count to which nothing points any more when the test has ended, and did not when it began. A stale word on a stack can hold a
block for a while, which is then found after a later test. Without memtui around it, this does nothing."""
import gc
import json
import os
import subprocess

import pytest


MEMTUI = os.environ.get("MEMTUI", "memtui")
OURS = {"MEMTUI_SESSION", "LD_PRELOAD"}  # what asks is not to be recorded itself


def lost():
    answer = subprocess.run([MEMTUI, "leak-check", "--format", "json", "--show", "lost", str(os.getpid())],
                            stdout=subprocess.PIPE, check=True, text=True,
                            env={k: v for k, v in os.environ.items() if k not in OURS}).stdout
    return {g["id"]: (g["definitely_lost"]["count"], g["definitely_lost"]["bytes"], g["backtrace"])
            for g in json.loads(answer)["groups"]}


def pytest_configure(config):
    config.addinivalue_line("markers", "no_lost_memory: fails if native code loses memory (needs memtui record)")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    if not item.get_closest_marker("no_lost_memory") or "MEMTUI_SESSION" not in os.environ:
        return (yield)
    before = lost()
    result = yield
    gc.collect()
    for group, (count, size, backtrace) in lost().items():
        more = count - before.get(group, (0, 0, None))[0]
        if more > 0:
            stack = "\n".join(f"    {f['function']}  {f['source'] or ''}:{f['line'] or ''}" for f in backtrace)
            pytest.fail(f"{more} blocks were lost by\n{stack}", pytrace=False)
    return result
