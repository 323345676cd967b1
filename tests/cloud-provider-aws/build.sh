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

build_once aws-cloud-controller-manager "cloud-provider-aws $version" "5 minutes" k8s.io/cloud-provider-aws/cmd/aws-cloud-controller-manager \
	go.mod go.sum
