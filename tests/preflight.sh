#!/usr/bin/env bash
# Looks for the tools that everything else needs, and says what to do about those that are missing.
set -euo pipefail

fail() { printf 'error: %s\n  next: %s\n' "$1" "$2" >&2; exit 1; }
# at_least WANTED FOUND: whether version FOUND is WANTED or newer.
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

command -v cargo >/dev/null || fail 'cargo is not on the PATH' 'install Rust 1.95 or newer, https://rustup.rs'
rust=$(rustc --version | cut -d' ' -f2)
at_least 1.95.0 "$rust" || fail "Rust $rust is too old: 1.95 is needed" 'rustup update stable'
command -v cc >/dev/null || fail 'no C compiler (cc): a part of the TLS library is written in C' 'install gcc or clang'

if ! [ -d "$(rustc --print sysroot)/lib/rustlib/wasm32-wasip2" ]; then
  command -v rustup >/dev/null || fail 'this Rust cannot build for wasm32-wasip2, and there is no rustup to add it' \
    'install Rust with rustup, or the standard library for wasm32-wasip2 from where your Rust comes from'
  printf '==> Adding the Rust target wasm32-wasip2 (providers are built for it)\n'
  rustup target add wasm32-wasip2
fi
