#!/usr/bin/env bash
# Builds the programs on one runtime into `build/`, as the collection's script expects it:
# `./build_all.sh [befit|rayon|chili]`. For this machine's processor, and with aligned loops, like
# the others.
set -euo pipefail
cd "$(dirname "$0")"
runtime=${1:-befit}
case $runtime in befit | rayon | chili) ;; *) runtime=befit ;; esac
# Vectors of 256 bits, as clang 19 chooses where 512 would be slower.
flags="-C target-cpu=native -C target-feature=+prefer-256-bit -C llvm-args=-align-loops=64"
# The others use it, too, if it is there. The whole list is read: where grep -q ends at its first
# line, ldconfig may fail. Users other than root may not have its folder in their PATH.
libraries=$(PATH="$PATH:/usr/sbin:/sbin" ldconfig -p || true)
case $libraries in
*libtcmalloc_minimal.so.4*)
    flags+=" -C link-arg=-Wl,--no-as-needed -C link-arg=-l:libtcmalloc_minimal.so.4"
    ;;
esac
export RUSTFLAGS="$flags ${RUSTFLAGS:-}" CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}
cargo build --release --no-default-features --features "$runtime" --bins
to=${BUILD_DIR:-build}
mkdir -p "$to"
for program in fib matmul nqueens skynet; do
    cp "$CARGO_TARGET_DIR/release/$program" "$to/"
done
