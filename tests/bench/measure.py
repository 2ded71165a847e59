"""Runs each workload under each tool, round by round, and collects what the meter says."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile


class Failure(Exception):
    """The tool did not bring the program to its end."""


class Runner:
    def __init__(self, build, say):
        self.meter = os.path.join(build, "bench/meter")
        self.memtui = os.path.join(build, "memtui")
        self.names = os.path.abspath(os.path.join(build, "bench/names"))  # the recorder's cache: full after the first round
        shutil.rmtree(self.names, ignore_errors=True)
        self.say = say

    def run(self, tool, workload):
        """One run, as a dictionary of figures; raises Failure."""
        with tempfile.TemporaryDirectory(prefix="memtui-bench-") as scratch:
            report, output = os.path.join(scratch, "report"), os.path.join(scratch, "trace")
            said = self._execute(tool, workload, report, output)
            with open(report, encoding="utf-8") as file:
                sample = json.load(file)
            if sample["status"]:
                raise Failure(f"the program ended with status {sample['status']}: {telling_line(said)}")
            if workload.own_clock:
                sample["own_ns"] = own_figure("ns_per_pair", said)
            if workload.own_rss:
                sample["idle_rss_kib"] = own_figure("idle_rss_kib", said)
            sample["file_bytes"] = sum(entry.stat().st_size for entry in os.scandir(scratch)
                                       if entry.name.startswith("trace"))
            if tool.name == "memtui":
                sample.update(self._contents(output))
            return sample

    def _execute(self, tool, workload, report, output):
        command = [self.meter, report, tool.program or workload.command[0], *tool.start(workload, output)]

        def limit():
            if tool.memory_limit:
                resource.setrlimit(resource.RLIMIT_AS, (tool.memory_limit, tool.memory_limit))

        with open(report + ".said", "w+", encoding="utf-8", errors="replace") as said:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, preexec_fn=limit,
                                       env=os.environ | {"MEMTUI_CACHE": self.names} | workload.environment)
            try:
                status = process.wait(tool.timeout)
            except subprocess.TimeoutExpired:
                raise Failure(f"not done after {tool.timeout} s") from None
            finally:
                process.send_signal(signal.SIGKILL)  # and with the meter all that it traces
                process.wait()
            said.seek(0)
            text = said.read()
        if status or not os.path.exists(report):
            raise Failure(f"the meter ended with status {status}: {telling_line(text)}")
        return text

    def _contents(self, path):
        """How many events the trace holds, and that it is whole."""
        done = subprocess.run([self.memtui, "info", "--format", "json", path], capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"memtui info: {telling_line(done.stderr)}")
        info = json.loads(done.stdout)
        if not info["complete"] or info["lost_events"]:
            self.say(f"  {path}: complete {info['complete']}, {info['lost_events']} events lost")
        return {name: info[name] for name in ("events", "allocations", "nodes", "lost_events")}

    def rounds(self, workloads, tools, count):
        """Samples by workload and tool, one a round (None: not measured), and why what is not there is not."""
        samples = {w.name: {t.name: [None] * count for t in tools} for w in workloads}
        failures = {w.name: {} for w in workloads}
        for index in range(count):
            for workload in workloads:
                self.say(f"round {index + 1} of {count}: {workload.name}")
                # Each round begins with another tool, so that none always runs after the same neighbour.
                at = index % len(tools)
                for tool in sorted(tools[at:] + tools[:at], key=lambda t: t.stands_in_for is not None):
                    if workload.pairs and not tool.children:
                        continue
                    if self._wanted(tool, index, failures[workload.name], tools):
                        self._sample(tool, workload, index, samples, failures)
        return samples, failures

    def series(self, workloads, tools, names, count):
        """Samples of workloads that are compared with each other, recorded and not, one after another."""
        compared = [w for w in workloads if w.name in names]
        pair = [t for t in tools if t.name in ("untraced", "memtui")]
        if len(compared) < 2 or len(pair) < 2:
            return {}
        say, self.say = self.say, lambda _: None
        try:
            samples, failures = self.rounds(compared, pair, count)
        finally:
            self.say = say
        return {} if any(failures.values()) else samples

    @staticmethod
    def _wanted(tool, index, failures, tools):
        if tool.name in failures or (tool.once and index):
            return False
        stood_in = tool.stands_in_for in [t.name for t in tools]
        return not stood_in or tool.stands_in_for in failures

    def _sample(self, tool, workload, index, samples, failures):
        try:
            samples[workload.name][tool.name][index] = self.run(tool, workload)
        except Failure as failure:
            failures[workload.name][tool.name] = str(failure)
            self.say(f"  {tool.name}: {failure}")


def own_figure(name, text):
    found = re.search(rf"\b{name}=([\d.]+)", text)
    if not found:
        raise Failure(f"the program did not print its own {name}: {telling_line(text)}")
    return float(found[1])


def telling_line(text):
    """The first line that speaks of an error, else the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"terminate called|error|cannot|killed", line, re.IGNORECASE)]
    return (errors[:1] + lines[-1:] or ["it said nothing"])[0]
