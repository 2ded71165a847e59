#!/bin/bash
# sets: several recordings as one have the sums of each, whatever is asked of them; a check judges all; what cannot be read is said.
. "$(dirname "$0")/../suite.sh"
gcc -O1 -g -pthread -fno-builtin -o family "$here/family.c" || { echo "not ok sets: family.c cannot be built"; exit 1; }

cat >tree.sh <<'END'
./family
perl -e 'my @a = map { [$_] } 1..300; print scalar(@a), "\n"'
ls / >/dev/null
exec ./family executed
END
"$memtui" record --on-full wait -o t.dat -- sh tree.sh >out 2>record.err || not_ok record "status $?: $(cat record.err)"
traces=(t.dat*)
[ "${#traces[@]}" -ge 8 ] || not_ok record "only ${#traces[@]} traces: ${traces[*]}"

# ---- sums ----
sums() { # NAME OPTION...
	local name=$1 why
	shift
	why=$(python3 "$here/sums.py" "$memtui" "$@" -- "${traces[@]}" 2>&1 >sums.out) || true
	say "sums of $name" "$(echo "$why" | tail -n 1)"
}
sums "all groups"
sums "leaks without suppressions" --no-builtin-suppressions
sums "a filter by name" --function-regex '^keep$'
sums "a filter by size" --size-min 64 --size-max 1000
sums "what was not freed, by name" --lifetime only_leaked --source-regex family.c
sums "what one thread of one process did" --filter 'size<40'
sums "a filter by kind" --allocated-by calloc,realloc

# What a filter asks of totals it asks of the sums: no process alone has kept 200 blocks of this group.
value() { # JSON's path in python, of standard input
	python3 -c "import json,sys; j = json.load(sys.stdin); print($1)" 2>&1
}
one=$("$memtui" groups --format json --function-regex '^keep$' --filter 'size:300..300 group_allocations>=130' t.dat t.dat.* 2>err | value \
	'[(g["only_matched"]["allocated_count"], g["only_matched"]["size"]) for g in j]')
say "a limit on totals is one on sums" "$(is "$one" '[(140, 42000)]')"

# ---- processes ----
"$memtui" groups --by process --format json "${traces[@]}" >by.json 2>err
say "a row for each process" "$(is "$(value 'sum(r["only_matched"]["allocated_count"] for r in j)' <by.json)" \
	"$("$memtui" groups --format json "${traces[@]}" 2>/dev/null | value 'sum(g["only_matched"]["allocated_count"] for g in j)')")$(
	is "$(value 'sum(r["groups"] for r in j)' <by.json)" "$(for t in "${traces[@]}"; do
		"$memtui" groups --format json "$t" 2>/dev/null | value 'len(j)'
	done | paste -sd+ | bc)")"
say "processes are named" "$(is "$(value 'sorted({r["process"].split(" [")[0] for r in j})' <by.json)" "['family', 'ls', 'perl', 'sh']")"
outer=$("$memtui" tree --by process --levels 1 --min-percent 0 --format json "${traces[@]}" 2>err | value \
	'sorted(c["function"] for c in j["children"]) == sorted(r["process"] for r in json.load(open("by.json")))')
say "the process is the outermost frame" "$(is "$outer" True)"
one=$("$memtui" groups --by process --format json t.dat 2>err | value 'len(j), j[0]["process"].split(" ")[0]')
say "by process, of one recording" "$(is "$one" "1 family")"

one=$("$memtui" groups --process perl --process 'l[s]' --by process --format json "${traces[@]}" 2>err | value \
	'sorted({r["process"].split(" [")[0] for r in j})')
say "some processes, by name" "$(is "$one" "['ls', 'perl']")"
pid=$(value 'j["pid"]' < <("$memtui" info --format json t.dat))
one=$("$memtui" groups --process "$pid" --by process --format json "${traces[@]}" 2>err | value 'sorted({r["process"] for r in j})')
say "one process with all that it executed, by number" "$(is "$one" "['family [$pid]', 'sh [$pid]']")"

# ---- other views ----
why=
for what in "tree --format json" "callers keep" "report" "timeline --format json" "export --as collapsed" "export --as pprof" \
	"export --as json" "export --as speedscope" "diff"; do
	case $what in
	callers*) "$memtui" $what "${traces[@]}" >out 2>err || why+="$what: status $?: $(tail -n 1 err); " ;;
	diff) "$memtui" diff t.dat.exec0 t.dat -- "${traces[@]}" >out 2>err || why+="$what: $(tail -n 1 err); " ;;
	*) "$memtui" $what "${traces[@]}" >out 2>err || why+="$what: status $?: $(tail -n 1 err); " ;;
	esac
	[ -s out ] || why+="$what: no output; "
done
say "every view that asks of totals" "$why"
begun=$("$memtui" timeline --format json "${traces[@]}" 2>err | value 'sum(j["allocations"]), max(j["live_bytes"]) > 30000, j["live_bytes"][-1]')
all=$(for t in "${traces[@]}"; do "$memtui" timeline --format json "$t" 2>/dev/null | value 'sum(j["allocations"])'; done | paste -sd+ | bc)
say "the timeline has all allocations, and nothing lives when all have ended" "$(is "$begun" "$all True 0")"

# ---- a check of all ----
"$memtui" check --max-leaked 1G --format json "${traces[@]}" >check.json 2>err
say "a check passes" "$(is $? 0)$(is "$(value 'j["holds"], j["recordings"]' <check.json)" "True $((${#traces[@]} - 2))")"
left=$(value 'j["limits"][0]["value"]' <check.json)
own=$(for t in "${traces[@]}"; do
	case $t in *.exec*) ;; *) "$memtui" check --this-image --max-leaked 1G --format json "$t" 2>/dev/null | value 'j["limits"][0]["value"]' ;; esac
done | paste -sd+ | bc)
say "what leaks is the sum, without what lived at an exec" "$(is "$left" "$own")"
"$memtui" check "${traces[@]}" >out 2>err
say "a check fails and names the processes" "$(is $? 1)$(grep -q 'recordings leak; the largest' out || echo "it does not name them")"
"$memtui" check --max-leaked 1G --leak-check "${traces[@]}" >out 2>err
say "without a leak check of each, it is UNKNOWN" "$(is $? 1)$(grep -q 'UNKNOWN leaked' out || head -n 3 out)"

# ---- the summary: a second opening gives what the first one gave, whatever is wrong with the file ----
libs="-lpcre2-8 -lzstd -lz -ldw -lelf -lZydis -lm -pthread"
printf '#include <libiberty/demangle.h>\n' | gcc -E -x c - >/dev/null 2>&1 && libs+=" -liberty"
if gcc -std=gnu11 -D_GNU_SOURCE -O1 -g -I"$top" -o summary "$here/summary.c" "$build/libcore.a" $libs 2>cc.err; then
	mkdir many
	for ((i = 0; i < 20; i++)); do cp "${traces[i % ${#traces[@]}]}" "many/t.dat.$i"; done
	touch -d '1 hour ago' many/*
	say "a set is as it was read, from its summary" "$(./summary "$tmp/cache" many/* 2>&1)"
	one=$(ls cache/*.set)
	why=
	cp "$one" whole
	python3 - whole <<-'END'
		import random, sys
		whole = open(sys.argv[1], "rb").read()
		for i in range(60):
		    data, chance = bytearray(whole), random.Random(i)
		    if i % 3 == 0:
		        del data[chance.randrange(len(data)):]
		    for _ in range(chance.randrange(1, 4)):
		        if data:
		            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
		    open("damaged.%d" % i, "wb").write(data)
	END
	for ((i = 0; i < 60 && ${#why} == 0; i++)); do
		cp damaged.$i "$one"
		why=$(./summary --damaged "$tmp/cache" many/* 2>&1 | head -n 1)
	done
	cp whole "$one"
	say "a damaged summary is as none" "$why"
	touch -d '2 hours ago' many/t.dat.3
	say "a summary of other files is not used" "$(./summary --damaged "$tmp/cache" many/* 2>&1)$(is "$(ls cache/*.set | wc -l)" 2)"
	chmod 777 cache
	say "a directory that others can write to is not used" "$(./summary --none "$tmp/cache" many/* 2>&1)"
else
	not_ok summary "it cannot be built: $(head -n 2 cc.err)"
fi

refused() { # NAME STATUS PATTERN COMMAND...
	local name=$1 status=$2 pattern=$3
	shift 3
	timeout 60 "$memtui" "$@" >out 2>err
	say "$name" "$(is $? "$status")$(grep -q "$pattern" err || tail -n 2 err)"
}

one=$("$memtui" groups --format json t.dat ./t.dat t.dat.exec0 2>err | value 'sum(g["all"]["size"] for g in j)')
say "a file that is given twice counts once" "$(is "$one" "$("$memtui" groups --format json t.dat t.dat.exec0 2>/dev/null | value 'sum(g["all"]["size"] for g in j)')")$(
	grep -q 'more than once' err || echo "it is not said")"

# ---- what is not known is not passed ----
not_passed() { # NAME PATTERN OPERAND...
	local name=$1 pattern=$2
	shift 2
	"$memtui" check --max-leaked 1G --max-peak 1G --format json "$@" >check.json 2>err
	say "$name" "$(is $? 1)$(is "$(value 'j["holds"], j["limits"][0]["outcome"]' <check.json)" 'False unknown')$(
		"$memtui" check --max-leaked 1G "$@" 2>&1 | grep -q "$pattern" || echo "not said: $pattern")"
}
not_passed "a recording that cannot be read is UNKNOWN" '1 recording could not be read' t.dat /nonexistent
"$memtui" record --disabled -o paused.dat -- ls / >out 2>&1
not_passed "one that was paused throughout is UNKNOWN" 'recorded in 1 recording: paused' t.dat paused.dat
head -c 20000 "$(ls -S t.dat* | head -n 1)" >cut.dat
not_passed "an incomplete one is UNKNOWN" 'incomplete' t.dat cut.dat
# The peaks of what does not say its length before it is read count, too.
most=$("$memtui" info --format json t.dat | value 'j["peak_bytes"]')
"$memtui" check --max-peak $((most - 1)) --format json "$(ls -S t.dat.* | tail -n 1)" - <t.dat >check.json 2>err
say "the peak is not less than that of one alone" "$(is "$(value 'j["limits"][0]["outcome"]' <check.json)" fail)"
refused "a thread that nobody has" 1 'none of the recordings has the thread' groups --thread nobody "${traces[@]}"
refused "totals of processes" 1 'or of their processes' groups --by process --filter 'group_allocations>=20' "${traces[@]}"
refused "a side of diff that is missing" 2 'second side' diff t.dat --

# ---- what cannot be ----
echo nothing | tee broken.dat >broken2.dat
refused "a recording that cannot be read is left out" 1 'broken.dat' groups "${traces[@]}" broken.dat
say "the others are there" "$(is "$("$memtui" groups --format json "${traces[@]}" broken.dat 2>/dev/null | value 'len(j)')" \
	"$("$memtui" groups --format json "${traces[@]}" 2>/dev/null | value 'len(j)')")"
refused "none can be read" 1 'none of the 2 recordings' groups broken.dat broken2.dat
refused "single blocks have their own recording" 1 'give one recording' groups --by thread "${traces[@]}"
refused "a process that is not there" 1 "no recording of 'nobody'; the programs are: .*perl" groups --process nobody "${traces[@]}"
refused "a mistake in a filter" 2 "function" groups --function-regex '(' "${traces[@]}"
refused "diff wants to know the sides" 2 "'--'" diff t.dat t.dat.exec0 t.dat
refused "totals over time" 1 'ask each recording by itself' timeline --filter 'group_allocations>=1000' "${traces[@]}"
exit $bad
