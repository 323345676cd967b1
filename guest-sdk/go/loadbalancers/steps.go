package loadbalancers

import (
	"slices"
	"time"

	"aerostat.dev/sdk/types"
)

// Status is the status before this call, as the Service shows it: its addresses and its memo. A step that changes neither of them answers
// with it.
func (it *LoadBalancer) Status() LoadBalancerStatus {
	return LoadBalancerStatus{Ingress: it.CurrentIngress, Memo: it.Memo}
}

// IsMemoNew tells whether no Ensure before this call has had this memo (host.new-memo): what it announces, no call has sent yet. If the
// cloud refuses it for certain, ProgressFailed without a memo takes the announcement back, and a Delete has nothing to wait for. It is false
// also where the host does not know, as after a restart: then look into the cloud first.
func (it *LoadBalancer) IsMemoNew() bool {
	return slices.Contains(it.Extra, [2]string{"host.new-memo", "true"})
}

// IsListed tells whether the load balancers were listed a moment ago (host.listed): the reads of that list cost no request in this call.
func (it *LoadBalancer) IsListed() bool {
	return slices.Contains(it.Extra, [2]string{"host.listed", "true"})
}

// Annotation is the value of one; "" where the Service does not have it.
func (it *LoadBalancer) Annotation(key string) string {
	for _, pair := range it.Annotations {
		if pair[0] == key {
			return pair[1]
		}
	}
	return ""
}

// NodePorts leads from each port to that of the nodes. A protocol that is not among these is invalid, and so is a port without node port.
func (it *LoadBalancer) NodePorts(protocols ...Protocol) (map[uint16]uint16, error) {
	ports := make(map[uint16]uint16, len(it.Ports))
	for _, port := range it.Ports {
		switch {
		case !slices.Contains(protocols, port.Protocol):
			return nil, types.Invalidf("port %d: this cloud does not carry %s", port.Port, port.Protocol)
		case port.NodePort == nil:
			return nil, types.Invalidf("port %d has no node port: leave out allocateLoadBalancerNodePorts: false", port.Port)
		}
		ports[port.Port] = *port.NodePort
	}
	return ports, nil
}

// String is the protocol as Kubernetes writes it.
func (it Protocol) String() string { return [...]string{"TCP", "UDP", "SCTP"}[it] }

// Ready is a load balancer that is as desired, reached at one IP address.
func Ready(status LoadBalancerStatus, ip string) Progress {
	status.Ingress = []types.Ingress{{IP: &ip}}
	return ProgressReady(status)
}

// Pending is a step that was made, and when to call again.
func Pending(status LoadBalancerStatus, wait time.Duration, reason string) Progress {
	return ProgressPending{Status: status, Wait: types.PauseOf(wait, reason)}
}

// DeletionLater is a deletion that goes on.
func DeletionLater(status LoadBalancerStatus, wait time.Duration, reason string) Deletion {
	return DeletionPending{Status: status, Wait: types.PauseOf(wait, reason)}
}
