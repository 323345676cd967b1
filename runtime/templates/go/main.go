// The provider for newcloud: it sends requests to the cloud, and turns the answers into the types of the contract.
package main

import (
	"aerostat.dev/sdk/instances"
	"aerostat.dev/sdk/loadbalancers"
	"aerostat.dev/sdk/provider"
	"aerostat.dev/sdk/types"
)

// prefix is the beginning of the cloud's provider ids.
const prefix = "newcloud://"

// newCloud is the provider.
type newCloud struct{}

// Exactly what is named here is exported.
func init() {
	provider.Export(newCloud{})
	instances.Export(newCloud{})
	loadbalancers.Export(newCloud{})
}

// The host calls what is exported, and never main.
func main() {}

func (newCloud) Describe() (provider.Description, error) {
	machines := provider.Allow(types.MethodGet, []string{"/machines", "/machines/*"})
	described := provider.Description{
		Name:               "newcloud",
		Version:            "0.1.0",
		ProviderIDPrefixes: []string{prefix},
		Endpoints: []provider.Endpoint{{
			Name:           api.Endpoint,
			Purpose:        "machines and load balancers",
			ExampleBaseURL: "https://api.newcloud.example/v1",
			Allow:          append([]provider.Permission{machines}, permissions()...),
		}},
		GetBatchSize: 1,
		ListPageSize: pages.Largest,
	}
	var err error
	described.Settings, err = table()
	return described, err
}

// Identity is the account behind the credential, where the cloud tells it.
func (newCloud) Identity() (*string, error) { return nil, nil }
