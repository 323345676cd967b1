package digitalocean

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// healthPort is where kube-proxy says whether a node serves.
const healthPort = 10256

// request is the whole load balancer that a Service wants: what the vendor makes of a Service without annotations, which
// passes packets through to ports of the Service.
func request(service *v1.Service, nodes []*v1.Node, region string) (*godo.LoadBalancerRequest, error) {
	droplets, stack, err := targets(nodes)
	if err != nil {
		return nil, err
	}
	var rules []godo.ForwardingRule
	for _, port := range service.Spec.Ports {
		protocol := strings.ToLower(string(port.Protocol))
		if protocol != "tcp" && protocol != "udp" {
			return nil, fmt.Errorf("port %d is neither TCP nor UDP", port.Port)
		}
		rules = append(rules, godo.ForwardingRule{
			EntryProtocol: protocol, EntryPort: int(port.Port), TargetProtocol: protocol, TargetPort: int(port.Port),
		})
	}
	firewall := &godo.LBFirewall{}
	for _, network := range service.Spec.LoadBalancerSourceRanges {
		firewall.Allow = append(firewall.Allow, godo.CIDRSourceFirewall(network))
	}
	return &godo.LoadBalancerRequest{
		Name:            cloudprovider.DefaultLoadBalancerName(service),
		Region:          region,
		Type:            godo.LoadBalancerTypeRegionalNetwork,
		Network:         godo.LoadBalancerNetworkTypeExternal,
		NetworkStack:    stack,
		ForwardingRules: rules,
		HealthCheck:     health(service),
		DropletIDs:      droplets,
		Firewall:        firewall,
	}, nil
}

func health(service *v1.Service) *godo.HealthCheck {
	port := healthPort
	if service.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal && service.Spec.HealthCheckNodePort != 0 {
		port = int(service.Spec.HealthCheckNodePort)
	}
	return &godo.HealthCheck{
		Protocol:               "http",
		Port:                   port,
		Path:                   "/healthz",
		CheckIntervalSeconds:   3,
		ResponseTimeoutSeconds: 5,
		UnhealthyThreshold:     3,
		HealthyThreshold:       5,
		ProxyProtocol:          new(bool),
	}
}

// targets are the droplets of the nodes that have a public IPv4 address, and the network stack that all of them have.
// A node whose droplet is not known yet is left out.
func targets(nodes []*v1.Node) (droplets []int, stack string, err error) {
	stack = godo.LoadBalancerNetworkStackDualstack
	for _, node := range nodes {
		v4, v6 := public(node)
		id, err := dropletID(node.Spec.ProviderID)
		if err != nil || !v4 {
			continue
		}
		droplets = append(droplets, id)
		if !v6 {
			stack = godo.LoadBalancerNetworkStackIPv4
		}
	}
	if len(droplets) == 0 {
		return nil, "", errors.New("no ready nodes available for load balancer")
	}
	return droplets, stack, nil
}

func public(node *v1.Node) (v4, v6 bool) {
	for _, address := range node.Status.Addresses {
		parsed, err := netip.ParseAddr(address.Address)
		if address.Type == v1.NodeExternalIP && err == nil {
			v4 = v4 || parsed.Is4()
			v6 = v6 || parsed.Is6()
		}
	}
	return v4, v6
}
