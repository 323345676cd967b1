package cloudtest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"aerostat.dev/sdk/backend"
	"aerostat.dev/sdk/config"
	"aerostat.dev/sdk/events"
	"aerostat.dev/sdk/http"
	"aerostat.dev/sdk/log"
	"aerostat.dev/sdk/types"
)

// How is the way in which a request goes wrong.
type How string

const (
	// LostBefore: the connection ends, and nothing was done.
	LostBefore How = "lostBefore"
	// LostAfter: it is carried out, and the connection ends without an answer.
	LostAfter How = "lostAfter"
	// Failed: 500, and nothing was done.
	Failed How = "failed"
	// FailedAfter: it is carried out, and answered with 500.
	FailedAfter How = "failedAfter"
	// AnsweredBusy: as while the cloud is at work on the same object, and nothing was done.
	AnsweredBusy How = "busy"
	// Refused: as what the cloud cannot do, and nothing was done.
	Refused How = "refused"
	// DiesBefore: as LostBefore, also for every request after it.
	DiesBefore How = "diesBefore"
	// DiesAfter: as LostAfter, and nothing after it is carried out.
	DiesAfter How = "diesAfter"
)

// Failure is one request that goes wrong, counted from one.
type Failure struct {
	Nth int
	How How
}

// Orders hold from now on.
type Orders struct {
	Fail     *Failure
	ListsLag bool
}

// Arrived is a request that came.
type Arrived struct {
	Line   string  `json:"line"`
	Writes bool    `json:"writes"`
	Status *uint16 `json:"status"`
}

// Simulated is a cloud that does as it is told: one of its requests goes wrong, its lists lag, its clock moves.
type Simulated struct {
	cloud   Cloud
	lock    sync.Mutex
	now     time.Time
	orders  Orders
	came    int
	isDead  bool
	arrived []Arrived
}

// Simulate is a cloud in which nothing goes wrong yet.
func Simulate(cloud Cloud) *Simulated {
	return &Simulated{cloud: cloud, now: time.Unix(1_000_000, 0)}
}

// Host lets it be the cloud of a test's host, for as long as the test runs, and moves the host's clock with it.
func (it *Simulated) Host(t testing.TB) *Simulated {
	http.Native.Send = it.Send
	config.Native.Settings = func() [][2]string { return nil }
	config.Native.CurrentCluster = func() *types.Cluster {
		return &types.Cluster{Name: "kubernetes", UID: "c1a5e000-1111-2222-3333-444455556666"}
	}
	events.Native.Emit = func(_ *string, _ events.EventKind, reason, message string) { t.Logf("%s: %s", reason, message) }
	log.Native.Write = func(_ log.Level, message string, _ [][2]string) { t.Log(message) }
	backend.Now = func() time.Time { return it.now }
	t.Cleanup(func() { http.Native.Send, backend.Now = nil, time.Now })
	return it
}

// Order gives orders in the place of earlier ones; a process that has died is another one from here on.
func (it *Simulated) Order(orders Orders) {
	it.orders, it.came, it.isDead = orders, 0, false
}

// Asked are the requests since this was asked last, and whether the process has died.
func (it *Simulated) Asked() ([]Arrived, bool) {
	asked := it.arrived
	it.arrived = nil
	return asked, it.isDead
}

// Change does something behind the provider's back; false if this cloud cannot.
func (it *Simulated) Change(change Change) (Changed, bool) {
	if change.Advance != nil {
		it.Advance(time.Duration(change.Advance.Seconds) * time.Second)
		return Changed{}, true
	}
	return it.cloud.Change(change)
}

// Advance lets time pass.
func (it *Simulated) Advance(time time.Duration) { it.now = it.now.Add(time) }

// Send carries a request out, or does with it what was ordered. An error is that the answer was lost.
func (it *Simulated) Send(request http.Request) (http.Response, error) {
	// A clock that nobody reads does not wait.
	it.Advance(time.Second)
	it.came++
	var how How
	if fail := it.orders.Fail; fail != nil && fail.Nth == it.came {
		how = fail.How
	}
	response, err := http.Response{}, error(http.ErrorInterrupted("the connection ended"))
	if !it.isDead {
		response, err = it.carryOut(request, how)
	}
	methods := [...]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
	came := Arrived{Line: fmt.Sprintf("%s /%s", methods[request.Method], strings.Join(request.Path, "/")), Writes: writes(request)}
	if err == nil {
		came.Status = &response.Status
	}
	it.arrived = append(it.arrived, came)
	return response, err
}

func (it *Simulated) carryOut(request http.Request, how How) (http.Response, error) {
	moment := Moment{Now: it.now.Unix(), ListsLag: it.orders.ListsLag}
	it.isDead = how == DiesBefore || how == DiesAfter
	lost := http.ErrorInterrupted("the connection ended")
	failed := Reply(500, map[string]string{"message": "it has failed"})
	switch how {
	case LostBefore, DiesBefore:
		return http.Response{}, lost
	case LostAfter, DiesAfter:
		it.cloud.Answer(request, moment)
		return http.Response{}, lost
	case Failed:
		return failed, nil
	case FailedAfter:
		it.cloud.Answer(request, moment)
		return failed, nil
	case AnsweredBusy:
		return Reply(409, map[string]string{"message": "an earlier change is under way"}), nil
	case Refused:
		return Reply(422, map[string]string{"message": "this cannot be had here"}), nil
	}
	return it.cloud.Answer(request, moment), nil
}
