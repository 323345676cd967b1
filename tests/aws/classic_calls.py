"""What record.py records for Classic Load Balancers and security groups: requests-classic.json."""

CLUSTER = {"Name": "tag-key", "Values": ["kubernetes.io/cluster/prod"]}
VPC = {"Name": "vpc-id", "Values": ["vpc-1"]}
CERTIFICATE = "arn:aws:iam::123456789012:server-certificate/"
NAME = {"LoadBalancerName": "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1"}
NAMES = {"LoadBalancerNames": ["a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1"]}
SERVICE_TAGS = [
    {"Key": "aerostat.dev/cluster-uid", "Value": "c1a5e000-1111-2222-3333-444455556666"},
    {"Key": "aerostat.dev/service-uid", "Value": "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11"},
    {"Key": "kubernetes.io/cluster/prod", "Value": "owned"},
    {"Key": "kubernetes.io/service-name", "Value": "default/web"},
]
EVERYWHERE = [{"CidrIp": "0.0.0.0/0"}]
GIVEN = {"GroupId": "sg-given", "Description": "aerostat.dev/rule/elb=" + NAME["LoadBalancerName"]}


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


# Name of the recording, service, operation, parameters.
CALLS = [
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
            "TagSpecifications": [{"ResourceType": "security-group", "Tags": SERVICE_TAGS}],
        },
    ),
    (
        "group-tagged",
        "ec2",
        "create_tags",
        {"Resources": ["sg-1"], "Tags": [tag for tag in SERVICE_TAGS if "uid" in tag["Key"] or "service" in tag["Key"]]},
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
        {"GroupId": "sg-nodes", "IpPermissions": [permission("tcp", 30080, 30080, UserIdGroupPairs=[GIVEN])]},
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
            "Tags": SERVICE_TAGS,
        },
    ),
    (
        "created-internal",
        "elb",
        "create_load_balancer",
        {
            **NAME,
            "Listeners": [listener("https", 443, "http", 30443, SSLCertificateId=CERTIFICATE + "c")],
            "Subnets": ["subnet-1", "subnet-2"],
            "SecurityGroups": ["sg-1"],
            "Scheme": "internal",
            "Tags": SERVICE_TAGS,
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
        {**NAME, "LoadBalancerPort": 443, "SSLCertificateId": CERTIFICATE + "d"},
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
