#!/usr/bin/env bash
# Builds the control plane for tests and demo with the ordinary Go toolchain, from the modules that go.mod pins:
# target/control-plane/<version>/{etcd,kube-apiserver,kube-controller-manager,kubectl}.
# What is there is kept. Binaries in $KUBEBUILDER_ASSETS, if given, are used as they are.
set -euo pipefail
cd "$(dirname "$0")"

version=$(awk '$1 == "k8s.io/kubernetes" && $2 ~ /^v/ { print $2; exit }' go.mod)
wanted_go=$(awk '$1 == "go" { print $2; exit }' go.mod)
out=$(cd ../.. && pwd)/target/control-plane/$version
building=

fail() {
	printf 'control plane: %s\nNext step: %s\n' "$1" "$2" >&2
	exit 1
}

# What a binary was built from. Another answer than that of the last time means: build again.
source_of_truth() {
	cat go.mod go.sum | cksum | awk '{ print $1 "-" $2 }'
}

has() { # binary
	[ -x "${KUBEBUILDER_ASSETS:-/nonexistent}/$1" ] || [ -x "$out/$1" ]
}

# Ends the build that is running, and takes away its unfinished file.
clean() {
	[ -z "$building" ] || kill "$building" 2>/dev/null || true
	rm -f "$out"/.*."$$"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Go links these numbers into the binaries; without them the server calls itself v0.0.0-master.
flags() {
	local package=k8s.io/component-base/version
	local major=${version#v} minor
	major=${major%%.*}
	minor=${version#*.}
	minor=${minor%%.*}
	printf '%s' "-s -w -X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor"
}

build() { # number, binary, package
	local started=$SECONDS unfinished=$out/.$2.$$ shown=0
	printf '[%s/4] %s: building\n' "$1" "$2"
	CGO_ENABLED=0 go build -trimpath -ldflags "$(flags)" -o "$unfinished" "$3" &
	building=$!
	while kill -0 "$building" 2>/dev/null; do
		sleep 1
		if ((SECONDS - started >= shown + 20)); then
			shown=$((SECONDS - started))
			printf '[%s/4] %s: building, %s s\n' "$1" "$2" "$shown"
		fi
	done
	wait "$building" || fail "go could not build $2, see above" "make control-plane, once the cause is gone"
	building=
	mv "$unfinished" "$out/$2"
	printf '[%s/4] %s: done after %s s\n' "$1" "$2" $((SECONDS - started))
}

mkdir -p "$out"
[ ! -e "$out/.built-from" ] || [ "$(cat "$out/.built-from")" = "$(source_of_truth)" ] ||
	rm -f "$out"/{etcd,kube-apiserver,kube-controller-manager,kubectl}

missing=0
for binary in etcd kube-apiserver kube-controller-manager kubectl; do
	has "$binary" || missing=$((missing + 1))
done
if ((missing > 0)); then
	command -v go >/dev/null ||
		fail "Go is not installed" "install Go $wanted_go or newer (https://go.dev/doc/install), or point KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, kube-controller-manager and kubectl"
	go version >/dev/null ||
		fail "Go $wanted_go or newer is needed, see above" "update Go (https://go.dev/doc/install), or unset GOTOOLCHAIN so that Go fetches it"
	printf '==> Building the control plane %s (%s of 4 binaries; about 8 minutes for all on two cores, once)\n' "$version" "$missing"
fi

step=0
while read -r binary package; do
	step=$((step + 1))
	has "$binary" || build "$step" "$binary" "$package"
done <<-'LIST'
	etcd go.etcd.io/etcd/server/v3
	kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
	kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager
	kubectl k8s.io/kubernetes/cmd/kubectl
LIST
source_of_truth >"$out/.built-from"
