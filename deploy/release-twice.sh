#!/usr/bin/env bash
# Builds the committed release twice from nothing, in two folders of different names, and compares every byte of both. It compiles
# everything twice, so that it is no part of make test.
#
# Variables are those of deploy/release.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

[ -z "$(git status --porcelain)" ] || {
	printf 'release-twice: there are changes that are not committed, and a commit is compared\nNext step: git commit\n' >&2
	exit 1
}
zig=$(realpath -e "$ZIG") cyclonedx=$(realpath -e "$CYCLONEDX")
version=$(awk -F '"' '/^version = / { print $2; exit }' Cargo.toml)
twice=$(mktemp -d)
trap 'rm -rf "$twice"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for folder in one another/and-deeper; do
	git clone --quiet . "$twice/$folder"
	(cd "$twice/$folder" && ZIG=$zig CYCLONEDX=$cyclonedx deploy/release.sh)
done
diff -r "$twice"/{one,another/and-deeper}/target/release-artifacts/"$version" || {
	printf 'release-twice: the same sources made other bytes\nNext step: diffoscope for the files that differ\n' >&2
	exit 1
}
printf 'Both releases are the same, byte for byte.\n'
