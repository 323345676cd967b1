// Package hetzner is a provider for Hetzner, built as the vendor's own is: instances, and routes of a private network.
package hetzner

import (
	"context"
	"fmt"
	"net/http"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"aerostat.dev/tests/baseline/account"
)

// Name is the scheme of provider ids, and what --cloud-provider says.
const Name = "hcloud"

// cloud is the provider as the library sees it. Instances and routes are two views of it.
type cloud struct {
	api     *hcloud.Client
	servers *servers
	// network is the one that has the routes. Nil: there are none.
	network *hcloud.Network
	// nodes is there once SetInformers was called, which is before any controller starts.
	nodes listers.NodeLister
}

// New makes the provider for an account. The network has to be there.
func New(account account.Account) (cloudprovider.Interface, error) {
	token, err := account.Token()
	if err != nil {
		return nil, err
	}
	transport, err := account.Transport()
	if err != nil {
		return nil, err
	}
	options := []hcloud.ClientOption{
		hcloud.WithToken(token),
		hcloud.WithApplication("baseline", ""),
		hcloud.WithHTTPClient(&http.Client{Transport: transport}),
	}
	if account.BaseURL != "" {
		options = append(options, hcloud.WithEndpoint(account.BaseURL))
	}
	api := hcloud.NewClient(options...)
	cloud := &cloud{api: api, servers: &servers{api: api}}
	if account.Network != 0 {
		if cloud.network, err = get(context.Background(), api, account.Network); err != nil {
			return nil, err
		}
	}
	return cloud, nil
}

func (c *cloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// SetInformers makes the provider one that looks nodes up: routes are of nodes, and servers are found by provider ids.
func (c *cloud) SetInformers(factory informers.SharedInformerFactory) {
	c.nodes = factory.Core().V1().Nodes().Lister()
}

func (c *cloud) ProviderName() string { return Name }

// HasClusterID is true so that no flag is needed that has nothing to do with what is measured.
func (c *cloud) HasClusterID() bool { return true }

// Routes are there if there is a network.
func (c *cloud) Routes() (cloudprovider.Routes, bool) {
	if c.network == nil {
		return nil, false
	}
	return &routes{cloud: c}, true
}

func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool)   { return instances{c}, true }
func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }
func (c *cloud) Instances() (cloudprovider.Instances, bool)       { return nil, false }
func (c *cloud) Zones() (cloudprovider.Zones, bool)               { return nil, false }
func (c *cloud) Clusters() (cloudprovider.Clusters, bool)         { return nil, false }

// get reads a network, which has to be there.
func get(ctx context.Context, api *hcloud.Client, id int64) (*hcloud.Network, error) {
	network, _, err := api.Network.GetByID(ctx, id)
	if err == nil && network == nil {
		err = fmt.Errorf("there is no network %d", id)
	}
	return network, err
}
