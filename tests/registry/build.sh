#!/usr/bin/env bash
# Builds the registries that tests run against with the ordinary Go toolchain, from the modules that each go.mod pins:
# target/registries/{distribution,referrers}. What was built from the same sources is kept.
set -euo pipefail
cd "$(dirname "$0")"

wanted_go=$(awk '$1 == "go" { print $2; exit }' distribution/go.mod)
out=$(cd ../.. && pwd)/target/registries
building=

fail() {
	printf 'registries: %s\nNext step: %s\n' "$1" "$2" >&2
	exit 1
}

source_of_truth() { # registry
	cat "$1"/go.mod "$1"/go.sum "$1"/main.go | cksum | awk '{ print $1 "-" $2 }'
}

# Ends the build that is running, and takes away its unfinished file.
clean() {
	[ -z "$building" ] || kill "$building" 2>/dev/null || true
	rm -f "$out"/.*."$$"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

build() { # number, registry
	local started=$SECONDS unfinished=$out/.$2.$$ shown=0
	printf '[%s/2] registry %s: building\n' "$1" "$2"
	(cd "$2" && CGO_ENABLED=0 exec go build -trimpath -ldflags '-s -w' -o "$unfinished" .) &
	building=$!
	while kill -0 "$building" 2>/dev/null; do
		sleep 1
		if ((SECONDS - started >= shown + 20)); then
			shown=$((SECONDS - started))
			printf '[%s/2] registry %s: building, %s s\n' "$1" "$2" "$shown"
		fi
	done
	wait "$building" || fail "go could not build $2, see above" "make registries, once the cause is gone"
	building=
	mv "$unfinished" "$out/$2"
	source_of_truth "$2" >"$out/.$2.built-from"
	printf '[%s/2] registry %s: done after %s s\n' "$1" "$2" $((SECONDS - started))
}

mkdir -p "$out"
step=0
for registry in distribution referrers; do
	step=$((step + 1))
	if [ -x "$out/$registry" ] && [ "$(cat "$out/.$registry.built-from" 2>/dev/null)" = "$(source_of_truth "$registry")" ]; then
		continue
	fi
	command -v go >/dev/null || fail "Go is not installed" "install Go $wanted_go or newer (https://go.dev/doc/install)"
	go version >/dev/null ||
		fail "Go $wanted_go or newer is needed, see above" "update Go (https://go.dev/doc/install), or unset GOTOOLCHAIN so that Go fetches it"
	build "$step" "$registry"
done
