package hetzner

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// zones are the zones that nodes of these locations always had.
var zones = map[string]string{
	"nbg1": "nbg1-dc3", "hel1": "hel1-dc2", "fsn1": "fsn1-dc14", "ash": "ash-dc1", "hil": "hil-dc1", "sin": "sin-dc1",
}

// instances answers from what was last known of all servers.
type instances struct{ *cloud }

func (i instances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	server, err := i.serverOf(ctx, node, fresh)
	return server != nil, err
}

func (i instances) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	server, err := i.present(ctx, node)
	if err != nil {
		return false, err
	}
	return server.Status == hcloud.ServerStatusOff, nil
}

func (i instances) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	server, err := i.present(ctx, node)
	if err != nil {
		return nil, err
	}
	location := server.Location.Name
	zone, known := zones[location]
	if !known {
		zone = location
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:       Name + "://" + strconv.FormatInt(server.ID, 10),
		InstanceType:     server.ServerType.Name,
		NodeAddresses:    i.addresses(server),
		Region:           location,
		Zone:             zone,
		AdditionalLabels: map[string]string{"instance.hetzner.cloud/provided-by": "cloud"},
	}, nil
}

// present is the server of a node. That there is none is an error.
func (i instances) present(ctx context.Context, node *v1.Node) (*hcloud.Server, error) {
	server, err := i.serverOf(ctx, node, fresh)
	if err == nil && server == nil {
		err = cloudprovider.InstanceNotFound
	}
	return server, err
}

// addresses of a server in the order in which the vendor reports them.
func (i instances) addresses(server *hcloud.Server) []v1.NodeAddress {
	found := []v1.NodeAddress{{Type: v1.NodeHostName, Address: server.Name}}
	if !server.PublicNet.IPv4.IsUnspecified() {
		found = append(found, v1.NodeAddress{Type: v1.NodeExternalIP, Address: server.PublicNet.IPv4.IP.String()})
	}
	if i.network != nil {
		if private := server.PrivateNetFor(i.network); private != nil {
			found = append(found, v1.NodeAddress{Type: v1.NodeInternalIP, Address: private.IP.String()})
		}
	}
	return found
}

// serverOf is the server of a node, by its provider id, or else by its name. Nil: there is none.
func (c *cloud) serverOf(ctx context.Context, node *v1.Node, age time.Duration) (*hcloud.Server, error) {
	if node.Spec.ProviderID == "" {
		return c.servers.find(ctx, age, func(it *hcloud.Server) bool { return it.Name == node.Name })
	}
	number, ok := strings.CutPrefix(node.Spec.ProviderID, Name+"://")
	if !ok {
		return nil, fmt.Errorf("provider id %q does not begin with %s://", node.Spec.ProviderID, Name)
	}
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("provider id %q does not end with a number", node.Spec.ProviderID)
	}
	return c.servers.find(ctx, age, func(it *hcloud.Server) bool { return it.ID == id })
}
