{{- /* AWS: its endpoints, their rules and its credentials, as cloud.yaml has them. */ -}}
{{- define "aerostat.preset.aws" -}}
{{- $settings := (include "aerostat.settings" . | fromYaml).settings }}
{{- $region := $settings.region | default "" }}
{{- $domain := ternary "amazonaws.com.cn" "amazonaws.com" (hasPrefix "cn-" $region) -}}
apiVersion: aerostat.dev/v1alpha1
kind: CloudConfig
provider:
  {{- include "aerostat.module" . | nindent 2 }}
  # The module is refused if it claims the nodes of any other cloud. "" stands for ids without a scheme: i-….
  providerIDPrefixes: ["aws://", ""]
  # No loadBalancerAddresses: AWS's load balancers are reached by names, and a node gets none of their traffic for those.
  {{- include "aerostat.settings" . | nindent 2 }}
    # What authors of Services may name in annotations, which is nothing unless it stands here:
    # loadBalancers.allowedSecurityGroups: sg-0123456789abcdef0
    # loadBalancers.allowedCertificates: arn:aws:acm:eu-central-1:123456789012:certificate/*
    # loadBalancers.allowedElasticIPs: eipalloc-0123456789abcdef0
    # loadBalancers.allowedLogBuckets: load-balancer-logs
    # loadBalancers.allowedHealthCheckPorts: 8080,10256     ports in healthcheck-port that are no node ports of the Service
    # routeTable: rtb-0123456789abcdef0     where routes go, if several tables have the cluster's tag
endpoints:
  - name: ec2
    baseUrl: {{ printf "https://ec2.%s.%s" $region $domain | quote }}
    credential: aws
    signing: { region: {{ $region | quote }}, service: ec2 }
    operation: { parameter: Action }
    parameters: { Version: 2016-11-15 }
    allow:
      # Nodes and volumes: their instances, and where these are.
      - methods: [POST]
        paths: [/]
        operations:
          - DescribeAvailabilityZones
          - DescribeInstances
          - DescribeInstanceTopology
          - DescribeNetworkInterfaces
          - DescribeVolumes
          - DescribeVpcs
        effect: read
      # Routes of pods; and which subnets are public.
      - { methods: [POST], paths: [/], operations: [DescribeRouteTables], effect: read }
      - methods: [POST]
        paths: [/]
        operations: [CreateRoute, ReplaceRoute]
        effect: update
        only: [DestinationCidrBlock]
        where: { InstanceId: [i-*], RouteTableId: [rtb-*] }
      - methods: [POST]
        paths: [/]
        operations: [ModifyInstanceAttribute]
        effect: update
        where: { InstanceId: [i-*], SourceDestCheck.Value: ["false"] }
      - methods: [POST]
        paths: [/]
        operations: [DeleteRoute]
        effect: detach
        only: [DestinationCidrBlock]
        where: { RouteTableId: [rtb-*] }
      # Load balancers of Services: their subnets, and what lets them in.
      - { methods: [POST], paths: [/], operations: [DescribeSecurityGroups, DescribeSubnets], effect: read }
      # Networks: some ports, never all protocols.
      - methods: [POST]
        paths: [/]
        operations: [AuthorizeSecurityGroupIngress]
        effect: update
        only:
          - IpPermissions.*.FromPort
          - IpPermissions.*.IpRanges.*.CidrIp
          - IpPermissions.*.IpRanges.*.Description
          - IpPermissions.*.Ipv6Ranges.*.CidrIpv6
          - IpPermissions.*.Ipv6Ranges.*.Description
          - IpPermissions.*.ToPort
        where: { GroupId: [sg-*], IpPermissions.*.IpProtocol: [tcp, udp, icmp] }
      # Members of a security group: all that comes from them.
      - methods: [POST]
        paths: [/]
        operations: [AuthorizeSecurityGroupIngress]
        effect: update
        only: [IpPermissions.*.FromPort, IpPermissions.*.Groups.*.Description, IpPermissions.*.ToPort]
        where: { GroupId: [sg-*], IpPermissions.*.Groups.*.GroupId: [sg-*], IpPermissions.*.IpProtocol: [tcp, udp, "-1"] }
      - methods: [POST]
        paths: [/]
        operations: [CreateSecurityGroup]
        effect: write
        only: [GroupDescription, TagSpecification.1.Tag.*.Key, TagSpecification.1.Tag.*.Value]
        where: { GroupName: [k8s-*], TagSpecification.1.ResourceType: [security-group], VpcId: [{{ $settings.vpc | default "" | quote }}] }
      - methods: [POST]
        paths: [/]
        operations: [CreateTags]
        effect: update
        only: [Tag.*.Value]
        where:
          ResourceId.1: [sg-*]
          Tag.*.Key:
            - {{ printf "kubernetes.io/cluster/%s" (default "" $settings.clusterID) | quote }}
            - KubernetesCluster
            - kubernetes.io/service-name
            - aerostat.dev/cluster-uid
            - aerostat.dev/service-uid
      - methods: [POST]
        paths: [/]
        operations: [DeleteSecurityGroup]
        effect: delete
        where: { GroupId: [sg-*] }
      - methods: [POST]
        paths: [/]
        operations: [RevokeSecurityGroupIngress]
        effect: detach
        only: [IpPermissions.*]
        where: { GroupId: [sg-*] }
  # Network Load Balancers.
  - name: elbv2
    baseUrl: {{ printf "https://elasticloadbalancing.%s.%s" $region $domain | quote }}
    credential: aws
    signing: { region: {{ $region | quote }}, service: elasticloadbalancing }
    operation: { parameter: Action }
    parameters: { Version: 2015-12-01 }
    allow:
      - methods: [POST]
        paths: [/]
        operations:
          - DescribeListeners
          - DescribeLoadBalancerAttributes
          - DescribeLoadBalancers
          - DescribeTags
          - DescribeTargetGroupAttributes
          - DescribeTargetGroups
          - DescribeTargetHealth
        effect: read
      - methods: [POST]
        paths: [/]
        operations: [AddTags]
        effect: update
        only: [Tags.member.*.Key, Tags.member.*.Value]
        where: { ResourceArns.member.*: ["arn:*:loadbalancer/net/*", "arn:*:targetgroup/k8s-*"] }
      - methods: [POST]
        paths: [/]
        operations: [CreateListener]
        effect: update
        only: [Certificates.member.1.CertificateArn, Port, Protocol, SslPolicy, Tags.member.*.Key, Tags.member.*.Value]
        where:
          DefaultActions.member.1.TargetGroupArn: ["arn:*:targetgroup/k8s-*"]
          DefaultActions.member.1.Type: [forward]
          LoadBalancerArn: ["arn:*:loadbalancer/net/*"]
      - methods: [POST]
        paths: [/]
        operations: [CreateLoadBalancer]
        effect: write
        only:
          - EnablePrefixForIpv6SourceNat
          - IpAddressType
          - Name
          - SubnetMappings.member.*.PrivateIPv4Address
          - Tags.member.*.Key
          - Tags.member.*.Value
        where:
          Scheme: [internal]
          SecurityGroups.member.*: [sg-*]
          SubnetMappings.member.*.AllocationId: [eipalloc-*]
          SubnetMappings.member.*.SubnetId: [subnet-*]
          Type: [network]
      - methods: [POST]
        paths: [/]
        operations: [CreateTargetGroup]
        effect: update
        only:
          - HealthCheck*
          - HealthyThresholdCount
          - IpAddressType
          - Port
          - Protocol
          - Tags.member.*.Key
          - Tags.member.*.Value
          - UnhealthyThresholdCount
        where: { Name: [k8s-*], TargetType: [instance], VpcId: [{{ $settings.vpc | default "" | quote }}] }
      - methods: [POST]
        paths: [/]
        operations: [ModifyListener]
        effect: update
        only: [Certificates.member.1.CertificateArn, Protocol, SslPolicy]
        where:
          DefaultActions.member.1.TargetGroupArn: ["arn:*:targetgroup/k8s-*"]
          DefaultActions.member.1.Type: [forward]
          ListenerArn: ["arn:*:listener/net/*"]
      - methods: [POST]
        paths: [/]
        operations: [ModifyLoadBalancerAttributes]
        effect: update
        only: [Attributes.member.*.Key, Attributes.member.*.Value]
        where: { LoadBalancerArn: ["arn:*:loadbalancer/net/*"] }
      - methods: [POST]
        paths: [/]
        operations: [ModifyTargetGroup]
        effect: update
        only: [HealthCheck*, HealthyThresholdCount, UnhealthyThresholdCount]
        where: { TargetGroupArn: ["arn:*:targetgroup/k8s-*"] }
      - methods: [POST]
        paths: [/]
        operations: [ModifyTargetGroupAttributes]
        effect: update
        only: [Attributes.member.*.Key, Attributes.member.*.Value]
        where: { TargetGroupArn: ["arn:*:targetgroup/k8s-*"] }
      - methods: [POST]
        paths: [/]
        operations: [RegisterTargets]
        effect: update
        only: [Targets.member.*.Port]
        where: { TargetGroupArn: ["arn:*:targetgroup/k8s-*"], Targets.member.*.Id: [i-*] }
      - methods: [POST]
        paths: [/]
        operations: [SetIpAddressType]
        effect: update
        only: [IpAddressType]
        where: { LoadBalancerArn: ["arn:*:loadbalancer/net/*"] }
      - methods: [POST]
        paths: [/]
        operations: [SetSecurityGroups]
        effect: detach
        where: { LoadBalancerArn: ["arn:*:loadbalancer/net/*"], SecurityGroups.member.*: [sg-*] }
      - methods: [POST]
        paths: [/]
        operations: [DeleteListener]
        effect: detach
        where: { ListenerArn: ["arn:*:listener/net/*"] }
      - methods: [POST]
        paths: [/]
        operations: [DeleteLoadBalancer]
        effect: delete
        where: { LoadBalancerArn: ["arn:*:loadbalancer/net/*"] }
      - methods: [POST]
        paths: [/]
        operations: [DeleteTargetGroup]
        effect: detach
        where: { TargetGroupArn: ["arn:*:targetgroup/k8s-*"] }
      - methods: [POST]
        paths: [/]
        operations: [DeregisterTargets]
        effect: detach
        only: [Targets.member.*.Port]
        where: { TargetGroupArn: ["arn:*:targetgroup/k8s-*"], Targets.member.*.Id: [i-*] }
  # Classic Load Balancers: the same host, in another version.
  - name: elb
    baseUrl: {{ printf "https://elasticloadbalancing.%s.%s" $region $domain | quote }}
    credential: aws
    signing: { region: {{ $region | quote }}, service: elasticloadbalancing }
    operation: { parameter: Action }
    parameters: { Version: 2012-06-01 }
    allow:
      - methods: [POST]
        paths: [/]
        operations: [DescribeLoadBalancerAttributes, DescribeLoadBalancers, DescribeTags]
        effect: read
      - methods: [POST]
        paths: [/]
        operations: [AddTags]
        effect: update
        only: [LoadBalancerNames.member.1, Tags.member.*.Key, Tags.member.*.Value]
      - methods: [POST]
        paths: [/]
        operations: [ApplySecurityGroupsToLoadBalancer]
        effect: detach
        only: [LoadBalancerName]
        where: { SecurityGroups.member.*: [sg-*] }
      - methods: [POST]
        paths: [/]
        operations: [AttachLoadBalancerToSubnets]
        effect: update
        only: [LoadBalancerName]
        where: { Subnets.member.*: [subnet-*] }
      - methods: [POST]
        paths: [/]
        operations: [ConfigureHealthCheck]
        effect: update
        only: [HealthCheck.*, LoadBalancerName]
      - methods: [POST]
        paths: [/]
        operations: [CreateLoadBalancer]
        effect: write
        only: [Listeners.member.*, LoadBalancerName, Tags.member.*.Key, Tags.member.*.Value]
        where: { Scheme: [internal], SecurityGroups.member.*: [sg-*], Subnets.member.*: [subnet-*] }
      - methods: [POST]
        paths: [/]
        operations: [CreateLoadBalancerListeners]
        effect: update
        only: [Listeners.member.*, LoadBalancerName]
      - methods: [POST]
        paths: [/]
        operations: [CreateLoadBalancerPolicy]
        effect: update
        only: [LoadBalancerName, PolicyAttributes.member.1.*, PolicyName]
        where: { PolicyTypeName: [ProxyProtocolPolicyType, SSLNegotiationPolicyType] }
      - methods: [POST]
        paths: [/]
        operations: [DetachLoadBalancerFromSubnets]
        effect: detach
        only: [LoadBalancerName]
        where: { Subnets.member.*: [subnet-*] }
      - methods: [POST]
        paths: [/]
        operations: [ModifyLoadBalancerAttributes]
        effect: update
        only: [LoadBalancerAttributes.*, LoadBalancerName]
      - methods: [POST]
        paths: [/]
        operations: [RegisterInstancesWithLoadBalancer]
        effect: update
        only: [LoadBalancerName]
        where: { Instances.member.*.InstanceId: [i-*] }
      - methods: [POST]
        paths: [/]
        operations: [SetLoadBalancerListenerSSLCertificate]
        effect: update
        only: [LoadBalancerName, LoadBalancerPort, SSLCertificateId]
      - methods: [POST]
        paths: [/]
        operations: [SetLoadBalancerPoliciesForBackendServer]
        effect: update
        only: [InstancePort, LoadBalancerName, PolicyNames, PolicyNames.member.*]
      - methods: [POST]
        paths: [/]
        operations: [SetLoadBalancerPoliciesOfListener]
        effect: update
        only: [LoadBalancerName, LoadBalancerPort, PolicyNames, PolicyNames.member.*]
      - { methods: [POST], paths: [/], operations: [DeleteLoadBalancer], effect: delete, only: [LoadBalancerName] }
      - methods: [POST]
        paths: [/]
        operations: [DeleteLoadBalancerListeners]
        effect: detach
        only: [LoadBalancerName, LoadBalancerPorts.member.*]
      - methods: [POST]
        paths: [/]
        operations: [DeregisterInstancesFromLoadBalancer]
        effect: detach
        only: [LoadBalancerName]
        where: { Instances.member.*.InstanceId: [i-*] }
{{ include "aerostat.awsCredential" . }}
    # Each target group, listener and rule of a load balancer is a request: so many for each port, and for each Service. Whole
    # load balancers and security groups are made and deleted no more often than everywhere.
    limits: { detachmentsPerChange: 10, updatesPerChange: 20 }
# clusterNetworks: { pods: [192.0.2.0/24], nodes: [] }   where pods have public addresses: what providers never reach
{{- end }}

{{- /* Where the keys come from. */ -}}
{{- define "aerostat.awsCredential" -}}
{{- $region := .Values.settings.region | default "" }}
{{- $source := .Values.credentials.aws.source -}}
credentials:
  - name: aws
    sigv4:
      region: {{ $region | quote }}
      # One of these four: README.md of this folder says what each needs.
      {{- if eq $source "webIdentity" }}
      webIdentity:
        roleArn: {{ .Values.credentials.aws.roleArn | quote }}
        tokenFile: /etc/aerostat/aws-token
      {{- end }}
      {{ if ne $source "podIdentity" }}# {{ end }}podIdentity: { tokenFile: /etc/aerostat/aws-token }
      {{ if ne $source "sharedFile" }}# {{ end }}sharedFile: { file: /etc/aerostat/aws-credentials }
      {{ if ne $source "instanceMetadata" }}# {{ end }}instanceMetadata: {}
{{- end }}
