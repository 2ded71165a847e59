#!/bin/bash
# exercises: what the structure promises to those who add something. Each NAME.patch adds one thing to a copy of the tree, changes
# at most three of its files and 30 of their lines, builds without warnings, and passes its own test, which it brings as
# tests/exercises/NAME.sh BUILD.
# run.sh BUILD: all in one copy, which is built once, without optimisation. run.sh BUILD each, run.sh BUILD NAME: each, or this
# one, in a copy of its own, which is built as the program is.
. "$(dirname "$0")/../suite.sh"
files_most=3 lines_most=30

# What it changes of files that are there: "FILES LINES".
changed() { # PATCH
	git apply --numstat "$1" | while read -r added removed file; do
		[ -e "$top/$file" ] && echo "$((added > removed ? added : removed))"
	done | awk '{ lines += $1 } END { print NR + 0, lines + 0 }'
}
few() { # NAME: sets files and lines
	read -r files lines <<<"$(changed "$here/$1.patch")"
	[ "$files" -le $files_most ] && [ "$lines" -le $lines_most ] && return
	not_ok "$1" "changes $files files and $lines of their lines; at most $files_most and $lines_most are allowed"
	return 1
}
copy() { # DIRECTORY
	mkdir "$1" && (cd "$top" && cp -a Makefile core debian preload tests themes tui "$tmp/$1") && return
	not_ok "$1" "no copy of the tree"
	return 1
}
# The copy is built on from the objects of this build, which have the same flags but for the directory's name.
with_objects() { # DIRECTORY
	mkdir "$1/build" &&
		cp -a "$build/obj" "$build/settings" "$build/flags" "$build/memtui" "$build/libcore.a" "$build/libmemtui.so" "$1/build" &&
		sed "s|=$top=|=$tmp/$1=|" "$build/flags" >"$1/build/flags" && touch -r "$build/flags" "$1/build/flags"
}
apply() { # DIRECTORY NAME
	(cd "$1" && git apply "$here/$2.patch") >apply.log 2>&1 && return
	not_ok "$2" "does not apply${3:-}: $(tail -n 3 apply.log)"
	return 1
}
built() { # DIRECTORY VARIABLE...: of make
	make -C "$1" WERROR=1 "${@:2}" all >build.log 2>&1
}
its_test() { # DIRECTORY NAME FILES LINES
	ok "$2 changes $3 files and $4 lines"
	bash "$1/tests/exercises/$2.sh" "$1/build" || bad=1
}
alone() { # NAME
	if few "$1" && copy "$1" && with_objects "$1" && apply "$1" "$1"; then
		if built "$1"; then
			its_test "$1" "$1" $files $lines
		else
			not_ok "$1" "does not build: $(grep -m 3 'error' build.log)"
		fi
	fi
	rm -rf "$1"
}
# Without optimisation the compiler sees less of what limits a string, and would warn that it may be cut. When the build fails,
# each is tried alone, which says whose fault it is.
together() { # NAME...
	local counts=()
	copy all || return
	for name; do
		few "$name" && apply all "$name" " beside those before it" && counts+=("$name" "$files" "$lines")
	done
	[ $bad = 0 ] || return
	if built all DEBUG=1 "CFLAGS=-g0 -Wno-format-truncation"; then
		set -- "${counts[@]}"
		for (( ; $#; )); do
			its_test all "$1" "$2" "$3"
			shift 3
		done
	else
		not_ok "$*" "do not build together: $(grep -m 3 'error' build.log)"
		for name; do alone "$name"; done
	fi
}
names=()
for patch in "$here"/*.patch; do
	names+=("$(basename "$patch" .patch)")
done
case ${2:-} in
'') together "${names[@]}" ;;
each) for name in "${names[@]}"; do alone "$name"; done ;;
*) alone "$2" ;;
esac
exit $bad
