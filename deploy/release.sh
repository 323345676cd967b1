#!/usr/bin/env bash
# Builds what a release consists of into target/release-artifacts/VERSION/:
#
#   aerostat-linux-ARCH   the program, static, for amd64 or arm64
#   PROVIDER.wasm         one module for each folder of providers/
#   NAME.cdx.json         the SBOM of each of these (CycloneDX 1.5)
#   BUILT-WITH.txt        the commit and the tools that these bytes come from
#   SHA256SUMS            of all of these
#
# Neither folders nor times are to be in the bytes, so that the same sources and tools make the same. No test builds twice and
# compares.
#
# deploy/release.sh            builds all of it, with the cargo-cyclonedx that the variable CYCLONEDX names: make release
# deploy/release.sh program    builds the program alone, as the image needs it
# deploy/release.sh names      builds nothing, and says which files there will be
set -euo pipefail
cd "$(dirname "$0")/.."

root=$PWD
cargo=${CARGO:-cargo}
version=$(awk -F '"' '/^version = / { print $2; exit }' Cargo.toml)
out=target/release-artifacts/$version
unfinished=$out.unfinished
sources=$root/target/release-artifacts/sources

fail() {
	printf 'release: %s\nNext step: %s\n' "$1" "$2" >&2
	exit 1
}

what=${1:-all}
case $what in
all) steps=4 ;;
program) steps=1 ;;
names) steps=0 ;;
*) fail "there is no $what to build" "deploy/release.sh, deploy/release.sh program or deploy/release.sh names" ;;
esac
case $(uname -s)-$(uname -m) in
Linux-x86_64) machine=x86_64 arch=amd64 ;;
Linux-aarch64) machine=aarch64 arch=arm64 ;;
*) fail "releases are built on Linux, on x86_64 or aarch64" "build on such a machine" ;;
esac
# Static: the image needs no C library, and the program runs on every distribution.
target=$machine-unknown-linux-musl
variables=${target//-/_}

providers=()
packages=()
for manifest in providers/*/Cargo.toml; do
	provider=$(basename "$(dirname "$manifest")")
	providers+=("$provider")
	packages+=(-p "$provider")
done

program=aerostat-linux-$arch
names=("$program" aerostat.cdx.json BUILT-WITH.txt)
for provider in "${providers[@]}"; do
	names+=("$provider.wasm" "$provider.cdx.json")
done
if [ "$what" = names ]; then
	printf '%s\n' "${names[@]}" SHA256SUMS | LC_ALL=C sort
	exit
fi

step=0
announce() {
	step=$((step + 1))
	printf '[%s/%s] %s\n' "$step" "$steps" "$1"
}

cyclonedx=
if [ "$what" = all ]; then
	cyclonedx=$(realpath -e "${CYCLONEDX:-}" 2>/dev/null) || fail 'CYCLONEDX names no program' 'make release, which installs it'
fi

trap 'rm -rf "$unfinished" "$sources"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

sysroot=$(rustc --print sysroot)
for wanted in "$target" wasm32-wasip2; do
	[ "$what" = all ] || [ "$wanted" = "$target" ] || continue
	[ -d "$sysroot/lib/rustlib/$wanted" ] && continue
	command -v rustup >/dev/null ||
		fail "this Rust cannot build for $wanted, and there is no rustup to add it" \
			"install Rust with rustup, or the standard library for $wanted from where your Rust comes from"
	rustup target add "$wanted"
done

# Where these sources, the dependencies and the standard library lie must not be in the bytes. Set whole: flags of the
# person's own would be in them as well.
separator=$'\x1f'
commit_of_rust=$(rustc -vV | sed -n 's/^commit-hash: //p')
CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$root=/aerostat"
CARGO_ENCODED_RUSTFLAGS+="$separator--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
CARGO_ENCODED_RUSTFLAGS+="$separator--remap-path-prefix=$sysroot/lib/rustlib/src/rust=/rustc/$commit_of_rust"
export CARGO_ENCODED_RUSTFLAGS CARGO_INCREMENTAL=0
# ring has C code that calls nothing of a C library but memcpy and the like: any C compiler will do, and no checks of one C
# library must be compiled in, where it meets another.
export "CC_$variables=${CC:-cc}" "CFLAGS_$variables=-U_FORTIFY_SOURCE"

rm -rf "$unfinished" "$sources"
mkdir -p "$unfinished"

announce "aerostat for $target (10 minutes at the first time)"
"$cargo" build --locked --release --target "$target" --target-dir target -p aerostat
cp "target/$target/release/aerostat" "$unfinished/$program"
# The image has no C library, so that a program that asks for a loader would not start there.
segments=$(LC_ALL=C readelf -lW "$unfinished/$program") ||
	fail "$program cannot be read" "install readelf, which comes with binutils, or look at what was built"
[[ $segments != *INTERP* ]] ||
	fail "$program is not static: it asks for a loader" "look at what sets flags for $target, as in a config.toml of Cargo"
if [ "$what" = program ]; then
	mkdir -p "$out"
	mv "$unfinished/$program" "$out/"
	printf '%s\n' "$out/$program"
	exit
fi

announce "modules of ${providers[*]}"
# The last flag is that of .cargo/config.toml.
CARGO_ENCODED_RUSTFLAGS+="$separator-Clink-arg=--compress-relocations" \
	"$cargo" build --locked --profile guest --target wasm32-wasip2 --target-dir target --lib "${packages[@]}"
for provider in "${providers[@]}"; do
	cp "target/wasm32-wasip2/guest/$provider.wasm" "$unfinished/"
	bytes=$(wc -c <"$unfinished/$provider.wasm")
	[ "$bytes" -le $((600 << 10)) ] ||
		fail "$provider.wasm has $bytes bytes, and a module has at most 600 KiB" 'look at what costs, by the names of functions'
done

announce 'SBOMs'
# It writes beside each Cargo.toml, so that it gets a copy.
mkdir -p "$sources"
tar --exclude=./target --exclude=./.git -cf - . | tar -C "$sources" -xf -
# Without a time and a random number: the same sources make the same SBOM.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || printf 0)
export SOURCE_DATE_EPOCH
sbom() { # crate, its folder, target
	(cd "$sources" &&
		"$cyclonedx" cyclonedx --quiet --manifest-path "$2/Cargo.toml" --format json --spec-version 1.5 --target "$3")
	sed "s|$sources|/aerostat|g" "$sources/$2/$1.cdx.json" >"$unfinished/$1.cdx.json"
}
sbom aerostat runtime "$target"
for provider in "${providers[@]}"; do
	sbom "$provider" "providers/$provider" wasm32-wasip2
done

announce 'checksums'
{
	if commit=$(git rev-parse HEAD 2>/dev/null); then
		[ -z "$(git status --porcelain)" ] || commit="$commit, with changes that are not committed"
		printf 'commit: %s\n' "$commit"
	fi
	rustc -vV
	"$cargo" -V
	${CC:-cc} --version | head -n 1
	ld --version | head -n 1
} >"$unfinished/BUILT-WITH.txt"
(cd "$unfinished" && sha256sum -- "${names[@]}" | LC_ALL=C sort -k 2 >SHA256SUMS)
rm -rf "$out"
mv "$unfinished" "$out"
printf '\n%s\n' "$out"
cat "$out/SHA256SUMS"
