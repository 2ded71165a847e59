#!/usr/bin/env bash
# symbol_seeds.sh BUILD FOLDER: small programs with symbols and debug information of several kinds, as symbol_fuzz.c
# wants them: the file, and then addresses within its functions.
set -u
cd "$2" || exit 2
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cat >"$work/plain.c" <<'END_OF_C'
static const char text[] = "leak:plain";
const char *__lsan_default_suppressions(void) { return text; }
static int x;
static inline int inner(int a) { for (int i = 0; i < a; i++) { int b = a; x += b; } return x; }
static inline int middle(int a) { return inner(a) + inner(a + 1); }
__attribute__((visibility("hidden"), noinline)) void *mi_malloc(unsigned long n) { return (void *)(n + (unsigned long)middle((int)n)); }
void *_start(int n) { return mi_malloc((unsigned long)middle(n)); }
END_OF_C
cat >"$work/classes.cc" <<'END_OF_CC'
namespace { struct A { template <class T> static T twice(T t) { return t + t; } }; }
namespace outer { namespace inner {
struct B { virtual int f(int n) { return A::twice(n) + A::twice((long)n) > 7; } };
int g(int n) { B b; auto h = [n](int m) { return m * n; }; return b.f(n) + h(n); }
} }
extern "C" int _start(int n) { return outer::inner::g(n); }
END_OF_CC
link="-nostdlib -nostartfiles -ffreestanding -fno-stack-protector -fno-rtti -fno-exceptions -w -Wl,-z,noseparate-code"
build() { # NAME OPTION...
	local name=$1 source=plain.c
	shift
	case $name in classes*) source=classes.cc ;; esac
	(cd "$work" && gcc $link "$@" -o "$name" "$source")
	nm --defined-only "$work/$name" | sed -n 's/^\([0-9a-f]*\) [tTwW] .*/\1/p' >"$work/addresses"
	python3 -c '
import struct, sys
starts = [int(line, 16) for line in open(sys.argv[2])]
with open(sys.argv[3], "wb") as out:
    out.write(open(sys.argv[1], "rb").read())
    out.write(struct.pack("<8I", *((starts[i % len(starts)] + i * 3) & 0xffffffff for i in range(8))))
' "$work/$name" "$work/addresses" "$name"
}
build plain-5 -O2 -g -gdwarf-5 -static
build plain-4 -O2 -g -gdwarf-4 -shared -fPIC
build plain-none -O1 -static
build plain-zlib -O2 -g -gz=zlib -static
build plain-split -O1 -g -gsplit-dwarf -static
build classes-5 -O1 -g -gdwarf-5 -static
build classes-4 -O1 -g -gdwarf-4 -fdebug-types-section -fPIC -shared
