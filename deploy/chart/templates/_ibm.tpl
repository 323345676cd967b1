{{- /* IBM Cloud: the API of the VPC with its rules, and where tokens come from, as cloud.yaml has them. */ -}}
{{- define "aerostat.preset.ibm" -}}
{{- $settings := (include "aerostat.settings" . | fromYaml).settings }}
{{- $ibm := .Values.credentials.ibm }}
{{- $classic := include "aerostat.isClassic" . -}}
apiVersion: aerostat.dev/v1alpha1
kind: CloudConfig
provider:
  {{- include "aerostat.module" . | nindent 2 }}
  # The module is refused if it claims the nodes of any other cloud.
  providerIDPrefixes: ["ibm://", "ibmvpc://"]
  nodeLabels:
    - dedicated
    - ibm-cloud.kubernetes.io/external-ip
    - ibm-cloud.kubernetes.io/internal-ip
    - ibm-cloud.kubernetes.io/machine-type
    - ibm-cloud.kubernetes.io/region
    - ibm-cloud.kubernetes.io/worker-id
    - ibm-cloud.kubernetes.io/zone
  {{- include "aerostat.settings" . | nindent 2 }}
{{- if $classic }}
# Nobody is asked of machines on classic infrastructure: there is no endpoint, and no credential.
{{- else }}
    # resourceGroupID: ID-OF-THE-GROUP     of new load balancers, if it is not the account's default
    # g2ResourceGroupName: NAME-OF-THE-GROUP   the same by its name: with the endpoint resource-manager below, over the internet
    # allowedSecurityGroups: clients-*     which groups authors of Services may name; none is the default
    # sourceRangeGroups: "true"            source ranges become security groups
    # outboundSecurityGroup: ID-OF-THE-GROUP   of the nodes, for vpc-allow-outbound-traffic
    # routingTable: ID-OF-THE-TABLE        for routes of pods, if it is not the VPC's default
endpoints:
  - name: vpc
    baseUrl: {{ printf "https://%s%s.iaas.cloud.ibm.com/v1" ($settings.region | default "us-south") (ternary "" ".private" .Values.ibm.publicEndpoints) | quote }}
    credential: ibm
    parameters: { version: 2026-06-23, generation: "2" }
    allow:
      # Whose account it is.
      - { methods: [GET], paths: [/vpcs/*] }
      # Nodes: their machines, and the public addresses that they have.
      - { methods: [GET], paths: [/instances, /instances/*, /floating_ips] }
      # Where volumes are.
      - { methods: [GET], paths: [/volumes/*] }
      # Routes of pods, with --configure-cloud-routes: entries of a routing table, and machines that let packets of pods through.
      - { methods: [GET], paths: [/vpcs/*/routing_tables/*/routes] }
      - methods: [POST]
        paths: [/vpcs/*/routing_tables/*/routes]
        effect: update
        fields: [action, destination, name, next_hop, zone]
      - { methods: [PATCH], paths: [/vpcs/*/routing_tables/*/routes/*], effect: update, fields: [next_hop] }
      - { methods: [DELETE], paths: [/vpcs/*/routing_tables/*/routes/*], effect: detach, only: [] }
      - methods: [PATCH]
        paths: [/instances/*/network_interfaces/*, /virtual_network_interfaces/*]
        effect: update
        fields: [allow_ip_spoofing]
      # Load balancers of Services: one request makes one with everything in it.
      - methods: [GET]
        paths:
          - /subnets
          - /security_groups
          - /security_groups/*
          - /load_balancers
          - /load_balancers/*
          - /load_balancers/*/listeners
          - /load_balancers/*/pools
          - /load_balancers/*/pools/*/members
      - methods: [POST]
        paths: [/load_balancers]
        effect: write
        fields: [is_public, listeners, name, pools, profile, resource_group, security_groups, subnets]
      - { methods: [DELETE], paths: [/load_balancers/*], effect: delete, only: [] }
      # A name that the Service's author chose is given once it is built.
      - { methods: [PATCH], paths: [/load_balancers/*], effect: update, fields: [name] }
      # Their parts.
      - methods: [POST]
        paths: [/load_balancers/*/pools]
        effect: update
        fields: [algorithm, health_monitor, members, name, protocol, proxy_protocol]
      - methods: [POST]
        paths: [/load_balancers/*/listeners]
        effect: update
        fields: [connection_limit, default_pool, idle_connection_timeout, port, port_max, port_min, protocol]
      - methods: [PATCH]
        paths: [/load_balancers/*/pools/*]
        effect: update
        fields: [algorithm, health_monitor, name, protocol, proxy_protocol]
      - methods: [PATCH]
        paths: [/load_balancers/*/listeners/*]
        effect: update
        fields: [connection_limit, idle_connection_timeout, port_max, port_min]
      # All members of a pool in one request, which may take some away.
      - { methods: [PUT], paths: [/load_balancers/*/pools/*/members], effect: detach, fields: [members] }
      - methods: [DELETE]
        paths: [/load_balancers/*/pools/*, /load_balancers/*/listeners/*]
        effect: detach
        only: []
      # Security groups of Services with source ranges, with setting sourceRangeGroups; rules in the nodes' group, with outboundSecurityGroup.
      - { methods: [POST], paths: [/security_groups], effect: write, fields: [name, resource_group, rules, vpc] }
      - { methods: [DELETE], paths: [/security_groups/*], effect: delete, only: [] }
      - methods: [POST]
        paths: [/security_groups/*/rules]
        effect: update
        fields: [direction, name, port_max, port_min, protocol, remote]
      - { methods: [PUT], paths: [/security_groups/*/targets/*], effect: update, only: [] }
      - methods: [DELETE]
        paths: [/security_groups/*/rules/*, /security_groups/*/targets/*]
        effect: detach
        only: []
  {{- if $settings.g2ResourceGroupName }}
  - name: resource-manager
    baseUrl: https://resource-controller.cloud.ibm.com/v2
    credential: ibm
    allow:
      - { methods: [GET], paths: [/resource_groups] }
  {{- else }}
  # - name: resource-manager
  #   baseUrl: https://resource-controller.cloud.ibm.com/v2
  #   credential: ibm
  #   allow:
  #     - { methods: [GET], paths: [/resource_groups] }
  {{- end }}
credentials:
  - name: ibm
    ibmIam:
      # One of these three: README.md of this folder says what each needs.
      {{ if ne $ibm.source "apiKey" }}# {{ end }}apiKey: { file: /etc/aerostat/api-key }
      {{ if ne $ibm.source "computeResource" }}# {{ end }}computeResource: { tokenFile: /etc/aerostat/ibm-token, profile: { id: {{ $ibm.profile | default "ID-OF-THE-PROFILE" | quote }} } }
      {{ if ne $ibm.source "instanceIdentity" }}# {{ end }}instanceIdentity: {{ if and (eq $ibm.source "instanceIdentity") $ibm.profile }}{ profile: { id: {{ $ibm.profile | quote }} } }{{ else }}{}{{ end }}
      {{- if ne $ibm.source "instanceIdentity" }}
      baseUrl: {{ include "aerostat.ibmIam" . | quote }}
      {{- end }}
{{- end }}
# clusterNetworks: { pods: [192.0.2.0/24], nodes: [] }   where pods have public addresses: what providers never reach
{{- end }}

{{- /* Whether machines are on the infrastructure of before VPCs, where nodes are known by their labels alone. */ -}}
{{- define "aerostat.isClassic" -}}
{{- if and (eq .Values.provider "ibm") (eq (.Values.settings.clusterDefaultProvider | default "") "classic") }}true{{ end }}
{{- end }}

{{- define "aerostat.ibmIam" -}}
{{- ternary "https://iam.cloud.ibm.com" "https://private.iam.cloud.ibm.com" .Values.ibm.publicEndpoints }}
{{- end }}
