{{- /* Alibaba Cloud: four products with their rules by action, and where keys come from, as cloud.yaml has them. */ -}}
{{- define "aerostat.preset.alibaba" -}}
{{- $settings := (include "aerostat.settings" . | fromYaml).settings }}
{{- $region := $settings.region | default "cn-hangzhou" }}
{{- $alibaba := .Values.credentials.alibaba -}}
apiVersion: aerostat.dev/v1alpha1
kind: CloudConfig
provider:
  {{- include "aerostat.module" . | nindent 2 }}
  # The module is refused if it claims the nodes of any other cloud.
  providerIDPrefixes: ["", "alicloud://", "ack-hybrid://"]
  nodeLabels: [alibabacloud.com/lingjun-worker, service.alibabacloud.com/exclude-node, service.beta.kubernetes.io/exclude-node, alpha.service-controller.kubernetes.io/exclude-balancer]
  # Those of the vendor's controller: they go with each Service that is deleted.
  finalizers: [service.k8s.alibaba/resources, service.k8s.alibaba/nlb]
  {{- include "aerostat.settings" . | nindent 2 }}
    # routeTable: ID-OF-THE-ROUTE-TABLE   if the VPC has several
    # clusterID: ID-OF-THE-CLUSTER   its id at Alibaba Cloud, in names and tags of load balancers
    # vswitches: ID-OF-A-VSWITCH   where load balancers with addresses of the VPC are
    # dualStack: "true"   IPv6 addresses of machines are addresses of nodes, too
endpoints:
  # Within a VPC https://ecs-vpc.REGION.aliyuncs.com and its like answer, too.
  - name: ecs
    baseUrl: {{ printf "https://ecs.%s.aliyuncs.com" $region | quote }}
    credential: alibaba
    signing: { version: "2014-05-26" }
    operation: { header: x-acs-action }
    parameters: { RegionId: {{ $region | quote }} }
    allow:
      # Nodes: their machines, and the interfaces of these. Volumes: disks.
      - methods: [POST]
        paths: [/]
        operations: [DescribeInstances, DescribeNetworkInterfaces, DescribeDisks, DescribeSecurityGroups, DescribeSecurityGroupAttribute]
        effect: read
      # Routes: packets of pods are let through.
      - methods: [POST]
        paths: [/]
        operations: [ModifyNetworkInterfaceAttribute]
        effect: update
        where: { NetworkInterfaceId: [eni-*], SourceDestCheck: ["false"] }
      # Network Load Balancers: the clients of a Service that says which.
      - methods: [POST]
        paths: [/]
        operations: [CreateSecurityGroup]
        effect: write
        only: [ClientToken, Description, Tag.*.Key, Tag.*.Value]
        where: { SecurityGroupName: [k8s-nlb-*], SecurityGroupType: [enterprise], VpcId: [vpc-*] }
      - methods: [POST]
        paths: [/]
        operations: [AuthorizeSecurityGroup]
        effect: update
        only: [Permissions.*]
        where: { SecurityGroupId: [sg-*] }
      - methods: [POST]
        paths: [/]
        operations: [RevokeSecurityGroup]
        effect: detach
        only: [Permissions.*]
        where: { SecurityGroupId: [sg-*] }
      - methods: [POST]
        paths: [/]
        operations: [DeleteSecurityGroup]
        effect: delete
        where: { SecurityGroupId: [sg-*] }
  - name: slb
    baseUrl: {{ printf "https://slb.%s.aliyuncs.com" $region | quote }}
    credential: alibaba
    signing: { version: "2014-05-15" }
    operation: { header: x-acs-action }
    parameters: { RegionId: {{ $region | quote }} }
    allow:
      # Services: their load balancers, with listeners and groups of machines.
      - methods: [POST]
        paths: [/]
        operations: [DescribeLoadBalancers, DescribeLoadBalancerAttribute, DescribeLoadBalancerListeners, DescribeVServerGroups, DescribeVServerGroupAttribute, DescribeAccessControlLists, DescribeAccessControlListAttribute, DescribeDomainExtensions]
        effect: read
      - methods: [POST]
        paths: [/]
        operations: [CreateLoadBalancer]
        effect: write
        only: [Address, AddressIPVersion, AddressType, Bandwidth, ClientToken, DeleteProtection, InstanceChargeType, InternetChargeType, LoadBalancerName, LoadBalancerSpec, MasterZoneId, ModificationProtection*, ResourceGroupId, SlaveZoneId, Tag.*.Key, Tag.*.Value]
        where: { VSwitchId: [vsw-*], VpcId: [vpc-*] }
      - methods: [POST]
        paths: [/]
        operations: [ModifyLoadBalancerInstanceSpec, ModifyLoadBalancerInternetSpec, SetLoadBalancerDeleteProtection, SetLoadBalancerModificationProtection, SetLoadBalancerName]
        effect: update
        only: [Bandwidth, DeleteProtection, InternetChargeType, LoadBalancerName, LoadBalancerSpec, ModificationProtection*]
        where: { LoadBalancerId: [lb-*] }
      - methods: [POST]
        paths: [/]
        operations: [TagResources]
        effect: update
        only: [Tag.*.Key, Tag.*.Value]
        where: { ResourceId.1: [lb-*], ResourceType: [instance] }
      - methods: [POST]
        paths: [/]
        operations: [UntagResources]
        effect: detach
        only: [TagKey.*]
        where: { ResourceId.1: [lb-*], ResourceType: [instance] }
      - methods: [POST]
        paths: [/]
        operations: [CreateLoadBalancerTCPListener, CreateLoadBalancerUDPListener, SetLoadBalancerTCPListenerAttribute, SetLoadBalancerUDPListenerAttribute]
        effect: update
        only: [HealthCheck*, healthCheckInterval, HealthyThreshold, UnhealthyThreshold, AclId, AclStatus, AclType, Bandwidth, ConnectionDrain*, CookieTimeout, Description, EnableHttp2, EstablishedTimeout, ForwardPort, IdleTimeout, ListenerForward, ListenerPort, PersistenceTimeout, ProxyProtocolV2Enabled, RequestTimeout, Scheduler, ServerCertificateId, StickySession*, TLSCipherPolicy, XForwardedFor_*]
        where: { LoadBalancerId: [lb-*], VServerGroupId: [rsp-*], VServerGroup: ["on"] }
      # The name Cookie is refused everywhere but here.
      - methods: [POST]
        paths: [/]
        operations: [CreateLoadBalancerHTTPListener, CreateLoadBalancerHTTPSListener, SetLoadBalancerHTTPListenerAttribute, SetLoadBalancerHTTPSListenerAttribute]
        effect: update
        only: [HealthCheck*, healthCheckInterval, HealthyThreshold, UnhealthyThreshold, AclId, AclStatus, AclType, Bandwidth, ConnectionDrain*, CookieTimeout, Description, EnableHttp2, EstablishedTimeout, ForwardPort, IdleTimeout, ListenerForward, ListenerPort, PersistenceTimeout, ProxyProtocolV2Enabled, RequestTimeout, Scheduler, ServerCertificateId, StickySession*, TLSCipherPolicy, XForwardedFor_*, Cookie]
        where: { LoadBalancerId: [lb-*], VServerGroupId: [rsp-*], VServerGroup: ["on"] }
      - methods: [POST]
        paths: [/]
        operations: [CreateDomainExtension, SetDomainExtensionAttribute]
        effect: update
        only: [Domain, ListenerPort, ServerCertificateId]
        where: { LoadBalancerId: [lb-*], DomainExtensionId: [de-*] }
      - methods: [POST]
        paths: [/]
        operations: [StartLoadBalancerListener]
        effect: update
        only: [ListenerPort, ListenerProtocol]
        where: { LoadBalancerId: [lb-*] }
      - methods: [POST]
        paths: [/]
        operations: [CreateVServerGroup]
        effect: update
        only: [BackendServers]
        where: { LoadBalancerId: [lb-*], VServerGroupName: [k8s/*] }
      - methods: [POST]
        paths: [/]
        operations: [AddVServerGroupBackendServers, SetVServerGroupAttribute]
        effect: update
        only: [BackendServers]
        where: { VServerGroupId: [rsp-*] }
      - methods: [POST]
        paths: [/]
        operations: [DeleteDomainExtension, DeleteLoadBalancerListener, DeleteVServerGroup, RemoveVServerGroupBackendServers]
        effect: detach
        only: [BackendServers, ListenerPort, ListenerProtocol]
        where: { LoadBalancerId: [lb-*], VServerGroupId: [rsp-*], DomainExtensionId: [de-*] }
      - methods: [POST]
        paths: [/]
        operations: [DeleteLoadBalancer]
        effect: delete
        where: { LoadBalancerId: [lb-*] }
      # The clients of a Service that says which.
      - methods: [POST]
        paths: [/]
        operations: [CreateAccessControlList]
        effect: write
        only: [AddressIPVersion, Tag.*.Key, Tag.*.Value]
        where: { AclName: [k8s-*] }
      - methods: [POST]
        paths: [/]
        operations: [AddAccessControlListEntry]
        effect: update
        only: [AclEntrys]
        where: { AclId: [acl-*] }
      - methods: [POST]
        paths: [/]
        operations: [RemoveAccessControlListEntry]
        effect: detach
        only: [AclEntrys]
        where: { AclId: [acl-*] }
      - methods: [POST]
        paths: [/]
        operations: [DeleteAccessControlList]
        effect: delete
        where: { AclId: [acl-*] }
  - name: nlb
    baseUrl: {{ printf "https://nlb.%s.aliyuncs.com" $region | quote }}
    credential: alibaba
    signing: { version: "2022-04-30" }
    operation: { header: x-acs-action }
    parameters: { RegionId: {{ $region | quote }} }
    allow:
      # Services of the class alibabacloud.com/nlb: their load balancers, with listeners, groups of machines and jobs.
      - methods: [POST]
        paths: [/]
        operations: [GetLoadBalancerAttribute, ListAsynJobs, ListListenerCertificates, ListListeners, ListLoadBalancers, ListServerGroups, ListServerGroupServers]
        effect: read
      - methods: [POST]
        paths: [/]
        operations: [CreateLoadBalancer]
        effect: write
        only: [AddressIpVersion, AddressType, ClientToken, DeletionProtectionConfig.Enabled, LoadBalancerName, ModificationProtectionConfig.*, ResourceGroupId, Tag.*.Key, Tag.*.Value, ZoneMappings.*.AllocationId, ZoneMappings.*.PrivateIPv4Address, ZoneMappings.*.ZoneId]
        where: { VpcId: [vpc-*], ZoneMappings.*.VSwitchId: [vsw-*] }
      - methods: [POST]
        paths: [/]
        operations: [UpdateLoadBalancerZones]
        effect: update
        only: [ZoneMappings.*.AllocationId, ZoneMappings.*.PrivateIPv4Address, ZoneMappings.*.ZoneId]
        where: { LoadBalancerId: [nlb-*], ZoneMappings.*.VSwitchId: [vsw-*] }
      - methods: [POST]
        paths: [/]
        operations: [DisableLoadBalancerIpv6Internet, EnableLoadBalancerIpv6Internet, UpdateLoadBalancerAddressTypeConfig, UpdateLoadBalancerAttribute, UpdateLoadBalancerProtection]
        effect: update
        only: [AddressType, CrossZoneEnabled, DeletionProtectionEnabled, LoadBalancerName, ModificationProtectionReason, ModificationProtectionStatus]
        where: { LoadBalancerId: [nlb-*] }
      - methods: [POST]
        paths: [/]
        operations: [AttachCommonBandwidthPackageToLoadBalancer, LoadBalancerJoinSecurityGroup]
        effect: update
        where: { LoadBalancerId: [nlb-*], SecurityGroupIds.*: [sg-*], BandwidthPackageId: [cbwp-*] }
      - methods: [POST]
        paths: [/]
        operations: [DetachCommonBandwidthPackageFromLoadBalancer, LoadBalancerLeaveSecurityGroup]
        effect: detach
        where: { LoadBalancerId: [nlb-*], SecurityGroupIds.*: [sg-*], BandwidthPackageId: [cbwp-*] }
      - methods: [POST]
        paths: [/]
        operations: [TagResources]
        effect: update
        only: [Tag.*.Key, Tag.*.Value]
        where: { ResourceId.1: [nlb-*], ResourceType: [loadbalancer] }
      - methods: [POST]
        paths: [/]
        operations: [UntagResources]
        effect: detach
        only: [TagKey.*]
        where: { ResourceId.1: [nlb-*], ResourceType: [loadbalancer] }
      - methods: [POST]
        paths: [/]
        operations: [CreateListener]
        effect: update
        only: [AlpnEnabled, AlpnPolicy, CaCertificateIds.*, CaEnabled, CertificateIds.*, ClientToken, Cps, IdleTimeout, ListenerDescription, ListenerPort, ListenerProtocol, ProxyProtocolEnabled, ProxyProtocolV2Config, SecurityPolicyId]
        where: { LoadBalancerId: [nlb-*], ServerGroupId: [sgp-*] }
      - methods: [POST]
        paths: [/]
        operations: [AssociateAdditionalCertificatesWithListener, StartListener, UpdateListenerAttribute]
        effect: update
        only: [AlpnEnabled, AlpnPolicy, CaCertificateIds.*, CaEnabled, CertificateIds.*, ClientToken, Cps, IdleTimeout, ListenerDescription, ListenerPort, ListenerProtocol, ProxyProtocolEnabled, ProxyProtocolV2Config, SecurityPolicyId, AdditionalCertificateIds.*]
        where: { ListenerId: [lsn-*], ServerGroupId: [sgp-*] }
      - methods: [POST]
        paths: [/]
        operations: [CreateServerGroup]
        effect: write
        only: [AnyPortEnabled, ClientToken, ConnectionDrain*, HealthCheckConfig.*, PreserveClientIpEnabled, Protocol, Scheduler, Tag.*.Key, Tag.*.Value]
        where: { ServerGroupName: [k8s.*], VpcId: [vpc-*] }
      - methods: [POST]
        paths: [/]
        operations: [AddServersToServerGroup, UpdateServerGroupAttribute, UpdateServerGroupServersAttribute]
        effect: update
        only: [ConnectionDrain*, HealthCheckConfig.*, PreserveClientIpEnabled, Protocol, Scheduler, Servers.*.Description, Servers.*.Port, Servers.*.ServerId, Servers.*.Weight]
        where: { ServerGroupId: [sgp-*], Servers.*.ServerType: [Ecs] }
      - methods: [POST]
        paths: [/]
        operations: [DeleteListener, DisassociateAdditionalCertificatesWithListener, RemoveServersFromServerGroup]
        effect: detach
        only: [Servers.*.Description, Servers.*.Port, Servers.*.ServerId, Servers.*.Weight, AdditionalCertificateIds.*]
        where: { ServerGroupId: [sgp-*], Servers.*.ServerType: [Ecs], ListenerId: [lsn-*] }
      - methods: [POST]
        paths: [/]
        operations: [DeleteLoadBalancer, DeleteServerGroup]
        effect: delete
        where: { LoadBalancerId: [nlb-*], ServerGroupId: [sgp-*] }
  - name: vpc
    baseUrl: {{ printf "https://vpc.%s.aliyuncs.com" $region | quote }}
    credential: alibaba
    signing: { version: "2016-04-28" }
    operation: { header: x-acs-action }
    parameters: { RegionId: {{ $region | quote }} }
    allow:
      # Whose account it is, and the route table.
      - methods: [POST]
        paths: [/]
        operations: [DescribeVpcAttribute, DescribeRouteTableList, DescribeRouteEntryList, DescribeEipAddresses]
        effect: read
      # Routes.
      - methods: [POST]
        paths: [/]
        operations: [CreateRouteEntries]
        effect: update
        only: [RouteEntries.*.DstCidrBlock, RouteEntries.*.NextHop, RouteEntries.*.NextHopType, RouteEntries.*.Description]
        where: { RouteEntries.*.RouteTableId: [vtb-*] }
      - methods: [POST]
        paths: [/]
        operations: [DeleteRouteEntries]
        effect: detach
        only: [RouteEntries.*.RouteEntryId, RouteEntries.*.DstCidrBlock]
        where: { RouteEntries.*.RouteTableId: [vtb-*] }
credentials:
  - name: alibaba
    acs3:
      region: {{ $region | quote }}
      # One of these three: README.md of this folder says what each needs.
      {{- if eq $alibaba.source "oidc" }}
      oidc:
        roleArn: {{ $alibaba.roleArn | quote }}
        providerArn: {{ $alibaba.providerArn | quote }}
        tokenFile: /etc/aerostat/alibaba-token
      {{- else }}
      # oidc: { roleArn: ARN-OF-THE-ROLE, providerArn: ARN-OF-THE-PROVIDER, tokenFile: /etc/aerostat/alibaba-token }
      {{- end }}
      {{ if ne $alibaba.source "instanceRole" }}# {{ end }}instanceMetadata: {}
      {{ if ne $alibaba.source "accessKey" }}# {{ end }}accessKey: { idFile: /etc/aerostat/access-key-id, secretFile: /etc/aerostat/access-key-secret }
    # A group takes forty machines a request, and one that comes too early counts as well: a Service of a thousand nodes is fifty of them.
    # Whole load balancers are made and deleted no more often than everywhere.
    limits: { updatesPerChange: 30 }
# clusterNetworks: { pods: [192.0.2.0/24], nodes: [] }   where pods have public addresses: what providers never reach
{{- end }}
