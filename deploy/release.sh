#!/usr/bin/env bash
# Builds what a release consists of into target/release-artifacts/VERSION/, without a builder of images:
#
#   aerostat-linux-ARCH         the program, static, for amd64 and arm64
#   aerostat-image-VERSION.tar  the image for both, to be loaded; aerostat-image-VERSION the same as a folder (OCI layout)
#   PROVIDER.wasm               one module for each folder of providers/
#   aerostat-VERSION.tgz        the chart of deploy/chart
#   install-PROVIDER.yaml       all for one cloud, with these digests; the registry is a place to fill in
#   aerostat-roles-VERSION.tar  the roles and policies of deploy/ that clouds are asked for, at the same paths
#   NAME.cdx.json               the SBOM of each program and module (CycloneDX 1.5)
#   provenance.json             from what all of these were made, and how (in-toto, SLSA 1)
#   aerostat-bundle-VERSION.tar image, modules and chart with SBOMs and provenance, as registries hold them, and the
#                               contract (wit/) as a package of WIT
#   BUILT-WITH.txt              the commit and the tools that these bytes come from
#   SHA256SUMS                  of all of these files
#
# Neither folders nor times are in the bytes, so that the same sources and tools make the same: make release-twice compares.
#
# deploy/release.sh               builds all of it, with what the variables CYCLONEDX and ZIG name: make release
# deploy/release.sh program ARCH  builds one program alone
# deploy/release.sh names         builds nothing, and says which files there will be
# deploy/release.sh roles         packs aerostat-roles-VERSION.tar alone
#
# ARCHITECTURES=amd64 leaves the other one out. OUT names another folder than target/release-artifacts/VERSION. PROFILE=dev builds
# one program in minutes, for a test: without optimisation, and its paths and times may be in it.
set -euo pipefail
cd "$(dirname "$0")/.."

root=$PWD
cargo=${CARGO:-cargo}
version=$(awk -F '"' '/^version = / { print $2; exit }' Cargo.toml)
out=${OUT:-target/release-artifacts/$version}
unfinished=$out.unfinished
# Where the same files lie each time, so that Cargo finds what it has built.
work=$root/target/release-artifacts/work
profile=${PROFILE:-release}
read -ra architectures <<<"${ARCHITECTURES:-amd64 arm64}"

fail() {
	printf 'release: %s\nNext step: %s\n' "$1" "$2" >&2
	exit 1
}

what=${1:-all}
case $what in
all) ;;
program) architectures=("${2:-}") ;;
names | roles) ;;
*) fail "there is no $what to build" "deploy/release.sh, deploy/release.sh program ARCH, deploy/release.sh roles or deploy/release.sh names" ;;
esac
case $(uname -s)-$(uname -m) in
Linux-x86_64) own=amd64 ;;
Linux-aarch64) own=arm64 ;;
*) fail "releases are built on Linux, on x86_64 or aarch64" "build on such a machine" ;;
esac
machine() { # architecture, as Rust and zig call it
	case $1 in
	amd64) printf x86_64 ;;
	arm64) printf aarch64 ;;
	*) fail "there is no architecture \"$1\"" "amd64 or arm64" ;;
	esac
}
for architecture in "${architectures[@]}"; do machine "$architecture" >/dev/null; done

providers=()
packages=()
for manifest in providers/*/Cargo.toml; do
	provider=$(basename "$(dirname "$manifest")")
	# What nothing installs yet is no part of a release.
	[ -e "deploy/chart/templates/_$provider.tpl" ] || continue
	providers+=("$provider")
	packages+=(-p "$provider")
done

image=aerostat-image-$version.tar
bundle=aerostat-bundle-$version.tar
roles=aerostat-roles-$version.tar
names=("$image" "$bundle" "$roles" provenance.json BUILT-WITH.txt)
chart=()
if [ -e deploy/chart/Chart.yaml ]; then
	chart=(--chart deploy/chart --manifests deploy)
	names+=("aerostat-$version.tgz")
fi
for architecture in "${architectures[@]}"; do
	names+=("aerostat-linux-$architecture" "aerostat-linux-$architecture.cdx.json")
done
for provider in "${providers[@]}"; do
	names+=("$provider.wasm" "$provider.cdx.json" "install-$provider.yaml")
done
if [ "$what" = names ]; then
	printf '%s\n' "${names[@]}" SHA256SUMS | LC_ALL=C sort
	exit
fi

# The same files make the same bytes.
pack_roles() { # folder
	local LC_ALL=C
	tar --owner=0 --group=0 --numeric-owner --mode=644 --mtime=@0 --format=ustar -cf "$1/$roles" \
		deploy/*/{policy,volumes-policy,trust,role}.json deploy/*/role.yaml deploy/*/access-rules.json
}
if [ "$what" = roles ]; then
	mkdir -p "$out"
	pack_roles "$out"
	printf '%s\n' "$out/$roles"
	exit
fi

step=0 steps=$((${#architectures[@]} + 4))
[ "$what" = all ] || steps=1
announce() {
	step=$((step + 1))
	printf '[%s/%s] %s\n' "$step" "$steps" "$1"
}

zig=$(realpath -e "${ZIG:-}" 2>/dev/null) || fail 'ZIG names no program' 'make release, which installs it'
cyclonedx=
if [ "$what" = all ]; then
	cyclonedx=$(realpath -e "${CYCLONEDX:-}" 2>/dev/null) || fail 'CYCLONEDX names no program' 'make release, which installs it'
	[[ " ${architectures[*]} " == *" $own "* ]] ||
		fail "this machine is $own, and the modules are looked at with the program for it" "leave $own in ARCHITECTURES"
fi

trap 'rm -rf "$unfinished" "$work/sources"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

sysroot=$(rustc --print sysroot)
need_target() {
	[ ! -d "$sysroot/lib/rustlib/$1" ] || return 0
	command -v rustup >/dev/null ||
		fail "this Rust cannot build for $1, and there is no rustup to add it" \
			"install Rust with rustup, or the standard library for $1 from where your Rust comes from"
	rustup target add "$1"
}

# Where these sources, the dependencies and the standard library lie must not be in the bytes. Set whole: flags of the
# person's own would be in them as well.
separator=$'\x1f'
commit_of_rust=$(rustc -vV | sed -n 's/^commit-hash: //p')
CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$root=/aerostat"
CARGO_ENCODED_RUSTFLAGS+="$separator--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
# Of several prefixes the last one that fits counts.
for sources in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
	CARGO_ENCODED_RUSTFLAGS+="$separator--remap-path-prefix=$sources=/cargo"
done
CARGO_ENCODED_RUSTFLAGS+="$separator--remap-path-prefix=$sysroot/lib/rustlib/src/rust=/rustc/$commit_of_rust"
export CARGO_ENCODED_RUSTFLAGS CARGO_INCREMENTAL=0
export ZIG_GLOBAL_CACHE_DIR=$work/zig-cache ZIG_LOCAL_CACHE_DIR=$work/zig-cache

rm -rf "$unfinished" "$work/sources"
mkdir -p "$unfinished" "$work/bin"

# The program for one architecture. ring has C code and assembly: zig compiles it, with the headers of musl, for both alike,
# on any machine. Rust brings its own linker, and musl.
build() { # architecture
	local machine target variables program=aerostat-linux-$1 segments folder
	machine=$(machine "$1")
	target=$machine-unknown-linux-musl
	variables=${target//-/_}
	announce "aerostat for $target (15 minutes at the first time)"
	# Cargo calls the folder of this profile otherwise.
	folder=${profile/#dev/debug}
	need_target "$target"
	# Cargo's helper names Rust's target, which zig does not know.
	cat >"$work/bin/cc-$1" <<-END
		#!/bin/sh
		for it; do
			shift
			case \$it in --target=*) ;; *) set -- "\$@" "\$it" ;; esac
		done
		exec "$zig" cc -target $machine-linux-musl "\$@"
	END
	printf '#!/bin/sh\nexec "%s" ar "$@"\n' "$zig" >"$work/bin/ar"
	chmod +x "$work/bin/cc-$1" "$work/bin/ar"
	env "CC_$variables=$work/bin/cc-$1" "AR_$variables=$work/bin/ar" "CFLAGS_$variables=-g0 -fno-sanitize=undefined" \
		"CARGO_TARGET_${variables^^}_LINKER=rust-lld" \
		"$cargo" build --locked --profile "$profile" --target "$target" --target-dir target -p aerostat
	cp "target/$target/$folder/aerostat" "$unfinished/$program"
	# That profile leaves names and lines in, of a hundred megabytes.
	[ "$profile" != dev ] || strip "$unfinished/$program" || fail "$program cannot be stripped" "install strip, which comes with binutils"
	# The image has no C library, so that a program that asks for a loader would not start there.
	segments=$(LC_ALL=C readelf -lW "$unfinished/$program") ||
		fail "$program cannot be read" "install readelf, which comes with binutils, or look at what was built"
	[[ $segments != *INTERP* ]] ||
		fail "$program is not static: it asks for a loader" "look at what sets flags for $target, as in a config.toml of Cargo"
}

for architecture in "${architectures[@]}"; do build "$architecture"; done
if [ "$what" = program ]; then
	mkdir -p "$out"
	mv "$unfinished/aerostat-linux-$architecture" "$out/"
	printf '%s\n' "$out/aerostat-linux-$architecture"
	exit
fi

announce "modules of ${providers[*]}"
need_target wasm32-wasip2
# The last flags are those of .cargo/config.toml.
CARGO_ENCODED_RUSTFLAGS+="$separator-Clink-arg=--compress-relocations$separator--cfg=sha2_backend_soft=\"compact\"" \
	"$cargo" build --locked --profile guest --target wasm32-wasip2 --target-dir target --lib "${packages[@]}"
# Cargo writes the name of a library with underscores.
built=("${providers[@]//-/_}")
built=("${built[@]/#/target/wasm32-wasip2/guest/}")
built=("${built[@]/%/.wasm}")
env -u CARGO_ENCODED_RUSTFLAGS "$cargo" run --locked --quiet --target-dir target -p strip-module -- \
	"${built[@]}" "$unfinished"
for provider in "${providers[@]}"; do
	[[ $provider != *-* ]] || mv "$unfinished/${provider//-/_}.wasm" "$unfinished/$provider.wasm"
	bytes=$(wc -c <"$unfinished/$provider.wasm")
	[ "$bytes" -le $((600 << 10)) ] ||
		fail "$provider.wasm has $bytes bytes, and a module has at most 600 KiB" 'look at what costs, by the names of functions'
done

announce 'SBOMs'
# It writes beside each Cargo.toml, so that it gets a copy.
mkdir -p "$work/sources"
tar --exclude=./target --exclude=./.git -cf - . | tar -C "$work/sources" -xf -
# Without a time and a random number: the same sources make the same SBOM.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || printf 0)
export SOURCE_DATE_EPOCH
sbom() { # crate, its folder, target, the file's name
	(cd "$work/sources" &&
		"$cyclonedx" cyclonedx --quiet --manifest-path "$2/Cargo.toml" --format json --spec-version 1.5 --target "$3")
	sed "s|$work/sources|/aerostat|g" "$work/sources/$2/$1.cdx.json" >"$unfinished/$4.cdx.json"
}
for architecture in "${architectures[@]}"; do
	sbom aerostat runtime "$(machine "$architecture")-unknown-linux-musl" "aerostat-linux-$architecture"
done
for provider in "${providers[@]}"; do
	sbom "$provider" "providers/$provider" wasm32-wasip2 "$provider"
done

announce 'image, chart, provenance and bundle'
said=()
{
	if commit=$(git rev-parse HEAD 2>/dev/null); then
		if [ -z "$(git status --porcelain)" ]; then
			said+=(--commit "$commit")
		else
			commit="$commit, with changes that are not committed"
		fi
		printf 'commit: %s\n' "$commit"
	fi
	rustc -vV
	"$cargo" -V
	printf 'zig %s\n' "$("$zig" version)"
} >"$unfinished/BUILT-WITH.txt"
[ -z "${SOURCE:-}" ] || said+=(--source "$SOURCE")
for architecture in "${architectures[@]}"; do said+=(--architecture "$architecture"); done
# What a module needs, it says itself.
for provider in "${providers[@]}"; do
	"$unfinished/aerostat-linux-$own" module inspect "$unfinished/$provider.wasm" --output=json >"$unfinished/$provider.module.json"
done
env -u CARGO_ENCODED_RUSTFLAGS "$cargo" run --locked --quiet --target-dir target -p pack -- \
	--version "$version" --lock Cargo.lock "${said[@]}" "${chart[@]}" --contract wit "$unfinished"
rm "$unfinished"/*.module.json
pack_roles "$unfinished"

announce 'checksums, and the programs start'
(cd "$unfinished" && sha256sum -- "${names[@]}" | LC_ALL=C sort -k 2 >SHA256SUMS)
for architecture in "${architectures[@]}"; do deploy/starts.sh "$unfinished/aerostat-linux-$architecture" "$version"; done
rm -rf "$out"
mkdir -p "$(dirname "$out")"
mv "$unfinished" "$out"
printf '\n%s\n' "$out"
cat "$out/SHA256SUMS"
