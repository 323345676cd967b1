#!/usr/bin/env bash
# Builds the program that the benchmark runs beside aerostat, from this folder and the modules that go.mod pins:
# target/baseline/baseline. What was built from the same sources is kept.
set -euo pipefail
cd "$(dirname "$0")"

what=baseline target=baseline steps=1
wanted_go=$(awk '$1 == "go" { print $2; exit }' go.mod)
out=$(cd ../.. && pwd)/target/baseline
# shellcheck source=tests/go.sh
source ../go.sh

sources() {
	local files
	mapfile -t files < <(find . -name "*.go" -o -name "go.*" | LC_ALL=C sort)
	source_of_truth "${files[@]}"
}

mkdir -p "$out"
if [ -x "$out/baseline" ] && [ "$(cat "$out/.built-from" 2>/dev/null)" = "$(sources)" ]; then
	exit 0
fi
need_go ""
printf '==> Building the baseline (2 minutes on two cores, once)\n'
build 1 baseline baseline . '-s -w' .
sources >"$out/.built-from"
