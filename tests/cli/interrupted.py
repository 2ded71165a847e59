"""interrupted.py RUN.SH: ^C ends all that `make test` runs, by both workers, and leaves no files. The suites are ones that wait."""
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile


WAIT_SECONDS = 60  # what was sent a signal may take its time to die of it; only what lives on comes to this


def lives_on(pidfd):
    return not select.select([pidfd], [], [], WAIT_SECONDS)[0]


with tempfile.TemporaryDirectory() as top:
    os.makedirs(top + "/tests")
    os.makedirs(top + "/build/tests")
    os.makedirs(top + "/tmp")
    for part in ("run.sh", "worker.sh"):
        shutil.copy(os.path.join(os.path.dirname(sys.argv[1]), part), top + "/tests")
    for suite in set(re.findall("[a-z]+", open(sys.argv[1]).read())):
        os.makedirs(f"{top}/tests/{suite}")
        with open(f"{top}/tests/{suite}/run.sh", "w") as f:
            f.write(f"echo $$ >{top}/started\nexec tail -f /dev/null\n")
    os.mkfifo(top + "/started")
    told = os.fdopen(os.open(top + "/started", os.O_RDWR))  # no end of file between the two
    run = subprocess.Popen(["sh", top + "/tests/run.sh", top + "/build"], start_new_session=True,
                           stdout=subprocess.DEVNULL, env=dict(os.environ, TMPDIR=top + "/tmp"),
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    started = [told.readline().strip() for _ in range(2)]
    ends = [os.pidfd_open(int(pid)) for pid in started]
    os.killpg(run.pid, signal.SIGINT)
    status = run.wait()
    alive = [pid for pid, end in zip(started, ends) if lives_on(end)]
    left = os.listdir(top + "/tmp")
    for pid in alive:
        os.kill(int(pid), signal.SIGKILL)
    if alive or left or status in (0, 1):
        sys.exit(f"status {status}, {len(alive)} of 2 suites go on, {len(left)} files left")
