"""Writes answers of AWS for tests of the AWS provider: answers.json.

    target/moto/bin/python tests/aws/answers.py

What an answer says is written here by hand, in the official SDK's names. Its XML follows AWS's own description of the service, which is
part of the SDK; the SDK's parser then has to read the same out of it.
"""

import json
import pathlib

import botocore
from botocore.loaders import Loader
from botocore.parsers import create_parser
from moto.core.model import ServiceModel
from moto.core.serialize import EC2Serializer, SerializationContext

INSTANCE = {
    "InstanceId": "i-0123456789abcdef0",
    "State": {"Code": 16, "Name": "running"},
    "InstanceType": "p5.48xlarge",
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
        {"Volumes": [{"VolumeId": "vol-1", "AvailabilityZone": "us-east-1b", "Size": 8, "State": "in-use"}]},
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


def write(service, operation, says):
    described = service.operation_model(operation)
    only_known(described.output_shape, says)
    serializer = EC2Serializer(operation_model=described, context=SerializationContext("59dbff89-35bd-4eac-99ed-be587EXAMPLE"))
    xml = serializer.serialize(says)["body"]
    response = {"body": xml.encode(), "headers": {}, "status_code": 200}
    read = create_parser("ec2").parse(response, described.output_shape)
    read.pop("ResponseMetadata")
    assert read == says, f"{operation}: {read} instead of {says}"
    return xml


def main():
    service = ServiceModel(Loader().load_service_model("ec2", "service-2"), "ec2")
    answers = {name: write(service, operation, says) for name, operation, says in ANSWERS}
    text = json.dumps({"sdk": f"botocore {botocore.__version__}", "answers": answers}, indent=1)
    (pathlib.Path(__file__).parent / "answers.json").write_text(text + "\n")


main()
