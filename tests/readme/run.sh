#!/bin/bash
# run.sh BUILD: does what README.md and the documents with commands say, line by line, on the bundled programs.
# Prints 'ok NAME' or 'not ok NAME: why'.
. "$(dirname "$0")/../suite.sh"
[ -x "$build/demo" ] || { echo "not ok readme: $build/demo is not built: make programs"; exit 1; }
mkdir -p home/.config/memtui && : >home/.config/memtui/welcomed # the first screen of all is tests/screens' affair
for document in README.md doc/tutorial.md doc/coming-from.md doc/faq.md; do
	mkdir -p "work/$document"
	for file in "$top"/*; do
		[ "$(basename "$file")" = build ] || ln -s "$file" "work/$document/"
	done
	ln -s "$build" "work/$document/build"
	(cd "work/$document" && HOME=$tmp/home PATH=/usr/local/bin:/usr/bin:/bin python3 "$here/follow.py" "$top" "$build" "$document")
done
