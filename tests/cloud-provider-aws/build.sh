#!/usr/bin/env bash
# Builds AWS's own manager from the modules that go.mod pins: target/cloud-provider-aws/aws-cloud-controller-manager. What was built from
# the same modules is kept.
set -euo pipefail
cd "$(dirname "$0")"

what=cloud-provider-aws target=cloud-provider-aws steps=1
wanted_go=$(awk '$1 == "go" { print $2; exit }' go.mod)
version=$(awk '$1 == "k8s.io/cloud-provider-aws" { print $2; exit }' go.mod)
out=$(cd ../.. && pwd)/target/cloud-provider-aws
# shellcheck source=tests/go.sh
source ../go.sh

mkdir -p "$out"
if [ -x "$out/aws-cloud-controller-manager" ] && [ "$(cat "$out/.built-from" 2>/dev/null)" = "$(source_of_truth go.mod go.sum)" ]; then
	exit 0
fi
need_go ""
printf '==> Building cloud-provider-aws %s (5 minutes on two cores, once)\n' "$version"
build 1 aws-cloud-controller-manager aws-cloud-controller-manager . '-s -w' k8s.io/cloud-provider-aws/cmd/aws-cloud-controller-manager
source_of_truth go.mod go.sum >"$out/.built-from"
