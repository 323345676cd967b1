#!/usr/bin/env bash
# What a pipeline does with the provider, step by step. Without arguments: build, test, check and conformance.
#
# ci.sh push registry.example.com/newcloud/provider:0.1.0   LOGIN names a docker config.json
# ci.sh sign                                                what was pushed last; KEY names cosign's key: operators verify with aerostat module verify
set -euo pipefail
cd "$(dirname "$0")"
module=newcloud.wasm

case "${1:-all}" in
all) for step in build test check conformance; do printf '==> %s\n' "$step" && ./ci.sh "$step"; done ;;
build) aerostat provider build . --out="$module" ;;
test) go vet ./... && go test ./... ;;
check) aerostat provider check "$module" --cloud-config=cloud.yaml ;;
conformance)
    # A program of its own, so that its end is the cloud's.
    served=$(mktemp)
    go build -o "$served" ./cloud/serve
    coproc CLOUD { exec "$served"; }
    trap 'kill "$CLOUD_PID"; rm -f "$served"' EXIT
    read -r url <&"${CLOUD[0]}"
    aerostat provider conformance "$module" --cloud="$url" --junit=conformance.xml
    ;;
push) aerostat module push "$module" "$2" --login="$LOGIN" --output=json | tee pushed.json ;;
sign) cosign sign --yes --key="$KEY" "$(sed -n 's/.*"reference": *"\([^"]*\)".*/\1/p' pushed.json)" ;;
*) printf 'there is no step %s: build, test, check, conformance, push or sign\n' "$1" >&2 && exit 1 ;;
esac
