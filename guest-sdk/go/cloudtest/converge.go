package cloudtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"aerostat.dev/sdk/instances"
	"aerostat.dev/sdk/loadbalancers"
	"aerostat.dev/sdk/types"
)

const (
	// mostCalls is how many a part of a life may take.
	mostCalls = 200
	// lag is how long lists lag after something was made.
	lag = 20 * time.Second
)

// Provider is one with nodes and load balancers.
type Provider interface {
	instances.Instances
	loadbalancers.LoadBalancers
}

// Converge plays the life of a load balancer, from nothing to one that is changed, and to nothing: once while nothing goes wrong, and once
// for each of its requests and each way in which that can go wrong. Each life has a cloud of its own. The stories are those of aerostat
// provider conformance; what only the host sees, such as lists of machines and thefts, is tried by that command alone.
//
// It returns a sentence for each promise that was broken.
func Converge(t testing.TB, provider Provider, cloud func() Cloud) []string {
	measure := play(t, provider, cloud(), nil)
	broken := measure.judged(measure)
	// It would be told once more for each trouble.
	if len(broken) > 0 {
		return broken
	}
	for _, trouble := range troubles(measure) {
		broken = append(broken, play(t, provider, cloud(), &trouble).judged(measure)...)
	}
	return broken
}

type trouble struct {
	nth      int
	how      How
	listsLag bool
	givesUp  bool
}

// troubles are those that the requests of a life can meet, by the number of each in its part.
func troubles(measure life) []trouble {
	longest, isCreated := 0, false
	for _, part := range measure.parts {
		longest = max(longest, len(part.requests))
	}
	var all []trouble
	for at := range longest {
		isWrite := func(part part) bool { return at < len(part.requests) && part.requests[at].Writes }
		creates := isWrite(measure.parts[0])
		hows := []How{LostBefore, Failed, LostAfter, AnsweredBusy, DiesBefore, DiesAfter}
		if !slices.ContainsFunc(measure.parts, isWrite) {
			// A read changes nothing, carried out or not: one trouble is enough.
			hows = hows[at%2 : at%2+1]
		}
		for _, how := range hows {
			all = append(all, trouble{nth: at + 1, how: how})
		}
		if !creates {
			continue
		}
		if !isCreated {
			all = append(all, trouble{nth: at + 1, how: Refused})
		}
		isCreated = true
		for _, how := range []How{FailedAfter, DiesAfter} {
			for _, givesUp := range []bool{false, true} {
				all = append(all, trouble{nth: at + 1, how: how, listsLag: true, givesUp: givesUp})
			}
		}
		all = append(all, trouble{nth: at + 1, how: DiesBefore, listsLag: true, givesUp: true})
	}
	return all
}

// The parts of a life.
const (
	create = iota
	change
	remove
)

type part struct {
	phase     int
	requests  []Arrived
	calls     int
	isOver    bool
	isGivenUp bool
	// last is the last answer that was no end.
	last string
	// wrong are promises that a call has broken.
	wrong []string
	after []Object
}

type life struct {
	trouble *trouble
	before  []Object
	parts   []part
}

type stage struct {
	provider Provider
	cloud    *Simulated
	service  loadbalancers.LoadBalancer
	nodes    []types.Node
}

func play(t testing.TB, provider Provider, cloud Cloud, trouble *trouble) life {
	it := stage{provider: provider, cloud: Simulate(cloud).Host(t), service: loadbalancers.LoadBalancer{
		Name:                  "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1",
		Owner:                 loadbalancers.Owner{Namespace: "default", Name: "web", UID: "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11"},
		Ports:                 []loadbalancers.Port{port(80)},
		ExternalTrafficPolicy: loadbalancers.ExternalTrafficPolicyCluster{},
	}}
	for _, name := range []string{"web-1", "web-2"} {
		it.cloud.Change(Change{AddMachine: &struct{ Name string }{name}})
		node := types.Node{Name: name}
		if found := provider.Get([]types.Node{node})[0]; found.Value != nil {
			node.ProviderID, node.Addresses = found.Value.ProviderID, found.Value.Addresses
		}
		it.nodes = append(it.nodes, node)
	}
	it.service.Nodes = it.nodes[:1]
	it.cloud.Change(Change{AddForeign: &struct{ Name string }{"web"}})
	played := life{trouble: trouble, before: copied(cloud.Objects())}
	for phase := create; phase <= remove; phase++ {
		part := it.part(phase, trouble)
		played.parts = append(played.parts, part)
		if part.isGivenUp {
			played.parts = append(played.parts, it.part(remove, trouble))
		}
		if part.isGivenUp || !part.isOver {
			break
		}
	}
	return played
}

func (it *stage) part(phase int, trouble *trouble) part {
	if phase == change {
		it.service.Nodes, it.service.Ports = it.nodes, append(it.service.Ports, port(443))
	}
	givesUp := trouble != nil && trouble.givesUp
	lags := trouble != nil && trouble.listsLag && (phase == create || givesUp)
	orders := Orders{ListsLag: lags}
	if trouble != nil && (!trouble.listsLag || phase == create) {
		orders.Fail = &Failure{Nth: trouble.nth, How: trouble.how}
	}
	it.cloud.Asked()
	it.cloud.Order(orders)
	played := part{phase: phase}
	var madeAt time.Time
	if phase == remove {
		madeAt = it.cloud.now
	}
	for played.calls < mostCalls && !played.isOver && !played.isGivenUp {
		it.call(&played, lags)
		if madeAt.IsZero() && slices.ContainsFunc(played.requests, func(it Arrived) bool { return it.Writes }) {
			madeAt = it.cloud.now
		}
		played.isGivenUp = phase == create && givesUp && len(played.requests) >= trouble.nth
		if lags && !madeAt.IsZero() && it.cloud.now.Sub(madeAt) >= lag {
			lags = false
			it.cloud.Order(Orders{})
		}
	}
	it.cloud.Order(Orders{ListsLag: played.isGivenUp})
	played.after = copied(it.cloud.cloud.Objects())
	if played.isOver && (trouble == nil || phase == create) {
		again := part{phase: phase}
		it.call(&again, false)
		switch {
		case !again.isOver:
			played.wrong = append(played.wrong, "memo-is-kept: it was over, and the next call answers "+again.last)
		case slices.ContainsFunc(again.requests, func(it Arrived) bool { return it.Writes }) && phase != remove:
			played.wrong = append(played.wrong, "ready-writes-nothing: it was ready, and the next call writes")
		}
	}
	return played
}

// call is one call, and the pause after it. If the process has died over it, nothing is kept.
func (it *stage) call(played *part, lags bool) {
	memo := it.service.Memo
	var status *loadbalancers.LoadBalancerStatus
	pause, isOver := 500*time.Millisecond, false
	fails := func(err error) {
		pause, played.last = 5*time.Second, fmt.Sprintf("an error (%v)", err)
		var again types.ErrorRetryAfter
		if errors.As(err, &again) {
			pause = time.Duration(again.Milliseconds) * time.Millisecond
		}
	}
	waits := func(at loadbalancers.PendingStatus) {
		status, played.last = &at.Status, fmt.Sprintf("pending (%s)", at.Wait.Reason)
		pause = max(pause, time.Duration(at.Wait.Milliseconds)*time.Millisecond)
	}
	if played.phase == remove {
		unwanted := it.service
		unwanted.Nodes = nil
		answer, err := it.provider.Delete(unwanted)
		switch answer := answer.(type) {
		case loadbalancers.DeletionDone, loadbalancers.DeletionKept:
			isOver = true
		case loadbalancers.DeletionPending:
			waits(loadbalancers.PendingStatus(answer))
		default:
			fails(err)
		}
	} else {
		answer, err := it.provider.Ensure(it.service)
		switch answer := answer.(type) {
		case loadbalancers.ProgressReady:
			isOver, status = true, (*loadbalancers.LoadBalancerStatus)(&answer)
		case loadbalancers.ProgressNotManaged:
			isOver = true
		case loadbalancers.ProgressPending:
			waits(loadbalancers.PendingStatus(answer))
		case loadbalancers.ProgressFailed:
			fails(answer.Error)
			status = &answer.Status
		default:
			fails(err)
		}
	}
	asked, isDead := it.cloud.Asked()
	played.requests, played.calls = append(played.requests, asked...), played.calls+1
	it.service.Extra = nil
	if isDead {
		played.last = "nothing, since its process has died"
		it.cloud.Order(Orders{ListsLag: lags})
		return
	}
	played.isOver = isOver
	if status != nil {
		if status.Memo != nil && (memo == nil || *memo != *status.Memo) {
			it.service.Extra = [][2]string{{"host.new-memo", "true"}}
		}
		it.service.Memo, it.service.CurrentIngress = status.Memo, status.Ingress
	}
	it.cloud.Advance(pause)
}

// judged are the promises that a life breaks; measure is the one in which nothing goes wrong.
func (it life) judged(measure life) []string {
	story := "nothing goes wrong"
	if it.trouble != nil {
		story = fmt.Sprintf("request %d: %s", it.trouble.nth, it.trouble.how)
		if it.trouble.listsLag {
			story += ", while lists lag"
		}
		if it.trouble.givesUp {
			story += ", and the Service deleted then"
		}
	}
	var broken []string
	for _, part := range it.parts {
		where := [...]string{"create", "change", "delete"}[part.phase]
		breaks := func(format string, arguments ...any) {
			broken = append(broken, fmt.Sprintf("%s: %s: ", story, where)+fmt.Sprintf(format, arguments...))
		}
		for _, wrong := range part.wrong {
			breaks("%s", wrong)
		}
		if !part.isOver && !part.isGivenUp {
			breaks("it does not converge: after %d calls the answer is still %s", part.calls, part.last)
			continue
		}
		made := made(it.before, part.after)
		switch {
		case part.phase == remove && len(made) > 0:
			breaks("nothing-left: it is done, and %s %s is left", made[0].Kind, made[0].ID)
		case part.phase != remove && !part.isGivenUp:
			if right := len(measure.right(part.phase)); len(made) > right {
				breaks("nothing-twice: %d objects were made, where %d are right", len(made), right)
			}
		}
		for _, other := range it.before {
			if !slices.ContainsFunc(part.after, func(it Object) bool { return reflect.DeepEqual(it, other) }) {
				breaks("others-are-untouched: %s %s is another's", other.Kind, other.ID)
			}
		}
	}
	return broken
}

// right are the objects that a part makes.
func (it life) right(phase int) []Object {
	for _, part := range it.parts {
		if part.phase == phase {
			return made(it.before, part.after)
		}
	}
	return nil
}

// made are the objects that were not there before.
func made(before, after []Object) []Object {
	return slices.DeleteFunc(slices.Clone(after), func(it Object) bool {
		return slices.ContainsFunc(before, func(other Object) bool { return other.ID == it.ID })
	})
}

// copied are the objects as they are now: what the cloud changes in place later stays as it was.
func copied(objects []Object) []Object {
	text, err := json.Marshal(objects)
	if err != nil {
		panic(err)
	}
	var all []Object
	if err := json.Unmarshal(text, &all); err != nil {
		panic(err)
	}
	return all
}

func port(number uint16) loadbalancers.Port {
	node := 30_000 + number
	return loadbalancers.Port{Name: fmt.Sprintf("p-%d", number), Port: number, NodePort: &node}
}
