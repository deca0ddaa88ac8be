#!/usr/bin/env bash
# Builds the programs on one runtime into `build/`, as the collection's script expects it:
# `./build_all.sh [befit|rayon|chili]`. For this machine's processor, and the loops of nqueens alone
# aligned, like the others.
set -euo pipefail
cd "$(dirname "$0")"
runtime=${1:-befit}
case $runtime in befit | rayon | chili) ;; *) runtime=befit ;; esac
flags="-C target-cpu=native"
# Vectors of 256 bits, as clang 19 chooses where 512 would be slower. No others have the feature.
[[ $(uname -m) != x86_64 ]] || flags+=" -C target-feature=+prefer-256-bit"
# If it is there: most of the others look for it first. The whole list is read: where grep -q ends
# at its first line, ldconfig may fail. Users other than root may not have its folder in their PATH.
libraries=$(PATH="$PATH:/usr/sbin:/sbin" ldconfig -p || true)
case $libraries in
*libtcmalloc_minimal.so.4*)
    flags+=" -C link-arg=-Wl,--no-as-needed -C link-arg=-l:libtcmalloc_minimal.so.4"
    ;;
esac
export RUSTFLAGS="$flags ${RUSTFLAGS:-}" CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}
options=(--release --no-default-features --features "$runtime")
cargo build "${options[@]}" --bin fib --bin matmul --bin skynet
# The collection has -falign-loops=64 for the code of this program only.
cargo rustc "${options[@]}" --bin nqueens -- -C llvm-args=-align-loops=64
to=${BUILD_DIR:-build}
mkdir -p "$to"
for program in fib matmul nqueens skynet; do
    cp "$CARGO_TARGET_DIR/release/$program" "$to/"
done
