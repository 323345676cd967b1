#!/usr/bin/env bash
# Builds a manager of Google's own provider package, from this folder and the modules that go.mod pins:
# target/cloud-provider-gcp/gcp-cloud-controller-manager. What was built from the same sources is kept.
set -euo pipefail
cd "$(dirname "$0")"

what=cloud-provider-gcp target=cloud-provider-gcp steps=1
wanted_go=$(awk '$1 == "go" { print $2; exit }' go.mod)
version=$(awk '$1 == "k8s.io/cloud-provider-gcp/providers" { print $2; exit }' go.mod)
out=$(cd ../.. && pwd)/target/cloud-provider-gcp
# shellcheck source=tests/go.sh
source ../go.sh

build_once gcp-cloud-controller-manager "cloud-provider-gcp's package $version" "3 minutes" . main.go keys.go go.mod go.sum
