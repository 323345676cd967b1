// Package backend makes load balancers that are found by an id which the cloud gives them: one step at a time, nothing made twice, and
// no write without proof of ownership. A provider says what its cloud can do, and Ensure and Delete keep the contract's promises with it:
//
//   - A creation is announced in the memo before it is sent, and sent only by the first call that has this memo.
//   - After a creation without an answer, or one that a process announced which is gone, the list is searched for the Service's mark. It is
//     repeated only when it has been absent for Pauses.CreateAgain.
//   - Only the id of a load balancer that is proven to be the Service's is remembered, and nothing is written to it before the host has
//     kept that.
//   - A memo that this provider did not write stops everything.
//   - A remembered load balancer that Find misses is replaced only if the list does not show it either.
//   - When an update is refused, the targets follow the nodes all the same.
//   - A deletion waits for a load balancer whose creation was announced and that may still appear in the list.
//
// A cloud in which a load balancer has a name that the provider chooses, and a PUT makes or replaces it, needs none of this.
package backend

import (
	"fmt"
	"time"

	"aerostat.dev/sdk/events"
	"aerostat.dev/sdk/loadbalancers"
	"aerostat.dev/sdk/types"
)

// soon is when a cloud is asked again that is busy with one change.
const soon = 500 * time.Millisecond

// Now is the time by the host's clock. Tests move it.
var Now = time.Now

// Backend is a cloud's requests for the load balancer of one Service, in one call. L is a load balancer with all that the cloud shows.
//
// It may have more: Keeper, NodeFollower and Claimer.
type Backend[L any] interface {
	// Service is the one that the call is about.
	Service() *loadbalancers.LoadBalancer
	// IsID tells whether a text has the form of an id of this cloud, without white space.
	IsID(text string) bool
	// Pauses are how long to wait between two calls.
	Pauses() Pauses
	// List is what the cloud lists: at least all that have the Service's mark, a tag, label or name that only this provider writes.
	List() ([]Found, error)
	// Find is the load balancer with this id; nil if the cloud is certain that there is none.
	Find(id string) (*L, error)
	// Found is as much of it as every cloud shows.
	Found(live *L) Found
	// CanCreate says why it cannot be created as the Service asks for it. Nothing is written, and no creation is announced then.
	CanCreate() error
	// Create sends the one request that creates it, with the mark; listed is what List has just shown. An error is that it was certainly
	// not created: where it may have been, that is Unclear.
	Create(listed []Found) (Creation, error)
	// Update compares with what the Service asks for, and writes what differs. It is the Service's.
	Update(live *L) (Update, error)
	// Delete takes one step towards its absence. It is the Service's.
	Delete(id string) (Removal, error)
}

// Keeper marks a load balancer that the cloud protects as kept, before the Service lets go of it: the list of load balancers shows it as
// kept from then on. One that is to be there again loses the mark. A text is that the cloud is busy.
type Keeper interface {
	Keep(id string) (busy string, err error)
}

// NodeFollower lets the targets follow the nodes, and changes nothing else: Update was refused, and nodes come and go nevertheless.
type NodeFollower[L any] interface {
	FollowNodes(live *L) (busy string, err error)
}

// Claimer knows an annotation by which an author of Services names a load balancer to adopt. That proves nothing.
type Claimer[L any] interface {
	// Claim is the annotation's key and the id in it, "" without one.
	Claim() (key, id string, err error)
	// Proof says why one without the mark is not proven to be the Service's, and what to do; "" that it is.
	Proof(live *L) (missing string, err error)
}

// Pauses are how long to wait between two calls.
type Pauses struct {
	// Poll is until a load balancer is read again that is being built as a whole.
	Poll time.Duration
	// CreateAgain is how long a load balancer must have been absent, once its creation was sent without a clear answer, before it is
	// created again and before its deletion is done. Longer than the cloud's lists may lag.
	CreateAgain time.Duration
}

// Found is a load balancer, as much of it as every cloud shows.
type Found struct {
	// ID is what the memo holds, Name is for people.
	ID, Name string
	// IsMarked tells whether it has the Service's mark.
	IsMarked bool
	// Annotations are what the Service gets for people and other tools while it is the Service's.
	Annotations [][2]string
}

func (it Found) title() string { return fmt.Sprintf("load balancer %s (%s)", it.ID, it.Name) }

// status is that of a Service whose load balancer this is.
func (it Found) status(service *loadbalancers.LoadBalancer) loadbalancers.LoadBalancerStatus {
	status := service.Status()
	status.Memo, status.Annotations = &it.ID, append(status.Annotations, it.Annotations...)
	return status
}

// Creation is what became of one.
type Creation interface{ isCreation() }

type (
	// Begun: the cloud builds it.
	Begun Found
	// Made: it is there already, and gets what it lacks next.
	Made Found
	// CreationBusy: certainly not created. The cloud is still carrying out an earlier change of something that it needs, and says this.
	CreationBusy string
	// Unclear: it may have been created or not. Why, for a person.
	Unclear string
)

func (Begun) isCreation()        {}
func (Made) isCreation()         {}
func (CreationBusy) isCreation() {}
func (Unclear) isCreation()      {}

// Update is where one stands.
type Update interface{ isUpdate() }

type (
	// Done: it is as the Service asks for, and reached at these addresses.
	Done []types.Ingress
	// Building: it cannot be changed or reached yet.
	Building struct{}
	// Busy: an earlier change is still being carried out, as the cloud says.
	Busy string
)

func (Done) isUpdate()     {}
func (Building) isUpdate() {}
func (Busy) isUpdate()     {}

// Removal is where a deletion stands.
type Removal interface{ isRemoval() }

type (
	// Gone: it is.
	Gone struct{}
	// RemovalBusy: not yet. An earlier change is still being carried out, or another part has to be deleted; which.
	RemovalBusy string
	// Protected: the cloud protects it, for this reason. It is marked as kept, stays, and is no longer the Service's.
	Protected string
	// Foreign: it is another's by now, as this says, and stays as it is.
	Foreign string
)

func (Gone) isRemoval()        {}
func (RemovalBusy) isRemoval() {}
func (Protected) isRemoval()   {}
func (Foreign) isRemoval()     {}

// Created is what http's Create has answered, for a cloud that goes on building.
func Created(found Found, unclear string, err error) (Creation, error) {
	switch {
	case err != nil:
		return nil, err
	case unclear != "":
		return Unclear(unclear), nil
	}
	return Begun(found), nil
}

// Updated is what http's Change has answered.
func Updated(ingress []types.Ingress, busy string, err error) (Update, error) {
	switch {
	case err != nil:
		return nil, err
	case busy != "":
		return Busy(busy), nil
	}
	return Done(ingress), nil
}

// Removed is what http's ChangeOrGone has answered.
func Removed(busy string, err error) (Removal, error) {
	switch {
	case err != nil:
		return nil, err
	case busy != "":
		return RemovalBusy(busy), nil
	}
	return Gone{}, nil
}

func warn(reason, format string, arguments ...any) {
	events.Emit(nil, events.EventKindWarning, reason, fmt.Sprintf(format, arguments...))
}
