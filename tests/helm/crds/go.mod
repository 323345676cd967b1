// The kinds of others that the chart has objects of.
module aerostat.dev/tests/helm/crds

go 1.26.0

require (
	github.com/cilium/cilium v1.20.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
)
