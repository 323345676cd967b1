package hetzner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// routes are those of the network. Each change reads the network first if it adds one, and waits until its action has ended.
type routes struct {
	*cloud
	// last is the network as it was last read.
	last atomic.Pointer[hcloud.Network]
}

func (r *routes) ListRoutes(ctx context.Context, _ string) ([]*cloudprovider.Route, error) {
	network, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	servers, err := r.servers.list(ctx, fresh)
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(servers))
	for _, server := range servers {
		if private := server.PrivateNetFor(network); private != nil {
			names[private.IP.String()] = server.Name
		}
	}
	all := make([]*cloudprovider.Route, 0, len(network.Routes))
	for _, route := range network.Routes {
		name, known := names[route.Gateway.String()]
		all = append(all, &cloudprovider.Route{
			Name:            fmt.Sprintf("%s-%s", route.Gateway, route.Destination),
			TargetNode:      types.NodeName(name),
			DestinationCIDR: route.Destination.String(),
			Blackhole:       !known,
		})
	}
	return all, nil
}

func (r *routes) CreateRoute(ctx context.Context, _, _ string, wanted *cloudprovider.Route) error {
	gateway, err := r.gateway(ctx, wanted)
	if err != nil {
		return err
	}
	_, destination, err := net.ParseCIDR(wanted.DestinationCIDR)
	if err != nil {
		return err
	}
	network, err := r.read(ctx)
	if err != nil {
		return err
	}
	if found := at(network, destination.String()); found != nil {
		if found.Gateway.Equal(gateway) {
			return nil
		}
		if err := r.remove(ctx, *found); err != nil {
			return err
		}
	}
	route := hcloud.NetworkRoute{Destination: destination, Gateway: gateway}
	action, _, err := r.api.Network.AddRoute(ctx, network, hcloud.NetworkAddRouteOpts{Route: route})
	if hcloud.IsError(err, hcloud.ErrorCodeLocked, hcloud.ErrorCodeConflict) {
		// The library tries again after this one.
		return apierrors.NewConflict(v1.Resource("nodes"), string(wanted.TargetNode), err)
	}
	if err != nil {
		return err
	}
	return r.api.Action.WaitFor(ctx, action)
}

func (r *routes) DeleteRoute(ctx context.Context, _ string, unwanted *cloudprovider.Route) error {
	network := r.last.Load()
	if network == nil {
		return errors.New("routes were never listed")
	}
	found := at(network, unwanted.DestinationCIDR)
	if found == nil {
		return fmt.Errorf("there is no route to %s", unwanted.DestinationCIDR)
	}
	return r.remove(ctx, *found)
}

func (r *routes) remove(ctx context.Context, route hcloud.NetworkRoute) error {
	action, _, err := r.api.Network.DeleteRoute(ctx, r.network, hcloud.NetworkDeleteRouteOpts{Route: route})
	if err != nil {
		return err
	}
	return r.api.Action.WaitFor(ctx, action)
}

// gateway is the address of the route's node in the network. Its Node has to say it, too.
func (r *routes) gateway(ctx context.Context, route *cloudprovider.Route) (net.IP, error) {
	node, err := r.nodes.Get(string(route.TargetNode))
	if err != nil {
		return nil, err
	}
	server, err := r.serverOf(ctx, node, settled)
	if err != nil {
		return nil, err
	}
	if server == nil {
		return nil, fmt.Errorf("node %s has no server", node.Name)
	}
	private := server.PrivateNetFor(r.network)
	if private == nil {
		return nil, fmt.Errorf("server %d is not in network %d", server.ID, r.network.ID)
	}
	said := func(it v1.NodeAddress) bool { return it.Type == v1.NodeInternalIP && it.Address == private.IP.String() }
	if !slices.ContainsFunc(route.TargetNodeAddresses, said) {
		return nil, fmt.Errorf("address %s of server %d is not one of node %s", private.IP, server.ID, node.Name)
	}
	return private.IP, nil
}

func (r *routes) read(ctx context.Context) (*hcloud.Network, error) {
	network, err := get(ctx, r.api, r.network.ID)
	if err == nil {
		r.last.Store(network)
	}
	return network, err
}

// at is the network's route to a destination. Nil: there is none.
func at(network *hcloud.Network, destination string) *hcloud.NetworkRoute {
	for index := range network.Routes {
		if network.Routes[index].Destination.String() == destination {
			return &network.Routes[index]
		}
	}
	return nil
}
