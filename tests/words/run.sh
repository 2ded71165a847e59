#!/bin/bash
# run.sh BUILD: words and shapes that readers had to decode do not come back: not in the texts of the sources, not in the help and
# the manual pages, not in the documents. And what the documents name exists. Prints 'ok NAME' or 'not ok NAME: where'.
set -u
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.." || exit 1
memtui=$build/memtui
[ -x "$memtui" ] || { echo "not ok words: $memtui is not built"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# A wrong phrase, a tab, what to write instead. Phrases are extended regular expressions and ignore case.
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
asks (of|for) (blocks|single|groups)	selects
that is not (there|defined)'	undefined
went on untraced	was not recorded
does not go with '	not with ...
lists any of them	lists them
so and so many	N
where that is so	if
or the like	such as
takes no tracer	loads no tracer
leaves? nothing; expected	no value can match
somebody else's symbolic	another user's
no (command|setting|option|metric|field|kind) '	unknown ...
lines that are wrong	wrong lines
in force	current
of its own accord	by itself
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
\banew\b	again
\bthe like\b	such as
there is something to	name it
as it has it	as stated
(is|are) meant to	intentional, or name the purpose
of (its|their) own([[:punct:]]| (are|is|in|and|or|which|that)\b|$)	its own ..., a separate ...
where is recorded with	not recorded (use ...)
blocks come and go	ages: available after exit
as you left it	last view restored
suspect does not add up	leak scores cannot be summed
what it left stays	data stays until you quit
was in a stack by then	first seen at or before
bars of their width	bar width = share of total
what matched of	filtered values
outlived that	are more than ten times older
give the bar all	zoom in
that were left for	saved
of what has just begun	unreliable in the first seconds
limits on leaks are for	count only leaks that TRACE does not have
two instants	two moments
blocks that grew by	realloc chains
can be looked at	can be opened
gone over	read
makes of it	a trace made by ...
(came|comes) of a\b	comes from a
LIST

find tui core preload -name '*.[ch]' | xargs python3 tests/words/texts.py debian/control debian/changelog >"$work/sources" &&
	python3 tests/words/texts.py README.md CONTRIBUTING.md doc/*.md doc/man/memtui.h.3 >"$work/documents" ||
	{ echo "not ok words: the sources or the documents cannot be read"; exit 1; }
{
	for topic in memtui filters metrics environment config keys; do "$memtui" help $topic; done
	for command in $("$memtui" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
		"$memtui" help "$command"
		"$memtui" help --man "$command"
	done
	for page in memtui filters config keys; do "$memtui" help --man $page; done
} | tr '\n' ' ' | tr -s ' ' '\n' | paste -sd ' ' | sed 's/\\//g' >"$work/help" # a phrase may go over the end of a line

while IFS=$'\t' read -r wrong better; do
	found=$(grep -hiE "$wrong" "$work/help" "$work/sources" "$work/documents" |
		grep -oiE "^[^ ]+:[0-9]+:|.{0,40}($wrong).{0,40}" | head -n 6)
	[ -z "$found" ] || { echo "not ok words '$wrong': write '$better': $(tr '\n' ' ' <<<"$found")"; bad=1; }
done <"$work/list"
for text in help:5000 sources:15000 documents:30000; do
	words=$(wc -w <"$work/${text%:*}")
	[ "$words" -gt "${text#*:}" ] || { echo "not ok words: ${text%:*}: only $words words were found"; bad=1; }
done

# An option is told in at most 45 words.
long=$(for command in run record groups export check; do "$memtui" help --man $command | sed -n '/^\.SH OPTIONS/,/^\.SH [^O]/p'; done |
	awk 'NF > 45' | head -n 2)
[ -z "$long" ] || { echo "not ok words: an option takes more than 45 words: $long"; bad=1; }
nowhere=$(python3 tests/words/names.py) || { echo "not ok words: names that lead nowhere: $(tr '\n' ';' <<<"$nowhere")"; bad=1; }

[ $bad = 1 ] || echo "ok words $(wc -l <"$work/list") phrases"
exit $bad
