package digitalocean

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// instances asks for one droplet at a time, whenever a controller asks about a node.
type instances struct{ *cloud }

func (i instances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	_, err := i.byProviderID(ctx, node.Spec.ProviderID)
	if isNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

func (i instances) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	droplet, err := i.byProviderID(ctx, node.Spec.ProviderID)
	if err != nil {
		return false, err
	}
	return droplet.Status == "off", nil
}

func (i instances) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	find := func() (*godo.Droplet, error) {
		if node.Spec.ProviderID == "" {
			return i.byName(ctx, node.Name)
		}
		return i.byProviderID(ctx, node.Spec.ProviderID)
	}
	droplet, err := find()
	if err != nil {
		return nil, err
	}
	addresses, err := addresses(droplet)
	if err != nil {
		return nil, err
	}
	metadata := &cloudprovider.InstanceMetadata{
		ProviderID:    providerID(droplet.ID),
		InstanceType:  droplet.SizeSlug,
		NodeAddresses: addresses,
	}
	if droplet.Region != nil {
		metadata.Region = droplet.Region.Slug
	}
	return metadata, nil
}

func (i instances) byProviderID(ctx context.Context, id string) (*godo.Droplet, error) {
	number, err := dropletID(id)
	if err != nil {
		return nil, err
	}
	droplet, _, err := i.api.Droplets.Get(ctx, number)
	return droplet, err
}

func (i instances) byName(ctx context.Context, name string) (*godo.Droplet, error) {
	droplets, err := pages(func(options *godo.ListOptions) ([]godo.Droplet, *godo.Response, error) {
		return i.api.Droplets.ListByName(ctx, name, options)
	})
	if err != nil {
		return nil, err
	}
	for index := range droplets {
		if droplets[index].Name == name {
			return &droplets[index], nil
		}
	}
	return nil, cloudprovider.InstanceNotFound
}

// addresses of a droplet in the order in which the vendor reports them. Without a private one there is an error.
func addresses(droplet *godo.Droplet) ([]v1.NodeAddress, error) {
	found := []v1.NodeAddress{{Type: v1.NodeHostName, Address: droplet.Name}}
	private, err := droplet.PrivateIPv4()
	if err != nil || private == "" {
		return nil, fmt.Errorf("droplet %d has no private IPv4 address: %w", droplet.ID, err)
	}
	found = append(found, v1.NodeAddress{Type: v1.NodeInternalIP, Address: private})
	for _, public := range []func() (string, error){droplet.PublicIPv4, droplet.PublicIPv6} {
		address, err := public()
		if err != nil {
			return nil, err
		}
		if address != "" {
			found = append(found, v1.NodeAddress{Type: v1.NodeExternalIP, Address: address})
		}
	}
	return found, nil
}

func providerID(droplet int) string { return Name + "://" + strconv.Itoa(droplet) }

func dropletID(providerID string) (int, error) {
	number, ok := strings.CutPrefix(providerID, Name+"://")
	if !ok {
		return 0, fmt.Errorf("provider id %q does not begin with %s://", providerID, Name)
	}
	id, err := strconv.Atoi(number)
	if err != nil {
		return 0, fmt.Errorf("provider id %q does not end with a number", providerID)
	}
	return id, nil
}
