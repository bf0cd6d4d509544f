#!/usr/bin/env bash
# Installs a build into a scratch prefix and builds tests/consumer against it, first as a CMake
# package, then with pkg-config: check.sh BUILD_FOLDER
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
build=$(readlink -f "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/installed" >"$scratch/install.log"
# A package that still pointed at where it was built or installed would pass by accident.
mv "$scratch/installed" "$scratch/prefix"

cmake -S "$here" -B "$scratch/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" \
  >"$scratch/configure.log" || { cat "$scratch/configure.log"; exit 1; }
cmake --build "$scratch/cmake" -- --quiet
"$scratch/cmake/consumer" "$scratch/data"
"$scratch/cmake/simulated"

export PKG_CONFIG_PATH=
PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name oncelog.pc)")
# shellcheck disable=SC2046  # the flags are words
g++ -std=c++20 -fno-exceptions -fno-rtti -c "$here/consumer.cc" -o "$scratch/consumer.o" \
  $(pkg-config --cflags oncelog)
for static in "" --static; do
  # shellcheck disable=SC2046,SC2086
  g++ "$scratch/consumer.o" -o "$scratch/consumer" $(pkg-config --libs $static oncelog)
  "$scratch/consumer" "$scratch/data"
done
