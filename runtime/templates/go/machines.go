package main

import (
	"aerostat.dev/sdk/http"
	"aerostat.dev/sdk/instances"
	"aerostat.dev/sdk/types"
)

func (newCloud) Get(nodes []types.Node) []types.Result[*instances.Instance] {
	return instances.Each(nodes, get)
}

// get promises with nil and no error that the cloud is certain that there is no such machine: the node is deleted then.
func get(node types.Node) (*instances.Instance, error) {
	if node.ProviderID == nil {
		// A node without a provider id is found by its name.
		named, err := http.All[machine](pages, api.Get("machines").Query("name", node.Name), items)
		for _, it := range named {
			if it.Name == node.Name {
				return it.instance(), nil
			}
		}
		return nil, err
	}
	id, err := types.SplitID(prefix, *node.ProviderID)
	if err != nil {
		return nil, err
	}
	var found machine
	isThere, err := api.Get("machines", id).Find(&found)
	if err != nil || !isThere {
		return nil, err
	}
	return found.instance(), nil
}

func (newCloud) CanonicalIDs(ids []string) []types.Result[string] {
	return instances.CanonicalAsSpelled(ids)
}

func (newCloud) List(cursor *string, limit uint32) (instances.Page, error) {
	at, err := instances.PositionOf(cursor, limit, "machines")
	if err != nil {
		return instances.Page{}, err
	}
	listed, isLast, err := http.Page[machine](pages, api.Get(at.List), items, at.Page, limit)
	page := instances.Page{Next: at.Next(isLast)}
	for _, it := range listed {
		page.Instances = append(page.Instances, *it.instance())
	}
	return page, err
}

// machine is what the cloud shows of one.
type machine struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Size   string `json:"size"`
	Zone   string `json:"zone"`
	IP     string `json:"ip"`
}

func (it machine) instance() *instances.Instance {
	state := instances.StateStopped
	if it.Status == "running" {
		state = instances.StateRunning
	}
	return &instances.Instance{
		Name:        it.Name,
		ProviderID:  new(prefix + it.ID),
		State:       state,
		MachineType: &it.Size,
		Zone:        &it.Zone,
		Addresses: []types.Address{
			{Kind: types.AddressKindHostname, Value: it.Name},
			{Kind: types.AddressKindInternalIP, Value: it.IP},
		},
	}
}
