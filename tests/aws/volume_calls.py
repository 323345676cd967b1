"""What record.py records for volumes of claims: requests-volumes.json."""

TAGS = [{"Key": "a", "Value": "b c/+=@"}, {"Key": "k", "Value": ""}]

# Name of the recording, service, operation, parameters.
CALLS = [
    ("vpc", "ec2", "describe_vpcs", {"Filters": [{"Name": "vpc-id", "Values": ["vpc-1"]}]}),
    ("volumes-by-id", "ec2", "describe_volumes", {"Filters": [{"Name": "volume-id", "Values": ["vol-1", "vol-2"]}]}),
    ("volume-by-id", "ec2", "describe_volumes", {"VolumeIds": ["vol-1"]}),
    ("volumes-by-name", "ec2", "describe_volumes", {"Filters": [{"Name": "tag:CSIVolumeName", "Values": ["pvc-1"]}]}),
    (
        "volumes-of-the-cluster",
        "ec2",
        "describe_volumes",
        {
            "Filters": [{"Name": "tag-key", "Values": ["ebs.csi.aws.com/cluster", "kubernetes.io/cluster/prod"]}],
            "MaxResults": 500,
            "NextToken": "m+/=",
        },
    ),
    (
        "volume-created",
        "ec2",
        "create_volume",
        {
            "AvailabilityZone": "us-east-1a",
            "ClientToken": "t",
            "Size": 10,
            "VolumeType": "io2",
            "Iops": 500,
            "Throughput": 125,
            "Encrypted": True,
            "KmsKeyId": "arn:k",
            "TagSpecifications": [{"ResourceType": "volume", "Tags": TAGS}],
        },
    ),
    ("volume-deleted", "ec2", "delete_volume", {"VolumeId": "vol-1"}),
    ("volume-attached", "ec2", "attach_volume", {"VolumeId": "vol-1", "InstanceId": "i-1", "Device": "/dev/xvdaa"}),
    ("volume-detached", "ec2", "detach_volume", {"VolumeId": "vol-1", "InstanceId": "i-1"}),
    ("volume-enlarged", "ec2", "modify_volume", {"VolumeId": "vol-1", "Size": 12}),
    (
        "volume-changes",
        "ec2",
        "describe_volumes_modifications",
        {"Filters": [{"Name": "volume-id", "Values": ["vol-1"]}]},
    ),
    ("devices", "ec2", "describe_instances", {"Filters": [{"Name": "instance-id", "Values": ["i-1"]}]}),
]
