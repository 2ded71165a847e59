#!/bin/sh
# build.sh DIRECTORY: builds the programs with leaks there: server, cache, thread, library (with libplugin.so).
set -e
out=${1:?build.sh DIRECTORY}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
flags="-O1 -g -fno-builtin -Wall -Wextra -pthread"
${CC:-cc} $flags -D_GNU_SOURCE -o "$out/server" "$here/server.c"
${CXX:-c++} $flags -o "$out/cache" "$here/cache.cc"
${CC:-cc} $flags -D_GNU_SOURCE -o "$out/thread" "$here/thread.c"
${CC:-cc} -O1 -fno-builtin -Wall -Wextra -fPIC -shared -s -o "$out/libplugin.so" "$here/plugin.c"
${CC:-cc} $flags -D_GNU_SOURCE -o "$out/library" "$here/library.c" -L"$out" -lplugin -Wl,-rpath,'$ORIGIN'
