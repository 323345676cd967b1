#!/usr/bin/env bash
# Builds helm with the ordinary Go toolchain, from the modules that each go.mod pins: target/helm/{helm,helm3}, the current one and
# the one before, which must be able to render the chart. What was built from the same sources is kept.
set -euo pipefail
cd "$(dirname "$0")"

what=helm target=helm steps=2
wanted_go=$(awk '$1 == "go" { print $2; exit }' v4/go.mod)
out=$(cd ../.. && pwd)/target/helm
# shellcheck source=tests/go.sh
source ../go.sh

# Helm takes its version, and that of the Kubernetes whose abilities `helm template` assumes, from the linker.
flags() { # folder
	local major=${1#v} version kubernetes internal
	version=$(awk -v module="helm.sh/helm/$1" '$1 == module && $2 ~ /^v/ { print $2; exit } $2 == module { print $3; exit }' "$1/go.mod")
	kubernetes=$(awk '$1 == "k8s.io/client-go" { print $2; exit }' "$1/go.mod")
	kubernetes=${kubernetes#v0.}
	internal=helm.sh/helm/$1/internal/version
	printf '%s' "-s -w -X $internal.version=$version"
	if ((major == 3)); then
		internal=helm.sh/helm/v3/pkg/chartutil
	else
		internal=helm.sh/helm/v4/pkg/chart/common
	fi
	printf '%s' " -X $internal.k8sVersionMajor=1 -X $internal.k8sVersionMinor=${kubernetes%%.*}"
}

mkdir -p "$out"
step=0
for program in helm:v4 helm3:v3; do
	step=$((step + 1))
	name=${program%%:*} folder=${program#*:}
	if [ -x "$out/$name" ] && [ "$(cat "$out/.$name.built-from" 2>/dev/null)" = "$(source_of_truth "$folder"/go.mod "$folder"/go.sum)" ]; then
		continue
	fi
	need_go ""
	build "$step" "$name" "$name" "$folder" "$(flags "$folder")" "helm.sh/helm/$folder/cmd/helm"
	source_of_truth "$folder"/go.mod "$folder"/go.sum >"$out/.$name.built-from"
done

# The kinds of others that the chart has objects of, so that an API server can judge these.
crds=$out/crds
if [ "$(cat "$crds/.built-from" 2>/dev/null)" != "$(source_of_truth crds/go.mod crds/go.sum)" ]; then
	need_go ""
	rm -rf "$crds"
	mkdir -p "$crds"
	folder() { # module
		(cd crds && go mod download "$1" && go mod download -json "$1") | awk -F '"' '$2 == "Dir" { print $4 }'
	}
	cilium=$(folder github.com/cilium/cilium)
	calico=$(folder github.com/projectcalico/calico)
	prometheus=$(folder github.com/prometheus-operator/prometheus-operator)
	for file in "$cilium"/pkg/k8s/apis/cilium.io/client/crds/v2/ciliumnetworkpolicies.yaml \
		"$prometheus"/example/prometheus-operator-crd/monitoring.coreos.com_{pod,service}monitors.yaml; do
		[ -f "$file" ] || fail "there is no $file" "look where the module has it now, and write that into tests/helm/build.sh"
		install -m 644 "$file" "$crds/"
	done
	# People write projectcalico.org/v3, which Calico's own API server has; it keeps objects as crd.projectcalico.org/v1, whose spec
	# is of the same Go type. Here an API server has that spec under the name that people write.
	file=$calico/libcalico-go/config/crd/crd.projectcalico.org_networkpolicies.yaml
	[ -f "$file" ] || fail "there is no $file" "look where the module has it now, and write that into tests/helm/build.sh"
	sed -e 's/crd\.projectcalico\.org/projectcalico.org/' -e 's/^  - name: v1$/  - name: v3/' "$file" >"$crds/projectcalico.org_networkpolicies.yaml"
	source_of_truth crds/go.mod crds/go.sum >"$crds/.built-from"
fi
