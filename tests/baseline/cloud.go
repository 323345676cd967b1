package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/digitalocean/godo"
	"github.com/spf13/pflag"
	"golang.org/x/oauth2"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"
)

// providerName is the scheme of provider ids, and what --cloud-provider says.
const providerName = "digitalocean"

// pageSize is how many objects the vendor asks for in one page.
const pageSize = 50

// account says which cloud is meant, and how it is reached.
type account struct {
	baseURL   string
	caFile    string
	tokenFile string
	region    string
}

func (a *account) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.baseURL, "base-url", "https://api.digitalocean.com", "Where the cloud's API is.")
	flags.StringVar(&a.caFile, "ca-file", "", "The authority that signed its certificate. Empty: those of the system.")
	flags.StringVar(&a.tokenFile, "token-file", "", "A file with the token.")
	flags.StringVar(&a.region, "region", "fra1", "Where load balancers are made.")
}

// cloud is the provider as the library sees it. Instances and load balancers are two views of it.
type cloud struct {
	api    *godo.Client
	region string
	// kube writes annotations. It is there once Initialize was called, which is before any controller starts.
	kube kubernetes.Interface
}

func newCloud(account account) (*cloud, error) {
	token, err := os.ReadFile(account.tokenFile)
	if err != nil {
		return nil, fmt.Errorf("the token cannot be read: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if account.caFile != "" {
		authorities := x509.NewCertPool()
		certificates, err := os.ReadFile(account.caFile)
		if err != nil {
			return nil, fmt.Errorf("the authority cannot be read: %w", err)
		}
		if !authorities.AppendCertsFromPEM(certificates) {
			return nil, errors.New("the authority's file has no certificate")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}
	}
	source := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: strings.TrimSpace(string(token))})
	plain := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Transport: transport})
	api, err := godo.New(oauth2.NewClient(plain, source), godo.SetBaseURL(account.baseURL), godo.SetUserAgent("baseline"))
	if err != nil {
		return nil, err
	}
	return &cloud{api: api, region: account.region}, nil
}

func (c *cloud) Initialize(clients cloudprovider.ControllerClientBuilder, _ <-chan struct{}) {
	c.kube = clients.ClientOrDie("digitalocean-provider")
}

func (c *cloud) ProviderName() string { return providerName }

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
