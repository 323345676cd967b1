// Package digitalocean is a provider for DigitalOcean, built as the vendor's own is: instances and load balancers.
package digitalocean

import (
	"context"
	"errors"
	"net/http"

	"github.com/digitalocean/godo"
	"golang.org/x/oauth2"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"

	"aerostat.dev/tests/baseline/account"
)

// Name is the scheme of provider ids, and what --cloud-provider says.
const Name = "digitalocean"

// pageSize is how many objects the vendor asks for in one page.
const pageSize = 50

// cloud is the provider as the library sees it. Instances and load balancers are two views of it.
type cloud struct {
	api    *godo.Client
	region string
	// kube writes annotations. It is there once Initialize was called, which is before any controller starts.
	kube kubernetes.Interface
}

// New makes the provider for an account.
func New(account account.Account) (cloudprovider.Interface, error) {
	token, err := account.Token()
	if err != nil {
		return nil, err
	}
	transport, err := account.Transport()
	if err != nil {
		return nil, err
	}
	source := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})
	plain := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Transport: transport})
	options := []godo.ClientOpt{godo.SetUserAgent("baseline")}
	if account.BaseURL != "" {
		options = append(options, godo.SetBaseURL(account.BaseURL))
	}
	api, err := godo.New(oauth2.NewClient(plain, source), options...)
	if err != nil {
		return nil, err
	}
	return &cloud{api: api, region: account.Region}, nil
}

func (c *cloud) Initialize(clients cloudprovider.ControllerClientBuilder, _ <-chan struct{}) {
	c.kube = clients.ClientOrDie("digitalocean-provider")
}

func (c *cloud) ProviderName() string { return Name }

// HasClusterID is true so that no flag is needed that has nothing to do with what is measured.
func (c *cloud) HasClusterID() bool { return true }

func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool)   { return instances{c}, true }
func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return balancers{c}, true }
func (c *cloud) Instances() (cloudprovider.Instances, bool)       { return nil, false }
func (c *cloud) Zones() (cloudprovider.Zones, bool)               { return nil, false }
func (c *cloud) Clusters() (cloudprovider.Clusters, bool)         { return nil, false }
func (c *cloud) Routes() (cloudprovider.Routes, bool)             { return nil, false }

// pages calls list for one page after the other, until there is none left.
func pages[T any](list func(*godo.ListOptions) ([]T, *godo.Response, error)) ([]T, error) {
	var all []T
	options := &godo.ListOptions{Page: 1, PerPage: pageSize}
	for {
		page, response, err := list(options)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if response.Links == nil || response.Links.IsLastPage() {
			return all, nil
		}
		options.Page++
	}
}

// isNotFound tells whether the cloud has answered that there is no such object.
func isNotFound(err error) bool {
	var refused *godo.ErrorResponse
	return errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode == http.StatusNotFound
}
