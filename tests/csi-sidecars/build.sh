#!/usr/bin/env bash
# Builds the sidecars of Kubernetes' CSI project from the modules that go.mod pins, and a driver for them from this folder:
# target/csi-sidecars/{csi-provisioner,csi-attacher,csi-resizer,csi-driver}. What was built from the same sources is kept.
set -euo pipefail
cd "$(dirname "$0")"

what=csi-sidecars target=csi-sidecars steps=4
wanted_go=$(awk '$1 == "go" { print $2; exit }' go.mod)
out=$(cd ../.. && pwd)/target/csi-sidecars
# shellcheck source=tests/go.sh
source ../go.sh

sources=(*.go go.mod go.sum)
from=$(source_of_truth "${sources[@]}")
mkdir -p "$out"
[ "$(cat "$out/.built-from" 2>/dev/null)" != "$from" ] || exit 0
need_go ""
printf '==> Building the sidecars of CSI (5 minutes on two cores, once)\n'
step=0
# The path of a tool ends in the name of its program.
for package in $(awk '/\/cmd\// { print $1 }' go.mod) .; do
	step=$((step + 1)) program=${package##*/}
	[ "$package" != . ] || program=csi-driver
	build "$step" "$program" "$program" . '-s -w' "$package"
done
printf '%s\n' "$from" >"$out/.built-from"
