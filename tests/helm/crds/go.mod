// The kinds of others that the chart has objects of.
module aerostat.dev/tests/helm/crds

go 1.26.0

require (
	github.com/cilium/cilium v1.20.2
	// Calico 3.28. Its tags are not those of a Go module of this version: the pseudo-version is a commit of the branch.
	github.com/projectcalico/calico v1.11.0-cni-plugin.0.20250813170300-a0db560f0520
	github.com/prometheus-operator/prometheus-operator v0.85.0
)
