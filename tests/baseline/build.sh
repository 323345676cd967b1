#!/usr/bin/env bash
# Builds the program that the benchmark runs beside aerostat, from this folder and the modules that go.mod pins:
# target/baseline/baseline. What was built from the same sources is kept.
set -euo pipefail
cd "$(dirname "$0")"

wanted_go=$(awk '$1 == "go" { print $2; exit }' go.mod)
out=$(cd ../.. && pwd)/target/baseline
unfinished=$out/.baseline.$$
building=

fail() {
	printf 'baseline: %s\nNext step: %s\n' "$1" "$2" >&2
	exit 1
}

source_of_truth() {
	find . -name "*.go" -o -name "go.*" | LC_ALL=C sort | xargs cat | cksum | awk '{ print $1 "-" $2 }'
}

# Ends the build that is running, and takes away its unfinished file.
clean() {
	[ -z "$building" ] || kill "$building" 2>/dev/null || true
	rm -f "$unfinished"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mkdir -p "$out"
if [ -x "$out/baseline" ] && [ "$(cat "$out/.built-from" 2>/dev/null)" = "$(source_of_truth)" ]; then
	exit 0
fi
command -v go >/dev/null ||
	fail "Go is not installed" "install Go $wanted_go or newer (https://go.dev/doc/install)"
go version >/dev/null ||
	fail "Go $wanted_go or newer is needed, see above" "update Go (https://go.dev/doc/install), or unset GOTOOLCHAIN so that Go fetches it"

started=$SECONDS
shown=0
printf '==> Building the baseline (2 minutes on two cores, once)\n'
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$unfinished" . &
building=$!
while kill -0 "$building" 2>/dev/null; do
	sleep 1
	if ((SECONDS - started >= shown + 20)); then
		shown=$((SECONDS - started))
		printf '[1/1] baseline: building, %s s\n' "$shown"
	fi
done
wait "$building" || fail "go could not build it, see above" "make baseline, once the cause is gone"
building=
mv "$unfinished" "$out/baseline"
source_of_truth >"$out/.built-from"
printf '[1/1] baseline: done after %s s\n' $((SECONDS - started))
