"""real.py RECORD PROGRAM CYCLES KILLED SEED: as cycles.py, with a real program under load, which is checked after each cycle.

PROGRAM is one of PROGRAMS, each with what it needs: python3, node, java; redis-server and redis-benchmark; postgres, pgbench and
psql (as root: and a user postgres). They are looked for in PATH. Exit status 77: what is needed is not there."""
import atexit, os, pwd, random, select, shutil, signal, socket, subprocess, sys, tempfile, time

from cycling import Cycling, descriptors, fail

PATIENCE = 60  # seconds until a program counts as standing still


def needs(*names):
    for name in names:
        if not shutil.which(name):
            print(f"{name} is not installed", file=sys.stderr)
            sys.exit(77)


def start(command, **options):
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
    atexit.register(p.kill)
    return p


def alive(p, when):
    if p.poll() is not None:
        fail(f"{when}, {p.args[0]} ended with {p.returncode}")


class Lines:
    """A program that does the same work again and again, and prints a line of its checksum each time."""

    def __init__(self, command, text, name):
        needs(command[0])
        with open(name, "w") as f:
            f.write(text)
        self.process = start(command + [os.path.abspath(name)], stdout=subprocess.PIPE)
        self.pid, self.others, self.first, self.rest = self.process.pid, [self.process.pid], None, b""
        os.set_blocking(self.process.stdout.fileno(), False)

    def check(self, when):
        """What it has said since, and one more line."""
        lines, end = 0, time.monotonic() + PATIENCE
        self.process.stdout.read()  # of before
        self.rest = None
        while lines < 2:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                fail(f"{when}, the program stands still")
            alive(self.process, when)
            got = self.process.stdout.read() or b""
            for line in ((self.rest or b"") + got).split(b"\n")[:-1]:
                lines += 1
                if self.rest is None and lines == 1:
                    continue  # may be the end of one
                self.first = self.first or line
                if line != self.first:
                    fail(f"{when}, the program says {line}, not {self.first}")
            self.rest = (self.rest or b"") + got if b"\n" not in got else got[got.rindex(b"\n") + 1:]

    def end(self):
        self.process.terminate()
        self.process.wait()


PYTHON = """
import hashlib, json, threading, zlib
def work(seed):
    table, kept = {}, []
    for i in range(3000):
        table[f"key {seed} {i}"] = [seed * i % 97] * (i % 50)
        kept.append(bytes(i % 4000))
        if i % 3 == 0:
            kept.pop(i // 5 % len(kept))
    text = json.dumps(table, sort_keys=True).encode()
    return hashlib.sha256(zlib.compress(text) + json.dumps(json.loads(text)).encode() + b"".join(kept)).hexdigest()
while True:
    got = [None] * 3
    threads = [threading.Thread(target=lambda n=n: got.__setitem__(n, work(n))) for n in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    print(*got, flush=True)
"""
NODE = """
const crypto = require('crypto'), zlib = require('zlib'), fs = require('fs');
function turn() {
  const table = {}; const kept = [];
  for (let i = 0; i < 3000; i++) { table['key ' + i] = new Array(i % 50).fill(i * 7 % 97); kept.push(Buffer.alloc(5000 + i, i & 255)); }
  const text = JSON.stringify(table);
  zlib.deflate(text, (error, packed) => {
    zlib.inflate(packed, (error, back) => {
      const h = crypto.createHash('sha256');
      h.update(back); for (const k of kept) h.update(k);
      try { fs.writeSync(1, h.digest('hex') + '\\n'); } catch (e) { if (e.code !== 'EAGAIN') throw e; }
      setImmediate(turn);
    });
  });
}
turn();
"""
JAVA = """
import java.util.zip.*;
public class Turns {
    public static void main(String[] arguments) throws Exception {
        while (true) {
            CRC32 sum = new CRC32();
            Thread[] threads = new Thread[3];
            byte[][] got = new byte[3][];
            for (int n = 0; n < 3; n++) {
                int number = n;
                threads[n] = new Thread(() -> got[number] = work(number));
                threads[n].start();
            }
            for (int n = 0; n < 3; n++) { threads[n].join(); sum.update(got[n]); }
            System.out.println(sum.getValue());
            System.out.flush();
        }
    }
    static byte[] work(int seed) {
        byte[] text = new byte[200000], packed = new byte[300000], back = new byte[200000];
        for (int i = 0; i < text.length; i++) text[i] = (byte) (i * (seed + 3) % 101);
        for (int round = 0; round < 5; round++) {
            Deflater d = new Deflater(); d.setInput(text); d.finish(); int n = d.deflate(packed); d.end();
            Inflater f = new Inflater(); f.setInput(packed, 0, n);
            try { f.inflate(back); } catch (DataFormatException e) { throw new RuntimeException(e); }
            f.end();
            java.nio.ByteBuffer direct = java.nio.ByteBuffer.allocateDirect(5000 + round); direct.put(0, back[round]);
        }
        return back;
    }
}
"""


class Redis:
    """redis-benchmark loads it; a counter and a key are checked."""

    def __init__(self):
        needs("redis-server", "redis-benchmark")
        path = os.path.abspath("socket")
        self.process = start(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no"],
                             stdout=subprocess.DEVNULL)
        self.pid, self.count = self.process.pid, 0
        while not os.path.exists(path):
            alive(self.process, "at first")
            time.sleep(0.01)
        self.load = start(["redis-benchmark", "-s", path, "-l", "-q", "-r", "5000", "-d", "200", "-P", "4", "-c", "20", "-t",
                           "set,get,lpush,lrange_100,hset,zadd,spop"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        os.set_blocking(self.load.stderr.fileno(), False)
        self.others = [self.pid, self.load.pid]
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)

    def ask(self, *words):
        self.socket.sendall(f"*{len(words)}\r\n".encode() + b"".join(f"${len(w)}\r\n{w}\r\n".encode() for w in words))
        got = b""
        while not got.endswith(b"\r\n"):
            got += self.socket.recv(65536)
        return got

    def check(self, when):
        alive(self.process, when)
        alive(self.load, when)
        self.count += 1
        text = f"value {self.count} " * (self.count % 300)
        if self.ask("INCR", "counter") != f":{self.count}\r\n".encode():
            fail(f"{when}, redis does not count")
        self.ask("SET", "kept", text)
        if not self.ask("GETRANGE", "kept", "0", "-1").endswith(f"{text}\r\n".encode()):
            fail(f"{when}, redis has lost a value")
        self.ask("DEL", "mylist")  # which would only grow
        said = self.load.stderr.read()
        if said:
            fail(f"{when}, redis-benchmark says {said}")

    def end(self):
        self.load.kill()
        if b"unexpected_error_replies:0\r\n" not in self.errors():
            fail("redis has answered with errors")
        self.process.terminate()
        if self.process.wait():
            fail(f"redis-server ended with {self.process.returncode}")

    def errors(self):
        self.socket.sendall(b"INFO stats\r\n")
        time.sleep(1)
        return self.socket.recv(65536)


class Postgres:
    """A backend under pgbench, all of whose balances must be equal in the end."""

    def __init__(self):
        needs("initdb", "postgres", "pgbench", "psql")
        self.user = {}
        if os.getuid() == 0:
            who = pwd.getpwnam("postgres")
            os.chown(".", who.pw_uid, who.pw_gid)
            os.chmod(".", 0o777)
            self.user = dict(user=who.pw_uid, group=who.pw_gid, extra_groups=[])
        here = os.getcwd()
        quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, **self.user)
        subprocess.run(["initdb", "-D", f"{here}/data", "-U", "test", "-A", "trust", "--no-sync"], **quiet)
        self.process = start(["postgres", "-D", f"{here}/data", "-k", here, "-c", "listen_addresses=", "-c", "fsync=off"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.user)
        while not self.sql("select 1"):
            alive(self.process, "at first")
            time.sleep(0.1)
        subprocess.run(["pgbench", "-h", here, "-U", "test", "-i", "-q", "postgres"], **quiet)
        self.load = start(["pgbench", "-h", here, "-U", "test", "-c", "1", "-T", "100000", "-n", "postgres"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **self.user)
        os.set_blocking(self.load.stderr.fileno(), False)
        self.others = [self.process.pid, self.load.pid]
        while self.sql("select count(*) > 0 from pgbench_history") != "t":  # another connection prepares the tables
            alive(self.load, "at first")
        self.pid, self.done = int(self.sql("select pid from pg_stat_activity where application_name = 'pgbench'")), 0

    def sql(self, text):
        return subprocess.run(["psql", "-h", os.getcwd(), "-U", "test", "-At", "-c", text, "postgres"], capture_output=True,
                              **self.user).stdout.decode().strip()

    def check(self, when):
        alive(self.process, when)
        alive(self.load, when)
        end = time.monotonic() + PATIENCE
        while (done := int(self.sql("select count(*) from pgbench_history") or -1)) <= self.done:
            if time.monotonic() > end:
                fail(f"{when}, the backend stands still at {done}")
        self.done = done
        said = self.load.stderr.read()
        if said:
            fail(f"{when}, pgbench says {said}")

    def end(self):
        self.load.send_signal(signal.SIGINT)
        self.load.wait()
        if self.sql("select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history)") != "t":
            fail("the balances differ")
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


PROGRAMS = {"python3": lambda: Lines(["python3", "-u"], PYTHON, "turns.py"), "node": lambda: Lines(["node"], NODE, "turns.js"),
            "java": lambda: Lines(["java", "-Xmx200m"], JAVA, "Turns.java"), "redis": Redis, "postgres": Postgres}
record, name, cycles, killed, seed = sys.argv[1].split(), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
random.seed(seed)
at = tempfile.mkdtemp()
atexit.register(shutil.rmtree, at, True)
os.chdir(at)
program = PROGRAMS[name]()
cycling = Cycling(record, program.pid, program.others)
program.check("at first")
cycling.cycle(False)
program.check("after the first recording")
for n in range(cycles):
    kill = random.randrange(100) < killed
    cycling.cycle(kill)
    program.check(f"after recording {n}, which was {'killed' if kill else 'ended'}")
cycling.cycle(False)
program.check("after the last recording")
left = [l.split()[0] for l in open(f"/proc/{program.pid}/maps") if "memtui" in l or " r-xp 00000000 00:00 0" in l and
        len(l.split()) == 5]
ours = [d for d in descriptors(program.pid) if "memtui" in os.readlink(f"/proc/{program.pid}/fd/{d}")]
program.end()
if ours or (left and name in ("redis", "postgres", "python3")):  # node and java make code of their own
    fail(f"left in the program: mappings {left}, descriptors {ours}")
print(f"{name}: cycles {cycles} killed {cycling.kills}", file=sys.stderr)
