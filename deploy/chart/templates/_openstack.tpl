{{- /* OpenStack: its endpoints, which Keystone's catalogue names, their rules and its credential, as cloud.yaml has them. */ -}}
{{- define "aerostat.preset.openstack" -}}
{{- $openstack := .Values.openstack }}
{{- $region := (include "aerostat.settings" . | fromYaml).settings.region | default "" -}}
apiVersion: aerostat.dev/v1alpha1
kind: CloudConfig
provider:
  {{- include "aerostat.module" . | nindent 2 }}
  # The module is refused if it claims the nodes of any other cloud. Nodes of old clusters have a server's id without a scheme.
  providerIDPrefixes: ["openstack://", ""]
  writesAnnotations: [loadbalancer.openstack.org/load-balancer-id, loadbalancer.openstack.org/load-balancer-address]
  {{- include "aerostat.settings" . | nindent 2 }}
    # loadBalancers.floatingNetworkID: ID-OF-THE-NETWORK   where floating IPs come from, if there are several external networks
    # loadBalancers.allowedTLSContainerRefs: https://barbican.example.com/v1/secrets/ID   which certificates authors of Services may name
    # networking.internalNetworkNames: k8s    whose addresses are InternalIPs, if servers are in several networks
    # routerID: ID-OF-THE-ROUTER              where routes of Pods are written
endpoints:
  - name: compute
    catalog: { type: compute, interface: {{ $openstack.interface }}, region: {{ $region | quote }}, path: /v2.1 }
    origins: {{ include "aerostat.openstackOrigins" $openstack.origins.compute }}
    credential: openstack
    {{- include "aerostat.openstackWay" $openstack | nindent 4 | trimSuffix "\n    " }}
    headers: [openstack-api-version]
    allow:
      - { methods: [GET], paths: [/servers/detail, /servers/*, /flavors] }
  - name: network
    catalog: { type: network, interface: {{ $openstack.interface }}, region: {{ $region | quote }}, path: /v2.0 }
    origins: {{ include "aerostat.openstackOrigins" $openstack.origins.network }}
    credential: openstack
    {{- include "aerostat.openstackWay" $openstack | nindent 4 | trimSuffix "\n    " }}
    allow:
      - { methods: [GET], paths: [/quotas/project, /extensions] }
      - { methods: [GET], paths: [/ports, /networks, /subnets, /subnets/*] }
      - { methods: [GET], paths: [/floatingips, /security-groups, /security-group-rules] }
      - { methods: [GET], paths: [/routers/*] }
      - methods: [PUT]
        paths:
          - /ports/*
        effect: detach
        fields:
          - port.allowed_address_pairs
          - port.security_groups
      - { methods: [PUT], paths: [/routers/*/add_extraroutes], effect: update, fields: [router.routes] }
      - methods: [PUT]
        paths:
          - /routers/*
          - /routers/*/remove_extraroutes
        effect: detach
        fields:
          - router.routes
      - methods: [POST]
        paths:
          - /floatingips
        effect: write
        fields:
          - floatingip.description
          - floatingip.floating_ip_address
          - floatingip.floating_network_id
          - floatingip.port_id
          - floatingip.subnet_id
      - { methods: [PUT], paths: [/floatingips/*], effect: detach, fields: [floatingip.port_id] }
      - { methods: [DELETE], paths: [/floatingips/*], effect: delete, only: [] }
      - methods: [POST]
        paths:
          - /security-groups
        effect: write
        fields:
          - security_group.description
          - security_group.name
      - methods: [POST]
        paths:
          - /security-group-rules
        effect: update
        fields:
          - security_group_rule.direction
          - security_group_rule.ethertype
          - security_group_rule.port_range_max
          - security_group_rule.port_range_min
          - security_group_rule.protocol
          - security_group_rule.remote_ip_prefix
          - security_group_rule.security_group_id
      - { methods: [DELETE], paths: [/security-group-rules/*], effect: detach, only: [] }
      - { methods: [DELETE], paths: [/security-groups/*], effect: delete, only: [] }
  - name: load-balancer
    catalog: { type: load-balancer, interface: {{ $openstack.interface }}, region: {{ $region | quote }}, path: / }
    origins: {{ include "aerostat.openstackOrigins" $openstack.origins.loadBalancer }}
    credential: openstack
    {{- include "aerostat.openstackWay" $openstack | nindent 4 | trimSuffix "\n    " }}
    allow:
      - { methods: [GET], paths: [/] }
      - methods: [GET]
        paths:
          - /v2.0/lbaas/loadbalancers
          - /v2.0/lbaas/loadbalancers/*
          - /v2.0/lbaas/loadbalancers/*/status
          - /v2.0/lbaas/listeners
          - /v2.0/lbaas/pools
          - /v2.0/lbaas/pools/*/members
          - /v2.0/lbaas/healthmonitors
      - methods: [POST]
        paths:
          - /v2.0/lbaas/loadbalancers
        effect: write
        fields:
          - loadbalancer.additional_vips
          - loadbalancer.availability_zone
          - loadbalancer.description
          - loadbalancer.flavor_id
          - loadbalancer.listeners
          - loadbalancer.name
          - loadbalancer.provider
          - loadbalancer.tags
          - loadbalancer.vip_address
          - loadbalancer.vip_network_id
          - loadbalancer.vip_port_id
          - loadbalancer.vip_subnet_id
      - methods: [PUT]
        paths:
          - /v2.0/lbaas/loadbalancers/*
        effect: detach
        fields:
          - loadbalancer.name
          - loadbalancer.tags
      - { methods: [DELETE], paths: [/v2.0/lbaas/loadbalancers/*], effect: delete, only: [cascade] }
      - { methods: [POST], paths: [/v2.0/lbaas/listeners], effect: update, fields: [listener] }
      - { methods: [PUT], paths: [/v2.0/lbaas/listeners/*], effect: update, fields: [listener] }
      - { methods: [POST], paths: [/v2.0/lbaas/pools], effect: update, fields: [pool] }
      - { methods: [PUT], paths: [/v2.0/lbaas/pools/*], effect: update, fields: [pool] }
      - { methods: [POST], paths: [/v2.0/lbaas/pools/*/members], effect: update, fields: [member] }
      - { methods: [PUT], paths: [/v2.0/lbaas/pools/*/members], effect: detach }
      - { methods: [POST], paths: [/v2.0/lbaas/healthmonitors], effect: update, fields: [healthmonitor] }
      - { methods: [PUT], paths: [/v2.0/lbaas/healthmonitors/*], effect: update, fields: [healthmonitor] }
      - methods: [DELETE]
        paths:
          - /v2.0/lbaas/listeners/*
          - /v2.0/lbaas/pools/*
          - /v2.0/lbaas/pools/*/members/*
          - /v2.0/lbaas/healthmonitors/*
        effect: detach
        only: []
  # Certificates that annotations name, with loadBalancers.containerStore: barbican.
  # - name: key-manager
  #   catalog: { type: key-manager, interface: {{ $openstack.interface }}, region: {{ $region | quote }}, path: /v1 }
  #   origins: [https://barbican.example.com:9311]
  #   credential: openstack
  #   allow:
  #     - { methods: [GET], paths: [/containers/*, /secrets/*] }
credentials:
  # Each port of each load balancer is a write when nodes come and go, and several when it changes. Whole load balancers are made and
  # deleted no more often than everywhere.
  {{- include "aerostat.openstackCredential" $openstack | nindent 2 }}
    limits: { detachments: 200, updates: 600 }
# clusterNetworks: { pods: [192.0.2.0/24], nodes: [] }   where pods have public addresses: what providers never reach
{{- end }}

{{- /* The application credential, and the Keystone that it is for. */ -}}
{{- define "aerostat.openstackCredential" -}}
- name: openstack
  keystone:
    baseUrl: {{ .authURL | quote }}
    {{- if hasPrefix "http://" .authURL }}
    insecure: true
    {{- end }}
    applicationCredential: { idFile: /etc/aerostat/id, secretFile: /etc/aerostat/secret }
    {{- include "aerostat.openstackWay" . | nindent 4 | trimSuffix "\n    " }}
{{- end }}

{{- /* The origins of a service, as an endpoint has them: those without TLS say so. */ -}}
{{- define "aerostat.openstackOrigins" -}}
{{- $origins := list }}
{{- range . }}
{{- $origins = append $origins (ternary (dict "url" . "insecure" true) . (hasPrefix "http://" .)) }}
{{- end }}
{{- toJson $origins }}
{{- end }}

{{- /* The private networks of Keystone and of the services, and their authority. */ -}}
{{- define "aerostat.openstackWay" -}}
{{- $lines := list }}
{{- with .addresses }}{{ $lines = append $lines (printf "addresses: %s" (toJson .)) }}{{ end }}
{{- if .ca }}{{ $lines = append $lines "tls: { caFile: /etc/aerostat/openstack-ca.pem }" }}{{ end }}
{{- join "\n" $lines }}
{{- end }}
