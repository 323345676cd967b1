#!/usr/bin/env bash
# Pushes the modules of a release to a registry, as artifacts of one layer, with the program of that release. The same module
# gets the same digest, however often it is pushed. It prints the digests, and what is left to do: signing them.
#
# deploy/publish.sh REGISTRY    as in registry.example.com/aerostat; each module is a repository below it
#
# LOGIN names a login file in Docker's form, CA a file with the authority of the registry's certificate.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
	printf 'publish: %s\nNext step: %s\n' "$1" "$2" >&2
	exit 1
}

registry=${1:-}
[ -n "$registry" ] || fail 'no registry is named' 'make publish REGISTRY=registry.example.com/aerostat'
version=$(awk -F '"' '/^version = / { print $2; exit }' Cargo.toml)
release=target/release-artifacts/$version
[ -f "$release/SHA256SUMS" ] || fail "there is no release in $release" 'make release'
(cd "$release" && sha256sum --check --quiet SHA256SUMS) || fail "$release is not what was built" 'make release'

program=$release/$(deploy/release.sh names | grep '^aerostat-linux-')
options=()
[ -z "${LOGIN:-}" ] || options+=(--login "$LOGIN")
[ -z "${CA:-}" ] || options+=(--ca "$CA")
signing=()
for module in "$release"/*.wasm; do
	name=$(basename "$module" .wasm)
	said=$("$program" module push "$module" "$registry/$name:$version" "${options[@]}")
	digest=$(awk '$1 == "manifest" { print $2; exit }' <<<"$said")
	[ -n "$digest" ] || fail "aerostat module push said no digest of $name: $said" 'look at the registry'
	printf '%s/%s:%s  %s\n' "$registry" "$name" "$version" "$digest"
	signing+=("cosign sign --key cosign.key $registry/$name@$digest")
done
printf '\nWho is to trust them needs your signature:\n'
printf '  %s\n' "${signing[@]}"
