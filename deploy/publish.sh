#!/usr/bin/env bash
# Pushes a release to a registry: image, modules and chart, with SBOMs and provenance, by the program of that release. The same
# release gets the same digests, however often it is pushed. It prints them, and what is left to do: signing. The files that install
# aerostat for one cloud get the registry, and lie in the folder published/ of the release.
#
# deploy/publish.sh REGISTRY    as in registry.example.com; each artifact is a repository below it, and operators write
#                               registry=registry.example.com/aerostat
#
# LOGIN names a login file in Docker's form, CA a file with the authority of the registry's certificate.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
	printf 'publish: %s\nNext step: %s\n' "$1" "$2" >&2
	exit 1
}

registry=${1:-}
registry=${registry%/}
[ -n "$registry" ] || fail 'no registry is named' 'make publish REGISTRY=registry.example.com'
version=$(awk -F '"' '/^version = / { print $2; exit }' Cargo.toml)
release=target/release-artifacts/$version
[ -f "$release/SHA256SUMS" ] || fail "there is no release in $release" 'make release'
(cd "$release" && sha256sum --check --quiet SHA256SUMS) || fail "$release is not what was built" 'make release'

case $(uname -m) in aarch64) own=arm64 ;; *) own=amd64 ;; esac
options=()
[ -z "${LOGIN:-}" ] || options+=(--login "$LOGIN")
[ -z "${CA:-}" ] || options+=(--ca "$CA")
said=$("$release/aerostat-linux-$own" bundle push "$release/aerostat-bundle-$version.tar" "$registry" "${options[@]}")
pushed=$(awk '$2 ~ /^sha256:/' <<<"$said")
[ -n "$pushed" ] || fail "aerostat bundle push said no digest: $said" 'look at the registry'
printf '%s\n\nWho is to trust them needs your signature:\n' "$pushed"
awk '{ sub(/:[^:\/]*$/, "", $1); printf "  cosign sign --key cosign.key %s@%s\n", $1, $2 }' <<<"$pushed"

# What helm is told as registry.
place=$registry/aerostat
rm -rf "$release/published"
mkdir "$release/published"
for file in "$release"/install-*.yaml; do
	[ ! -e "$file" ] || sed "s|registry.example.com/aerostat|$place|" "$file" >"$release/published/${file##*/}"
done
printf '\nOperators begin with oci://%s/charts/aerostat and --set registry=%s, or with a file of %s/published\n' "$place" "$place" "$release"
