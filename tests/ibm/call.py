"""Calls the API of the VPC with IBM's own client: reads calls as JSON from standard input, writes what became of each as JSON.

Arguments: the simulator's URL, and an API key, for which the client's authenticator asks the simulator's IAM. With the word `metadata` in the
place of the key, two more are the URL of a metadata service and its version, and the client asks that; with `container` two more are the file with
the token of a Pod and the name of a trusted profile. A call is {"method": "list_instances", "arguments": {…}}; what became of it is {"ok": …} or {"error": {"status": 404, "code": "not_found"}}. Where an argument is {"of": 3, "key": "id"}, it
is that of the answer to the call with this number. Of a pager it answers the ids of all pages.
"""

import json
import sys

import ibm_vpc
from ibm_cloud_sdk_core import ApiException
from ibm_cloud_sdk_core.authenticators import ContainerAuthenticator, IAMAuthenticator, VPCInstanceAuthenticator


def filled(value, done):
    if isinstance(value, dict):
        if set(value) == {"of", "key"}:
            found = done[value["of"]]["ok"]
            for part in value["key"].split("."):
                found = found[int(part)] if part.isdigit() else found[part]
            return found
        return {key: filled(it, done) for key, it in value.items()}
    return [filled(it, done) for it in value] if isinstance(value, list) else value


def read(method, answer):
    """What the SDK's own model makes of an answer: it raises where a required field is missing."""
    models = {
        "list_instances": ibm_vpc.vpc_v1.InstanceCollection, "get_instance": ibm_vpc.vpc_v1.Instance,
        "list_floating_ips": ibm_vpc.vpc_v1.FloatingIPCollection, "list_subnets": ibm_vpc.vpc_v1.SubnetCollection,
        "get_vpc": ibm_vpc.vpc_v1.VPC, "get_volume": ibm_vpc.vpc_v1.Volume,
        "list_load_balancers": ibm_vpc.vpc_v1.LoadBalancerCollection, "get_load_balancer": ibm_vpc.vpc_v1.LoadBalancer,
        "create_load_balancer": ibm_vpc.vpc_v1.LoadBalancer,
        "list_load_balancer_listeners": ibm_vpc.vpc_v1.LoadBalancerListenerCollection,
        "create_load_balancer_listener": ibm_vpc.vpc_v1.LoadBalancerListener,
        "update_load_balancer_listener": ibm_vpc.vpc_v1.LoadBalancerListener,
        "list_load_balancer_pools": ibm_vpc.vpc_v1.LoadBalancerPoolCollection,
        "create_load_balancer_pool": ibm_vpc.vpc_v1.LoadBalancerPool,
        "update_load_balancer_pool": ibm_vpc.vpc_v1.LoadBalancerPool,
        "list_load_balancer_pool_members": ibm_vpc.vpc_v1.LoadBalancerPoolMemberCollection,
        "replace_load_balancer_pool_members": ibm_vpc.vpc_v1.LoadBalancerPoolMemberCollection,
        "list_vpc_routing_table_routes": ibm_vpc.vpc_v1.RouteCollection,
        "create_vpc_routing_table_route": ibm_vpc.vpc_v1.Route, "get_vpc_routing_table_route": ibm_vpc.vpc_v1.Route,
        "update_vpc_routing_table_route": ibm_vpc.vpc_v1.Route,
        "create_security_group": ibm_vpc.vpc_v1.SecurityGroup, "get_security_group": ibm_vpc.vpc_v1.SecurityGroup,
        "update_instance_network_interface": ibm_vpc.vpc_v1.NetworkInterface,
        "update_virtual_network_interface": ibm_vpc.vpc_v1.VirtualNetworkInterface,
    }
    return models[method].from_dict(answer).to_dict() if method in models else answer


def call(client, it, done):
    method, arguments = it["method"], filled(it.get("arguments", {}), done)
    try:
        if method.endswith("Pager"):
            pager = getattr(ibm_vpc.vpc_v1, method)(client=client, **arguments)
            return {"ok": [one["id"] for one in pager.get_all()]}
        answer = getattr(client, method)(**arguments)
        return {"ok": read(method, answer.get_result()) if answer.get_result() else None, "etag": answer.get_headers().get("etag")}
    except ApiException as refused:
        body = refused.http_response.json() if refused.http_response is not None else {}
        code = body["errors"][0]["code"] if "errors" in body else body.get("errorCode")
        return {"error": {"status": refused.status_code, "code": code}}


def main():
    url, key = sys.argv[1], sys.argv[2]
    if key == "metadata":
        authenticator = VPCInstanceAuthenticator(url=sys.argv[3], service_version=sys.argv[4])
    elif key == "container":
        authenticator = ContainerAuthenticator(cr_token_filename=sys.argv[3], iam_profile_name=sys.argv[4], url=url)
    else:
        authenticator = IAMAuthenticator(key, url=url)
    client = ibm_vpc.VpcV1(version="2026-06-23", authenticator=authenticator)
    client.set_service_url(url + "/v1")
    done = []
    for it in json.load(sys.stdin):
        done.append(call(client, it, done))
    json.dump(done, sys.stdout, default=str)


main()
