package main

import (
	"maps"
	"slices"

	"aerostat.dev/sdk/http"
	"aerostat.dev/sdk/loadbalancers"
	"aerostat.dev/sdk/types"
)

// api is the endpoint of the operator's config, and where the cloud's errors have their words.
var api = http.Client{Endpoint: "api", Words: []string{"message"}} // new: words

// items is the field of a page that holds its items.
const items = "items" // new: items

// pages are how the cloud numbers them.
var pages = http.NumberedPages{
	Number:   "page",                // new: number
	Size:     "per_page",            // new: size
	Smallest: 1,                     // new: smallest
	Largest:  100,                   // new: largest
	Next:     []string{"next_page"}, // new: next
	End:      http.PageEndNext,      // new: end
}

// spec is a load balancer, as much of it as a Service asks for.
type spec struct {
	// Ports lead from the load balancer's to the machines'.
	Ports map[uint16]uint16 `json:"ports"`
	// Machines are their ids, sorted.
	Machines []string `json:"machines"`
}

func specOf(service *loadbalancers.LoadBalancer) (spec, error) {
	ports, err := service.NodePorts(loadbalancers.ProtocolTCP)
	if err != nil {
		return spec{}, err
	}
	machines := make([]string, 0, len(service.Nodes))
	for _, node := range service.Nodes {
		if node.ProviderID == nil {
			return spec{}, types.Unavailablef("node %s has no provider id yet", node.Name)
		}
		id, err := types.SplitID(prefix, *node.ProviderID)
		if err != nil {
			return spec{}, err
		}
		machines = append(machines, id)
	}
	slices.Sort(machines)
	return spec{ports, machines}, nil
}

func (it spec) equal(other spec) bool {
	return maps.Equal(it.Ports, other.Ports) && slices.Equal(it.Machines, other.Machines)
}
