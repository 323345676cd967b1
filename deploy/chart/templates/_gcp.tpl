{{- /* Google Cloud: the cluster's project and the network's, their rules and where tokens come from, as cloud.yaml has them. */ -}}
{{- define "aerostat.preset.gcp" -}}
{{- $settings := (include "aerostat.settings" . | fromYaml).settings }}
{{- $project := $settings.project | default "" -}}
apiVersion: aerostat.dev/v1alpha1
kind: CloudConfig
provider:
  {{- include "aerostat.module" . | nindent 2 }}
  # The module is refused if it claims the nodes of any other cloud.
  providerIDPrefixes: ["gce://"]
  writesAnnotations: [networking.gke.io/backend-service, networking.gke.io/target-pool]
  nodeLabels: [cloud.google.com/gke-node-pool-subnet]
  # Those of Google's own controller go with a Service that was taken over from it. Those of others stay.
  finalizers: [gke.networking.io/l4-netlb-v1, gke.networking.io/l4-ilb-v1]
  # The cluster's id in the names of what Services share, which Google's own controller keeps there: so each finds what the other made.
  configMaps: [kube-system/ingress-uid]
  createsConfigMaps: [kube-system/ingress-uid]
  {{- include "aerostat.settings" . | nindent 2 }}
    # networkProject: ID-OF-THE-NETWORKS-PROJECT   with a shared VPC; the endpoint network leads there
    # network: NAME-OF-THE-NETWORK     if it is not default
    # subnetwork: NAME-OF-THE-SUBNET   where addresses of internal load balancers are
    # nodeTags: k8s-node               the network tags by which firewalls choose nodes
endpoints:
  - name: compute
    baseUrl: {{ printf "https://compute.googleapis.com/compute/v1/projects/%s" $project | quote }}
    credential: google
    allow:
      # Nodes: their machines.
      - { methods: [GET], paths: [/, /aggregated/instances, /zones/*/instances/*] }
      # Operations: the ends of writes.
      - { methods: [GET], paths: [/global/operations/*, /regions/*/operations/*, /zones/*/operations/*] }
      - methods: [POST]
        paths: [/global/operations/*/wait, /regions/*/operations/*/wait, /zones/*/operations/*/wait]
        effect: read
      # Load balancers are their forwarding rules and addresses.
      - methods: [GET]
        paths:
          - /regions/*/forwardingRules
          - /regions/*/forwardingRules/*
          - /regions/*/addresses
          - /regions/*/addresses/*
      - { methods: [POST], paths: [/regions/*/forwardingRules, /regions/*/addresses], effect: write }
      - { methods: [PATCH], paths: [/regions/*/forwardingRules/*], effect: update, fields: [allowGlobalAccess] }
      - { methods: [DELETE], paths: [/regions/*/forwardingRules/*, /regions/*/addresses/*], effect: delete }
      # Parts of external ones: target pools, with their machines.
      - { methods: [GET], paths: [/regions/*/targetPools, /regions/*/targetPools/*] }
      - methods: [POST]
        paths:
          - /regions/*/targetPools
          - /regions/*/targetPools/*/addInstance
          - /regions/*/targetPools/*/addHealthCheck
        effect: update
      - methods: [POST]
        paths:
          - /regions/*/targetPools/*/removeInstance
          - /regions/*/targetPools/*/removeHealthCheck
        effect: detach
      - { methods: [DELETE], paths: [/regions/*/targetPools/*], effect: detach }
      # Parts of internal ones: backend services, over an instance group in each zone.
      - { methods: [GET], paths: [/regions/*/backendServices, /regions/*/backendServices/*] }
      - { methods: [POST], paths: [/regions/*/backendServices], effect: update }
      - { methods: [PUT], paths: [/regions/*/backendServices/*], effect: detach }
      - { methods: [DELETE], paths: [/regions/*/backendServices/*], effect: detach }
      - { methods: [GET], paths: [/aggregated/instanceGroups] }
      - { methods: [POST], paths: [/zones/*/instanceGroups/*/listInstances], effect: read }
      - { methods: [POST], paths: [/zones/*/instanceGroups, /zones/*/instanceGroups/*/addInstances], effect: update }
      - { methods: [POST], paths: [/zones/*/instanceGroups/*/removeInstances], effect: detach }
      - { methods: [DELETE], paths: [/zones/*/instanceGroups/*], effect: detach }
      # Health checks of both.
      - methods: [GET]
        paths:
          - /global/healthChecks
          - /global/healthChecks/*
          - /global/httpHealthChecks
          - /global/httpHealthChecks/*
      - { methods: [POST], paths: [/global/healthChecks, /global/httpHealthChecks], effect: update }
      - { methods: [PUT], paths: [/global/healthChecks/*, /global/httpHealthChecks/*], effect: update }
      - { methods: [DELETE], paths: [/global/healthChecks/*, /global/httpHealthChecks/*], effect: detach }
  # Firewalls and routes are the network's. In a shared VPC it is of another project.
  - name: network
    baseUrl: {{ printf "https://compute.googleapis.com/compute/v1/projects/%s" ($settings.networkProject | default $project) | quote }}
    credential: google
    allow:
      - { methods: [GET], paths: [/, /global/networks/*, /global/operations, /global/operations/*] }
      - { methods: [POST], paths: [/global/operations/*/wait], effect: read }
      # Routes of pods.
      - { methods: [GET], paths: [/global/routes, /global/routes/*] }
      - methods: [POST]
        paths: [/global/routes]
        effect: update
        fields: [description, destRange, name, network, nextHopInstance, priority]
      - { methods: [DELETE], paths: [/global/routes/*], effect: detach, only: [] }
      # Firewalls that let clients and health checks in.
      - { methods: [GET], paths: [/global/firewalls, /global/firewalls/*] }
      - { methods: [POST], paths: [/global/firewalls], effect: update }
      - { methods: [PATCH], paths: [/global/firewalls/*], effect: update }
      - { methods: [DELETE], paths: [/global/firewalls/*], effect: detach }
credentials:
  # A load balancer is its rule and its address; what hangs on them is of several parts, and of each zone. Whole load balancers are made
  # and deleted no more often than everywhere.
  {{- include "aerostat.googleCredential" . | nindent 2 }}
    limits: { detachmentsPerChange: 10, updatesPerChange: 20 }
# clusterNetworks: { pods: [192.0.2.0/24], nodes: [] }   where pods have public addresses: what providers never reach
{{- end }}

{{- /* Where the tokens come from. */ -}}
{{- define "aerostat.googleCredential" -}}
{{- $source := .Values.credentials.google.source -}}
- name: google
  google:
    # One of these three: README.md of this folder says what each needs.
    {{ if ne $source "federation" }}# {{ end }}federation: { file: /etc/aerostat/google-federation.json }
    {{ if ne $source "key" }}# {{ end }}serviceAccountKey: { file: /etc/aerostat/google-key.json }
    {{ if ne $source "metadata" }}# {{ end }}metadata: {}
{{- end }}

{{- /* Google's own file of type external_account. It holds no secret. */ -}}
{{- define "aerostat.googleFederation" -}}
{{- $google := .Values.credentials.google }}
{{- if and (eq (include "aerostat.vendor" .) "gcp") (eq $google.source "federation") }}
{{- $file := dict
  "type" "external_account"
  "audience" (printf "//iam.googleapis.com/%s" $google.workloadIdentityProvider)
  "subject_token_type" "urn:ietf:params:oauth:token-type:jwt"
  "token_url" "https://sts.googleapis.com/v1/token"
  "credential_source" (dict "file" "/etc/aerostat/google-token") }}
{{- with $google.serviceAccount }}
{{- $url := "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/%s:generateAccessToken" }}
{{- $_ := set $file "service_account_impersonation_url" (printf $url .) }}
{{- end }}
{{- $file | toPrettyJson }}
{{- end }}
{{- end }}
