// Package cloud is the cloud in memory: as much of newcloud's API as the provider uses. Make it answer as the real one does.
package cloud

import (
	"hash/fnv"
	"net/netip"
	"strconv"

	"aerostat.dev/sdk/cloudtest"
	"aerostat.dev/sdk/http"
	"aerostat.dev/sdk/types"
)

const (
	longestTag   = 255 // new: tag
	smallestPage = 1   // new: fake-smallest
	// building and changing are seconds that it takes to build a load balancer, and to change it.
	building, changing = 4, 1
)

// Cloud is one with machines and load balancers.
type Cloud struct {
	machines, balancers cloudtest.Objects
	actions             cloudtest.Actions
	// built is the action that builds each load balancer.
	built cloudtest.Actions
}

// New is a cloud without anything.
func New() *Cloud {
	return &Cloud{
		machines:  cloudtest.Objects{Kind: "machine", Prefix: "m-"},
		balancers: cloudtest.Objects{Kind: "load balancer", Prefix: "lb-"},
	}
}

// BasePath is the path of the API's URL.
func (*Cloud) BasePath() string {
	return "/v1" // new: base
}

// FastSettings let the provider wait for little time.
func (*Cloud) FastSettings() map[string]string {
	return map[string]string{"pollInterval": "1s", "createAgainAfter": "5s"} // new: fast
}

// Objects are what a provider of load balancers can make or change.
func (it *Cloud) Objects() []cloudtest.Object { return it.balancers.Shown() }

// Change does something behind the provider's back.
func (it *Cloud) Change(change cloudtest.Change) (cloudtest.Changed, bool) {
	switch {
	case change.AddMachine != nil:
		it.setMachine(change.AddMachine.Name, "running")
	case change.StopMachine != nil:
		it.setMachine(change.StopMachine.Name, "stopped")
	case change.RemoveMachine != nil:
		if machine := it.machines.Named(change.RemoveMachine.Name); machine != nil {
			it.machines.Remove(machine.ID)
		}
	case change.AddForeign != nil:
		body := map[string]any{"spec": map[string]any{"ports": map[string]any{}, "machines": []any{}}, "tags": []any{}}
		made := it.balancers.Make(change.AddForeign.Name, body, cloudtest.Moment{})
		return cloudtest.Changed{ID: &made.ID}, true
	case change.Touch != nil:
		balancer := it.balancers.Get(change.Touch.ID)
		if balancer == nil {
			return cloudtest.Changed{}, false
		}
		tags, _ := balancer.Body["tags"].([]any)
		balancer.Body["tags"] = append(tags, "team-blue")
	default:
		return cloudtest.Changed{}, false
	}
	return cloudtest.Changed{}, true
}

// Answer carries a request out.
func (it *Cloud) Answer(request http.Request, moment cloudtest.Moment) http.Response {
	path := request.Path
	is := func(method types.Method, kind string, segments int) bool {
		return request.Method == method && path[0] == kind && len(path) == segments
	}
	const get, post, put, remove = types.MethodGet, types.MethodPost, types.MethodPut, types.MethodDelete
	switch {
	case is(get, "machines", 1):
		name := cloudtest.Query(request, "name")
		var all []any
		for _, machine := range it.machines.Listed(moment) {
			if name == "" || machine.Name == name {
				all = append(all, shownMachine(machine))
			}
		}
		return page(request, all)
	case is(get, "machines", 2):
		return found(it.machines.Get(path[1]), shownMachine)
	case is(get, "balancers", 1):
		var all []any
		for _, balancer := range it.balancers.Listed(moment) {
			all = append(all, it.shownBalancer(moment)(balancer))
		}
		return page(request, all)
	case is(get, "balancers", 2):
		return found(it.balancers.Get(path[1]), it.shownBalancer(moment))
	case is(post, "balancers", 1):
		return it.create(request, moment)
	case is(put, "balancers", 2):
		spec := cloudtest.Body(request)
		if spec == nil {
			return refused(400, "the body is no object")
		}
		body := map[string]any{"spec": spec, "tags": []any{}}
		return it.build(it.balancers.Put(path[1], path[1], body, moment), moment)
	case is(put, "balancers", 3) && path[2] == "spec":
		spec, balancer := cloudtest.Body(request), it.balancers.Get(path[1])
		switch {
		case spec == nil:
			return refused(400, "the body is no object")
		case it.actions.IsBusy(path[1], moment):
			return refused(409, "an earlier change is under way")
		case balancer != nil:
			balancer.Body["spec"] = spec
			it.actions.Begin(path[1], changing, moment)
		}
		return found(balancer, it.shownBalancer(moment))
	case is(remove, "balancers", 2):
		if it.balancers.Remove(path[1]) {
			return cloudtest.Reply(204, nil)
		}
		return found(nil, nil)
	}
	return refused(404, "there is nothing under this path")
}

func (it *Cloud) create(request http.Request, moment cloudtest.Moment) http.Response {
	body := cloudtest.Body(request)
	if body == nil {
		return refused(400, "the body is no object")
	}
	tags, _ := body["tags"].([]any)
	for _, tag := range tags {
		if text, _ := tag.(string); len(text) > longestTag {
			return refused(400, "a tag is too long")
		}
	}
	name, _ := body["name"].(string)
	if it.balancers.Named(name) != nil {
		return refused(409, "the name is taken")
	}
	return it.build(it.balancers.Make(name, map[string]any{"spec": body["spec"], "tags": tags}, moment), moment)
}

func (it *Cloud) build(balancer *cloudtest.Object, moment cloudtest.Moment) http.Response {
	it.actions.Begin(balancer.ID, building, moment)
	it.built.Begin(balancer.ID, building, moment)
	return found(balancer, it.shownBalancer(moment))
}

func (it *Cloud) setMachine(name, status string) {
	body := map[string]any{"status": status}
	if machine := it.machines.Named(name); machine != nil {
		machine.Body = body
	} else {
		it.machines.Make(name, body, cloudtest.Moment{})
	}
}

func (it *Cloud) shownBalancer(moment cloudtest.Moment) func(*cloudtest.Object) any {
	return func(balancer *cloudtest.Object) any {
		var ip any
		if !it.built.IsBusy(balancer.ID, moment) {
			ip = address([4]byte{203, 0, 113}, balancer.ID)
		}
		body := balancer.Body
		return map[string]any{"id": balancer.ID, "name": balancer.Name, "ip": ip, "spec": body["spec"], "tags": body["tags"]}
	}
}

func shownMachine(machine *cloudtest.Object) any {
	return map[string]any{
		"id": machine.ID, "name": machine.Name, "status": machine.Body["status"],
		"size": "small", "zone": "north-1", "ip": address([4]byte{10, 0, 0}, machine.ID),
	}
}

// address ends with a number from 1 to 250 for an id, the same for the same.
func address(network [4]byte, id string) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(id))
	network[3] = byte(sum.Sum32()%250) + 1
	return netip.AddrFrom4(network).String()
}

func page(request http.Request, all []any) http.Response {
	number := func(name string, otherwise int) int {
		if number, err := strconv.Atoi(cloudtest.Query(request, name)); err == nil {
			return number
		}
		return otherwise
	}
	page := number("page", 1)      // new: fake-number
	size := number("per_page", 20) // new: fake-size
	if size < smallestPage {
		return refused(400, "the page is smaller than the smallest")
	}
	count := len(all)
	first := min(max(page-1, 0)*size, count)
	shown := append([]any{}, all[first:min(first+size, count)]...)
	return cloudtest.Reply(200, map[string]any{"items": shown, "next_page": cloudtest.NextPage(page, size, count)}) // new: page
}

func found(object *cloudtest.Object, shown func(*cloudtest.Object) any) http.Response {
	if object == nil {
		return refused(404, "there is no such object")
	}
	return cloudtest.Reply(200, shown(object))
}

func refused(status uint16, why string) http.Response {
	return cloudtest.Reply(status, map[string]any{"message": why}) // new: refused
}
