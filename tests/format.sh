#!/bin/sh
# format.sh: whether clang-format agrees with the layout of the C sources (.clang-format), and no line is wider than
# 100 columns where it is not switched off. Versions lay out differently: where there is no version 14, it is skipped.
set -u
cd "$(dirname "$0")/.." || exit 1
format=$(command -v clang-format-14 || command -v clang-format)
version=$("$format" --version 2>/dev/null | sed -n 's/.*version \([0-9]*\)\..*/\1/p')
if [ "$version" != 14 ]; then
	echo "skip format: the layout is that of clang-format 14, here is ${version:-none}"
	exit 0
fi
# tests/screens/source is what a screen shows, not code.
sources=$(find core preload tui tests -path tests/screens/source -prune -o -name '*.[ch]' -print)
bad=$("$format" --dry-run -Werror $sources 2>&1 | sed -n 's/^\([^: ]*\):[0-9]*:[0-9]*: error:.*/\1/p' | sort -u)
wide=$(python3 - $sources <<'END'
import sys
for path in sys.argv[1:]:
    off = False
    for number, line in enumerate(open(path, encoding='utf-8'), 1):
        off = 'clang-format off' in line or off and 'clang-format on' not in line
        if not off and len(line.rstrip('\n').expandtabs(8)) > 100:
            print(f'{path}:{number}')
END
)
[ -z "$bad" ] || printf 'not ok layout: run clang-format -i on %s\n' $bad
[ -z "$wide" ] || printf 'not ok layout: wider than 100 columns: %s\n' $wide
[ -z "$bad$wide" ] && echo "ok layout"
