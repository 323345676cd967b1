#!/usr/bin/env bash
# Builds the control plane for tests and demo with the ordinary Go toolchain, from the modules that go.mod pins:
# target/control-plane/<version>/{etcd,kube-apiserver,kube-controller-manager,kubectl}.
# What is there is kept. Binaries in $KUBEBUILDER_ASSETS, if given, are used as they are.
# KUBERNETES=1.33 builds that version of Kubernetes instead, from 1.33/go.mod, beside the same etcd.
set -euo pipefail
cd "$(dirname "$0")"

what="control plane" target=control-plane steps=4
wanted_go=$(awk '$1 == "go" { print $2; exit }' go.mod)
# shellcheck source=tests/go.sh
source ../go.sh

version_of() { # folder
	awk '$1 == "k8s.io/kubernetes" && $2 ~ /^v/ { print $2; exit }' "$1/go.mod"
}
folder=. pinned=$(version_of .)
built=$(cd ../.. && pwd)/target/control-plane
out=$built/$pinned
if [ -n "${KUBERNETES:-}" ] && [[ $pinned != "v$KUBERNETES."* ]]; then
	folder=$KUBERNETES
	[ -f "$folder/go.mod" ] ||
		fail "Kubernetes $KUBERNETES is not among the versions that are tested" "KUBERNETES=$(printf '%s, ' 1.*/ | tr -d /)or nothing for $pinned"
fi
version=$(version_of "$folder")
out=$built/$version

has() { # binary
	[ -x "${KUBEBUILDER_ASSETS:-/nonexistent}/$1" ] || [ -x "$out/$1" ]
}

# Go links these numbers into the binaries; without them the server calls itself v0.0.0-master.
flags() {
	local package=k8s.io/component-base/version
	local major=${version#v} minor
	major=${major%%.*}
	minor=${version#*.}
	minor=${minor%%.*}
	printf '%s' "-s -w -X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor"
}

mkdir -p "$out"
[ ! -e "$out/.built-from" ] || [ "$(cat "$out/.built-from")" = "$(source_of_truth "$folder"/go.mod "$folder"/go.sum)" ] ||
	rm -f "$out"/{etcd,kube-apiserver,kube-controller-manager,kubectl}
[ "$folder" = . ] || [ -e "$out/etcd" ] || [ ! -x "$built/$pinned/etcd" ] || ln "$built/$pinned/etcd" "$out/etcd"

missing=0
for binary in etcd kube-apiserver kube-controller-manager kubectl; do
	has "$binary" || missing=$((missing + 1))
done
if ((missing > 0)); then
	need_go "point KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, kube-controller-manager and kubectl"
	printf '==> Building the control plane %s (%s of 4 binaries; about 8 minutes for all on two cores, once)\n' "$version" "$missing"
fi

step=0
while read -r binary package; do
	step=$((step + 1)) from=$folder
	[ "$binary" != etcd ] || from=.
	has "$binary" || build "$step" "$binary" "$binary" "$from" "$(flags)" "$package"
done <<-'LIST'
	etcd go.etcd.io/etcd/server/v3
	kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
	kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager
	kubectl k8s.io/kubernetes/cmd/kubectl
LIST
source_of_truth "$folder"/go.mod "$folder"/go.sum >"$out/.built-from"
