package config

import "aerostat.dev/sdk/types"

// Cluster is the cluster. During describe it is not known yet, which is an error here.
func Cluster() (types.Cluster, error) {
	if cluster := CurrentCluster(); cluster != nil {
		return *cluster, nil
	}
	return types.Cluster{}, types.Unavailablef("the cluster is not known yet: describe cannot ask for it")
}

// Setting is what the operator wrote under this name; false without it.
func Setting(name string) (string, bool) {
	for _, pair := range Settings() {
		if pair[0] == name {
			return pair[1], true
		}
	}
	return "", false
}
