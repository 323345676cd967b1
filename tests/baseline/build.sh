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

mapfile -t sources < <(find . -name "*.go" -o -name "go.*" | LC_ALL=C sort)
build_once baseline "the baseline" "2 minutes" . "${sources[@]}"
