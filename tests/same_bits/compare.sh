#!/bin/sh
# The same seed gives the same model to the bit natively and in WebAssembly. Run in the project's root; needs the
# wasm32 target, wasm-bindgen of the locked version, and node.
set -eu

out=target/same_bits
mkdir -p "$out"
cargo build --quiet --example same_bits
cargo build --quiet --profile page --example same_bits --target wasm32-unknown-unknown
wasm-bindgen --target nodejs --out-dir "$out" target/wasm32-unknown-unknown/page/examples/same_bits.wasm
target/debug/examples/same_bits >"$out/native.txt"
node "$out/same_bits.js" >"$out/wasm.txt"
test "$(wc -l <"$out/native.txt")" -eq 20
diff -u "$out/native.txt" "$out/wasm.txt"
cat "$out/native.txt"
