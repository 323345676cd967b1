#!/usr/bin/env bash
# Builds the control plane for tests and demo with the ordinary Go toolchain, from the modules that go.mod pins:
# target/control-plane/<version>/{etcd,kube-apiserver,kube-controller-manager,kubectl}.
# What is there is kept. Binaries in $KUBEBUILDER_ASSETS, if given, are used as they are.
# KUBERNETES=1.33 builds that version of Kubernetes instead, from 1.33/go.mod, beside the same etcd.
#
# tests/cluster/build.sh            builds these four
# tests/cluster/build.sh PROGRAM…   builds others of Kubernetes, too: kubelet, kube-scheduler
set -euo pipefail
cd "$(dirname "$0")"

wanted=("$@")
[ $# -gt 0 ] || wanted=(etcd kube-apiserver kube-controller-manager kubectl)
what="control plane" target=control-plane steps=${#wanted[@]}
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
	rm -f "$out"/{etcd,kube-apiserver,kube-controller-manager,kubectl,kubelet,kube-scheduler}
[ "$folder" = . ] || [ -e "$out/etcd" ] || [ ! -x "$built/$pinned/etcd" ] || ln "$built/$pinned/etcd" "$out/etcd"

missing=0
for binary in "${wanted[@]}"; do
	has "$binary" || missing=$((missing + 1))
done
if ((missing > 0)); then
	need_go "point KUBEBUILDER_ASSETS to a folder with ${wanted[*]}"
	printf '==> Building Kubernetes %s (%s of %s binaries; about 8 minutes for a control plane on two cores, once)\n' "$version" "$missing" "$steps"
fi

step=0
for binary in "${wanted[@]}"; do
	step=$((step + 1)) from=$folder
	package=k8s.io/kubernetes/cmd/$binary
	[ "$binary" != etcd ] || from=. package=go.etcd.io/etcd/server/v3
	has "$binary" || build "$step" "$binary" "$binary" "$from" "$(flags)" "$package"
done
source_of_truth "$folder"/go.mod "$folder"/go.sum >"$out/.built-from"
