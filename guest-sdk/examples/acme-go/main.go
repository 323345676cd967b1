// A whole cloud provider, for a cloud that does not exist: acme.rs in Go.
package main

import (
	"strconv"
	"time"

	"aerostat.dev/sdk/http"
	"aerostat.dev/sdk/instances"
	"aerostat.dev/sdk/loadbalancers"
	"aerostat.dev/sdk/provider"
	"aerostat.dev/sdk/types"
)

const prefix = "acme://"

// api is the endpoint of the operator's config. Its errors have their words where most clouds have them.
var api = http.Client{Endpoint: "api"}

type acme struct{}

// Exactly what is named here is exported.
func init() {
	provider.Export(acme{})
	instances.Export(acme{})
	loadbalancers.Export(acme{})
}

// The host calls what is exported, and never main.
func main() {}

func (acme) Describe() (provider.Description, error) {
	machines, balancers := []string{"/machines", "/machines/*"}, []string{"/balancers/*"}
	return provider.Description{
		Name:               "acme",
		Version:            "1.0.0",
		ProviderIDPrefixes: []string{prefix},
		Endpoints: []provider.Endpoint{{
			Name:           api.Endpoint,
			Purpose:        "machines and balancers",
			ExampleBaseURL: "https://api.acme.example/v1",
			Allow: []provider.Permission{
				provider.Allow(types.MethodGet, machines, "machines:read"),
				provider.Allow(types.MethodGet, balancers, "balancers:read"),
				provider.Allow(types.MethodPut, balancers, "balancers:write"),
				provider.Allow(types.MethodDelete, balancers, "balancers:write"),
			},
		}},
		GetBatchSize: 1,
		ListPageSize: 100,
	}, nil
}

func (acme) Identity() (*string, error) { return nil, nil }

func (acme) Get(nodes []types.Node) []types.Result[*instances.Instance] {
	return instances.Each(nodes, get)
}

func get(node types.Node) (*instances.Instance, error) {
	// Acme calls a machine by the name of its node.
	id := node.Name
	if node.ProviderID != nil {
		var err error
		if id, err = types.SplitID(prefix, *node.ProviderID); err != nil {
			return nil, err
		}
	}
	var machine machine
	found, err := api.Get("machines", id).Find(&machine)
	if err != nil || !found {
		return nil, err
	}
	instance := machine.instance()
	return &instance, nil
}

func (acme) CanonicalIDs(ids []string) []types.Result[string] {
	return instances.CanonicalAsSpelled(ids)
}

func (acme) List(cursor *string, limit uint32) (instances.Page, error) {
	after := "0"
	if cursor != nil {
		after = *cursor
	}
	var answer struct {
		Machines []machine
		Next     *string
	}
	request := api.Get("machines").Query("after", after).Query("limit", strconv.Itoa(int(limit)))
	if err := request.Into(&answer); err != nil {
		return instances.Page{}, err
	}
	page := instances.Page{Next: answer.Next}
	for _, it := range answer.Machines {
		page.Instances = append(page.Instances, it.instance())
	}
	return page, nil
}

func (acme) Ensure(desired loadbalancers.LoadBalancer) (loadbalancers.Progress, error) {
	spec, err := specOf(desired)
	if err != nil {
		return nil, err
	}
	// The name holds the Service's UID: a PUT whose answer was lost makes nothing twice. A POST would.
	var balancer balancer
	found, err := api.Get("balancers", desired.Name).Find(&balancer)
	if err != nil {
		return nil, err
	}
	if !found || !balancer.Spec.equal(spec) {
		if err := api.Put("balancers", desired.Name).JSON(spec).Into(&balancer); err != nil {
			return nil, err
		}
	}
	status := loadbalancers.LoadBalancerStatus{Memo: &desired.Name}
	if balancer.IP == nil {
		return loadbalancers.Pending(status, 5*time.Second, "the cloud builds the balancer"), nil
	}
	return loadbalancers.Ready(status, *balancer.IP), nil
}

func (acme) Delete(unwanted loadbalancers.LoadBalancer) (loadbalancers.Deletion, error) {
	if err := api.Delete("balancers", unwanted.Name).Gone(); err != nil {
		return nil, err
	}
	return loadbalancers.DeletionDone{}, nil
}
