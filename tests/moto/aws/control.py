"""What tests do to AWS, and see of it, beside its own APIs."""

from moto.acm.models import acm_backends
from moto.ec2 import ec2_backends
from moto.ec2.models.instances import InstanceState
from moto.elb.models import elb_backends
from moto.elbv2.models import elbv2_backends

from . import network, sessions, volumes, world
from .world import ACCOUNT, REGION

# API_InstanceState: the code of each state.
STATES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}


def _ec2():
    return ec2_backends[ACCOUNT][REGION]


def _v2():
    return elbv2_backends[ACCOUNT][REGION]


def _classic():
    return elb_backends[ACCOUNT][REGION]


_prepared = {}


def prepare(cluster):
    """What tests find at the start. Later it only says what there is."""
    if _prepared:
        return _prepared
    found = network.prepare(ACCOUNT, REGION)
    _prepared.update(found)
    _ec2().create_tags([found["table"], found["group"], *found["subnets"]], {f"kubernetes.io/cluster/{cluster}": "owned"})
    return found


def machine(id, name, type="m5.large", cluster=None, subnet=None, address=None):
    """An instance that runs, in the place of one with the same id."""
    forget(id)
    subnet = subnet or _ec2().get_default_subnets()[f"{REGION}a"].id
    group = _ec2().get_default_security_group(_ec2().default_vpc.id).id
    kwargs = {"subnet_id": subnet, "tags": {}, "security_group_ids": [group], "is_instance_type_default": True, "placement": None}
    if address:
        kwargs["private_ip"] = address
    made = _ec2().run_instances("ami-12c6146b", 1, None, [], instance_type=type, instance_market_options={}, **kwargs)
    instance = made.instances[0]
    instance.id, instance.given_name = id, name
    if cluster:
        tag(id, {f"kubernetes.io/cluster/{cluster}": "owned"})
    return {"id": id, "address": instance.private_ip}


def forget(id):
    """EC2 knows nothing of an instance any more."""
    ec2 = _ec2()
    for key, reservation in list(ec2.reservations.items()):
        if any(it.id == id for it in reservation.instances):
            ec2.reservations.pop(key)


def end(id):
    _ec2().terminate_instances([id])
    _v2().notify_terminate_instances([id])


def enter(id, state):
    """An instance is in this state now. What becomes of its interfaces and routes is not told."""
    instance = _ec2().get_instance(id)
    instance._state = InstanceState(state, STATES[state])


def address(id, ipv6, private, public):
    """More addresses for an instance: one of IPv6 and a public one on its first interface, and a second interface."""
    ec2 = _ec2()
    instance = ec2.get_instance(id)
    first = instance.nics[0]
    first.ipv6_addresses, first.public_ip = [ipv6], public
    instance.attach_eni(ec2.create_network_interface(first.subnet, private), 1)


def pod(address):
    """The network interface of a pod of Fargate, which belongs to no instance of the account: its name in DNS."""
    ec2 = _ec2()
    made = ec2.create_network_interface(ec2.get_default_subnets()[f"{REGION}a"], address)
    made.attachment_id, made.status = "eni-attach-00000000000000000", "in-use"
    return made.private_dns_name


def volume(zone, tags=None):
    """A volume of EBS, as somebody else makes one: its id."""
    made = _ec2().create_volume(8, zone)
    made.add_tags(tags or {})
    return made.id


def delete_volume(id):
    _ec2().delete_volume(id)


def gateway_route(destination):
    """A route of the cluster's table that leads out of the VPC, as the operator makes one."""
    _ec2().create_route(_prepared["table"], destination, gateway_id=_prepared["gateway"])


def certificate(domain):
    """A certificate of ACM: its ARN."""
    return acm_backends[ACCOUNT][REGION].request_certificate(domain, None, [], [])


def protect(arn, protected):
    """Whether a load balancer is protected from deletion."""
    _v2().load_balancers[arn].attrs["deletion_protection.enabled"] = "true" if protected else "false"


def tag(id, tags):
    _ec2().create_tags([id], tags)


def untag(id, keys):
    _ec2().delete_tags([id], {it: None for it in keys})


# What a target group says of its health checks.
CHECK = [f"health_check_{it}" for it in ("protocol", "port", "path", "interval_seconds", "timeout_seconds")]
CHECK += ["healthy_threshold_count", "unhealthy_threshold_count"]


def state():
    """All load balancers and what belongs to them, whatever lists show."""
    v2, classic, ec2 = _v2(), _classic(), _ec2()
    tags = lambda arn: v2.tagging_service.get_tag_dict_for_resource(arn)
    return {
        "network": [
            {
                "id": it.arn,
                "name": it.name,
                "type": it.type,
                "scheme": it.scheme,
                "state": it.state,
                "host": it.dns_name,
                "subnets": [subnet.id for subnet in it.subnets],
                "groups": it.security_groups or [],
                "addresses": it.ip_address_type,
                "mappings": it.mappings,
                "attributes": it.attrs,
                "tags": tags(it.arn),
                "listeners": [
                    {
                        "id": listener.arn,
                        "port": int(listener.port),
                        "protocol": listener.protocol,
                        "certificate": listener.certificate,
                        "policy": listener.ssl_policy,
                        "tags": tags(listener.arn),
                        "forwards": [group for act in listener.default_actions for group in v2._get_target_group_arns_from(act.data)],
                    }
                    for listener in it.listeners.values()
                ],
            }
            for it in v2.load_balancers.values()
        ],
        "targets": [
            {
                "id": it.arn,
                "name": it.name,
                "port": int(it.port),
                "protocol": it.protocol,
                "machines": list(it.targets),
                "draining": [id for id, until in it.draining.items() if world.now() < until],
                "type": it.target_type,
                "check": {key: str(getattr(it, key)) for key in CHECK},
                "attributes": {key: str(value) for key, value in it.attributes.items()},
                "tags": tags(it.arn),
            }
            for it in v2.target_groups.values()
        ],
        "classic": [
            {
                "name": it.name,
                "scheme": it.scheme,
                "host": it.dns_name,
                "subnets": it.subnets,
                "groups": it.security_groups,
                "machines": [machine["InstanceId"] for machine in it.instances],
                "listeners": [
                    [port.protocol, int(port.load_balancer_port), port.instance_protocol, int(port.instance_port)] for port in it.listeners
                ],
                "check": it.health_check.target if it.health_check else None,
                "probe": vars(it.health_check) if it.health_check else None,
                "policies": [policy.policy_name for policy in it.policies],
                "backends": {str(port.instance_port): port.policy_names for port in it.backends if port.policy_names},
                "frontends": {
                    str(port.load_balancer_port): {"certificate": port.ssl_certificate_id, "policies": port.policy_names}
                    for port in it.listeners
                },
                "attributes": _classic_attributes(it),
                "tags": dict(it.tags),
            }
            for it in classic.load_balancers.values()
        ],
        "security": [
            {
                "id": it.id,
                "name": it.name,
                "text": it.description,
                "tags": {pair["key"]: pair["value"] for pair in it.get_tags()},
                "rules": [
                    {
                        "protocol": rule.ip_protocol,
                        "ports": [rule.from_port, rule.to_port],
                        "peer": rule.ip_range.get("CidrIp") or rule.ip_range.get("CidrIpv6") or rule.source_group.get("GroupId"),
                        "description": rule.ip_range.get("Description") or rule.source_group.get("Description"),
                    }
                    for rule in it.ingress_rules
                ],
            }
            for groups in ec2.groups.values()
            for it in groups.values()
        ],
        "routes": [
            {"destination": it.destination_cidr_block, "instance": it.instance_id, "state": it.state, "table": table.id}
            for table in ec2.route_tables.values()
            for it in table.routes
            if not it.local
        ],
        "instances": {
            it.id: {"checks": it.source_dest_check, "private": it.private_ip, "public": it.public_ip, "name": it.public_dns_name}
            for it in ec2.all_instances()
        },
    }


def _classic_attributes(balancer):
    """As API_LoadBalancerAttributes has them. moto keeps what was sent beside its own defaults; what is off has no settings."""
    found = {}
    for name, settings in balancer.attributes.items():
        if name != "additional_attributes":
            sent = {key.lower().replace("_", ""): it for key, it in sorted(settings.items(), reverse=True)}
            found[name] = {"enabled": False} if sent.get("enabled") is False else sent
    return found


def retag(arn, tags):
    """Other tags for a load balancer of Elastic Load Balancing version 2, or what belongs to one."""
    _v2().tagging_service.delete_all_tags_for_resource(arn)
    _v2().tagging_service.tag_resource(arn, [{"Key": key, "Value": value} for key, value in tags.items()])


def forget_marks(prefix):
    """Takes all tags away whose keys begin so, from everything that belongs to load balancers."""
    v2 = _v2()
    for arn in [*v2.load_balancers, *v2.target_groups, *(it for lb in v2.load_balancers.values() for it in lb.listeners)]:
        tags = v2.tagging_service.get_tag_dict_for_resource(arn)
        retag(arn, {key: it for key, it in tags.items() if not key.startswith(prefix)})
    for it in _classic().load_balancers.values():
        it.tags = {key: value for key, value in it.tags.items() if not key.startswith(prefix)}
    for groups in _ec2().groups.values():
        for it in groups.values():
            untag(it.id, [pair["key"] for pair in it.get_tags() if pair["key"].startswith(prefix)])


def delete_balancer(arn):
    _v2().delete_load_balancer(arn)


def clear(arn):
    """No target group of a load balancer has machines any more."""
    for group in _v2().describe_target_groups(arn, [], None):
        group.targets.clear()


def balancer(name, subnets, tags):
    """A load balancer without listeners, as somebody else makes one."""
    mappings, pairs = [{"SubnetId": it} for it in subnets], [{"Key": key, "Value": it} for key, it in tags.items()]
    made = _v2().create_load_balancer(name, [], [], mappings, loadbalancer_type="network", ip_address_type="ipv4", tags=pairs)
    return {"id": made.arn, "host": made.dns_name}


ORDERS = {
    "address": address,
    "advance": world.advance,
    "balancer": balancer,
    "behave": lambda **changes: world.behave(changes),
    "certificate": certificate,
    "clear": clear,
    "deleteBalancer": delete_balancer,
    "deleteVolume": delete_volume,
    "end": end,
    "endSessions": sessions.end_all,
    "enter": enter,
    "forget": forget,
    "forgetMarks": forget_marks,
    "gatewayRoute": gateway_route,
    "machine": machine,
    "pod": pod,
    "prepare": prepare,
    "protect": protect,
    "requireSignatures": sessions.require_signatures,
    "retag": retag,
    "role": sessions.role,
    "session": sessions.session,
    "skew": world.skew,
    "state": state,
    "tag": tag,
    "token": lambda token, role: sessions.tokens.__setitem__(token, role),
    "untag": untag,
    "user": sessions.user,
    "volume": volume,
    "volumes": lambda: volumes.shown(_ec2()),
}
