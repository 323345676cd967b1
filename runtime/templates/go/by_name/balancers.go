package main

import (
	"time"

	"aerostat.dev/sdk/loadbalancers"
	"aerostat.dev/sdk/provider"
	"aerostat.dev/sdk/types"
)

// soon is how long the cloud is at work on a change.
const soon = 500 * time.Millisecond

func table() ([]provider.Setting, error) { return nil, nil }

// permissions are the requests of this file, for an operator to allow.
func permissions() []provider.Permission {
	one := []string{"/balancers/*"}
	return []provider.Permission{
		provider.Allow(types.MethodGet, one),
		provider.Allow(types.MethodPut, one),
		provider.AllowAs(provider.EffectDetach, types.MethodPut, []string{"/balancers/*/spec"}),
		provider.Allow(types.MethodDelete, one),
	}
}

// balancer is what the cloud shows of one. Each is under a name that holds the Service's UID: a PUT whose answer was lost makes nothing twice.
type balancer struct {
	IP   *string `json:"ip"`
	Spec spec    `json:"spec"`
}

func (newCloud) Ensure(desired loadbalancers.LoadBalancer) (loadbalancers.Progress, error) {
	wanted, err := specOf(&desired)
	if err != nil {
		return nil, err
	}
	status := desired.Status()
	status.Memo = &desired.Name
	var live balancer
	isThere, err := api.Get("balancers", desired.Name).Find(&live)
	if err != nil {
		return nil, err
	}
	path := []string{"balancers", desired.Name}
	switch {
	case isThere && live.Spec.equal(wanted) && live.IP != nil:
		return loadbalancers.Ready(status, *live.IP), nil
	case isThere && live.Spec.equal(wanted):
		return loadbalancers.Pending(status, 5*time.Second, "the cloud builds the load balancer"), nil
	case isThere:
		path = append(path, "spec")
	}
	busy, err := api.Put(path...).JSON(wanted).Change(nil)
	if err != nil {
		return nil, err
	}
	if busy == "" {
		busy = "the cloud has the load balancer's ports and machines"
	}
	return loadbalancers.Pending(status, soon, busy), nil
}

func (newCloud) Delete(unwanted loadbalancers.LoadBalancer) (loadbalancers.Deletion, error) {
	busy, err := api.Delete("balancers", unwanted.Name).ChangeOrGone()
	switch {
	case err != nil:
		return nil, err
	case busy != "":
		return loadbalancers.DeletionLater(unwanted.Status(), soon, busy), nil
	}
	return loadbalancers.DeletionDone{}, nil
}
