"""What answers.py writes about Classic Load Balancers and security groups: answers-classic.json."""

NAME = "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1"
POLICIES = ["k8s-SSLNegotiationPolicy-p", "k8s-proxyprotocol-enabled"]

# Name, operation, what the answer says.
GROUPS = [
    (
        "groups",
        "DescribeSecurityGroups",
        {
            "SecurityGroups": [
                {
                    "GroupId": "sg-1",
                    "GroupName": "k8s-elb-" + NAME,
                    "Description": "Security group for Kubernetes ELB",
                    "OwnerId": "123456789012",
                    "VpcId": "vpc-1",
                    "IpPermissions": [
                        {
                            "IpProtocol": "tcp",
                            "FromPort": 80,
                            "ToPort": 81,
                            "UserIdGroupPairs": [],
                            "IpRanges": [{"CidrIp": "10.0.0.0/8", "Description": "a & b"}, {"CidrIp": "11.0.0.0/8"}],
                            "Ipv6Ranges": [{"CidrIpv6": "2001:db8::/32"}],
                            "PrefixListIds": [{"PrefixListId": "pl-1"}],
                        },
                        {"IpProtocol": "icmp", "FromPort": 3, "ToPort": 4, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]},
                        {
                            "IpProtocol": "-1",
                            "UserIdGroupPairs": [{"GroupId": "sg-2", "UserId": "123456789012", "Description": "d"}],
                        },
                    ],
                    "IpPermissionsEgress": [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}],
                    "Tags": [{"Key": "kubernetes.io/cluster/prod", "Value": "owned"}],
                }
            ],
        },
    ),
    ("group-created", "CreateSecurityGroup", {"GroupId": "sg-1", "Tags": [{"Key": "k", "Value": "v"}]}),
]

# The same of load balancing in its version of 2012.
BALANCERS = [
    (
        "load-balancers",
        "DescribeLoadBalancers",
        {
            "LoadBalancerDescriptions": [
                {
                    "LoadBalancerName": NAME,
                    "DNSName": NAME + "-1.us-east-1.elb.amazonaws.com",
                    "CanonicalHostedZoneName": NAME + "-1.us-east-1.elb.amazonaws.com",
                    "CanonicalHostedZoneNameID": "Z35SXDOTRQ7X7K",
                    "ListenerDescriptions": [
                        {
                            "Listener": {
                                "Protocol": "HTTPS",
                                "LoadBalancerPort": 443,
                                "InstanceProtocol": "HTTP",
                                "InstancePort": 30443,
                                "SSLCertificateId": "arn:c",
                            },
                            "PolicyNames": POLICIES[:1],
                        },
                        {"Listener": {"Protocol": "TCP", "LoadBalancerPort": 80, "InstancePort": 30080}, "PolicyNames": []},
                    ],
                    "Policies": {
                        "AppCookieStickinessPolicies": [{"PolicyName": "a", "CookieName": "c"}],
                        "LBCookieStickinessPolicies": [],
                        "OtherPolicies": POLICIES,
                    },
                    "BackendServerDescriptions": [{"InstancePort": 30080, "PolicyNames": POLICIES[1:]}],
                    "AvailabilityZones": ["us-east-1a", "us-east-1b"],
                    "Subnets": ["subnet-1", "subnet-2"],
                    "VPCId": "vpc-1",
                    "Instances": [{"InstanceId": "i-1"}, {"InstanceId": "i-2"}],
                    "HealthCheck": {
                        "Target": "HTTP:10256/healthz",
                        "Interval": 10,
                        "Timeout": 5,
                        "UnhealthyThreshold": 6,
                        "HealthyThreshold": 2,
                    },
                    "SourceSecurityGroup": {"OwnerAlias": "123456789012", "GroupName": "k8s-elb"},
                    "SecurityGroups": ["sg-1", "sg-2"],
                    "Scheme": "internal",
                }
            ],
            "NextMarker": "m+/=",
        },
    ),
    (
        "tags",
        "DescribeTags",
        {
            "TagDescriptions": [
                {
                    "LoadBalancerName": NAME,
                    "Tags": [{"Key": "kubernetes.io/service-name", "Value": "a/b & c"}, {"Key": "k", "Value": ""}],
                }
            ]
        },
    ),
    (
        "attributes",
        "DescribeLoadBalancerAttributes",
        {
            "LoadBalancerAttributes": {
                "CrossZoneLoadBalancing": {"Enabled": True},
                "AccessLog": {"Enabled": True, "S3BucketName": "b", "EmitInterval": 5, "S3BucketPrefix": "p"},
                "ConnectionDraining": {"Enabled": False, "Timeout": 300},
                "ConnectionSettings": {"IdleTimeout": 60},
                "AdditionalAttributes": [{"Key": "elb.http.desyncmitigationmode", "Value": "defensive"}],
            }
        },
    ),
]
