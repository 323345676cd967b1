"""EC2: instances, network interfaces, security groups and routes: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/

Below, API_… is a page there.
"""

import copy
import re

from moto.core.responses import ActionResult
from moto.ec2 import ec2_backends
from moto.ec2.exceptions import DependencyViolationError, EC2ClientError
from moto.ec2.models.elastic_network_interfaces import Attachment, NetworkInterface
from moto.ec2.models.instances import Instance, InstanceBackend
from moto.ec2.models.route_tables import Route, RouteBackend
from moto.ec2.models.security_groups import SecurityGroupBackend, SecurityGroupRule
from moto.ec2.responses import EC2Response
from moto.ec2.responses.security_groups import SecurityGroups

from . import interfaces
from .world import behaviour, is_listed, now, replaces


@replaces(NetworkInterface, "get_filter_value")
def _interface_filter(interface, value, filter_name, method_name=None):
    # API_DescribeNetworkInterfaces: attachment.status is attaching, attached, detaching or detached; status is available or in-use.
    if filter_name == "attachment.status":
        return "attached" if interface.attachment_id else "detached"
    if filter_name == "status":
        return interface.status
    return value(filter_name, method_name)


@replaces(Attachment, "__init__")
def _begin_attachment(attachment, init, interface):
    # API_NetworkInterfaceAttachment: an interface that belongs to no instance of the account is attached without an instanceId.
    if interface.instance is not None:
        return init(interface)
    attachment.attachment_id, attachment.attach_time = interface.attachment_id, interface.attach_time
    attachment.device_index, attachment.network_card_index = 1, 0
    attachment.delete_on_termination, attachment.status = False, "attached"
    attachment.instance_id = None
    attachment.instance_owner_id = "amazon-aws"


@replaces(InstanceBackend, "describe_instances")
def _describe_instances(backend, describe, filters=None):
    # "Error codes for the Amazon EC2 API", InvalidInstanceID.Malformed: "Ensure that you specify the full instance ID in the request", of 8
    # or 17 hexadecimal digits.
    for id in (filters or {}).get("instance-id", []):
        if not re.fullmatch(r"i-([0-9a-f]{8}|[0-9a-f]{17})", id):
            raise EC2ClientError("InvalidInstanceID.Malformed", f'Invalid id: "{id}"')
    return describe(filters=filters)


@replaces(InstanceBackend, "get_reservations_by_instance_ids")
def _by_ids(backend, find, instance_ids, filters=None):
    # API_DescribeInstances: ids choose what is described. moto fails where one is there twice.
    return find(list(dict.fromkeys(instance_ids)), filters=filters)


def _given_name(name):
    def get(instance):
        return getattr(instance, "given_name", None) or name.fget(instance)

    return property(get)


# Control gives instances names of its own.
Instance.private_dns_name = _given_name(Instance.private_dns_name)


def _describe_instance_topology(response):
    """API_DescribeInstanceTopology: three network nodes above each instance whose type has a topology, the top layer first."""
    ids = response._get_param("InstanceIds", [])
    shown = []
    for instance in response.ec2_backend.all_instances():
        is_asked = not ids or instance.id in ids
        if is_asked and instance.instance_type.startswith(("hpc", "p", "trn")) and instance.state != "terminated":
            nodes = [f"nn-{layer}{hash(instance.subnet_id) % 0xFFFF:04x}" for layer in (1, 2)] + [f"nn-3{instance.id[-8:]}"]
            zone = instance.placement.availability_zone
            kind = {"InstanceType": instance.instance_type, "AvailabilityZone": zone}
            shown.append({"InstanceId": instance.id, "NetworkNodes": nodes, **kind})
    known = {it.id for it in response.ec2_backend.all_instances()}
    for id in ids:
        if id not in known:
            raise EC2ClientError("InvalidInstanceID.NotFound", f"The instance ID '{id}' does not exist")
    return ActionResult({"Instances": shown})


EC2Response.describe_instance_topology = _describe_instance_topology


# Security groups.


@replaces(SecurityGroupBackend, "create_security_group")
def _create_group(backend, create, *args, **kwargs):
    group = create(*args, **kwargs)
    group.made = now()
    return group


@replaces(SecurityGroupBackend, "describe_security_groups")
def _describe_groups(backend, describe, group_ids=None, groupnames=None, filters=None):
    # "Ensuring idempotency", "Eventual consistency in the Amazon EC2 API": who asks for everything may not see what is new.
    found = describe(group_ids, groupnames, filters)
    return found if group_ids else [it for it in found if is_listed(it.made)]


@replaces(SecurityGroupBackend, "delete_security_group")
def _delete_group(backend, delete, name=None, group_id=None):
    # API_DeleteSecurityGroup: DependencyViolation for a group "that is associated with an instance or network interface, is referenced by
    # another security group in the same VPC". Interfaces of load balancers outlive them.
    others = [it for groups in backend.groups.values() for it in groups.values() if it.id != group_id]
    rules = [rule for it in others for rule in (*it.ingress_rules, *it.egress_rules)]
    is_referenced = any(it.source_group.get("GroupId") == group_id for it in rules)
    machines = (it for it in backend.all_instances() if it.state != "terminated")
    is_used = any(group_id == it.id for machine in machines for it in machine.security_groups)
    if is_referenced or is_used or interfaces.hold(group_id):
        raise DependencyViolationError(f"resource {group_id} has a dependent object")
    delete(name, group_id)


@replaces(SecurityGroups, "authorize_security_group_ingress")
def _authorize(response, authorize):
    # API_AuthorizeSecurityGroupIngress: the whole request is refused if one rule is: moto keeps those before it. A rule is the same with
    # another description.
    id = response._get_param("GroupId")
    group = response.ec2_backend.get_security_group_from_id(id)
    before = list(group.ingress_rules) if group else []
    try:
        return authorize()
    except Exception:
        if group:
            group.ingress_rules = before
        raise


@replaces(SecurityGroupRule, "__eq__")
def _is_the_same_rule(rule, is_same, other):
    # API_RevokeSecurityGroupIngress: "If the security group rule has a description, you do not need to specify the description to revoke
    # the rule." moto asks for it where the peer is a group.
    peers = [{key: it for key, it in each.source_group.items() if key != "Description"} for each in (rule, other)]
    if peers[0] != peers[1]:
        return False
    other = copy.copy(other)
    other.source_group = rule.source_group
    return is_same(other)


@replaces(SecurityGroupBackend, "_verify_group_will_respect_rule_count_limit")
def _check_rules(backend, _, group, current_rule_nb, ip_ranges, source_groups=None, egress=False):
    # "Amazon VPC quotas": rules per security group, inbound and outbound each, IPv4 and IPv6 each.
    if current_rule_nb + len(ip_ranges or []) + len(source_groups or []) > behaviour.rules_per_group:
        raise EC2ClientError("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group has been reached.")


# Routes.


@replaces(RouteBackend, "create_route")
def _create_route(backend, create, route_table_id, *args, **kwargs):
    table = backend.route_tables.get(route_table_id)
    made = sum(1 for it in table.routes if not it.local) if table else 0
    if made >= behaviour.routes_per_table and not kwargs.get("local"):
        # "Amazon VPC quotas": non-propagated routes per route table.
        raise EC2ClientError("RouteLimitExceeded", f"The maximum number of routes in {route_table_id} has been reached.")
    _check_target(backend, kwargs.get("instance_id"))
    return create(route_table_id, *args, **kwargs)


@replaces(RouteBackend, "replace_route")
def _replace_route(backend, replace, *args, **kwargs):
    _check_target(backend, kwargs.get("instance_id"))
    return replace(*args, **kwargs)


def _check_target(backend, instance_id):
    instance = backend.get_instance_by_id(instance_id) if instance_id else None
    if instance is not None and instance.state == "terminated":
        raise EC2ClientError("InvalidInstanceID.NotFound", f"The instance ID '{instance_id}' does not exist")


def _is_gone(instance):
    return instance is not None and instance.state == "terminated"


# API_Route: state is blackhole where "the route's target isn't available": the instance has ended. The route goes on with its network
# interface, and without the instance.
Route.state = property(lambda route: "blackhole" if _is_gone(route.instance) else "active")
Route.instance_id = property(lambda route: route.instance.id if route.instance and not _is_gone(route.instance) else None)


def _route_interface(route):
    if route.interface:
        return route.interface.id
    if route.instance:
        # An instance leaves its interfaces behind in moto's memory when it ends.
        return route.instance.nics[0].id if route.instance.nics else "eni-00000000000000000"
    return None


Route.network_interface_id = property(_route_interface)


def prepare(account, region):
    """What tests find at the start: the default VPC with a way out, and everything in it with the cluster's tag."""
    ec2 = ec2_backends[account][region]
    vpc = ec2.default_vpc
    table = next(it for it in ec2.route_tables.values() if it.vpc_id == vpc.id)
    gateway = ec2.create_internet_gateway()
    ec2.attach_internet_gateway(gateway.id, vpc.id)
    ec2.create_route(table.id, "0.0.0.0/0", gateway_id=gateway.id)
    group = ec2.get_default_security_group(vpc.id)
    subnets = [it for it in ec2.describe_subnets() if it.vpc_id == vpc.id]
    subnets.sort(key=lambda it: it.availability_zone)
    ids = [it.id for it in subnets]
    return {"vpc": vpc.id, "table": table.id, "gateway": gateway.id, "group": group.id, "subnets": ids}
