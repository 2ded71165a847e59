"""ways.py MEMTUI PROCESS|TRACE TRUTH OPTIONS...: asks memtui for what holds each block that the program (graphs.cc) tells of in TRUTH, and
prints what differs from what the program says, a line each. A trace calls roots by their words alone, and does not know what is retained."""
import json, re, subprocess, sys

memtui, process, truth, *options = sys.argv[1:]


def ask(what):
    done = subprocess.run([memtui, "holders", "--format", "json", *options, process, str(what)], capture_output=True, text=True, timeout=60)
    if done.returncode:
        return {"error": done.stderr}
    return json.loads(done.stdout)


def words_alone(step):
    found = re.search(r"(?:variable |pthread (?=key )|in |by |register )(key \d+|[\w+]+)", re.sub(r"\[.*?\]", "", step["words"]))
    return f"{step['root']} " + (found[1].replace(" ", "") if found else step["words"])


def root_words(step):
    kind = step["root"]
    if not process.isdigit():
        return words_alone(step)
    if kind == "data":
        words = re.sub(r"\[.*", "", step.get("variable", "?"))
    elif kind == "thread_local":
        words = f"key{step['pthread_key']}" if "pthread_key" in step else step.get("variable", "?")
    elif kind == "stack":
        words = step.get("function", "?")
    elif kind == "registers":
        words = step["register"]
    elif kind == "mapped":
        words = step["backtrace"][0]["function"] if step.get("backtrace") else "?"
    else:
        words = "?"
    offset = step.get("variable_offset", 0)
    return f"{kind} {words}" + (f"+{offset}" if offset else "")


asked = 0
for line in open(truth):
    if line == "ready\n":
        continue
    name, what, address, retained, kind, root, *steps = line.split()
    answer = ask(address)
    if "error" not in answer and what == "group":
        answer = ask(answer["group"])
    if "error" in answer:
        print(f"{name}: {answer['error']}")
        continue
    asked += 1
    path = answer["blocks"][0]["path"]
    found = [f"{s['site']['function'] if s['site'] else '?'}+{s['offset']}" for s in path[1:]]
    wanted = []
    for step in steps:
        many = re.match(r"(.*)\*(\d+)\+(\d+)$", step)
        wanted += [f"{many[1]}+{many[3]}"] * int(many[2]) if many else [step]
    if not path or "root" not in path[0] or root_words(path[0]) != f"{kind} {root}":
        print(f"{name}: the root is {path[:1]}, not {kind} {root}; ")
    if steps != ["?"] and found != wanted:
        print(f"{name}: the way is {found}, not {wanted}; ")
    if process.isdigit() and answer["retained"]["bytes"] != int(retained):
        print(f"{name}: retains {answer['retained']}, not {retained}; ")
if asked < 20:
    print(f"only {asked} blocks were asked for")
