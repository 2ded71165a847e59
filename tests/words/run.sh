#!/bin/bash
# run.sh BUILD: words and shapes that readers had to decode do not come back: not in the built program, not in its help, not
# in its manual pages. Prints 'ok NAME' or 'not ok NAME: where'.
set -u
build=$(cd "$1" && pwd)
memtui=$build/memtui
[ -x "$memtui" ] || { echo "not ok words: $memtui is not built"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# A wrong phrase, a tab, what to write instead. Phrases are extended regular expressions and ignore case. They are searched for in the
# strings of the program, which are those of the screen too, and in its help; those behind '@' only in help and manual pages.
cat >"$work/list" <<'LIST'
will not do	invalid value 'abc'
is given again	give it once
needs more;	missing TRACE; usage: ...
is one too many	extra argument
went over|going over events	read
' is no [a-z]+;	invalid ... 'abc'
there are totals alone	has only totals
which came first is not known	order unknown
at which no block lived	unknown addresses
what comes before was read	memtui read the part before it
looked up anew	look up again
breaks off	ends
has no end:	is incomplete:
@asks (of|for) (blocks|single|groups)	selects
that is not (there|defined)'	undefined
@went on untraced	was not recorded
does not go with '	not with ...
lists any of them	lists them
@so and so many	N
@where that is so	if
@or the like	such as
takes no tracer	loads no tracer
leaves? nothing; expected	no value can match
somebody else's symbolic	another user's
no (command|setting|option|metric|field|kind) '	unknown ...
lines that are wrong	wrong lines
@in force	current
@of its own accord	by itself
what it makes of it	program-defined
\bbegins anew	begins again
drawn? anew|record anew	again
totals alone	only totals
ASCII alone	only ASCII
went on untraced	was not traced
(is|was|are) called so	matches
turns there|turns to the	shows
suspicion of a leak|looks like a leak	leak score
broken off	incomplete
takes? (its times|all marks) (out|away)|take away	clears
change places	swap
are as before|is as before|as at the beginning	unchanged, reset
allocated in all	in total
what was live|what is suppressed|what was judged	live blocks, suppressed groups
in force when|it is in force	applied
makes no sense	is invalid
nothing was said|what was said about	judged, judgements
some seconds (must be|of) watch	a few seconds
is not there'?$	does not exist, not found
the other way round	reversed
asks for single	selects individual blocks
HAPPENED \(~	EVENT (~
gives? it up	drops it
runs? on(,|;| and| unre)	keeps running
the recording goes on|recording pauses	recording resumed, paused
LIST

strings -n 4 "$memtui" >"$work/strings"
{
	for topic in memtui filters metrics environment config keys; do "$memtui" help $topic; done
	for command in $("$memtui" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
		"$memtui" help "$command"
		"$memtui" help --man "$command"
	done
	for page in memtui filters config keys; do "$memtui" help --man $page; done
} | tr '\n' ' ' | tr -s ' ' '\n' | paste -sd ' ' | sed 's/\\//g' >"$work/help" # a phrase may go over the end of a line

while IFS=$'\t' read -r wrong better; do
	in=("$work/help" "$work/strings")
	[ "${wrong#@}" = "$wrong" ] || in=("$work/help")
	found=$(grep -hoiE ".{0,40}(${wrong#@}).{0,40}" "${in[@]}" | head -n 3)
	[ -z "$found" ] || { echo "not ok words '$wrong': write '$better': $found"; bad=1; }
done <"$work/list"
[ "$(wc -w <"$work/help")" -gt 5000 ] || { echo "not ok words: the help has $(wc -w <"$work/help") words"; bad=1; }

# An option is told in at most 45 words.
long=$(for command in run record groups export check; do "$memtui" help --man $command | sed -n '/^\.SH OPTIONS/,/^\.SH [^O]/p'; done |
	awk 'NF > 45' | head -n 2)
[ -z "$long" ] || { echo "not ok words: an option takes more than 45 words: $long"; bad=1; }
[ $bad = 1 ] || echo "ok words $(wc -l <"$work/list") phrases"
exit $bad
