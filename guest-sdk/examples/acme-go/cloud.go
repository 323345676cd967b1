package main

import (
	"maps"
	"slices"

	"aerostat.dev/sdk/instances"
	"aerostat.dev/sdk/loadbalancers"
	"aerostat.dev/sdk/types"
)

// machine is what acme's cloud says of one.
type machine struct {
	ID      string
	Running bool
	Size    string
	Zone    string
	IP      string
}

func (it machine) instance() instances.Instance {
	id, state := prefix+it.ID, instances.StateStopped
	if it.Running {
		state = instances.StateRunning
	}
	return instances.Instance{
		Name:        it.ID,
		ProviderID:  &id,
		State:       state,
		MachineType: &it.Size,
		Zone:        &it.Zone,
		Addresses: []types.Address{
			{Kind: types.AddressKindHostname, Value: it.ID},
			{Kind: types.AddressKindInternalIP, Value: it.IP},
		},
	}
}

// balancer is what acme's cloud says of one.
type balancer struct {
	Spec spec
	IP   *string
}

type spec struct {
	// Ports lead from the balancer's to the machines'.
	Ports    map[uint16]uint16 `json:"ports"`
	Machines []string          `json:"machines"`
}

func (it spec) equal(other spec) bool {
	return maps.Equal(it.Ports, other.Ports) && slices.Equal(it.Machines, other.Machines)
}

func specOf(desired loadbalancers.LoadBalancer) (spec, error) {
	ports, err := desired.NodePorts(loadbalancers.ProtocolTCP)
	it := spec{Ports: ports, Machines: make([]string, 0, len(desired.Nodes))}
	for _, node := range desired.Nodes {
		it.Machines = append(it.Machines, node.Name)
	}
	return it, err
}
