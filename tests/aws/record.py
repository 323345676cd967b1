"""Records the requests that the official SDK sends for the calls that the AWS provider makes: requests.json, those of classic_calls.py:
requests-classic.json, and those of volume_calls.py: requests-volumes.json.

    target/moto/bin/python tests/aws/record.py

Nothing is sent. Key, region and clock are fixed, so that the same SDK records the same bytes; the version of the SDK is pinned in
tests/moto/requirements.txt. Signatures are left out: the SDK signs a random id of each request.
"""

import json
import pathlib
from urllib.parse import parse_qsl

import boto3
from botocore.awsrequest import AWSResponse
from botocore.config import Config

import classic_calls
import volume_calls

CLUSTER = {"Name": "tag-key", "Values": ["kubernetes.io/cluster/prod"]}
ALIVE = {"Name": "instance-state-name", "Values": ["pending", "running", "shutting-down", "stopping", "stopped"]}
VPC = {"Name": "vpc-id", "Values": ["vpc-1"]}
TABLE = {"RouteTableId": "rtb-1", "DestinationCidrBlock": "10.4.1.0/24"}

BALANCER = {"LoadBalancerArn": "arn:lb"}
GROUP = {"TargetGroupArn": "arn:tg"}
TAGS = [{"Key": "a", "Value": "b c/+=@"}, {"Key": "k", "Value": ""}]
FORWARD = [{"Type": "forward", "TargetGroupArn": "arn:tg"}]
TARGETS = [{"Id": "i-1", "Port": 30080}, {"Id": "i-2", "Port": 30080}]

# Name of the recording, service, operation, parameters.
CALLS = [
    ("instances", "ec2", "describe_instances", {"Filters": [CLUSTER, VPC, ALIVE], "MaxResults": 1000}),
    (
        "instances-next-page",
        "ec2",
        "describe_instances",
        {"Filters": [CLUSTER, VPC, ALIVE], "MaxResults": 1000, "NextToken": "eyJ2IjoiMiJ9+/=&"},
    ),
    (
        "instances-by-older-tag",
        "ec2",
        "describe_instances",
        {"Filters": [{"Name": "tag:KubernetesCluster", "Values": ["prod"]}, VPC, ALIVE], "MaxResults": 1000},
    ),
    (
        "instances-by-id",
        "ec2",
        "describe_instances",
        {"Filters": [{"Name": "instance-id", "Values": ["i-1", "i-2"]}], "MaxResults": 1000},
    ),
    (
        "instances-by-name",
        "ec2",
        "describe_instances",
        {"Filters": [{"Name": "private-dns-name", "Values": ["ip-10-0-0-1.ec2.internal"]}, ALIVE], "MaxResults": 1000},
    ),
    (
        "interfaces",
        "ec2",
        "describe_network_interfaces",
        {
            "Filters": [
                {"Name": "attachment.status", "Values": ["attached"]},
                VPC,
                {"Name": "private-ip-address", "Values": ["10.0.0.9"]},
            ]
        },
    ),
    ("zones", "ec2", "describe_availability_zones", {"Filters": [{"Name": "region-name", "Values": ["us-east-1"]}]}),
    ("topology", "ec2", "describe_instance_topology", {"InstanceIds": ["i-1", "i-2"]}),
    ("vpc", "ec2", "describe_vpcs", {"Filters": [VPC]}),
    ("route-tables", "ec2", "describe_route_tables", {"Filters": [VPC, CLUSTER]}),
    ("route-table", "ec2", "describe_route_tables", {"Filters": [{"Name": "route-table-id", "Values": ["rtb-1"]}]}),
    ("route-created", "ec2", "create_route", {**TABLE, "InstanceId": "i-1"}),
    ("route-replaced", "ec2", "replace_route", {**TABLE, "InstanceId": "i-1"}),
    ("route-deleted", "ec2", "delete_route", TABLE),
    ("forwarding", "ec2", "modify_instance_attribute", {"InstanceId": "i-1", "SourceDestCheck": {"Value": False}}),
    ("volumes", "ec2", "describe_volumes", {"Filters": [{"Name": "volume-id", "Values": ["vol-1", "vol-2"]}]}),
    ("subnets", "ec2", "describe_subnets", {"Filters": [{"Name": "subnet-id", "Values": ["subnet-1", "subnet-2"]}]}),
    ("network-found", "elbv2", "describe_load_balancers", {"Names": ["a1"]}),
    ("network-page", "elbv2", "describe_load_balancers", {"PageSize": 400, "Marker": "m+/="}),
    (
        "network-created",
        "elbv2",
        "create_load_balancer",
        {
            "Name": "a1",
            "Type": "network",
            "Scheme": "internal",
            "IpAddressType": "dualstack",
            "EnablePrefixForIpv6SourceNat": "on",
            "SubnetMappings": [
                {"SubnetId": "subnet-1", "AllocationId": "eipalloc-1"},
                {"SubnetId": "subnet-2", "PrivateIPv4Address": "10.0.2.5"},
            ],
            "SecurityGroups": ["sg-1", "sg-2"],
            "Tags": TAGS,
        },
    ),
    ("network-deleted", "elbv2", "delete_load_balancer", BALANCER),
    ("network-attributes", "elbv2", "describe_load_balancer_attributes", BALANCER),
    (
        "network-modified",
        "elbv2",
        "modify_load_balancer_attributes",
        {**BALANCER, "Attributes": [{"Key": "load_balancing.cross_zone.enabled", "Value": "true"}]},
    ),
    ("network-groups", "elbv2", "set_security_groups", {**BALANCER, "SecurityGroups": ["sg-1", "sg-2"]}),
    ("network-addresses", "elbv2", "set_ip_address_type", {**BALANCER, "IpAddressType": "dualstack"}),
    ("listeners", "elbv2", "describe_listeners", BALANCER),
    (
        "listener-created",
        "elbv2",
        "create_listener",
        {
            **BALANCER,
            "Port": 443,
            "Protocol": "TLS",
            "SslPolicy": "p",
            "Certificates": [{"CertificateArn": "arn:c"}],
            "DefaultActions": FORWARD,
            "Tags": TAGS,
        },
    ),
    ("listener-modified", "elbv2", "modify_listener", {"ListenerArn": "arn:l", "DefaultActions": FORWARD}),
    ("listener-deleted", "elbv2", "delete_listener", {"ListenerArn": "arn:l"}),
    ("target-groups", "elbv2", "describe_target_groups", {"PageSize": 400}),
    (
        "target-group-created",
        "elbv2",
        "create_target_group",
        {
            "Name": "k8s-a-b-1",
            "Protocol": "TCP",
            "Port": 30080,
            "VpcId": "vpc-1",
            "TargetType": "instance",
            "IpAddressType": "ipv6",
            "HealthCheckProtocol": "HTTP",
            "HealthCheckPort": "31000",
            "HealthCheckPath": "/healthz",
            "HealthCheckIntervalSeconds": 10,
            "HealthCheckTimeoutSeconds": 6,
            "HealthyThresholdCount": 2,
            "UnhealthyThresholdCount": 3,
            "Tags": TAGS,
        },
    ),
    (
        "target-group-modified",
        "elbv2",
        "modify_target_group",
        {**GROUP, "HealthCheckPort": "80", "HealthyThresholdCount": 2, "UnhealthyThresholdCount": 3},
    ),
    ("target-group-deleted", "elbv2", "delete_target_group", GROUP),
    ("target-group-attributes", "elbv2", "describe_target_group_attributes", GROUP),
    (
        "target-group-attributes-modified",
        "elbv2",
        "modify_target_group_attributes",
        {**GROUP, "Attributes": [{"Key": "preserve_client_ip.enabled", "Value": "false"}]},
    ),
    ("targets", "elbv2", "describe_target_health", GROUP),
    ("targets-registered", "elbv2", "register_targets", {**GROUP, "Targets": TARGETS}),
    ("targets-deregistered", "elbv2", "deregister_targets", {**GROUP, "Targets": TARGETS}),
    ("tags", "elbv2", "describe_tags", {"ResourceArns": ["arn:lb", "arn:tg"]}),
    ("tags-added", "elbv2", "add_tags", {"ResourceArns": ["arn:lb", "arn:tg"], "Tags": TAGS}),
]


class Nothing:
    """The body of an answer that says nothing. Load balancing has one element around what it says."""

    def __init__(self, operation):
        self.body = f"<Answer><{operation}Result/></Answer>".encode()

    def stream(self, **_):
        return iter([self.body])


def record(client, operation, parameters):
    sent = []

    def instead_of_sending(request, **_):
        sent.append(request)
        return AWSResponse(request.url, 200, {}, Nothing(client.meta.method_to_api_mapping[operation]))

    client.meta.events.register("before-send", instead_of_sending)
    getattr(client, operation)(**parameters)
    client.meta.events.unregister("before-send", instead_of_sending)
    (request,) = sent
    body = request.body.decode() if isinstance(request.body, bytes) else request.body
    content_type = request.headers["Content-Type"]
    pairs = parse_qsl(body, keep_blank_values=True, strict_parsing=True)
    assert len(dict(pairs)) == len(pairs), f"{operation}: a name comes twice"
    return {
        "method": request.method,
        "target": "/" + request.url.split("/", 3)[3],
        "contentType": content_type.decode() if isinstance(content_type, bytes) else content_type,
        "pairs": dict(pairs),
    }


def write(name, calls):
    session = boto3.Session(aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="secret", region_name="us-east-1")
    config = Config(retries={"total_max_attempts": 1}, ignore_configured_endpoint_urls=True)
    clients, recorded = {}, {}
    for call, service, operation, parameters in calls:
        if service not in clients:
            clients[service] = session.client(service, config=config)
        recorded[call] = record(clients[service], operation, parameters)
    text = json.dumps({"sdk": f"boto3 {boto3.__version__}", "requests": recorded}, indent=1)
    (pathlib.Path(__file__).parent / name).write_text(text + "\n")


def main():
    write("requests.json", CALLS)
    write("requests-classic.json", classic_calls.CALLS)
    write("requests-volumes.json", volume_calls.CALLS)


main()
