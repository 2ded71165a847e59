#!/bin/bash
# exercises: what the structure promises to those who add something. Each NAME.patch adds one thing to a copy of the tree, changes
# at most three of its files and 30 of their lines, builds without warnings, and passes its own test, which it brings as
# tests/exercises/NAME.sh BUILD. run.sh BUILD [NAME]
. "$(dirname "$0")/../suite.sh"
files_most=3 lines_most=30

# What it changes of files that are there: "FILES LINES".
changed() { # PATCH
	git apply --numstat "$1" | while read -r added removed file; do
		[ -e "$top/$file" ] && echo "$((added > removed ? added : removed))"
	done | awk '{ lines += $1 } END { print NR + 0, lines + 0 }'
}
# The copy is built on from the objects of this build, which have the same flags but for the directory's name.
copy() { # NAME
	mkdir "$1" "$1/build" && (cd "$top" && cp -a Makefile core debian preload tests themes tui "$tmp/$1") &&
		cp -a "$build/obj" "$build/settings" "$build/flags" "$build/memtui" "$build/libcore.a" "$build/libmemtui.so" "$1/build" &&
		sed "s|=$top=|=$tmp/$1=|" "$build/flags" >"$1/build/flags" && touch -r "$build/flags" "$1/build/flags"
}
exercise() { # NAME
	local name=$1 files lines
	read -r files lines <<<"$(changed "$here/$name.patch")"
	if [ "$files" -gt $files_most ] || [ "$lines" -gt $lines_most ]; then
		not_ok "$name" "changes $files files and $lines of their lines; at most $files_most and $lines_most are allowed"
	elif ! copy "$name" >copy.log 2>&1; then
		not_ok "$name" "no copy of the tree: $(tail -n 3 copy.log)"
	elif ! (cd "$name" && git apply "$here/$name.patch") >apply.log 2>&1; then
		not_ok "$name" "does not apply: $(tail -n 3 apply.log)"
	elif ! make -C "$name" WERROR=1 all >build.log 2>&1; then
		not_ok "$name" "does not build: $(grep -m 3 'error' build.log)"
	else
		ok "$name changes $files files and $lines lines"
		bash "$name/tests/exercises/$name.sh" "$name/build" || bad=1
	fi
	rm -rf "$name"
}
for patch in "$here"/${2:-*}.patch; do
	exercise "$(basename "$patch" .patch)"
done
exit $bad
