package main

import (
	"slices"
	"strings"
	"time"

	"aerostat.dev/sdk/backend"
	"aerostat.dev/sdk/config"
	"aerostat.dev/sdk/http"
	"aerostat.dev/sdk/loadbalancers"
	"aerostat.dev/sdk/provider"
	"aerostat.dev/sdk/settings"
	"aerostat.dev/sdk/types"
)

// The settings.
var (
	poll = settings.Span{
		Name: "pollInterval", Default: 5 * time.Second, Least: time.Second, Most: 5 * time.Minute,
		Doc: "How often a load balancer is read that is being built.",
	}
	createAgain = settings.Span{
		Name: "createAgainAfter", Default: time.Minute, Least: time.Second, Most: time.Hour,
		Doc: "How long a load balancer is looked for whose creation was not answered, before it is created again. Longer than lists lag.",
	}
)

func table() ([]provider.Setting, error) { return settings.Describe(poll, createAgain) }

// permissions are the requests of this file, for an operator to allow.
func permissions() []provider.Permission {
	return []provider.Permission{
		provider.Allow(types.MethodGet, []string{"/balancers", "/balancers/*"}),
		provider.Allow(types.MethodPost, []string{"/balancers"}),
		provider.AllowAs(provider.EffectDetach, types.MethodPut, []string{"/balancers/*/spec"}),
		provider.Allow(types.MethodDelete, []string{"/balancers/*"}),
	}
}

func (newCloud) Ensure(desired loadbalancers.LoadBalancer) (loadbalancers.Progress, error) {
	it, err := callAbout(&desired)
	if err != nil {
		return nil, err
	}
	return backend.Ensure[balancer](it)
}

func (newCloud) Delete(unwanted loadbalancers.LoadBalancer) (loadbalancers.Deletion, error) {
	it, err := callAbout(&unwanted)
	if err != nil {
		return nil, err
	}
	return backend.Delete[balancer](it)
}

// call is one about one Service. The cloud gives load balancers their ids, so that a POST must not be sent twice: package backend sees to that.
type call struct {
	service *loadbalancers.LoadBalancer
	// mark is the tag that proves whose a load balancer is.
	mark   string
	pauses backend.Pauses
}

func callAbout(service *loadbalancers.LoadBalancer) (call, error) {
	it := call{service: service}
	cluster, err := config.Cluster()
	if err != nil {
		return it, err
	}
	it.mark, err = types.Mark(cluster, service.Owner.UID), nil // new: mark
	if err != nil {
		return it, err
	}
	if it.pauses.Poll, err = poll.Get(); err != nil {
		return it, err
	}
	it.pauses.CreateAgain, err = createAgain.Get()
	return it, err
}

// balancer is what the cloud shows of one.
type balancer struct {
	ID   string   `json:"id"`
	Name string   `json:"name"`
	Tags []string `json:"tags"`
	IP   *string  `json:"ip"`
	Spec spec     `json:"spec"`
}

func (it call) Service() *loadbalancers.LoadBalancer { return it.service }

func (call) IsID(text string) bool { return strings.HasPrefix(text, "lb-") }

func (it call) Pauses() backend.Pauses { return it.pauses }

func (it call) List() ([]backend.Found, error) {
	all, err := http.All[balancer](pages, api.Get("balancers"), items)
	found := make([]backend.Found, len(all))
	for i := range all {
		found[i] = it.Found(&all[i])
	}
	return found, err
}

func (call) Find(id string) (*balancer, error) {
	var live balancer
	isThere, err := api.Get("balancers", id).Find(&live)
	if err != nil || !isThere {
		return nil, err
	}
	return &live, nil
}

func (it call) Found(live *balancer) backend.Found {
	return backend.Found{ID: live.ID, Name: live.Name, IsMarked: slices.Contains(live.Tags, it.mark)}
}

func (it call) CanCreate() error {
	_, err := specOf(it.service)
	return err
}

func (it call) Create([]backend.Found) (backend.Creation, error) {
	spec, err := specOf(it.service)
	if err != nil {
		return nil, err
	}
	request := api.Post("balancers").JSON(map[string]any{"name": it.service.Name, "tags": []string{it.mark}, "spec": spec})
	// In this cloud no two load balancers have one name: what an earlier process has made before it died is not made twice, also while no
	// list shows it. Without such names it would be, in a cloud whose lists lag.
	isTaken := func(answer http.Response) bool { return request.Says(answer, "the name is taken") }
	var made balancer
	unclear, err := request.Create(&made, isTaken)
	return backend.Created(it.Found(&made), unclear, err)
}

func (it call) Update(live *balancer) (backend.Update, error) {
	if live.IP == nil {
		return backend.Building{}, nil
	}
	ingress := []types.Ingress{{IP: live.IP}}
	spec, err := specOf(it.service)
	if err != nil {
		return nil, err
	}
	if live.Spec.equal(spec) {
		return backend.Done(ingress), nil
	}
	busy, err := api.Put("balancers", live.ID, "spec").JSON(spec).Change(nil)
	return backend.Updated(ingress, busy, err)
}

func (call) Delete(id string) (backend.Removal, error) {
	return backend.Removed(api.Delete("balancers", id).ChangeOrGone())
}
