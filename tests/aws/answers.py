"""Writes answers of AWS for tests of the AWS provider: answers.json, and those of classic_answers.py: answers-classic.json.

    target/moto/bin/python tests/aws/answers.py

What an answer says is written here by hand, in the official SDK's names. Its XML follows AWS's own description of the service, which is
part of the SDK; the SDK's parser then has to read the same out of it.
"""

import datetime
import json
import pathlib

import botocore
from botocore.loaders import Loader
from botocore.parsers import create_parser
from moto.core.model import ServiceModel
from moto.core.serialize import EC2Serializer, QuerySerializer, SerializationContext

import classic_answers

INSTANCE = {
    "InstanceId": "i-0123456789abcdef0",
    "State": {"Code": 16, "Name": "running"},
    "InstanceType": "p5.48xlarge",
    "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeId": "vol-0", "Status": "attached"}}],
    "PrivateDnsName": "ip-10-0-0-1.ec2.internal",
    "PublicDnsName": "ec2-3-3-3-3.compute-1.amazonaws.com",
    "PrivateIpAddress": "10.0.0.1",
    "PublicIpAddress": "3.3.3.3",
    "VpcId": "vpc-1",
    "SubnetId": "subnet-1",
    "Placement": {"AvailabilityZone": "us-east-1a", "AvailabilityZoneId": "use1-az6", "Tenancy": "default"},
    "SecurityGroups": [{"GroupId": "sg-1", "GroupName": "nodes"}],
    "Tags": [{"Key": "Name", "Value": "a & <b>"}, {"Key": "kubernetes.io/cluster/prod", "Value": "owned"}],
    "NetworkInterfaces": [
        {
            "NetworkInterfaceId": "eni-2",
            "Status": "in-use",
            "Attachment": {"AttachmentId": "a-2", "DeviceIndex": 1, "Status": "attached"},
            "PrivateIpAddresses": [{"Primary": True, "PrivateIpAddress": "10.0.1.1"}],
            "Ipv6Addresses": [],
        },
        {
            "NetworkInterfaceId": "eni-1",
            "Status": "in-use",
            "Attachment": {"AttachmentId": "a-1", "DeviceIndex": 0, "Status": "attached"},
            "PrivateIpAddresses": [
                {"Primary": True, "PrivateIpAddress": "10.0.0.1"},
                {"Primary": False, "PrivateIpAddress": "10.0.0.2"},
            ],
            "Ipv6Addresses": [{"Ipv6Address": "2001:db8::1"}, {"Ipv6Address": "2001:db8::2"}],
        },
    ],
}

ARN = "arn:aws:elasticloadbalancing:us-east-1:123456789012:"
BALANCER = ARN + "loadbalancer/net/a1/50dc6c495c0c9188"
GROUP = ARN + "targetgroup/k8s-default-web-0123456789/73e2d6bc24d8a067"

# Name, operation, what the answer says.
ANSWERS = [
    (
        "instances",
        "DescribeInstances",
        {
            "Reservations": [{"ReservationId": "r-1", "OwnerId": "123456789012", "Instances": [INSTANCE]}],
            "NextToken": "eyJ2IjoiMiJ9",
        },
    ),
    (
        "interfaces",
        "DescribeNetworkInterfaces",
        {
            "NetworkInterfaces": [
                {
                    "NetworkInterfaceId": "eni-9",
                    "PrivateIpAddress": "10.0.0.9",
                    "PrivateDnsName": "ip-10-0-0-9.ec2.internal",
                    "AvailabilityZone": "us-east-1a",
                    "AvailabilityZoneId": "use1-az6",
                    "Status": "in-use",
                }
            ]
        },
    ),
    (
        "topology",
        "DescribeInstanceTopology",
        {
            "Instances": [
                {
                    "InstanceId": "i-0123456789abcdef0",
                    "InstanceType": "p5.48xlarge",
                    "NetworkNodes": ["nn-1", "nn-2", "nn-3"],
                    "AvailabilityZone": "us-east-1a",
                    "ZoneId": "use1-az6",
                }
            ]
        },
    ),
    (
        "zones",
        "DescribeAvailabilityZones",
        {
            "AvailabilityZones": [
                {"ZoneName": "us-east-1a", "ZoneId": "use1-az6", "RegionName": "us-east-1", "ZoneType": "availability-zone"},
                {"ZoneName": "us-east-1b", "ZoneId": "use1-az1", "RegionName": "us-east-1", "ZoneType": "availability-zone"},
            ]
        },
    ),
    ("vpc", "DescribeVpcs", {"Vpcs": [{"VpcId": "vpc-1", "OwnerId": "123456789012", "CidrBlock": "10.0.0.0/16"}]}),
    (
        "route-tables",
        "DescribeRouteTables",
        {
            "RouteTables": [
                {
                    "RouteTableId": "rtb-1",
                    "VpcId": "vpc-1",
                    "Tags": [{"Key": "kubernetes.io/cluster/prod", "Value": "owned"}],
                    "Routes": [
                        {
                            "DestinationCidrBlock": "10.0.0.0/16",
                            "GatewayId": "local",
                            "Origin": "CreateRouteTable",
                            "State": "active",
                        },
                        {
                            "DestinationCidrBlock": "10.4.1.0/24",
                            "InstanceId": "i-1",
                            "InstanceOwnerId": "123456789012",
                            "NetworkInterfaceId": "eni-1",
                            "Origin": "CreateRoute",
                            "State": "active",
                        },
                        {
                            "DestinationCidrBlock": "10.4.2.0/24",
                            "NetworkInterfaceId": "eni-2",
                            "Origin": "CreateRoute",
                            "State": "blackhole",
                        },
                        {
                            "DestinationCidrBlock": "10.4.3.0/24",
                            "NatGatewayId": "nat-1",
                            "Origin": "CreateRoute",
                            "State": "blackhole",
                        },
                        {
                            "DestinationIpv6CidrBlock": "::/0",
                            "GatewayId": "igw-1",
                            "Origin": "CreateRoute",
                            "State": "active",
                        },
                    ],
                }
            ]
        },
    ),
    (
        "volumes",
        "DescribeVolumes",
        {
            "Volumes": [
                {
                    "VolumeId": "vol-1",
                    "AvailabilityZone": "us-east-1b",
                    "Size": 8,
                    "State": "in-use",
                    "Attachments": [
                        {
                            "VolumeId": "vol-1",
                            "InstanceId": "i-1",
                            "Device": "/dev/xvdaa",
                            "State": "attaching",
                            "AttachTime": datetime.datetime(2026, 8, 20, 9, 30, 12, tzinfo=datetime.UTC),
                        }
                    ],
                    "Tags": [{"Key": "CSIVolumeName", "Value": "pvc-1"}, {"Key": "Name", "Value": "a & b"}],
                }
            ]
        },
    ),
    (
        "volume-changes",
        "DescribeVolumesModifications",
        {
            "VolumesModifications": [
                {
                    "VolumeId": "vol-1",
                    "ModificationState": "failed",
                    "StatusMessage": "no room",
                    "StartTime": datetime.datetime(2026, 8, 20, 9, 30, 12, tzinfo=datetime.UTC),
                },
                {
                    "VolumeId": "vol-1",
                    "ModificationState": "optimizing",
                    "StartTime": datetime.datetime(2026, 8, 20, 10, 30, 12, tzinfo=datetime.UTC),
                },
            ]
        },
    ),
    (
        "subnets",
        "DescribeSubnets",
        {
            "Subnets": [
                {
                    "SubnetId": "subnet-1",
                    "VpcId": "vpc-1",
                    "AvailabilityZone": "us-east-1a",
                    "CidrBlock": "10.0.1.0/24",
                    "Ipv6CidrBlockAssociationSet": [
                        {
                            "AssociationId": "subnet-cidr-assoc-1",
                            "Ipv6CidrBlock": "2001:db8:1::/64",
                            "Ipv6CidrBlockState": {"State": "associated"},
                        },
                        {
                            "AssociationId": "subnet-cidr-assoc-2",
                            "Ipv6CidrBlock": "2001:db8:2::/64",
                            "Ipv6CidrBlockState": {"State": "disassociated"},
                        },
                    ],
                    "Tags": [{"Key": "kubernetes.io/role/elb", "Value": "1"}],
                }
            ]
        },
    ),
]

# The same of load balancing in its version of 2015.
NETWORK_ANSWERS = [
    (
        "load-balancers",
        "DescribeLoadBalancers",
        {
            "LoadBalancers": [
                {
                    "LoadBalancerArn": BALANCER,
                    "LoadBalancerName": "a1",
                    "DNSName": "a1-50dc6c495c0c9188.elb.us-east-1.amazonaws.com",
                    "CanonicalHostedZoneId": "Z26RNL4JYFTOTI",
                    "Scheme": "internet-facing",
                    "VpcId": "vpc-1",
                    "State": {"Code": "provisioning", "Reason": "It takes a while"},
                    "Type": "network",
                    "AvailabilityZones": [
                        {
                            "ZoneName": "us-east-1a",
                            "SubnetId": "subnet-1",
                            "LoadBalancerAddresses": [{"IpAddress": "3.3.3.3", "AllocationId": "eipalloc-1"}],
                        },
                        {"ZoneName": "us-east-1b", "SubnetId": "subnet-2", "LoadBalancerAddresses": []},
                    ],
                    "SecurityGroups": ["sg-1", "sg-2"],
                    "IpAddressType": "dualstack",
                }
            ],
            "NextMarker": "m+/=",
        },
    ),
    (
        "listeners",
        "DescribeListeners",
        {
            "Listeners": [
                {
                    "ListenerArn": ARN + "listener/net/a1/50dc6c495c0c9188/f2f7dc8efc522ab2",
                    "LoadBalancerArn": BALANCER,
                    "Port": 443,
                    "Protocol": "TLS",
                    "Certificates": [{"CertificateArn": "arn:aws:acm:us-east-1:123456789012:certificate/1"}],
                    "SslPolicy": "ELBSecurityPolicy-2016-08",
                    "DefaultActions": [
                        {
                            "Type": "forward",
                            "TargetGroupArn": GROUP,
                            "ForwardConfig": {"TargetGroups": [{"TargetGroupArn": GROUP}]},
                        }
                    ],
                }
            ]
        },
    ),
    (
        "target-groups",
        "DescribeTargetGroups",
        {
            "TargetGroups": [
                {
                    "TargetGroupArn": GROUP,
                    "TargetGroupName": "k8s-default-web-0123456789",
                    "Protocol": "TCP",
                    "Port": 30080,
                    "VpcId": "vpc-1",
                    "HealthCheckProtocol": "HTTP",
                    "HealthCheckPort": "31000",
                    "HealthCheckEnabled": True,
                    "HealthCheckIntervalSeconds": 10,
                    "HealthCheckTimeoutSeconds": 6,
                    "HealthyThresholdCount": 2,
                    "UnhealthyThresholdCount": 3,
                    "HealthCheckPath": "/healthz",
                    "Matcher": {"HttpCode": "200-399"},
                    "LoadBalancerArns": [BALANCER],
                    "TargetType": "instance",
                    "IpAddressType": "ipv4",
                }
            ]
        },
    ),
    (
        "tags",
        "DescribeTags",
        {
            "TagDescriptions": [
                {"ResourceArn": BALANCER, "Tags": [{"Key": "kubernetes.io/service-name", "Value": "a/b & c"}]},
                {"ResourceArn": GROUP, "Tags": []},
            ]
        },
    ),
    (
        "target-health",
        "DescribeTargetHealth",
        {
            "TargetHealthDescriptions": [
                {
                    "Target": {"Id": "i-1", "Port": 30080},
                    "HealthCheckPort": "31000",
                    "TargetHealth": {"State": "healthy"},
                },
                {
                    "Target": {"Id": "i-2", "Port": 30080},
                    "HealthCheckPort": "31000",
                    "TargetHealth": {
                        "State": "draining",
                        "Reason": "Target.DeregistrationInProgress",
                        "Description": "Target deregistration is in progress",
                    },
                },
            ]
        },
    ),
    (
        "attributes",
        "DescribeLoadBalancerAttributes",
        {
            "Attributes": [
                {"Key": "access_logs.s3.prefix", "Value": ""},
                {"Key": "load_balancing.cross_zone.enabled", "Value": "true"},
            ]
        },
    ),
    (
        "group-attributes",
        "DescribeTargetGroupAttributes",
        {"Attributes": [{"Key": "preserve_client_ip.enabled", "Value": "false"}]},
    ),
]


def only_known(shape, value):
    """Ends with the name of a field that AWS does not describe."""
    if shape.type_name == "structure":
        for name, field in value.items():
            assert name in shape.members, f"{shape.name} has no {name}"
            only_known(shape.members[name], field)
    elif shape.type_name == "list":
        for item in value:
            only_known(shape.member, item)


def write(service, protocol, operation, says):
    described = service.operation_model(operation)
    only_known(described.output_shape, says)
    context = SerializationContext("59dbff89-35bd-4eac-99ed-be587EXAMPLE")
    serializer = {"ec2": EC2Serializer, "query": QuerySerializer}[protocol](operation_model=described, context=context)
    xml = serializer.serialize(says)["body"]
    response = {"body": xml.encode(), "headers": {}, "status_code": 200}
    read = create_parser(protocol).parse(response, described.output_shape)
    read.pop("ResponseMetadata")
    assert read == says, f"{operation}: {read} instead of {says}"
    return xml


def save(name, services):
    answers = {}
    for service, protocol, listed in services:
        model = ServiceModel(Loader().load_service_model(service, "service-2"), service)
        answers |= {answer: write(model, protocol, operation, says) for answer, operation, says in listed}
    text = json.dumps({"sdk": f"botocore {botocore.__version__}", "answers": answers}, indent=1)
    (pathlib.Path(__file__).parent / name).write_text(text + "\n")


def main():
    save("answers.json", [("ec2", "ec2", ANSWERS), ("elbv2", "query", NETWORK_ANSWERS)])
    classic = [("ec2", "ec2", classic_answers.GROUPS), ("elb", "query", classic_answers.BALANCERS)]
    save("answers-classic.json", classic)


main()
