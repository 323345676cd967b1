package digitalocean

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
)

const (
	// idAnnotation ties a Service to its load balancer.
	idAnnotation = "kubernetes.digitalocean.com/load-balancer-id"
	// typeAnnotation is filled in with what the load balancer is, if it is absent.
	typeAnnotation = "service.beta.kubernetes.io/do-loadbalancer-type"

	// retryAfter is when a load balancer that is not ready is looked at again.
	retryAfter = 15 * time.Second
)

// balancers writes the whole load balancer at each sync, whether or not anything differs.
type balancers struct{ *cloud }

func (b balancers) GetLoadBalancerName(_ context.Context, _ string, service *v1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(service)
}

func (b balancers) GetLoadBalancer(
	ctx context.Context, _ string, service *v1.Service,
) (*v1.LoadBalancerStatus, bool, error) {
	found, err := b.retrieve(ctx, service)
	if err != nil || found == nil {
		return nil, false, err
	}
	return status(found), true, nil
}

func (b balancers) EnsureLoadBalancer(
	ctx context.Context, _ string, service *v1.Service, nodes []*v1.Node,
) (*v1.LoadBalancerStatus, error) {
	wish, err := request(service, nodes, b.region)
	if err != nil {
		return nil, err
	}
	found, err := b.retrieve(ctx, service)
	if err != nil {
		return nil, err
	}
	if found == nil {
		found, _, err = b.api.LoadBalancers.Create(ctx, wish)
	} else {
		found, _, err = b.api.LoadBalancers.Update(ctx, found.ID, wish)
	}
	if err != nil {
		return nil, err
	}
	if err := b.annotate(ctx, service, found); err != nil {
		return nil, err
	}
	switch found.Status {
	case "active":
		return status(found), nil
	case "new":
		return nil, api.NewRetryError("the load balancer is being created", retryAfter)
	default:
		return nil, fmt.Errorf("the load balancer is %s", found.Status)
	}
}

func (b balancers) UpdateLoadBalancer(ctx context.Context, _ string, service *v1.Service, nodes []*v1.Node) error {
	wish, err := request(service, nodes, b.region)
	if err != nil {
		return err
	}
	found, err := b.retrieve(ctx, service)
	if err != nil {
		return err
	}
	if found == nil {
		return fmt.Errorf("there is no load balancer %s", wish.Name)
	}
	_, _, err = b.api.LoadBalancers.Update(ctx, found.ID, wish)
	return err
}

func (b balancers) EnsureLoadBalancerDeleted(ctx context.Context, _ string, service *v1.Service) error {
	found, err := b.retrieve(ctx, service)
	if err != nil || found == nil {
		return err
	}
	if _, err := b.api.LoadBalancers.Delete(ctx, found.ID); err != nil && !isNotFound(err) {
		return err
	}
	return nil
}

// retrieve finds the load balancer by the annotated id, or else by its name among all of the account. Nil: there is none.
func (b balancers) retrieve(ctx context.Context, service *v1.Service) (*godo.LoadBalancer, error) {
	if id := service.Annotations[idAnnotation]; id != "" {
		found, _, err := b.api.LoadBalancers.Get(ctx, id)
		if isNotFound(err) {
			return nil, nil
		}
		return found, err
	}
	all, err := pages(func(options *godo.ListOptions) ([]godo.LoadBalancer, *godo.Response, error) {
		return b.api.LoadBalancers.List(ctx, options)
	})
	if err != nil {
		return nil, err
	}
	name := cloudprovider.DefaultLoadBalancerName(service)
	for index := range all {
		if all[index].Name == name {
			return &all[index], nil
		}
	}
	return nil, nil
}

// annotate writes what the load balancer is to the Service, if it does not say so.
func (b balancers) annotate(ctx context.Context, service *v1.Service, found *godo.LoadBalancer) error {
	missing := map[string]string{}
	if service.Annotations[idAnnotation] != found.ID {
		missing[idAnnotation] = found.ID
	}
	if _, said := service.Annotations[typeAnnotation]; !said {
		missing[typeAnnotation] = found.Type
	}
	if len(missing) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": missing}})
	if err != nil {
		return err
	}
	services := b.kube.CoreV1().Services(service.Namespace)
	_, err = services.Patch(ctx, service.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

func status(balancer *godo.LoadBalancer) *v1.LoadBalancerStatus {
	status := &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: balancer.IP}}}
	if balancer.IPv6 != "" {
		status.Ingress = append(status.Ingress, v1.LoadBalancerIngress{IP: balancer.IPv6})
	}
	return status
}
