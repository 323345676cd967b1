package backend

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"aerostat.dev/sdk/loadbalancers"
	"aerostat.dev/sdk/types"
)

// Ensure takes one step towards the load balancer of the Service.
func Ensure[L any](it Backend[L]) (loadbalancers.Progress, error) {
	memo, err := memoOf(it.Service(), it.IsID)
	if err != nil {
		return nil, err
	}
	switch memo.kind {
	case memoID:
		live, err := it.Find(memo.id)
		switch {
		case err != nil:
			return nil, err
		case live == nil:
			return replaceMissing(it, memo.id)
		}
		return update(it, live)
	case memoCreating:
		return create(it, memo.since)
	case memoLost:
		return lookForLost(it, memo.since)
	}
	return begin(it)
}

// begin: there is no memo, so that one is adopted, or a creation is announced. Nothing is written.
func begin[L any](it Backend[L]) (loadbalancers.Progress, error) {
	key, id, err := claimOf(it)
	if err != nil {
		return nil, err
	}
	if id == "" {
		return announce(it)
	}
	live, err := it.Find(id)
	if err != nil {
		return nil, err
	}
	if live == nil {
		warn("LoadBalancerNotFound", "annotation %s names load balancer %s, which does not exist: another is built", key, id)
		return announce(it)
	}
	found := it.Found(live)
	missing, err := proofOf(it, live, found)
	switch {
	case err != nil:
		return nil, err
	case missing != "":
		return nil, types.Invalidf("annotation %s names %s, which cannot be proven to be this Service's: %s", key, found.title(), missing)
	}
	return remember(it, found), nil
}

// remember: it is proven to be the Service's. Nothing is written to it before the host has kept its id, and has found that no other
// Service has it.
func remember[L any](it Backend[L], found Found) loadbalancers.Progress {
	return loadbalancers.Pending(found.status(it.Service()), 0, found.title()+" is this Service's from now on")
}

func announce[L any](it Backend[L]) (loadbalancers.Progress, error) {
	if err := it.CanCreate(); err != nil {
		return nil, err
	}
	because := fmt.Sprintf("load balancer %s is about to be created", it.Service().Name)
	return loadbalancers.Pending(announced(it.Service(), memoCreating, now()), 0, because), nil
}

// create makes the one that was announced, if no call before this one has had the announcement. Otherwise an earlier process may have sent
// its creation, and lists may not show it yet: then it is looked for.
func create[L any](it Backend[L], since int64) (loadbalancers.Progress, error) {
	service, pauses := it.Service(), it.Pauses()
	if !service.IsMemoNew() {
		if progress, err := marked(it); progress != nil || err != nil {
			return progress, err
		}
		return waitForLost(it, now(), pauses.CreateAgain), nil
	}
	listed, err := it.List()
	var creation Creation
	if err == nil {
		for _, found := range listed {
			if found.IsMarked {
				return remember(it, found), nil
			}
		}
		creation, err = it.Create(listed)
	}
	if err != nil {
		// Nothing was created, and by no earlier call either: nothing may still appear in the list.
		status := service.Status()
		status.Memo = nil
		return loadbalancers.ProgressFailed{Status: status, Error: types.AsError(err)}, nil
	}
	switch created := creation.(type) {
	case Begun:
		found := Found(created)
		return loadbalancers.Pending(found.status(service), pauses.Poll, "the cloud builds "+found.title()), nil
	case Made:
		found := Found(created)
		return loadbalancers.Pending(found.status(service), 0, found.title()+" is created, and gets what it lacks next"), nil
	case CreationBusy:
		// Announced again, in other words: nothing was sent that the cloud has taken.
		return loadbalancers.Pending(announced(service, memoCreating, max(now(), since+1)), soon, string(created)), nil
	case Unclear:
		warn("LoadBalancerCreationUnclear", "load balancer %s may have been created or not: %s", service.Name, created)
		return waitForLost(it, now(), pauses.CreateAgain), nil
	}
	return nil, errors.New("Create answered nothing")
}

// marked is the one that the list shows with the Service's mark; nil without one.
func marked[L any](it Backend[L]) (loadbalancers.Progress, error) {
	listed, err := it.List()
	if err != nil {
		return nil, err
	}
	for _, found := range listed {
		if found.IsMarked {
			return remember(it, found), nil
		}
	}
	return nil, nil
}

// lookForLost finds the one whose creation was unclear, or creates it once it has been absent for long enough.
func lookForLost[L any](it Backend[L], since int64) (loadbalancers.Progress, error) {
	if progress, err := marked(it); progress != nil || err != nil {
		return progress, err
	}
	if left := remaining(since, it.Pauses().CreateAgain); left > 0 {
		return waitForLost(it, since, left), nil
	}
	return begin(it)
}

func waitForLost[L any](it Backend[L], since int64, left time.Duration) loadbalancers.Progress {
	because := fmt.Sprintf("the cloud did not say what became of load balancer %s: it is looked for, and created again if it is not there in %d s",
		it.Service().Name, int(left.Seconds()))
	return loadbalancers.Pending(announced(it.Service(), memoLost, since), min(left, it.Pauses().Poll), because)
}

// replaceMissing: the remembered one does not exist, and another is announced if the list does not show it either.
func replaceMissing[L any](it Backend[L], id string) (loadbalancers.Progress, error) {
	listed, err := it.List()
	if err != nil {
		return nil, err
	}
	for _, found := range listed {
		if found.ID == id {
			return nil, types.Unavailablef("the cloud lists load balancer %s, and answers that it does not exist", id)
		}
	}
	warn("LoadBalancerNotFound", "load balancer %s of this Service does not exist any more: another is built", id)
	return announce(it)
}

// update: the load balancer exists, and is the Service's.
func update[L any](it Backend[L], live *L) (loadbalancers.Progress, error) {
	updated, err := it.Update(live)
	if err != nil && isRefusal(err) {
		updated, err = followNodes(it, live, err)
	}
	found, poll := it.Found(live), it.Pauses().Poll
	if _, isBuilding := updated.(Building); !isBuilding {
		// A value that is not allowed names no load balancer.
		if key, id, err := claimOf(it); err == nil && id != "" && !strings.EqualFold(id, found.ID) {
			warn("LoadBalancerIdIgnored", "annotation %s: %q is ignored: this Service has %s", key, id, found.title())
		}
	}
	if err != nil {
		return nil, err
	}
	status := found.status(it.Service())
	switch updated := updated.(type) {
	case Done:
		status.Ingress = updated
		return loadbalancers.ProgressReady(status), nil
	case Building:
		// A little longer than the first pause: the second read comes just after a cloud that takes a whole number of pauses is done.
		return loadbalancers.Pending(status, poll+poll/30, "the cloud builds "+found.title()), nil
	case Busy:
		return loadbalancers.Pending(status, soon, string(updated)), nil
	}
	return nil, errors.New("Update answered nothing")
}

func followNodes[L any](it Backend[L], live *L, refused error) (Update, error) {
	follower, can := it.(NodeFollower[L])
	if !can {
		return nil, refused
	}
	switch busy, err := follower.FollowNodes(live); {
	case err != nil && !isRefusal(err):
		return nil, err
	case err == nil && busy != "":
		return Busy(busy), nil
	}
	// It may be refused for the same reason: the first refusal says it.
	return nil, refused
}

func isRefusal(err error) bool {
	var invalid types.ErrorInvalid
	var denied types.ErrorDenied
	return errors.As(err, &invalid) || errors.As(err, &denied)
}

func claimOf[L any](it Backend[L]) (key, id string, err error) {
	if claimer, can := it.(Claimer[L]); can {
		return claimer.Claim()
	}
	return "", "", nil
}

// proofOf is what is missing to one that an annotation names; "" for the Service's own.
func proofOf[L any](it Backend[L], live *L, found Found) (string, error) {
	if found.IsMarked {
		return "", nil
	}
	if claimer, can := it.(Claimer[L]); can {
		return claimer.Proof(live)
	}
	return "it does not have the Service's mark", nil
}
