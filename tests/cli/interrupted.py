"""interrupted.py RUN.SH: ^C ends all that `make test` runs, in both lanes, and leaves no files. The suites are ones that wait."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


with tempfile.TemporaryDirectory() as top:
    os.makedirs(top + "/tests")
    os.makedirs(top + "/build/tests")
    os.makedirs(top + "/tmp")
    shutil.copy(sys.argv[1], top + "/tests/run.sh")
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
    os.killpg(run.pid, signal.SIGINT)
    status = run.wait()
    alive = [pid for pid in started if runs(pid)]
    left = os.listdir(top + "/tmp")
    for pid in alive:
        os.kill(int(pid), signal.SIGKILL)
    if alive or left or status in (0, 1):
        sys.exit(f"status {status}, {len(alive)} of 2 suites go on, {len(left)} files left")
