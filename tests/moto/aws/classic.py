"""Classic Load Balancers: https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/

Below, API_… is a page there.
"""

import re

from moto import elb
from moto.ec2 import ec2_backends
from moto.elb.exceptions import ELBClientError, LoadBalancerNotFoundError
from moto.elb.models import ELBBackend, FakeListener, LoadBalancer

from . import interfaces
from .world import behaviour, is_listed, now, replaces


def _ec2(backend):
    return ec2_backends[backend.account_id][backend.region_name]


def _check_subnets(backend, ids):
    known = {it.id: it for it in _ec2(backend).describe_subnets()}
    for id in ids:
        if id not in known:
            raise ELBClientError("SubnetNotFound", f"The requested subnet {id} could not be found")
    # API_AttachLoadBalancerToSubnets: a load balancer has one subnet of each Availability Zone.
    zones = [known[it].availability_zone for it in ids]
    if len(set(zones)) < len(zones):
        raise ELBClientError("InvalidConfigurationRequest", "Too many subnets in an Availability Zone")


def _instances_speak(balancer, ports):
    # API_Listener, InstanceProtocol: "The protocol to use for routing traffic to instances". moto takes that of the clients.
    for port in ports:
        for listener in balancer.listeners:
            if str(listener.load_balancer_port) == str(port["LoadBalancerPort"]):
                listener.spoken = port.get("InstanceProtocol")


FakeListener.instance_protocol = property(lambda it: (getattr(it, "spoken", None) or it.protocol).upper())


@replaces(ELBBackend, "create_load_balancer")
def _create_load_balancer(backend, create, name, zones, ports, scheme="internet-facing", subnets=None, security_groups=None):
    # API_CreateLoadBalancer: unique within the account's region, at most 32 alphanumeric characters or hyphens, no hyphen at either end.
    if not re.fullmatch(r"(?!-)[A-Za-z0-9-]{1,32}(?<!-)", name):
        raise ELBClientError("ValidationError", "LoadBalancer name must contain only alphanumeric characters or hyphens")
    _check_subnets(backend, subnets or [])
    if name not in backend.load_balancers and len(backend.load_balancers) >= behaviour.load_balancers:
        # API_CreateLoadBalancer, TooManyLoadBalancers.
        raise ELBClientError("TooManyLoadBalancers", "The quota for the number of load balancers has been reached")
    made = create(name, zones, ports, scheme=scheme, subnets=subnets, security_groups=security_groups)
    made.made = now()
    _instances_speak(made, ports)
    interfaces.stand(backend.account_id, name, made.security_groups)
    return made


@replaces(ELBBackend, "get_load_balancer")
def _get_load_balancer(backend, get, name):
    # Every page: LoadBalancerNotFound. moto fails.
    found = get(name)
    if found is None:
        raise LoadBalancerNotFoundError(name)
    return found


@replaces(ELBBackend, "describe_load_balancers")
def _describe_load_balancers(backend, _, names):
    # moto fails where one of several names is missing.
    for name in names or []:
        backend.get_load_balancer(name)
    every = list(backend.load_balancers.values())
    return [it for it in every if (it.name in names if names else is_listed(it.made))]


@replaces(ELBBackend, "delete_load_balancer")
def _delete_load_balancer(backend, delete, name):
    known = name in backend.load_balancers
    delete(name)
    if known:
        interfaces.fall(backend.account_id, name)


@replaces(ELBBackend, "create_load_balancer_listeners")
def _create_listeners(backend, create, name, ports):
    balancer = backend.get_load_balancer(name)
    made = create(name, ports)
    _instances_speak(balancer, ports)
    return made


@replaces(ELBBackend, "delete_load_balancer_listeners")
def _delete_listeners(backend, _, name, ports):
    # moto keeps a listener that is deleted together with another.
    balancer = backend.get_load_balancer(name)
    gone = {int(it) for it in ports}
    balancer.listeners = [it for it in balancer.listeners if int(it.load_balancer_port) not in gone]
    return balancer


@replaces(ELBBackend, "apply_security_groups_to_load_balancer")
def _apply_security_groups(backend, put, load_balancer_name, security_group_ids):
    backend.get_load_balancer(load_balancer_name)
    put(load_balancer_name, security_group_ids)
    interfaces.stand(backend.account_id, load_balancer_name, security_group_ids)


@replaces(ELBBackend, "attach_load_balancer_to_subnets")
def _attach_subnets(backend, attach, load_balancer_name, subnets):
    balancer = backend.get_load_balancer(load_balancer_name)
    _check_subnets(backend, sorted({*balancer.subnets, *subnets}))
    return attach(load_balancer_name, subnets)


@replaces(ELBBackend, "register_instances")
def _register(backend, register, load_balancer_name, instance_ids, **kwargs):
    # API_RegisterInstancesWithLoadBalancer: InvalidInstance. An instance that is there already stays once.
    balancer = backend.get_load_balancer(load_balancer_name)
    for id in instance_ids:
        instance = _ec2(backend).get_instance_by_id(id)
        if instance is None or instance.state == "terminated" or instance.vpc_id != balancer.vpc_id:
            raise ELBClientError("InvalidInstance", f"Could not find EC2 instance {id}")
    new = [it for it in dict.fromkeys(instance_ids) if it not in balancer.instance_ids]
    return register(load_balancer_name, new, **kwargs)


@replaces(ELBBackend, "deregister_instances")
def _deregister(backend, deregister, load_balancer_name, instance_ids, **kwargs):
    # API_DeregisterInstancesFromLoadBalancer: InvalidInstance for an instance that EC2 does not know.
    backend.get_load_balancer(load_balancer_name)
    for id in instance_ids:
        if _ec2(backend).get_instance_by_id(id) is None:
            raise ELBClientError("InvalidInstance", f"Could not find EC2 instance {id}")
    return deregister(load_balancer_name, instance_ids, **kwargs)


@replaces(ELBBackend, "create_load_balancer_policy")
def _create_policy(backend, create, load_balancer_name, policy_name, policy_type_name, policy_attrs):
    # API_CreateLoadBalancerPolicy: DuplicatePolicyName. The same policy is not refused once more, as cloud-provider-aws says where it
    # makes one each time (ensureLoadBalancer).
    balancer = backend.get_load_balancer(load_balancer_name)
    known = next((it for it in balancer.policies if it.policy_name == policy_name), None)
    if known is not None:
        if getattr(known, "policy_attribute_descriptions", None) == (policy_attrs or []):
            return balancer
        raise ELBClientError("DuplicatePolicyName", f"Policy {policy_name} already exists")
    return create(load_balancer_name, policy_name, policy_type_name, policy_attrs)


def _has_port(balancer, port):
    return any(int(it.instance_port) == int(port) for it in balancer.listeners)


@replaces(ELBBackend, "set_load_balancer_policies_for_backend_server")
def _set_backend_policies(backend, put, load_balancer_name, instance_port, policies):
    # API_SetLoadBalancerPoliciesForBackendServer: PolicyNotFound; a port without a listener is an InvalidConfigurationRequest.
    balancer = backend.get_load_balancer(load_balancer_name)
    known = {it.policy_name for it in balancer.policies}
    for policy in policies:
        if policy not in known:
            raise ELBClientError("PolicyNotFound", f"There is no policy with name {policy}")
    if not _has_port(balancer, instance_port):
        raise ELBClientError("InvalidConfigurationRequest", f"There is no listener with the instance port {instance_port}")
    if all(int(it.instance_port) != int(instance_port) for it in balancer.backends):
        balancer.backends.append(type(balancer.backends[0])(instance_port=instance_port))
    return put(load_balancer_name, int(instance_port), policies)


@property
def _source_security_group(balancer):
    # API_SourceSecurityGroup: the group of the load balancer; in a VPC its own first one.
    ec2 = ec2_backends[balancer.account_id]["us-east-1"]
    first = ec2.get_security_group_from_id(balancer.security_groups[0]) if balancer.security_groups else None
    return {"OwnerAlias": balancer.account_id, "GroupName": first.name if first else "default"}


LoadBalancer.source_security_group = _source_security_group


@property
def _instances(balancer):
    # "Register or deregister EC2 instances": an instance that has ended is deregistered by itself.
    ec2 = ec2_backends[balancer.account_id]["us-east-1"]
    known = ((id, ec2.get_instance_by_id(id)) for id in balancer.instance_ids)
    return [{"InstanceId": id} for id, it in known if it is not None and it.state != "terminated"]


LoadBalancer.instances = _instances


@replaces(LoadBalancer, "__init__")
def _begin(balancer, init, account_id, name, zones, ports, **kwargs):
    # "Health checks for the instances for your Classic Load Balancer": each load balancer has one. Until it is configured, it asks the
    # first listener's port of instances over TCP, each 30 s, with a timeout of 5 s and thresholds of 10 and 2.
    init(account_id=account_id, name=name, zones=zones, ports=ports, **kwargs)
    if balancer.listeners:
        target = f"TCP:{balancer.listeners[0].instance_port}"
        check = {"timeout": "5", "healthy_threshold": "10", "unhealthy_threshold": "2", "interval": "30"}
        balancer.health_check = elb.models.FakeHealthCheck(target=target, **check)
