#!/bin/sh
# Installs the build, moves the installed tree, runs the command there, and builds and runs
# tests/install/client against it with find_package and with pkg-config.
#
#   build_clients.sh CMAKE BUILD_FOLDER CONFIG C_COMPILER
set -eu
[ $# -eq 4 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
cmake=$1 build=$2 config=$3 compiler=$4
client=$(cd "$(dirname "$0")/client" && pwd)

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
"$cmake" --install "$build" --config "$config" --prefix "$temporary/first" > /dev/null
mv "$temporary/first" "$temporary/moved"

echo "command:"
"$temporary/moved/bin/row-store" --version
[ -n "$(find "$temporary/moved" -path '*man1/row-store.1')" ]

echo "find_package:"
"$cmake" -G Ninja -S "$client" -B "$temporary/client" -DCMAKE_PREFIX_PATH="$temporary/moved" \
  -DCMAKE_C_COMPILER="$compiler" > "$temporary/log" 2>&1 ||
  { cat "$temporary/log"; exit 1; }
"$cmake" --build "$temporary/client" > "$temporary/log" 2>&1 || { cat "$temporary/log"; exit 1; }
"$temporary/client/client"

echo "pkg-config:"
pc=$(find "$temporary/moved" -name row_store.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
library_folder=$(cd "$PKG_CONFIG_PATH/.." && pwd)
# shellcheck disable=SC2046 # the flags are words
"$compiler" "$client/client.c" -o "$temporary/plain" $(pkg-config --cflags --libs row_store)
LD_LIBRARY_PATH=$library_folder "$temporary/plain"
