package backend

import (
	"strings"
	"testing"
	"time"

	"aerostat.dev/sdk/events"
	"aerostat.dev/sdk/loadbalancers"
	"aerostat.dev/sdk/types"
)

// stub is a cloud with as many load balancers as were created.
type stub struct {
	service loadbalancers.LoadBalancer
	listed  []Found
	unclear bool
	created int
	busy    bool
}

func (it *stub) Service() *loadbalancers.LoadBalancer { return &it.service }
func (*stub) IsID(text string) bool                   { return strings.HasPrefix(text, "lb-") }
func (*stub) Pauses() Pauses                          { return Pauses{Poll: 5 * time.Second, CreateAgain: time.Minute} }
func (it *stub) List() ([]Found, error)               { return it.listed, nil }
func (*stub) Find(id string) (*Found, error)          { return nil, nil }
func (*stub) Found(live *Found) Found                 { return *live }
func (*stub) CanCreate() error                        { return nil }
func (*stub) Update(*Found) (Update, error)           { return Building{}, nil }

func (it *stub) Delete(string) (Removal, error) {
	if it.busy {
		return RemovalBusy("not yet"), nil
	}
	return Gone{}, nil
}

func (it *stub) Create([]Found) (Creation, error) {
	it.created++
	if it.unclear {
		return Unclear("the answer was lost"), nil
	}
	return Begun{ID: "lb-1", Name: it.service.Name, IsMarked: true}, nil
}

// ensures is one call, after which the host has kept the memo.
func (it *stub) ensures(t *testing.T) string {
	t.Helper()
	answer, err := Ensure[Found](it)
	pending, is := answer.(loadbalancers.ProgressPending)
	if err != nil || !is {
		t.Fatal(answer, err)
	}
	it.service.Extra = nil
	if it.service.Memo == nil || *it.service.Memo != *pending.Status.Memo {
		it.service.Extra = [][2]string{{"host.new-memo", "true"}}
	}
	it.service.Memo = pending.Status.Memo
	return *it.service.Memo
}

func begins(t *testing.T) (*stub, *time.Time) {
	now := time.Unix(1000, 0)
	Now = func() time.Time { return now }
	events.Native.Emit = func(*string, events.EventKind, string, string) {}
	t.Cleanup(func() { Now = time.Now })
	return &stub{service: loadbalancers.LoadBalancer{Name: "a1"}}, &now
}

func TestCreationIsAnnouncedAndSentByTheFirstCallThatKnowsIt(t *testing.T) {
	it, _ := begins(t)
	if memo := it.ensures(t); memo != "creating a1 since 1000" || it.created != 0 {
		t.Fatal(memo, it.created)
	}
	if memo := it.ensures(t); memo != "lb-1" || it.created != 1 {
		t.Fatal(memo, it.created)
	}
}

func TestAnnouncementOfAProcessThatDiedIsLookedFor(t *testing.T) {
	it, now := begins(t)
	it.ensures(t)
	it.service.Extra = nil
	if memo := it.ensures(t); memo != "lost a1 since 1000" || it.created != 0 {
		t.Fatal(memo, it.created)
	}
	it.listed = []Found{{ID: "lb-7", Name: "a1"}, {ID: "lb-8", Name: "a1", IsMarked: true}}
	*now = now.Add(time.Second)
	if memo := it.ensures(t); memo != "lb-8" || it.created != 0 {
		t.Fatal(memo, it.created)
	}
}

func TestUnclearCreationIsRepeatedOnceItHasBeenAbsentForLong(t *testing.T) {
	it, now := begins(t)
	it.unclear = true
	it.ensures(t)
	for range 3 {
		if memo := it.ensures(t); memo != "lost a1 since 1000" || it.created != 1 {
			t.Fatal(memo, it.created)
		}
	}
	*now = now.Add(time.Minute)
	if memo := it.ensures(t); memo != "creating a1 since 1060" {
		t.Fatal(memo)
	}
	if it.ensures(t); it.created != 2 {
		t.Fatal(it.created)
	}
}

func TestDeletionWaitsForWhatMayStillAppear(t *testing.T) {
	it, now := begins(t)
	it.service.Memo = new("lost a1 since 1000")
	answer, err := Delete[Found](it)
	if _, waits := answer.(loadbalancers.DeletionPending); !waits || err != nil {
		t.Fatal(answer, err)
	}
	*now = now.Add(time.Minute)
	if answer, err = Delete[Found](it); answer != (loadbalancers.DeletionDone{}) || err != nil {
		t.Fatal(answer, err)
	}
}

func TestDeletionDoesNotWaitForWhatWasNeverSent(t *testing.T) {
	it, _ := begins(t)
	it.ensures(t)
	if answer, err := Delete[Found](it); answer != (loadbalancers.DeletionDone{}) || err != nil {
		t.Fatal(answer, err)
	}
	it.service.Extra = nil
	answer, err := Delete[Found](it)
	if _, waits := answer.(loadbalancers.DeletionPending); !waits || err != nil {
		t.Fatal(answer, err)
	}
}

func TestDeletionThatIsNotOverRemembersWhatItFound(t *testing.T) {
	one, other := Found{ID: "lb-7", Name: "a1", IsMarked: true}, Found{ID: "lb-8", Name: "a1", IsMarked: true}
	lost := "lost a1 since 1000"
	for _, test := range []struct {
		memo   *string
		listed []Found
		kept   string
	}{
		{nil, []Found{one, {ID: "lb-9", Name: "a2"}}, "lb-7"},
		{nil, []Found{one, other}, ""},
		{&lost, []Found{one}, lost},
	} {
		it, _ := begins(t)
		it.busy, it.listed, it.service.Memo = true, test.listed, test.memo
		answer, err := Delete[Found](it)
		pending, is := answer.(loadbalancers.DeletionPending)
		if err != nil || !is {
			t.Fatal(answer, err)
		}
		kept := ""
		if pending.Status.Memo != nil {
			kept = *pending.Status.Memo
		}
		if kept != test.kept {
			t.Fatalf("%q is kept, and not %q", kept, test.kept)
		}
	}
}

func TestMemoOfAnotherStopsEverything(t *testing.T) {
	it, _ := begins(t)
	for _, memo := range []string{"", "creating a2 since 1", "creating a1 since -1", "lb-1 lb-2", "i-1"} {
		it.service.Memo = &memo
		_, ensured := Ensure[Found](it)
		_, deleted := Delete[Found](it)
		for _, err := range []error{ensured, deleted} {
			if _, is := err.(types.ErrorInvalid); !is || it.created != 0 {
				t.Fatalf("%q: %v", memo, err)
			}
		}
	}
}
