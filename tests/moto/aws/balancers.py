"""Network Load Balancers, as Elastic Load Balancing keeps them: https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/

Below, API_… is a page there.
"""

import re

from moto.elbv2.exceptions import DuplicateListenerError, ELBClientError, ListenerNotFoundError, LoadBalancerNotFoundError
from moto.elbv2.exceptions import DuplicateLoadBalancerName, DuplicateTargetGroupName, ResourceInUseError, TargetGroupNotFoundError
from moto.elbv2.models import ELBv2Backend, FakeAction, FakeHealthStatus, FakeLoadBalancer, FakeTargetGroup

from . import interfaces
from .world import behaviour, is_listed, now, replaces


def _settings(balancer):
    subnets = sorted(it.id for it in balancer.subnets)
    groups = sorted(balancer.security_groups or [])
    return balancer.type, balancer.scheme, balancer.ip_address_type, subnets, groups


@replaces(ELBv2Backend, "create_load_balancer")
def _create_load_balancer(backend, create, name, security_groups, subnet_ids, subnet_mappings=None, **kwargs):
    # API_CreateLoadBalancer: at most 32 characters, alphanumeric or hyphens, no hyphen at either end, no "internal-" at the beginning.
    if not re.fullmatch(r"(?!internal-)(?!-)[A-Za-z0-9-]{1,32}(?<!-)", name):
        raise ELBClientError("ValidationError", f"The load balancer name '{name}' is not valid")
    ids = [*subnet_ids, *(it["SubnetId"] for it in subnet_mappings or [])]
    known = [it for it in backend.ec2_backend.describe_subnets() if it.id in ids]
    # API_CreateLoadBalancer: "You must specify […] one subnet per Availability Zone."
    if len({it.availability_zone for it in known}) < len(known):
        message = "A load balancer cannot be attached to multiple subnets in the same Availability Zone"
        raise ELBClientError("InvalidConfigurationRequest", message)
    for group in security_groups or []:
        if backend.ec2_backend.get_security_group_from_id(group) is None:
            raise ELBClientError("InvalidSecurityGroup", f"Security group {group} does not exist")
    before = set(backend.load_balancers)
    tags = kwargs.pop("tags", None)
    kwargs["scheme"] = kwargs.get("scheme") or "internet-facing"
    made = create(name, security_groups, subnet_ids, subnet_mappings, **kwargs)
    known = next((it for it in backend.load_balancers.values() if it.name == name and it.arn in before), None)
    if known is not None or len(before) >= behaviour.load_balancers:
        backend.load_balancers.pop(made.arn)
    if known is not None:
        # API_CreateLoadBalancer: "If you attempt to create multiple load balancers with the same settings, each call succeeds."
        if _settings(known) == _settings(made):
            return known
        raise DuplicateLoadBalancerName()
    if len(before) >= behaviour.load_balancers:
        raise ELBClientError("TooManyLoadBalancers", "You've reached the limit on the number of load balancers")
    if made.type == "network":
        # "Resource types defined by Elastic Load Balancing": loadbalancer/net/…. moto knows loadbalancer/app/… alone.
        backend.load_balancers.pop(made.arn)
        made.arn = made.arn.replace("loadbalancer/app/", "loadbalancer/net/")
        backend.load_balancers[made.arn] = made
        # "Network Load Balancers", DNS name: name-id.elb.region.amazonaws.com.
        # API_LoadBalancerAttribute, access_logs.s3.enabled: "The default is false." It is listed.
        made.attrs.setdefault("access_logs.s3.enabled", "false")
        made.dns_name = f"{name}-{made.arn.rpartition('/')[2]}.elb.{backend.region_name}.amazonaws.com"
    backend.tagging_service.tag_resource(made.arn, tags)
    made.made, made.reads = now(), 0
    made.has_groups = bool(security_groups)
    made.mappings = subnet_mappings or []
    interfaces.stand(backend.account_id, made.arn, made.security_groups)
    return made


@replaces(FakeLoadBalancer, "activate")
def _activate(balancer, activate):
    # API_LoadBalancerState: provisioning, active, active_impaired, failed. moto's balancers are active as soon as somebody looks.
    waits = now() < balancer.made + behaviour.provisioning or balancer.reads <= behaviour.provisioning_reads
    if not waits:
        activate()


@replaces(ELBv2Backend, "describe_load_balancers")
def _describe_load_balancers(backend, _, arns, names):
    every = list(backend.load_balancers.values())
    if arns or names:
        found = [it for it in every if it.arn in (arns or []) or it.name in (names or [])]
        if len(found) < len(set(arns or []) | set(names or [])):
            raise LoadBalancerNotFoundError()
    else:
        found = [it for it in every if is_listed(it.made)]
    for balancer in found:
        balancer.reads += 1
        balancer.activate()
    return found


@replaces(ELBv2Backend, "delete_load_balancer")
def _delete_load_balancer(backend, delete, arn):
    # API_DeleteLoadBalancer: "If the load balancer does not exist or has already been deleted, the call succeeds."
    # "You can't delete a load balancer if deletion protection is enabled."
    balancer = backend.load_balancers.get(arn)
    if balancer is not None and balancer.attrs.get("deletion_protection.enabled") == "true":
        raise ELBClientError("OperationNotPermitted", f"Load balancer '{arn}' cannot be deleted because deletion protection is enabled")
    delete(arn)
    if balancer is None:
        return
    # "This API action does not detach target groups": moto goes on listing the load balancer with its groups.
    _relink(backend)
    interfaces.fall(backend.account_id, arn)
    until = now() + behaviour.groups_in_use
    for listener in balancer.listeners.values():
        for group in _groups_of(backend, listener.default_actions):
            group.in_use_until = until


@replaces(ELBv2Backend, "set_security_groups")
def _set_security_groups(backend, put, arn, sec_groups):
    # API_SetSecurityGroups: "You can't perform this operation on a Network Load Balancer unless you specified a security group for the
    # load balancer when you created it."
    balancer = backend.load_balancers.get(arn)
    if balancer is not None and balancer.type == "network":
        if not balancer.has_groups:
            raise ELBClientError("InvalidConfigurationRequest", "The load balancer was created without security groups")
        if not sec_groups:
            raise ELBClientError("InvalidConfigurationRequest", "At least one security group is needed")
    put(arn, sec_groups)
    interfaces.stand(backend.account_id, arn, sec_groups)


def _groups_of(backend, actions):
    arns = [arn for it in actions for arn in backend._get_target_group_arns_from(action_data=it.data)]
    return [backend.target_groups[it] for it in arns if it in backend.target_groups]


def _relink(backend):
    """Which load balancers forward to a group, from the listeners that there are."""
    users = {arn: [] for arn in backend.target_groups}
    for balancer in backend.load_balancers.values():
        for listener in balancer.listeners.values():
            for group in _groups_of(backend, listener.default_actions):
                if balancer.arn not in users[group.arn]:
                    users[group.arn].append(balancer.arn)
    for arn, group in backend.target_groups.items():
        group.load_balancer_arns = users[arn]


_GROUP = ("protocol", "port", "vpc_id", "target_type", "health_check_protocol", "health_check_port", "health_check_path")
_CHECK = ("health_check_interval_seconds", "health_check_timeout_seconds", "healthy_threshold_count", "unhealthy_threshold_count")


@replaces(ELBv2Backend, "create_target_group")
def _create_target_group(backend, create, name, **kwargs):
    known = next((it for it in backend.target_groups.values() if it.name == name), None)
    if known is None:
        made = create(name, **kwargs)
        made.made, made.in_use_until, made.draining, made.since = now(), 0, {}, {}
        if made.protocol in ("TCP", "TLS", "UDP", "TCP_UDP"):
            # API_TargetGroupAttribute, for Network Load Balancers: without it, instances see the clients' addresses, and no proxy protocol.
            made.attributes.setdefault("preserve_client_ip.enabled", "true")
            made.attributes.setdefault("proxy_protocol_v2.enabled", "false")
        # API_CreateTargetGroup: for TCP, TLS, UDP and TCP_UDP the default thresholds are 5 and 2, and the interval 30 s; moto's timeout
        # of 10 s is the same. A check over HTTP or HTTPS has the path "/" unless the request says another.
        if made.health_check_protocol in ("HTTP", "HTTPS") and not made.health_check_path:
            made.health_check_path = "/"
        return made
    # API_CreateTargetGroup: "If you attempt to create multiple target groups with the same settings, each call succeeds."
    backend.target_groups.pop(known.arn)
    try:
        twin = create(name, **kwargs)
        backend.target_groups.pop(twin.arn)
    finally:
        backend.target_groups[known.arn] = known
    if twin.health_check_protocol in ("HTTP", "HTTPS") and not twin.health_check_path:
        twin.health_check_path = "/"
    if any(str(getattr(twin, it)) != str(getattr(known, it)) for it in _GROUP + _CHECK):
        raise DuplicateTargetGroupName()
    return known


@replaces(ELBv2Backend, "describe_target_groups")
def _describe_target_groups(backend, describe, load_balancer_arn, target_group_arns, names):
    _relink(backend)
    found = describe(load_balancer_arn, target_group_arns, names)
    if load_balancer_arn or target_group_arns or names:
        return found
    return [it for it in found if is_listed(it.made)]


@replaces(ELBv2Backend, "delete_target_group")
def _delete_target_group(backend, delete, target_group_arn):
    # API_DeleteTargetGroup: ResourceInUse while a listener refers to it, and for a while after its load balancer was deleted.
    group = backend.target_groups.get(target_group_arn)
    if group is not None and now() < group.in_use_until:
        raise ResourceInUseError(f"Target group '{target_group_arn}' is currently in use by a listener or a rule")
    return delete(target_group_arn)


def _check_link(backend, balancer_arn, actions):
    # "Quotas for your Network Load Balancers": a target group serves one load balancer.
    _relink(backend)
    for action in actions:
        for arn in backend._get_target_group_arns_from(action_data=action):
            group = backend.target_groups.get(arn)
            if group is None:
                raise TargetGroupNotFoundError()
            if any(it != balancer_arn for it in group.load_balancer_arns):
                message = "You've reached the limit on the number of load balancers per target group"
                raise ELBClientError("TargetGroupAssociationLimit", message)


def _check_certificates(protocol, certificates):
    # API_CreateListener: "You must provide exactly one certificate if the listener protocol is HTTPS or TLS."
    if protocol in ("HTTPS", "TLS") and len(certificates) != 1:
        raise ELBClientError("CertificateNotFound", "A certificate must be specified for TLS listeners")
    if protocol in ("TCP", "UDP", "TCP_UDP", "HTTP") and certificates:
        message = f"A certificate cannot be specified for {protocol} listeners"
        raise ELBClientError("InvalidConfigurationRequest", message)


@replaces(ELBv2Backend, "create_listener")
def _create_listener(backend, create, load_balancer_arn, protocol, port, ssl_policy, certificate, actions, **kwargs):
    balancer = backend.load_balancers.get(load_balancer_arn)
    if balancer is None:
        raise LoadBalancerNotFoundError()
    _check_certificates(protocol, [certificate] if certificate else [])
    # API_Listener, SslPolicy: "[HTTPS or TLS listener] The security policy". moto gives every listener one.
    ssl_policy = ssl_policy if protocol in ("HTTPS", "TLS") else None
    for known in balancer.listeners.values():
        if int(known.port) == int(port):
            # API_CreateListener: "If you attempt to create multiple listeners with the same settings, each call succeeds."
            same = (known.protocol, known.certificate, [it.data for it in known.default_actions])
            if same == (protocol, certificate, [FakeAction(it).data for it in actions]):
                return known
            raise DuplicateListenerError()
    _check_link(backend, load_balancer_arn, actions)
    listener = create(load_balancer_arn, protocol, port, ssl_policy, certificate, actions, **kwargs)
    _relink(backend)
    return listener


@replaces(ELBv2Backend, "modify_listener")
def _modify_listener(backend, _, arn, port=None, protocol=None, ssl_policy=None, certificates=None, actions=None):
    # moto's own knows no TLS and no UDP.
    owner = next((it for it in backend.load_balancers.values() if arn in it.listeners), None)
    if owner is None:
        raise ListenerNotFoundError()
    listener = owner.listeners[arn]
    if port is not None and any(int(it.port) == int(port) and it.arn != arn for it in owner.listeners.values()):
        raise DuplicateListenerError()
    _check_link(backend, owner.arn, actions or [])
    wanted = protocol or listener.protocol
    if certificates:
        _check_certificates(wanted, certificates)
        listener.certificate = certificates[0]["CertificateArn"]
        listener.certificates = [listener.certificate]
    elif wanted in ("HTTPS", "TLS"):
        _check_certificates(wanted, listener.certificates)
    else:
        # API_ModifyListener: "Changing the protocol from HTTPS to HTTP, or from TLS to TCP, removes the security policy and default
        # certificate properties."
        listener.certificate, listener.certificates = None, []
    listener.port, listener.protocol = port or listener.port, wanted
    listener.ssl_policy = (ssl_policy or listener.ssl_policy or "ELBSecurityPolicy-2016-08") if listener.certificate else None
    if actions:
        listener.default_actions = [FakeAction(it) for it in actions]
        listener._default_rule[0].actions = listener.default_actions
    _relink(backend)
    return listener


@replaces(FakeTargetGroup, "register")
def _register(group, register, targets):
    # API_RegisterTargets: "The instance must be in the running state when you register it." InvalidTarget: "The specified target does not
    # exist, is not in the same VPC as the target group, or has an unsupported instance type."
    for target in targets:
        instance = group.ec2_backend.get_instance_by_id(target["Id"])
        if instance is None or instance.vpc_id != group.vpc_id or instance.state == "terminated":
            raise ELBClientError("InvalidTarget", f"The following targets are not in the target group VPC: '{target['Id']}'")
    register(targets)
    for target in targets:
        group.draining.pop(target["Id"], None)
        group.since.setdefault(target["Id"], now())


@replaces(FakeTargetGroup, "deregister")
def _deregister(group, deregister, targets):
    # API_DeregisterTargets: "If the specified target does not exist, the action returns successfully." API_TargetHealth: draining,
    # Target.DeregistrationInProgress, until the delay of the group is over.
    delay = behaviour.draining
    if delay < 0:
        delay = float(group.attributes["deregistration_delay.timeout_seconds"])
    for target in targets:
        if target["Id"] in group.targets:
            deregister([target])
            group.draining[target["Id"]] = now() + delay
            group.since.pop(target["Id"], None)


@replaces(ELBv2Backend, "describe_target_health")
def _describe_target_health(backend, _, target_group_arn, targets):
    group = backend.target_groups.get(target_group_arn)
    if group is None:
        raise TargetGroupNotFoundError()
    _ended(group)
    asked = [it["Id"] for it in targets or []]
    drain = [it for it, until in group.draining.items() if now() < until and it not in group.targets]
    shown = [group.health_for(it, backend.ec2_backend) for it in targets or group.targets.values() if it["Id"] not in drain]
    # A target whose health checks have not passed yet: API_TargetHealth, initial, Elb.InitialHealthChecking.
    for it in shown:
        if it.status == "healthy" and now() < group.since.get(it.instance_id, 0) + behaviour.initial:
            it.status, it.reason, it.description = "initial", "Elb.InitialHealthChecking", "Initial health checks in progress"
    for it in drain:
        if not asked or it in asked:
            reason, text = "Target.DeregistrationInProgress", "Target deregistration is in progress"
            shown.append(FakeHealthStatus(it, group.port, group.health_check_port, "draining", reason, text))
    return shown


def _ended(group):
    """Instances that have ended leave their groups by themselves: "Register targets", "Deregister or terminate your instances"."""
    for id in list(group.targets):
        instance = group.ec2_backend.get_instance_by_id(id)
        if instance is None or instance.state == "terminated":
            group.targets.pop(id)
            group.since.pop(id, None)
