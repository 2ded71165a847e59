#!/bin/bash
# run.sh BUILD_DIR: tests of the tracer alone. BUILD_DIR holds libmemtui.so (default: $BUILD). Programs are
# built into BUILD_DIR/tracer-tests. Prints "ok NAME" or "not ok NAME: why" and fails if any is not.
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=$(cd "${1:-$BUILD}" && pwd) || exit 2
lib=$build/libmemtui.so
out=$build/tracer-tests
failed=0
mkdir -p "$out" && cd "$out" || exit 2
export LC_ALL=C
export MEMTUI_CACHE= # names are looked up anew, and none are left behind

say() { # NAME WHY...: ok when there is no reason
	name=$1; shift
	if [ -z "$*" ]; then echo "ok $name"; else echo "not ok $name: $*"; failed=1; fi
}

build_all() {
	flags="-O2 -g -D_GNU_SOURCE -I$top -pthread -fno-builtin -w"
	for f in drain counts nested threads children limits stacks plugins framepointer maps calls pools slack bundles mallocx storm absent forks registers bells leaps reopened deepfork strict late; do
		gcc $flags "$here/$f.c" -o $f || return 1
	done
	for f in operators torture unmapped ringless pooled; do
		g++ -std=c++17 $flags "$here/$f.cc" -o $f || return 1
	done
	gcc $flags -rdynamic "$here/own.c" -o own || return 1
	gcc $flags -rdynamic "$here/looks.c" -o looks || return 1
	gcc $flags -shared -fPIC "$here/sized.c" -o libsized.so || return 1
	gcc $flags -shared -fPIC -DLIBRARY "$here/registers.c" -o libregisters.so || return 1
	gcc $flags -shared -fPIC "$here/nested_bump.c" -o libbump.so || return 1
	gcc $flags -shared -fPIC "$here/bells_late.c" -o liblate.so || return 1
	for n in 100 4000; do
		g++ $flags -shared -fPIC -DFRAME=$n "$here/plugin.cc" -o plugin$n.so || return 1
	done
}

trace() { # REPORT [DRAIN OPTION...] -- PROGRAM...
	report=$1; shift
	options=()
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	timeout 240 ./drain -l "${preload:-$lib}" -o $report "${options[@]}" "$@"
}

field() { # REPORT NAME: the sum of a field over all images
	grep -o "[ ]$2=[0-9]*" $1 | awk -F= '{s += $2} END {printf "%d", s}'
}

expect() { # REPORT NAME=VALUE...: prints what differs
	report=$1; shift
	for pair in "$@"; do
		value=$(field $report ${pair%%=*})
		[ "$value" = "${pair#*=}" ] || echo "${pair%%=*} is $value, not ${pair#*=};"
	done
}

sound="bad=0 wrong_stacks=0 lost_allocations=0 lost_frees=0 untraced_events=0 map_failures=0"

truth() { # NAME [OPTION...] -- PROGRAM...: the report must say what the program's TRUTH line says
	name=$1; shift
	trace $name.report "$@" 2>$name.err >/dev/null || { say $name "status $?"; return; }
	say $name "$(expect $name.report $sound $(grep -o '^TRUTH.*' $name.err | grep -oE '(allocs|frees|bytes|reallocs|restores)=[0-9]+'))"
}

events() { # NAME [OPTION...] -- PROGRAM...: the recorded events are those that the program prints, in their order
	name=$1; shift
	trace $name.report -e -c "$@" >$name.truth 2>$name.err || { say $name "status $?: $(tail -1 $name.err)"; return; }
	say $name "$(expect $name.report $sound)$(grep -E '^(ALLOC|FREE|RELEASE|REALLOC|RESTORE|MAP|UNMAP|UNMAP_FAILED|CALL|USER) ' $name.report \
		| diff - $name.truth | head -3)"
}

prefixed() { # NAME LIBRARY-OPTIONS PREFIX [LIBRARY [ARGUMENT]]: linked with it, and preloaded where LIBRARY is given
	local name=$1
	gcc $flags -DPREFIX=$3 "$here/prefixed.c" -o prefixed $2 -Wl,-rpath,"$out" || { say "prefixed $name" "does not build"; return; }
	preload=$lib${4:+:$4}
	trace prefixed.report -e -- ./prefixed $5 >prefixed.truth || echo "status $?"
	preload=
	say "prefixed $name" "$(expect prefixed.report $sound)$(grep -E '^[A-Z]+ [0-9]+ [0-9a-f]+ [0-9]+.* (main|-)$' prefixed.report \
		| sed -n '/^ALLOC 1 [0-9a-f]* 1 /,$p' | sed '1s/^ALLOC 1 .*/ALLOC 1/;2d' | diff - prefixed.truth | head -3)"
}

prefixed_all() {
	for prefix in je_ _rjem_ mi_ tc_; do
		gcc $flags -shared -fPIC -DPREFIX=$prefix "$here/bundle.c" -o libbundle.so || return
		prefixed "$prefix, bundled" ./libbundle.so $prefix "" usable
	done
	# a wrapper of malloc: malloc's hook sees all, with the block that malloc has given
	gcc $flags -shared -fPIC -DPREFIX=je_ -DWRAP=0 "$here/bundle.c" -o libbundle.so || return
	gcc $flags -DPREFIX=je_ "$here/prefixed.c" -o prefixed ./libbundle.so
	trace prefixed.report -e -- ./prefixed >prefixed.truth
	say "prefixed, a wrapper" "$(awk '$1 == "ALLOC" {if (live[$3]++) print $0; n++} $1 == "FREE" {if (!live[$3]--) print $0; f++}
		END {if (n != 15 || f != 15) print n, f}' prefixed.report | head -3)"
	# some by malloc, some not: what is not seen from then on is counted
	gcc $flags -shared -fPIC -DPREFIX=je_ -DWRAP=1000 "$here/bundle.c" -o libbundle.so || return
	trace prefixed.report -e -- ./prefixed >prefixed.truth
	say "prefixed, a wrapper with a pool" "$(expect prefixed.report untraced_events=5)$(awk '$1 == "ALLOC" {live[$3]++} $1 == "FREE" && !live[$3]-- {print}' prefixed.report | head -3)"
	for n in 1 2; do gcc $flags -shared -fPIC -DPREFIX=je_ "$here/bundle.c" -o libplug$n.so || return; done
	trace bundles.report -e -- ./bundles $out/libplug1.so $out/libplug2.so || echo "status $?"
	say "prefixed, two plug-ins" "$(awk '$1 == "ALLOC" && $4 == 1234 {n[$NF]++} END {if (n["libplug1.so"] != 10 || n["libplug2.so"] != 10) for (m in n) print m, n[m]}' \
		bundles.report)"
	gcc $flags -shared -fPIC -DPREFIX=je_ -DWRAP=0 "$here/bundle.c" -o libwrapper.so || return
	trace bundles.report -e -- ./bundles $out/libwrapper.so $out/libplug1.so || echo "status $?"
	say "prefixed, a plug-in beside a wrapper" "$(expect bundles.report untraced_events=0)$(awk '$1 == "ALLOC" && ($4 == 1234 || $4 == 1298) {n[$NF]++}
		END {if (n["libplug1.so"] != 10 || n["libwrapper.so"] != 10) for (m in n) print m, n[m]}' bundles.report)"
	for n in 0 1ul; do # alike but for a number, so that the second comes to lie where the first was
		gcc $flags -shared -fPIC -DPREFIX=je_ -D"WRAP=(*(volatile size_t[]){$n << 40})" "$here/bundle.c" -o libalike$n.so || return
	done
	trace reopened.report -e -- ./reopened $out/libalike0.so $out/libalike1ul.so || echo "status $?"
	say "prefixed, a plug-in where a wrapper was" "$(expect reopened.report untraced_events=0)$(awk '$1 == "ALLOC" && $4 == 1234 {n++} END {if (n != 1) print n + 0}' reopened.report)"
	gcc $flags -shared -fPIC "$here/dependent.c" -o libdependent.so ./libplug1.so -Wl,-rpath,"$out" || return
	trace bundles.report -e -- ./bundles $out/libdependent.so || echo "status $?"
	say "prefixed, a plug-in's library" "$(awk '$1 == "ALLOC" && $4 == 1234 && $NF == "libdependent.so" {n++} END {if (n != 10) print n + 0}' bundles.report)"
	trace forks.report -- ./forks $out/libdependent.so $out/libplug2.so
	say "prefixed, in children of a program that opens and closes" "$([ $? = 0 ] || echo status)"
	trace forks.report -- ./forks $out/libdependent.so $out/libplug2.so sealed
	say "the same behind a filter" "$([ $? = 0 ] || echo status)"
	LD_PRELOAD=$lib ./forks $out/libdependent.so $out/libplug2.so
	say "the same, unrecorded" "$([ $? = 0 ] || echo status)"
	echo 'extern "C" int use() { int *volatile p = new int; delete p; return 1; }' >use.cc
	for n in 1 2; do g++ $flags -shared -fPIC use.cc -o libuse$n.so || return; done
	trace forks.report -- ./forks $out/libuse1.so $out/libuse2.so threads
	say "operators, in a child that opens and closes" "$([ $? = 0 ] || echo status)"
	for path in "" $(ldconfig -p | awk '$1 == "libjemalloc.so.2" {print $NF; exit}'); do
		preload=$lib${path:+:$path}
		trace mallocx.report -e -- ./mallocx >mallocx.truth || echo "status $?"
		preload=
		say "mallocx${path:+ of jemalloc}" "$(expect mallocx.report $sound)$(sed -E -n 's/^([A-Z]+ [0-9]+ [0-9a-f]+ [0-9]+).* (main|-)$/\1/p' mallocx.report \
			| tail -n $(wc -l <mallocx.truth) | sed '1s/.*/ALLOC 1/' | diff - mallocx.truth | head -3)"
	done
	for name in mimalloc:mi_ tcmalloc:tc_ tcmalloc_minimal:tc_; do
		path=$(ldconfig -p | awk -v n=lib${name%:*}.so '$1 == n {print $NF; exit}')
		[ -n "$path" ] || continue
		prefixed "${name%:*}, linked" $path ${name#*:}
		prefixed "${name%:*}, preloaded" $path ${name#*:} $path
	done
}

slack() { # LIBRARY [OPTION...]: usable sizes, and the module that provides malloc
	library=$1; shift
	rm -f slack.report
	preload=$lib$([ $library = libc.so.6 ] || echo :$library)
	trace slack.report -e "$@" -- ./slack $library $([ $library = libc.so.6 ] || echo always) >slack.truth 2>slack.err || echo "status $?"
	preload=
	allocator=$(sed -n s/allocator=//p slack.err)
	grep -q " allocator=$allocator own=0 " slack.report || echo "malloc is at $allocator; "
	grep -E ' (main|-)$' slack.report | sed -n '/^ALLOC 1 [0-9a-f]* 1 /,$p' | sed '1s/^ALLOC 1 .*/ALLOC 1/;2d' | diff - slack.truth | head -3
}

same_output() { # NAME PROGRAM...: the same output and status as untraced, and all stacks right
	name=$1; shift
	"$@" >$name.plain 2>/dev/null; status=$?
	trace $name.report -c -- "$@" >$name.traced 2>/dev/null; traced=$?
	why=
	[ $status = $traced ] || why="status $traced, not $status; "
	cmp -s $name.plain $name.traced || why="${why}output differs; "
	[ -s $name.report ] || why="${why}not traced; "
	say $name "$why$(expect $name.report bad=0 wrong_stacks=0 lost_allocations=0 untraced_events=0)"
}

built() { # NAME TRACED: ./header says 0 untraced, TRACED under the tracer, and is linked with nothing but libc
	[ "$(./header)" = 0 ] || echo "$1 untraced says $(./header); "
	[ "$(trace header.report -- ./header)" = $2 ] || echo "$1 traced does not say $2; "
}

header() { # memtui.h in all kinds of C and C++, in every kind of object
	strict="-I$top/preload -Wall -Wextra -Werror -pedantic"
	for how in "gcc -std=c99 -O0" "gcc -std=c17 -O2" "gcc -std=c99 -O2 -fno-pie -no-pie" "gcc -O0 -fno-pie -no-pie" \
		"gcc -O3 -flto" "g++ -x c++ -std=c++11" "g++ -x c++ -std=c++20 -O2 -fno-pie -no-pie" "clang -std=c99 -O2" \
		"clang -O2 -fno-pie -no-pie" "clang++ -x c++ -std=c++11"; do
		rm -f header
		$how $strict "$here/header.c" -o header 2>header.log || { echo "$how: $(head -1 header.log); "; continue; }
		built "$how" 1
	done
	gcc -O2 $strict -DMEMTUI_DISABLE "$here/header.c" -o header && built disabled 0
	gcc -O2 $strict -fPIC -shared -DNO_MAIN "$here/header.c" -o libheader.so \
		&& gcc $strict -DNO_PART "$here/header.c" -o header ./libheader.so && built "shared library" 1
	gcc -O2 $strict -c -DNO_MAIN "$here/header.c" -o part.o && ar rcs libpart.a part.o \
		&& gcc $strict -DNO_PART "$here/header.c" -o header libpart.a && built "static library" 1
	gcc -O2 $strict -Dunused='__attribute__((unused))' -Dweak=no -Dalways_inline=no "$here/header.c" -o header && built "words defined" 1
	gcc -O2 $strict -static "$here/header.c" -o header 2>/dev/null && [ "$(./header)" != 0 ] && echo "static says $(./header)"
}

compare_stacks() { # what backtrace() said and what was recorded, by the size of the block
	trace stacks.report -s -- ./stacks >stacks.truth || return
	awk 'NR == FNR { if ($1 == "STACK") { line = ""; for (i = 6; i <= NF; i++) { sub(/.*\+/, "", $i); line = line " " $i }
			ours[$3] = line } next }
		function number(text,  n, i) { n = 0
			for (i = 1; i <= length(text); i++) n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
			return n }
		{ n = split(ours[$1], pc, " "); compared++
			if (n != NF - 1) { print "size " $1 ": " n " frames, not " NF - 1; exit }
			for (i = 1; i <= n; i++) { d = number($(i + 1)) - number(pc[i])
				if (d != 0 && d != 1) { print "size " $1 ": frame " i " is " pc[i] ", not " $(i + 1); exit } } }
		END { if (compared < 20) print "only " compared + 0 " stacks compared" }' stacks.report stacks.truth
}

dead_or_stuck() {
	start=$SECONDS
	trace dead.report -k 1000 -- "$out/threads" 2>/dev/null; why=$([ $? = 0 ] || echo "status")
	say "recorder dies" "$why$([ $((SECONDS - start)) -lt 120 ] || echo "took too long")"
	start=$SECONDS
	preload=$lib:$out/libbump.so # the handlers of nested need it
	trace stuck.report -z -- ./nested 2>stuck.err; why=$([ $? = 0 ] || echo "status")
	lost=$(field stuck.report lost_allocations)
	say "recorder stands still" "$why$([ $((SECONDS - start)) -lt 120 ] || echo "took too long; ")$([ $lost -gt 100000 ] || echo "lost $lost")"
	trace small.report -r 1024 -- ./nested 2>small.err
	say "small ring" "$(expect small.report bad=0 gaps=0)"
	preload=
	trace asleep.report -w -r 1024 -a 1000 -- ./bells full; status=$?
	say "a full ring wakes a recorder that fell asleep late" "$([ $status = 143 ] || echo "status $status; ")$(expect asleep.report bad=0)"
	until trace still.report -j -r 8192 -- ./bells many; status=$?; [ $status != 99 ]; do :; done
	say "the machine stands still" "$([ $status = 0 ] || echo "status $status; ")$(expect still.report $sound gaps=0 allocs=5000 frees=5000)"
	trace sealed.report -a 0 -- ./bells sealed; status=$?
	say "a program wakes the recorder before it is sealed" "$([ $status = 0 ] || echo "status $status; ")$(expect sealed.report $sound sealed=1 mute=1 allocs=20)"
	trace refused.report -a 0 -- ./bells refused; status=$?
	say "a program whose filter is refused rings on" "$([ $status = 0 ] || echo "status $status; ")$(expect refused.report $sound sealed=0 mute=0 allocs=20)"
	preload=$lib:$out/liblate.so
	trace meanwhile.report -a 0 -- ./bells meanwhile; status=$?
	say "a filter that is refused takes nothing back of another" "$([ $status = 0 ] || echo "status $status; ")$(expect meanwhile.report $sound sealed=1 mute=1)"
	trace held.report -a 0 -- ./bells held; status=$?
	say "a filter that holds before its thread knows" "$([ $status = 0 ] || echo "status $status; ")$(expect held.report $sound sealed=1)"
	preload=
}

filter_meanwhile() { # no thread makes a call that it was about to make when a filter holds for all
	say "a filter as a thread begins" "$(late start 1 9)"
	say "a filter as a thread waits for room" "$(late room 1 4 -z -r 1024)"
	say "a filter as a thread reads another stack" "$(late apart 1 20)"
	say "a filter as a thread is about to install one" "$(late seal 1 20)"
	say "a filter as another waits to be installed" "$(late both 1 1)"
	say "a filter in a child without the thread" "$(late fork 1 2)"
}

full_tables() {
	trace nodes.report -n 200 -- ./torture 50 0 >/dev/null
	say "full call tree" "$(expect nodes.report bad=0)$([ $(field nodes.report nodes_full) -gt 0 ] || echo "never full")"
	trace rings.report -t 2 -- ./torture 100 4 >/dev/null
	say "no ring for a thread" "$(expect rings.report bad=0)$([ $(field rings.report untraced_events) -gt 0 ] || echo "all traced")"
	trace ringless.report -t 2 -- ./ringless
	say "each event without a ring counts once" "$(expect ringless.report bad=0 threads_full=1 untraced_events=600)"
	trace depth.report -c -d 16 -- ./torture 200 2 >/dev/null
	say "depth limit" "$(expect depth.report $sound)$([ $(field depth.report cut_stacks) -gt 100 ] || echo "none cut")"
}

nested() { # a handler that leaves the tracer may leave an allocation of the main program uncounted by itself
	preload=$lib:$out/libbump.so
	trace nested.report -- ./nested 2>nested.err
	allocs=$(grep -o 'allocs=[0-9]*' nested.err)
	say "nested events" "$(expect nested.report bad=0 abandoned=0)$([ $(($(field nested.report allocs) + $(field nested.report lost_allocations))) = "${allocs#*=}" ] || echo "not $allocs; ")$([ $(field nested.report nested_events) -gt 100 ] || echo "none nested")"
	trace jump.report -- ./nested jump 2>jump.err
	for us in 5 10 15; do
		trace leaps.report -- ./leaps $us
		say "20 longjmps out of the tracer, $us us apart" "$([ "$(field leaps.report allocs)" -ge 1000 ] || echo "only $(field leaps.report allocs) allocations; ")$(expect leaps.report bad=0)"
	done
	say "longjmp out of the tracer" "$(expect jump.report bad=0)$([ $(field jump.report abandoned) -gt 5 ] || echo "none abandoned")"
	preload=
}

deep_blocks() { # REPORT: how often which call made or ended a block of 7000 to 7999 bytes; what was ended that was not there
	grep '^[0-9]' $1.report | sort -sn | cut -d ' ' -f 2- | awk '$1 == "ALLOC" || $1 == "REALLOC" { if ($4 >= 7000 && $4 < 8000) { n[$1 " " $2 " " $4]++; live[$3] = 1 } else delete live[$3] }
		$1 == "FREE" || $1 == "RELEASE" { if ($3 in live) { n[$1 " " $2]++; delete live[$3] } }
		END { for (i in n) print n[i], i; for (p in live) left++; print left + 0, "left" }' | sort
}

deep() { # libraries opened with RTLD_DEEPBIND are seen as others are
	g++ $flags -shared -fPIC -DDEPENDENCY "$here/deep_library.cc" -o libdeepneeded.so &&
		g++ $flags -shared -fPIC "$here/deep_library.cc" -o libdeep.so ./libdeepneeded.so -Wl,-rpath,"$out" &&
		g++ $flags -shared -fPIC -DOWN "$here/deep_library.cc" -o libdeepown.so && mkdir -p beside && cp libdeep.so beside/libinner.so &&
		g++ $flags -shared -fPIC -DOPENER "$here/deep_library.cc" -o beside/libopener.so -Wl,-rpath,'$ORIGIN' &&
		g++ -std=c++17 $flags "$here/deep.cc" -o deep || { echo "does not build"; return; }
	for how in plain deep once forked named space sealed; do
		./deep $how "$out" >deep.plain || echo "$how: status $?; "
		[ $how != deep ] || cp deep.plain deep-strict.plain
		trace deep-$how.report -E -c -r 65536 -- ./deep $how "$out" | cmp - deep.plain || echo "$how: output"
		deep_blocks deep-$how >deep-$how.blocks
	done
	expect deep-deep.report $sound unseen_libraries=0
	diff deep-plain.blocks deep-deep.blocks
	diff deep-once.blocks deep-forked.blocks
	diff deep-once.blocks deep-named.blocks
	grep -q '^3 ALLOC 1 7000$' deep-once.blocks && grep -q '^2 left$' deep-once.blocks || cat deep-once.blocks
	expect deep-forked.report $sound unseen_libraries=0
	expect deep-named.report $sound unseen_libraries=0
	expect deep-space.report unseen_libraries=1
	expect deep-sealed.report unseen_libraries=1
	trace deepfork.report -- ./deepfork "$out/libdeepneeded.so" || echo "deepfork: status $?"
	expect deepfork.report unseen_libraries=0
	gcc $flags -shared -fPIC -DLIBRARY -Wl,-z,noseparate-code "$here/strict.c" -o libstrict.so || echo "strict does not build"
	preload=$lib:$out/libstrict.so
	trace deep-strict.report -- ./strict ./deep deep "$out" | cmp - deep-strict.plain || echo "strict: output"
	preload=
	[ $(field deep-strict.report unseen_libraries) -gt 0 ] || echo "strict: none unseen"
	path=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" {print $NF; exit}')
	[ -n "$path" ] || return # as untraced, the library keeps to libc's malloc
	preload=$lib:$path
	trace deep-apart.report -- ./deep apart "$out" >/dev/null || echo "apart: status $?"
	preload=
	expect deep-apart.report unseen_libraries=1 sealed=1
}

late() { # WHAT FIRST LAST [DRAIN OPTION...]: at each of the tracer's calls until there are no more
	what=$1 first=$2 last=$3; shift 3
	for n in $(seq $first $last); do
		trace late.report "$@" -- ./late $what $n; status=$?
		[ $status != 10 ] || break
		[ $status = 0 ] || echo "call $n: status $status; "
	done
	[ $n -gt $first ] || [ $status != 10 ] || echo "no call"
}

build_all || { echo "not ok build"; exit 1; }
say "links libc alone" "$(readelf -d "$lib" | grep NEEDED | grep -v 'libc\.so\.6')"
truth counts -c -- ./counts
truth counts-monotonic -m -- ./counts
events maps -- ./maps
events pools -- ./pools traced
say "memtui.h untraced" "$(./pools | cmp -s - pools.truth || [ $? = 1 ] || echo status)"
storm() { # its rings hold all of it: on a busy machine a reader may stand still for longer than is waited for
	trace storm.report -e -r 1048576 -- ./storm 2>storm.err >storm.truth || echo "status $?"
	awk '{n[$1]++; n[$1 $2]++} END {printf "MAP %d UNMAP %d UNMAP_FAILED %d USER %d ALLOC15 %d FREE16 %d\n", n["MAP"], n["UNMAP"],
		n["UNMAP_FAILED"], n["USER"], n["ALLOC15"], n["FREE16"]}' storm.report | diff - storm.truth
	expect storm.report bad=0 lost_marks=0 lost_allocations=0 lost_frees=0 abandoned=0
	[ $(field storm.report nested_events) -gt 10 ] || echo "none nested"
	trace storm.report -z -r 1024 -- ./storm 300 2>storm.err >storm.truth || echo "status $? when the recorder stands still"
	[ $(field storm.report lost_marks) -gt 100 ] || echo "no mark lost when the recorder stands still"
}
say "maps and marks in threads and handlers" "$(storm)"
say "private memory" "$([ $(field counts.report private) -gt 65536 ] && [ $(field counts.report private) -lt 1000000 ] || field counts.report private)"
prefixed_all
say "slack with glibc" "$(slack libc.so.6)"
for name in libjemalloc.so.2 libmimalloc.so.2 libtcmalloc.so.4 libtcmalloc_minimal.so.4; do
	path=$(ldconfig -p | awk -v n=$name '$1 == n {print $NF; exit}')
	[ -n "$path" ] && say "slack with $name" "$(slack $path -u)"
done
trace own.report -- ./own >own.truth
say "a program's own malloc" "$(grep -q " $(cat own.truth) " own.report || cat own.truth)$(expect own.report allocs=0)"
say memtui.h "$(header)"
gcc -O1 -g -Wall -Wextra -Werror -I$top/preload $top/tests/programs/arena.c -o arena
trace arena.report -e -- ./arena >/dev/null # 3 documents of 3000 nodes and 1000 texts; the last is forgotten
say "the example of memtui.h" "$(expect arena.report $sound)$(awk '$1 == "ALLOC" && $2 == 15 {a++; b += $4} $1 == "FREE" && $2 == 16 {f++} $1 == "USER" {u++}
	END {if (a != 12000 || f != 8000 || b != 9000 * 16 + 3000 * 40 || u != 5) print a, f, b, u}' arena.report)"
for mixed in "" mixed; do # what else there is: libstdc++'s block for exceptions, stdio's
	trace pooled.report -e -- ./pooled $mixed >pooled.truth
	say "operators of a pool of the program's own${mixed:+, and of malloc}" "$(awk -v n="$(cat pooled.truth)" '$1 == "ALLOC" {live[$3]++; a++}
		$1 == "FREE" {f++; if (!live[$3]--) print "a free of what was not allocated"} END {if (f != n || a < n || a > n + 2) print a, f, "not", n}' pooled.report | head -3)"
done
events "calls" -- ./calls
preload=$lib:$out/libsized.so events "calls-sized" -- ./calls
trace operators.report -- ./operators 2>/dev/null
say operators "$(grep KINDS operators.report | awk '{split($12, n, "/"); split($13, a, "/"); split($15, d, "/"); split($16, b, "/")
	if (n[1] != 50 || a[1] != 30 || d[2] != 50 || b[2] != 30) print $0}')"
path=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" {print $NF; exit}')
if [ -n "$path" ]; then # whose operators do not call malloc
	preload=$lib:$path
	trace operators.report -- ./operators 2>/dev/null
	preload=
	say "operators of jemalloc" "$(grep KINDS operators.report | awk '{split($12, n, "/"); split($13, a, "/"); split($15, d, "/"); split($16, b, "/")
		if (n[1] != 50 || a[1] != 30 || d[2] != 50 || b[2] != 30) print $0}')"
fi
trace absent.report -- ./absent
say "functions that the program does not have" "$([ $? = 0 ] || echo status)$(expect absent.report $sound)$(grep KINDS absent.report \
	| awk '{if ($12 != "20/0" || $15 != "0/20") print $0}')"
g++ $flags -shared -fPIC -DSTRING "$here/pool.cc" -o pool1.so && g++ $flags -shared -fPIC "$here/pool.cc" -o pool2.so
same_output pools-of-plugins ./bundles $out/pool1.so $out/pool2.so
say "libraries bound to themselves first" "$(deep 2>&1 | head -5)"
same_output unmapped ./unmapped
same_output looks ./looks
./registers "$out/libregisters.so" >registers.plain
say "vector registers under a TLS descriptor" "$(trace registers.report -- ./registers "$out/libregisters.so" | diff registers.plain - | head -3)"
same_output plugins ./plugins $out/plugin100.so $out/plugin4000.so
say "plugins' operators" "$(grep KINDS plugins.report | awk '{if ($12 != "0/0" || $13 != "1000/0" || $16 != "0/1000") print $0}')$(expect plugins.report epoch=200)"
same_output torture ./torture 400 3
same_output framepointer ./framepointer
trace free-stacks.report -c -f -- ./torture 200 2 >/dev/null
say "stacks of frees" "$(expect free-stacks.report $sound)"
say "stacks as backtrace() has them" "$(compare_stacks)"
trace threads.report -- ./threads 2>/dev/null
say threads "$(expect threads.report bad=0 threads=4001 threads_full=0)$([ $(field threads.report rings) -le 12 ] || echo "$(field threads.report rings) rings")"
trace later.report -T 8 -- ./threads 2>/dev/null
say "more threads than the table holds" "$(expect later.report bad=0 threads=4001 threads_full=0 untraced_events=0)"
trace children.report -- ./children
say children "$([ $? = 0 ] || echo status)$(expect children.report bad=0 lost_allocations=0 lost_frees=0 untraced_events=0)$([ $(grep -c IMAGE children.report) = 241 ] || echo "not 241 images")"
trace limits.report -- ./limits
say limits "$([ $? = 0 ] || echo status)$(expect limits.report bad=0)"
MEMTUI_SESSION=nobody:0123456789abcdef0123456789abcdef LD_PRELOAD=$lib ./counts 2>/dev/null
say "no recorder" "$([ $? = 0 ] || echo status)"
nested
dead_or_stuck
filter_meanwhile
full_tables
same_output bash bash -c 'for i in 1 2 3; do x=$(echo $i | tr 1 2); echo $x; done; ls / | sort | head -3'
have() { command -v $1 >/dev/null; }
have sqlite3 && same_output sqlite3 sqlite3 :memory: "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) insert into t select i, i * 7919 % 1000 from n; create index x on t(b); select b, count(*), group_concat(a) from t group by b limit 20;"
have perl && same_output perl perl -e 'my %h; $h{$_ % 997} .= "x$_" for 1..50000; print length join "", map { "$_$h{$_}" } sort keys %h'
have git && same_output git git -C "$top" log --stat
have node && same_output node node -e 'let a = {}; for (let i = 0; i < 50000; i++) a["k" + i] = [i]; console.log(JSON.stringify(a).length)'
export PYTHONMALLOC=malloc
have python3 && same_output python3 "$(python3 -c 'import sys; print(sys.executable)')" -c 'import json, re; print(len(json.dumps([{"k%d" % i: [i, str(i) * 3]} for i in range(20000)])), len(re.sub("[0-9]+", "", "a1b2" * 5000)))'
cc1plus=$(g++ -print-prog-name=cc1plus)
printf '#include <map>\n#include <string>\nint main() { std::map<std::string, int> m; return m["x"]; }\n' >unit.cc
g++ -E unit.cc -o unit.ii && [ -x "$cc1plus" ] && same_output cc1plus "$cc1plus" -quiet -fpreprocessed unit.ii -O1 -o -
exit $failed
