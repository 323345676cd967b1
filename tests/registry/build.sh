#!/usr/bin/env bash
# Builds the registries that tests run against with the ordinary Go toolchain, from the modules that each go.mod pins:
# target/registries/{distribution,referrers}. What was built from the same sources is kept.
set -euo pipefail
cd "$(dirname "$0")"

what=registries target=registries steps=2
wanted_go=$(awk '$1 == "go" { print $2; exit }' distribution/go.mod)
out=$(cd ../.. && pwd)/target/registries
# shellcheck source=tests/go.sh
source ../go.sh

sources() { # registry
	source_of_truth "$1"/go.mod "$1"/go.sum "$1"/main.go
}

mkdir -p "$out"
step=0
for registry in distribution referrers; do
	step=$((step + 1))
	if [ -x "$out/$registry" ] && [ "$(cat "$out/.$registry.built-from" 2>/dev/null)" = "$(sources "$registry")" ]; then
		continue
	fi
	need_go ""
	build "$step" "registry $registry" "$registry" "$registry" '-s -w' .
	sources "$registry" >"$out/.$registry.built-from"
done
