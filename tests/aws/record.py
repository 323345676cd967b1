"""Records the requests that the official SDK sends for the calls that the AWS provider makes: requests.json, and those for Classic Load
Balancers and security groups: requests-classic.json.

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

CLUSTER = {"Name": "tag-key", "Values": ["kubernetes.io/cluster/prod"]}
ALIVE = {"Name": "instance-state-name", "Values": ["pending", "running", "shutting-down", "stopping", "stopped"]}
VPC = {"Name": "vpc-id", "Values": ["vpc-1"]}
TABLE = {"RouteTableId": "rtb-1", "DestinationCidrBlock": "10.4.1.0/24"}

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
]


NAME = {"LoadBalancerName": "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1"}
NAMES = {"LoadBalancerNames": ["a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1"]}
TAGS = [
    {"Key": "aerostat.dev/cluster-uid", "Value": "c1a5e000-1111-2222-3333-444455556666"},
    {"Key": "aerostat.dev/service-uid", "Value": "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11"},
    {"Key": "kubernetes.io/cluster/prod", "Value": "owned"},
    {"Key": "kubernetes.io/service-name", "Value": "default/web"},
]
EVERYWHERE = [{"CidrIp": "0.0.0.0/0"}]
GIVEN = {"GroupId": "sg-given", "Description": "aerostat.dev/rule/elb"}


def listener(protocol, port, instance_protocol, instance_port, **certificate):
    return {
        "Protocol": protocol,
        "LoadBalancerPort": port,
        "InstanceProtocol": instance_protocol,
        "InstancePort": instance_port,
        **certificate,
    }


def permission(protocol, first, last, **peers):
    return {"IpProtocol": protocol, "FromPort": first, "ToPort": last, **peers}


# The same for Classic Load Balancers and security groups.
CLASSIC_CALLS = [
    (
        "group-named",
        "ec2",
        "describe_security_groups",
        {
            "Filters": [{"Name": "group-name", "Values": ["k8s-elb-" + NAME["LoadBalancerName"]]}, VPC],
            "MaxResults": 1000,
        },
    ),
    ("groups-tagged", "ec2", "describe_security_groups", {"Filters": [VPC, CLUSTER], "MaxResults": 1000}),
    (
        "groups-referring",
        "ec2",
        "describe_security_groups",
        {"Filters": [{"Name": "ip-permission.group-id", "Values": ["sg-1"]}], "MaxResults": 1000},
    ),
    (
        "group-created",
        "ec2",
        "create_security_group",
        {
            "GroupName": "k8s-elb-" + NAME["LoadBalancerName"],
            "Description": f"Security group for Kubernetes ELB {NAME['LoadBalancerName']} (default/web)",
            "VpcId": "vpc-1",
            "TagSpecifications": [{"ResourceType": "security-group", "Tags": TAGS}],
        },
    ),
    (
        "group-tagged",
        "ec2",
        "create_tags",
        {"Resources": ["sg-1"], "Tags": [tag for tag in TAGS if "uid" in tag["Key"] or "service" in tag["Key"]]},
    ),
    (
        "rules-added",
        "ec2",
        "authorize_security_group_ingress",
        {
            "GroupId": "sg-1",
            "IpPermissions": [
                permission("icmp", 3, 4, IpRanges=EVERYWHERE),
                permission("tcp", 80, 80, IpRanges=EVERYWHERE),
            ],
        },
    ),
    (
        "rule-of-ipv6-added",
        "ec2",
        "authorize_security_group_ingress",
        {"GroupId": "sg-1", "IpPermissions": [permission("tcp", 80, 80, Ipv6Ranges=[{"CidrIpv6": "2001:db8::/32"}])]},
    ),
    (
        "rules-of-nodes-added",
        "ec2",
        "authorize_security_group_ingress",
        {"GroupId": "sg-nodes", "IpPermissions": [{"IpProtocol": "-1", "UserIdGroupPairs": [GIVEN]}]},
    ),
    (
        "rules-of-nodes-revoked",
        "ec2",
        "revoke_security_group_ingress",
        {"GroupId": "sg-nodes", "IpPermissions": [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-1"}]}]},
    ),
    ("group-deleted", "ec2", "delete_security_group", {"GroupId": "sg-1"}),
    ("found", "elb", "describe_load_balancers", NAMES),
    ("listed", "elb", "describe_load_balancers", {"PageSize": 400}),
    ("tags", "elb", "describe_tags", NAMES),
    ("attributes", "elb", "describe_load_balancer_attributes", NAME),
    (
        "created",
        "elb",
        "create_load_balancer",
        {
            **NAME,
            "Listeners": [listener("tcp", 80, "tcp", 30080)],
            "Subnets": ["subnet-1", "subnet-2"],
            "SecurityGroups": ["sg-1"],
            "Tags": TAGS,
        },
    ),
    (
        "created-internal",
        "elb",
        "create_load_balancer",
        {
            **NAME,
            "Listeners": [listener("https", 443, "http", 30443, SSLCertificateId="arn:c")],
            "Subnets": ["subnet-1", "subnet-2"],
            "SecurityGroups": ["sg-1"],
            "Scheme": "internal",
            "Tags": TAGS,
        },
    ),
    ("deleted", "elb", "delete_load_balancer", NAME),
    ("tagged", "elb", "add_tags", {**NAMES, "Tags": [{"Key": "team", "Value": "a"}]}),
    ("subnets-attached", "elb", "attach_load_balancer_to_subnets", {**NAME, "Subnets": ["subnet-1"]}),
    ("subnets-detached", "elb", "detach_load_balancer_from_subnets", {**NAME, "Subnets": ["subnet-9"]}),
    ("groups-set", "elb", "apply_security_groups_to_load_balancer", {**NAME, "SecurityGroups": ["sg-given", "sg-x"]}),
    (
        "listeners-added",
        "elb",
        "create_load_balancer_listeners",
        {**NAME, "Listeners": [listener("tcp", 81, "tcp", 30080)]},
    ),
    ("listeners-removed", "elb", "delete_load_balancer_listeners", {**NAME, "LoadBalancerPorts": [80]}),
    (
        "certificate-set",
        "elb",
        "set_load_balancer_listener_ssl_certificate",
        {**NAME, "LoadBalancerPort": 443, "SSLCertificateId": "arn:d"},
    ),
    (
        "proxy-policy-created",
        "elb",
        "create_load_balancer_policy",
        {
            **NAME,
            "PolicyName": "k8s-proxyprotocol-enabled",
            "PolicyTypeName": "ProxyProtocolPolicyType",
            "PolicyAttributes": [{"AttributeName": "ProxyProtocol", "AttributeValue": "true"}],
        },
    ),
    (
        "proxy-policy-set",
        "elb",
        "set_load_balancer_policies_for_backend_server",
        {**NAME, "InstancePort": 30080, "PolicyNames": ["k8s-proxyprotocol-enabled"]},
    ),
    (
        "proxy-policy-removed",
        "elb",
        "set_load_balancer_policies_for_backend_server",
        {**NAME, "InstancePort": 30080, "PolicyNames": []},
    ),
    (
        "tls-policy-created",
        "elb",
        "create_load_balancer_policy",
        {
            **NAME,
            "PolicyName": "k8s-SSLNegotiationPolicy-p",
            "PolicyTypeName": "SSLNegotiationPolicyType",
            "PolicyAttributes": [{"AttributeName": "Reference-Security-Policy", "AttributeValue": "p"}],
        },
    ),
    (
        "tls-policy-set",
        "elb",
        "set_load_balancer_policies_of_listener",
        {**NAME, "LoadBalancerPort": 443, "PolicyNames": ["k8s-SSLNegotiationPolicy-p"]},
    ),
    (
        "health-check-set",
        "elb",
        "configure_health_check",
        {
            **NAME,
            "HealthCheck": {
                "Target": "TCP:30080",
                "Interval": 10,
                "Timeout": 5,
                "UnhealthyThreshold": 6,
                "HealthyThreshold": 2,
            },
        },
    ),
    (
        "attributes-set",
        "elb",
        "modify_load_balancer_attributes",
        {
            **NAME,
            "LoadBalancerAttributes": {
                "CrossZoneLoadBalancing": {"Enabled": True},
                "AccessLog": {"Enabled": True, "EmitInterval": 5, "S3BucketName": "b", "S3BucketPrefix": "p"},
                "ConnectionDraining": {"Enabled": True, "Timeout": 30},
                "ConnectionSettings": {"IdleTimeout": 90},
            },
        },
    ),
    (
        "instances-registered",
        "elb",
        "register_instances_with_load_balancer",
        {**NAME, "Instances": [{"InstanceId": "i-1"}, {"InstanceId": "i-2"}]},
    ),
    (
        "instances-deregistered",
        "elb",
        "deregister_instances_from_load_balancer",
        {**NAME, "Instances": [{"InstanceId": "i-2"}]},
    ),
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
    write("requests-classic.json", CLASSIC_CALLS)


main()
