#!/usr/bin/env bash
# Looks for room on the disk before everything is built: where it ends in the middle of a build, the compiler names a library.
set -euo pipefail

mkdir -p target
free=$(df -Pk target | awk 'NR == 2 { print int($4 / 1048576) }')
built=$(du -sk target | awk '{ print int($1 / 1048576) }')
if [ $((free + built)) -lt "$1" ]; then
  printf 'error: %s GB of the disk are free, and target/ holds %s GB of the %s GB that all programs and tests take\n' "$free" "$built" "$1" >&2
  printf '  next: free some, and run the same command again\n' >&2
  exit 1
fi
