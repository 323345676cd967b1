"""Records the requests that IBM's own client sends, for the unit tests of the provider.

    make ibm
    target/ibm/bin/python tests/ibm/record.py > tests/golden/ibm-vpc-sdk.json

Each is a call of the official SDK with what the provider's tests ask for. Nothing leaves the machine: where the client would send, the request is
kept. Ids that the cloud gives have words in their place.
"""

import json
import sys
from urllib.parse import urlsplit

import ibm_vpc
from ibm_cloud_sdk_core.authenticators import NoAuthAuthenticator

VPC, TABLE, BALANCER = "r006-1", "rt-1", "lb-1"
NAME = "kube-c1-0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a11"


class Kept(Exception):
    """Ends a call where it would be sent."""


class Recorder:
    """Stands for the client's connection."""

    def request(self, method, url, headers=None, params=None, data=None, **_):
        body = None if data is None else json.loads(data)
        content = None if body is None else (headers or {}).get("content-type")
        query = {name: str(value) for name, value in (params or {}).items()}
        raise Kept({"method": method, "path": urlsplit(url).path, "query": query, "contentType": content, "body": body})


client = ibm_vpc.VpcV1(version="2026-06-23", authenticator=NoAuthAuthenticator())
client.set_service_url("https://us-south.iaas.cloud.ibm.com/v1")
client.http_client = Recorder()
recorded = {}


def keep(title, method, /, **arguments):
    try:
        getattr(client, method)(**arguments)
    except Kept as kept:
        recorded[title] = kept.args[0]
        return
    raise SystemExit(f"{method} has sent nothing")


def monitor(port):
    return {"delay": 5, "max_retries": 2, "timeout": 2, "type": "tcp", "port": port}


def member(port):
    return {"port": port, "target": {"address": "10.240.0.1"}}


def pool(port, node_port, **more):
    return {
        "name": f"tcp-{port}-{node_port}", "protocol": "tcp", "algorithm": "round_robin", "proxy_protocol": "disabled",
        "health_monitor": monitor(node_port), **more,
    }


def everywhere(direction, protocol, network):
    return {"direction": direction, "protocol": protocol, "remote": {"cidr_block": network}}


of_balancer = {"load_balancer_id": BALANCER}
of_table = {"vpc_id": VPC, "routing_table_id": TABLE}
of_group = {"security_group_id": "GROUP"}

# Machines and volumes.
keep("VPC", "get_vpc", id=VPC)
keep("instances of the VPC", "list_instances", limit=100, vpc_id=VPC)
keep("instances of the VPC: next page", "list_instances", start="at/100", limit=100, vpc_id=VPC)
keep("instance by name", "list_instances", limit=100, name="node-1", vpc_id=VPC)
keep("instance", "get_instance", id="0717_1")
keep("floating IPs", "list_floating_ips", limit=100)
keep("floating IP of a target", "list_floating_ips", limit=100, target_id="nic-1")
keep("volume", "get_volume", id="r014-1")

# Load balancers.
keep("subnets", "list_subnets", limit=100, vpc_id=VPC)
keep("load balancers", "list_load_balancers", limit=100)
keep("load balancer", "get_load_balancer", id=BALANCER)
keep("listeners", "list_load_balancer_listeners", **of_balancer)
keep("pools", "list_load_balancer_pools", **of_balancer)
keep("members", "list_load_balancer_pool_members", pool_id="pool-1", **of_balancer)
keep(
    "load balancer created", "create_load_balancer", is_public=True, subnets=[{"id": "0717-s1"}, {"id": "0727-s2"}], name=NAME,
    listeners=[{"port": 80, "protocol": "tcp", "connection_limit": 15000, "default_pool": {"name": "tcp-80-30080"}}],
    pools=[pool(80, 30080, members=[member(30080)])],
)
keep("pool created", "create_load_balancer_pool", **of_balancer, **pool(443, 30443, members=[member(30443)]))
keep(
    "listener created", "create_load_balancer_listener", **of_balancer, protocol="tcp", connection_limit=15000, default_pool={"id": "POOL"},
    port=443,
)
keep(
    "pool changed", "update_load_balancer_pool", **of_balancer, id="POOL",
    load_balancer_pool_patch={"name": "tcp-80-30090", "health_monitor": monitor(30090)},
)
keep(
    "listener changed", "update_load_balancer_listener", **of_balancer, id="LISTENER",
    load_balancer_listener_patch={"idle_connection_timeout": 120},
)
keep("members replaced", "replace_load_balancer_pool_members", **of_balancer, pool_id="POOL", members=[member(30090)])
keep("listener deleted", "delete_load_balancer_listener", **of_balancer, id="LISTENER")
keep("pool deleted", "delete_load_balancer_pool", **of_balancer, id="POOL")
keep("load balancer renamed", "update_load_balancer", id=BALANCER, load_balancer_patch={"name": "shared"})
keep("load balancer deleted", "delete_load_balancer", id=BALANCER)

# Network load balancers with ranges of ports.
keep(
    "network load balancer created", "create_load_balancer", is_public=True, subnets=[{"id": "0717-s1"}], name=NAME,
    listeners=[{"port_min": 80, "port_max": 90, "protocol": "tcp", "default_pool": {"name": "tcp-80-30080"}}],
    pools=[pool(80, 30080, members=[member(30080)])], profile={"name": "network-fixed"},
)
keep(
    "listener of a range created", "create_load_balancer_listener", **of_balancer, protocol="tcp", default_pool={"id": "POOL"}, port_min=85,
    port_max=99,
)
keep(
    "listener gets another range", "update_load_balancer_listener", **of_balancer, id="LISTENER",
    load_balancer_listener_patch={"port_min": 80, "port_max": 84},
)

# Routes.
keep("routes", "list_vpc_routing_table_routes", limit=100, **of_table)
keep(
    "route made", "create_vpc_routing_table_route", **of_table, destination="10.244.1.0/24", zone={"name": "us-south-3"}, action="deliver",
    name="k8s-c1a5e00011112222-10-244-1-0-24-us-south-3", next_hop={"address": "10.240.0.1"},
)
keep("route led elsewhere", "update_vpc_routing_table_route", **of_table, id="ROUTE", route_patch={"next_hop": {"address": "10.240.0.2"}})
keep("route deleted", "delete_vpc_routing_table_route", **of_table, id="ROUTE")
keep(
    "interface lets through", "update_instance_network_interface", instance_id="0717_1", id="nic-1",
    network_interface_patch={"allow_ip_spoofing": True},
)
keep(
    "interface of its own lets through", "update_virtual_network_interface", id="vni-2",
    virtual_network_interface_patch={"allow_ip_spoofing": True},
)
keep("instance of a route", "get_instance", id="0717_2")

# Security groups.
keep("security groups", "list_security_groups", limit=100, vpc_id=VPC)
keep(
    "security group made", "create_security_group", vpc={"id": VPC}, name=NAME,
    rules=[everywhere("inbound", "tcp", "10.0.0.0/8"), everywhere("outbound", "any", "0.0.0.0/0")],
)
keep("security group", "get_security_group", id="GROUP")
keep("rule made", "create_security_group_rule", **of_group, security_group_rule_prototype=everywhere("inbound", "tcp", "192.0.2.0/24"))
keep(
    "rule with a name made", "create_security_group_rule", **of_group,
    security_group_rule_prototype={
        "name": "kube-0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a11-80-169-48-0-1", "direction": "outbound", "protocol": "tcp",
        "remote": {"address": "169.48.0.1"}, "port_min": 80, "port_max": 80,
    },
)
keep("rule deleted", "delete_security_group_rule", **of_group, id="RULE")
keep("security group given", "create_security_group_target_binding", **of_group, id=BALANCER)
keep("security group taken away", "delete_security_group_target_binding", security_group_id="r006-usual", id=BALANCER)
keep("security group deleted", "delete_security_group", id="GROUP")

json.dump(recorded, sys.stdout, indent=1)
