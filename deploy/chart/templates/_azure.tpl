{{- /* The cloud by its name: where its resource manager is, and the audience of tokens of workload identity. */ -}}
{{- define "aerostat.azureCloud" -}}
{{- $all := dict
  "AzurePublicCloud" (dict "manager" "https://management.azure.com" "authority" "https://login.microsoftonline.com"
    "audience" "api://AzureADTokenExchange")
  "AzureUSGovernmentCloud" (dict "manager" "https://management.usgovcloudapi.net" "authority" "https://login.microsoftonline.us"
    "audience" "api://AzureADTokenExchangeUSGov")
  "AzureChinaCloud" (dict "manager" "https://management.chinacloudapi.cn" "authority" "https://login.chinacloudapi.cn"
    "audience" "api://AzureADTokenExchangeChina") }}
{{- index $all .Values.credentials.entra.cloud | toYaml }}
{{- end }}

{{- /* Azure: machines and what is made for Services, each with its rules, as cloud.yaml has them. What is shared is written over the
       version that was read alone. Paths name the group of what is made: an annotation that names another one leads nowhere. */ -}}
{{- define "aerostat.preset.azure" -}}
{{- $settings := (include "aerostat.settings" . | fromYaml).settings }}
{{- $entra := .Values.credentials.entra }}
{{- $cloud := include "aerostat.azureCloud" . | fromYaml }}
{{- $manager := $cloud.manager }}
{{- $own := $settings.subscriptionId | default "" }}
{{- $subscription := $settings.networkResourceSubscriptionID | default $own }}
{{- $group := $settings.resourceGroup | default "" }}
{{- $network := printf "/subscriptions/%s/resourceGroups/%%s/providers/Microsoft.Network/%%s" $subscription }}
{{- $publics := printf $network $group "publicIPAddresses" }}
{{- $balancers := printf $network ($settings.loadBalancerResourceGroup | default $group) "loadBalancers" }}
{{- $security := printf $network ($settings.securityGroupResourceGroup | default $group) "networkSecurityGroups" }}
{{- $networks := printf $network ($settings.vnetResourceGroup | default $group) "virtualNetworks" }}
{{- $links := printf $network ($settings.privateLinkServiceResourceGroup | default $group) "privateLinkServices" }}
{{- $tables := printf $network ($settings.routeTableResourceGroup | default $group) "routeTables" }}
{{- $source := $entra.source -}}
apiVersion: aerostat.dev/v1alpha1
kind: CloudConfig
provider:
  {{- include "aerostat.module" . | nindent 2 }}
  # The module is refused if it claims the nodes of any other cloud.
  providerIDPrefixes: ["azure://"]
  nodeLabels:
    - kubernetes.azure.com/managed
    - kubernetes.azure.com/resource-group
    - node-role.kubernetes.io/control-plane
    - node-role.kubernetes.io/master
  {{- include "aerostat.settings" . | nindent 2 }}
    # vnetName, subnetName, securityGroupName: the cluster is known by the first, internal load balancers have addresses of the second, and
    # clients are let in by the third
    # routeTableName: NAME-OF-THE-TABLE                  for routes of pods
    # loadBalancerBackendPoolConfigurationType: nodeIP   one write for all nodes: for new clusters
endpoints:
  - name: compute
    baseUrl: {{ $manager | quote }}
    credential: azure
    parameters: { api-version: "2025-04-01" }
    allow:
      # Nodes: their machines, by themselves or in scale sets. Groups may be written in any letter case in ids.
      - methods: [GET]
        paths:
          - /subscriptions/*/resourceGroups/*/providers/Microsoft.Compute/virtualMachines
          - /subscriptions/*/resourceGroups/*/providers/Microsoft.Compute/virtualMachines/*
          - /subscriptions/*/resourceGroups/*/providers/Microsoft.Compute/virtualMachineScaleSets
          - /subscriptions/*/resourceGroups/*/providers/Microsoft.Compute/virtualMachineScaleSets/*
          - /subscriptions/*/resourceGroups/*/providers/Microsoft.Compute/virtualMachineScaleSets/*/virtualMachines
          - /subscriptions/*/resourceGroups/*/providers/Microsoft.Compute/virtualMachineScaleSets/*/virtualMachines/*
      # Volumes: the zones of disks. Zones of the region, and the ends of writes.
      - methods: [GET]
        paths:
          - /subscriptions/*/resourceGroups/*/providers/Microsoft.Compute/disks/*
          - /subscriptions/*/providers/Microsoft.Compute
          - /subscriptions/*/providers/Microsoft.Compute/locations/*/operations/*
      # Scale sets join pools: their model, and each of their machines.
      - methods: [PUT]
        paths:
          - /subscriptions/*/resourceGroups/*/providers/Microsoft.Compute/virtualMachineScaleSets/*
          - /subscriptions/*/resourceGroups/*/providers/Microsoft.Compute/virtualMachineScaleSets/*/virtualMachines/*
        effect: detach
        requires: [if-match]
  # The same URL: its API has versions and limits of its own.
  - name: network
    baseUrl: {{ $manager | quote }}
    credential: azure
    parameters: { api-version: "2025-05-01" }
    allow:
      # Nodes: their interfaces, and the public addresses that they have.
      - methods: [GET]
        paths:
          - /subscriptions/*/resourceGroups/*/providers/Microsoft.Network/networkInterfaces
          - /subscriptions/*/resourceGroups/*/providers/Microsoft.Network/networkInterfaces/*
          - /subscriptions/*/resourceGroups/*/providers/Microsoft.Compute/virtualMachineScaleSets/*/networkInterfaces
          - /subscriptions/*/resourceGroups/*/providers/Microsoft.Compute/virtualMachineScaleSets/*/virtualMachines/*/networkInterfaces/*
          - /subscriptions/*/resourceGroups/*/providers/Microsoft.Compute/virtualMachineScaleSets/*/publicIPAddresses
          - /subscriptions/*/resourceGroups/*/providers/Microsoft.Compute/virtualMachineScaleSets/*/virtualMachines/*/networkInterfaces/*/ipConfigurations/*/publicIPAddresses/*
      # The ends of writes.
      - { methods: [GET], paths: [/subscriptions/*/providers/Microsoft.Network/locations/*/operations/*] }
      # Public addresses of this group alone: with rules for another one, Services may name it.
      - methods: [GET]
        paths:
          - {{ $publics | quote }}
          - {{ printf "%s/*" $publics | quote }}
          {{- if ne $own $subscription }}
          {{- range list "publicIPAddresses" "publicIPAddresses/*" }}
          - {{ printf "/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Network/%s" $own $group . | quote }}
          {{- end }}
          {{- end }}
      - { methods: [PUT], paths: [{{ printf "%s/*" $publics | quote }}], effect: write, requires: [if-match] }
      - { methods: [DELETE], paths: [{{ printf "%s/*" $publics | quote }}], effect: delete, requires: [if-match] }
      # Load balancers, whole and pool by pool.
      - methods: [GET]
        paths:
          - {{ $balancers | quote }}
          - {{ printf "%s/*" $balancers | quote }}
      - { methods: [PUT], paths: [{{ printf "%s/*" $balancers | quote }}], effect: write, requires: [if-match] }
      - { methods: [DELETE], paths: [{{ printf "%s/*" $balancers | quote }}], effect: delete, requires: [if-match] }
      - methods: [PUT]
        paths: [{{ printf "%s/*/backendAddressPools/*" $balancers | quote }}]
        effect: detach
        requires: [if-match]
      # Machines outside of scale sets join pools by their interfaces.
      - methods: [PUT]
        paths: [/subscriptions/*/resourceGroups/*/providers/Microsoft.Network/networkInterfaces/*]
        effect: detach
        requires: [if-match]
      # Clients are let in.
      - methods: [GET]
        paths:
          - {{ $security | quote }}
          - {{ printf "%s/*" $security | quote }}
      - { methods: [PUT], paths: [{{ printf "%s/*" $security | quote }}], effect: detach, requires: [if-match] }
      # The network. A subnet is written where Private Link needs it.
      - methods: [GET]
        paths:
          - {{ printf "%s/*" $networks | quote }}
          - {{ printf "%s/*/subnets/*" $networks | quote }}
      - { methods: [PUT], paths: [{{ printf "%s/*/subnets/*" $networks | quote }}], effect: update, requires: [if-match] }
      # Private Link.
      - methods: [GET]
        paths:
          - {{ $links | quote }}
          - {{ printf "%s/*" $links | quote }}
          - {{ printf "%s/*/privateEndpointConnections/*" $links | quote }}
      - { methods: [PUT], paths: [{{ printf "%s/*" $links | quote }}], effect: write, requires: [if-match] }
      - { methods: [DELETE], paths: [{{ printf "%s/*" $links | quote }}], effect: delete, requires: [if-match] }
      - { methods: [DELETE], paths: [{{ printf "%s/*/privateEndpointConnections/*" $links | quote }}], effect: detach }
      # Routes of pods: a table in one write.
      - methods: [GET]
        paths:
          - {{ $tables | quote }}
          - {{ printf "%s/*" $tables | quote }}
      - { methods: [PUT], paths: [{{ printf "%s/*" $tables | quote }}], effect: detach, requires: [if-match] }
credentials:
  # Nodes join pools one by one where pools have interfaces: many small writes for one change.
  - name: azure
    entra:
      {{- if ne $entra.cloud "AzurePublicCloud" }}
      cloud: {{ $entra.cloud }}
      {{- end }}
      {{- if ne $source "managedIdentity" }}
      tenant: {{ $entra.tenant | quote }}
      clientId: {{ $entra.clientId | quote }}
      {{- end }}
      # One of these three: README.md of this folder says what each needs. The last is without tenant and clientId.
      {{ if ne $source "workloadIdentity" }}# {{ end }}federatedToken: { file: /etc/aerostat/azure-token }
      {{ if ne $source "secret" }}# {{ end }}clientSecret: { file: /etc/aerostat/azure-secret }
      {{ if ne $source "managedIdentity" }}# {{ end }}managedIdentity: {{ if and $entra.clientId (eq $source "managedIdentity") }}{ clientId: {{ $entra.clientId | quote }} }{{ else }}{}{{ end }}
    limits: { detachmentsPerChange: 40 }
{{- end }}
