package backend

import (
	"errors"
	"fmt"

	"aerostat.dev/sdk/loadbalancers"
	"aerostat.dev/sdk/types"
)

// Delete takes one step towards the absence of the load balancer of the Service. One that an annotation names and that cannot be proven to
// be the Service's stays, with a warning.
func Delete[L any](it Backend[L]) (loadbalancers.Deletion, error) {
	memo, err := memoOf(it.Service(), it.IsID)
	if err != nil {
		return nil, err
	}
	switch memo.kind {
	case memoID:
		return deleteOne(it, memo.id)
	case memoCreating:
		if !it.Service().IsMemoNew() {
			// When it was sent, if at all, nobody knows: it counts from now.
			return deleteCreated(it, now())
		}
		// No call has sent its creation: nothing may still appear in the list.
		if deletion, err := deleteMarked(it); deletion != nil || err != nil {
			return deletion, err
		}
		return loadbalancers.DeletionDone{}, nil
	case memoLost:
		return deleteCreated(it, memo.since)
	}
	return deleteUnremembered(it)
}

// deleteUnremembered: there is no memo, so that what an annotation names and is proven to be the Service's is deleted, and what has its mark.
func deleteUnremembered[L any](it Backend[L]) (loadbalancers.Deletion, error) {
	var unproven *Found
	// A value that is not allowed names no load balancer.
	key, id, err := claimOf(it)
	if err == nil && id != "" {
		live, err := it.Find(id)
		if err != nil {
			return nil, err
		}
		if live != nil {
			found := it.Found(live)
			missing, err := proofOf(it, live, found)
			if err != nil {
				return nil, err
			}
			if missing == "" {
				because := found.title() + " is this Service's, and deleted next"
				return loadbalancers.DeletionLater(found.status(it.Service()), 0, because), nil
			}
			unproven = &found
		}
	}
	if deletion, err := deleteMarked(it); deletion != nil || err != nil {
		return deletion, err
	}
	if unproven != nil {
		warn("LoadBalancerNotDeleted", "%s, which annotation %s names, is not deleted: it cannot be proven to be this Service's. If it is, delete "+
			"it in the cloud: until then it costs money", unproven.title(), key)
	}
	return loadbalancers.DeletionDone{}, nil
}

// deleteCreated: its creation was sent at since or earlier. If it is not listed, it may still appear.
func deleteCreated[L any](it Backend[L], since int64) (loadbalancers.Deletion, error) {
	deletion, err := deleteMarked(it)
	if pending, is := deletion.(loadbalancers.DeletionPending); is {
		// Another part may still appear in lists: the memo that waits for it stays.
		pending.Status = it.Service().Status()
		return pending, nil
	}
	if deletion != nil || err != nil {
		return deletion, err
	}
	left := remaining(since, it.Pauses().CreateAgain)
	if left == 0 {
		return loadbalancers.DeletionDone{}, nil
	}
	because := fmt.Sprintf("load balancer %s may have been created, and may be listed late: it is looked for %d s more",
		it.Service().Name, int(left.Seconds()))
	return loadbalancers.DeletionLater(announced(it.Service(), memoLost, since), min(left, it.Pauses().Poll), because), nil
}

// deleteMarked deletes whatever has the Service's mark; nil if nothing has it. One that is alone and not gone yet is remembered: its id leads to
// the parts beside it once no list shows it any more. Of several each has to be listed again.
func deleteMarked[L any](it Backend[L]) (loadbalancers.Deletion, error) {
	listed, err := it.List()
	if err != nil {
		return nil, err
	}
	var all loadbalancers.Deletion
	var marked []Found
	for _, found := range listed {
		if !found.IsMarked {
			continue
		}
		marked = append(marked, found)
		one, err := deleteOne(it, found.ID)
		if err != nil {
			return nil, err
		}
		// Of several results the least finished one counts.
		if all == nil || unfinished(one) > unfinished(all) {
			all = one
		}
	}
	if pending, is := all.(loadbalancers.DeletionPending); is && len(marked) == 1 {
		pending.Status = marked[0].status(it.Service())
		return pending, nil
	}
	return all, nil
}

func unfinished(it loadbalancers.Deletion) int {
	switch it.(type) {
	case loadbalancers.DeletionPending:
		return 2
	case loadbalancers.DeletionKept:
		return 1
	}
	return 0
}

func deleteOne[L any](it Backend[L], id string) (loadbalancers.Deletion, error) {
	removal, err := it.Delete(id)
	if err != nil {
		return nil, err
	}
	later := func(why string) loadbalancers.Deletion {
		return loadbalancers.DeletionLater(it.Service().Status(), soon, why)
	}
	switch removal := removal.(type) {
	case Gone:
		return loadbalancers.DeletionDone{}, nil
	case RemovalBusy:
		return later(string(removal)), nil
	case Foreign:
		return loadbalancers.DeletionKept(removal), nil
	case Protected:
		keeper, can := it.(Keeper)
		if !can {
			return nil, types.Invalidf("load balancer %s is protected, and this provider cannot mark it as kept", id)
		}
		// Marked before it is said: with the answer the Service is gone, and nobody marks it any more.
		busy, err := keeper.Keep(id)
		switch {
		case err != nil:
			return nil, err
		case busy != "":
			return later(busy), nil
		}
		return loadbalancers.DeletionKept(removal), nil
	}
	return nil, errors.New("Delete answered nothing")
}
