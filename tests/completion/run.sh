#!/bin/bash
# run.sh BUILD: the completions of bash, zsh and fish, each asked in its own shell: every command and every option is offered
# with the words that help has for it, and nothing else. Prints 'ok NAME' or 'not ok NAME: why'.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
[ -x "$build/memtui" ] || { echo "not ok completion: $build/memtui is not built"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export HOME=$work XDG_CONFIG_HOME=$work/config PATH=$build:$PATH
python3 "$here/check.py" "$here"
