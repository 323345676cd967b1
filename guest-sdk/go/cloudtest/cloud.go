// Package cloudtest has a cloud in memory for tests: the vendor's API as far as a provider uses it. Converge plays with it natively, and
// Serve serves it to aerostat provider conformance.
package cloudtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"aerostat.dev/sdk/http"
	"aerostat.dev/sdk/types"
)

// Cloud answers as the vendor's cloud does, and shows more than that cloud would. Objects and Actions hold what most clouds have.
type Cloud interface {
	// BasePath is the path of the API's URL: "/v1"; "" where the API begins at the host.
	BasePath() string
	// Answer carries a request out.
	Answer(request http.Request, moment Moment) http.Response
	// Objects are load balancers (kinds that contain these words) and whatever is made beside them, whatever lists show. No machines. What
	// changes by itself, such as a state, is left out.
	Objects() []Object
	// Change does something behind the provider's back; false if this cloud cannot.
	Change(change Change) (Changed, bool)
	// FastSettings let the provider wait for little time, where time is real.
	FastSettings() map[string]string
}

// Moment is that of a request.
type Moment struct {
	// Now is in seconds on the cloud's own clock. Each request takes one.
	Now int64
	// ListsLag tells whether lists leave out what is made meanwhile.
	ListsLag bool
}

// Object is something that exists.
type Object struct {
	// Kind is as in "load balancer".
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Name is "" where it has none.
	Name string `json:"name"`
	// Body is all else that a request could change.
	Body map[string]any `json:"body"`
}

// Change is something that is done behind the provider's back: the one that is not nil. The names are nodes' and load balancers'.
type Change struct {
	// AddMachine runs a machine; StopMachine shuts it down; RemoveMachine takes it away.
	AddMachine, StopMachine, RemoveMachine *struct{ Name string }
	// AddForeign makes a load balancer that no provider has made.
	AddForeign *struct{ Name string }
	// Touch changes something on an object for which the provider has no word.
	Touch *struct{ ID string }
	// AddSuccessor runs a machine with the addresses of one that is gone.
	AddSuccessor *struct{ Name, Of string }
	// Protect forbids or allows the deletion of an object.
	Protect *struct {
		ID        string
		Protected bool
	}
	// Advance lets time pass; the cloud is not asked.
	Advance *struct{ Seconds int64 }
}

// Changed has the id of what was made.
type Changed struct {
	ID *string `json:"id,omitempty"`
}

// Objects are those of one kind, by ids that the cloud gives, and no id again.
type Objects struct {
	// Kind is as in "load balancer", and ids begin with Prefix.
	Kind, Prefix string
	given        int
	objects      map[string]*kept
}

type kept struct {
	Object
	isLate bool
}

// Make makes one, and returns it with the id that it gets.
func (it *Objects) Make(name string, body map[string]any, moment Moment) *Object {
	it.given++
	return it.Put(fmt.Sprint(it.Prefix, it.given), name, body, moment)
}

// Put makes one under an id that its maker chose, or replaces what has this id.
func (it *Objects) Put(id, name string, body map[string]any, moment Moment) *Object {
	if it.objects == nil {
		it.objects = map[string]*kept{}
	}
	isLate := moment.ListsLag
	if earlier := it.objects[id]; earlier != nil {
		isLate = earlier.isLate
	}
	it.objects[id] = &kept{Object: Object{Kind: it.Kind, ID: id, Name: name, Body: body}, isLate: isLate}
	return &it.objects[id].Object
}

// Get is the one with this id, or nil.
func (it *Objects) Get(id string) *Object {
	if found := it.objects[id]; found != nil {
		return &found.Object
	}
	return nil
}

// Named is the first one with this name, or nil.
func (it *Objects) Named(name string) *Object {
	for _, found := range it.All() {
		if found.Name == name {
			return found
		}
	}
	return nil
}

// Remove takes one away, and says whether it was there.
func (it *Objects) Remove(id string) bool {
	_, isThere := it.objects[id]
	delete(it.objects, id)
	return isThere
}

// All are all of them, in the order of their ids.
func (it *Objects) All() []*Object { return it.Listed(Moment{}) }

// Listed are those that a list shows at this moment.
func (it *Objects) Listed(moment Moment) []*Object {
	listed := []*Object{}
	for _, id := range slices.SortedFunc(maps.Keys(it.objects), byLength) {
		if found := it.objects[id]; !(moment.ListsLag && found.isLate) {
			listed = append(listed, &found.Object)
		}
	}
	return listed
}

// byLength puts lb-10 behind lb-9.
func byLength(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// Shown is for Cloud.Objects.
func (it *Objects) Shown() []Object {
	shown := []Object{}
	for _, found := range it.All() {
		shown = append(shown, *found)
	}
	return shown
}

// Actions are what a cloud does after it has answered. While one runs, its object is busy.
type Actions struct{ ends map[string]int64 }

// Begin begins one that takes so many seconds.
func (it *Actions) Begin(object string, seconds int64, moment Moment) {
	if it.ends == nil {
		it.ends = map[string]int64{}
	}
	it.ends[object] = moment.Now + seconds
}

// IsBusy tells whether one on this object is running.
func (it *Actions) IsBusy(object string, moment Moment) bool { return it.ends[object] > moment.Now }

// Reply is an answer with a body of JSON; nil for none.
func Reply(status uint16, body any) http.Response {
	if body == nil {
		return http.Response{Status: status}
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return http.Response{Status: status, Body: text}
}

// Body reads a request's JSON; nil if it is no object.
func Body(request http.Request) map[string]any {
	var body map[string]any
	if bytes, is := request.Body.(http.BodyBytes); is && json.Unmarshal(bytes, &body) == nil {
		return body
	}
	return nil
}

// Query is a value of the request's query; "" without it.
func Query(request http.Request, name string) string {
	for _, pair := range request.Query {
		if pair[0] == name {
			return pair[1]
		}
	}
	return ""
}

// NextPage is the number of the page after this one of so many items; nil for the last.
func NextPage(page, size, items int) any {
	if page*size < items {
		return page + 1
	}
	return nil
}

// Pages is how many pages so many items have.
func Pages(size, items int) int { return max((items+size-1)/size, 1) }

func writes(request http.Request) bool {
	return request.Method != types.MethodGet && request.Method != types.MethodHead
}
