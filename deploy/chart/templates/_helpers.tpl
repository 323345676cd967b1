{{- /* What is wrong with the values beyond what their schema can say: path, cause, next step. */ -}}
{{- define "aerostat.check" -}}
{{- $values := .Values -}}
{{- if ne .Release.Namespace "kube-system" }}
{{- fail (printf "the namespace is %s: aerostat is at home in kube-system, where its Lease is looked for. Next step: --namespace kube-system" .Release.Namespace) }}
{{- end }}
{{- range $values.extraArgs }}
{{- if regexMatch "^--(secure-port|bind-address|cloud-config|cloud-provider)(=|$)" . }}
{{- fail (printf "extraArgs: %s would be said twice, and probes, policies and mounts go by the first. Next step: the value port, bindAddress, config or provider" .) }}
{{- end }}
{{- end }}
{{- if not $values.provider }}
{{- fail "provider: no cloud is named. Next step: --set provider=digitalocean, hetzner, alibaba, aws, azure, gcp, ibm or openstack, or aws-ebs, gcp-pd or openstack-cinder beside one of them" }}
{{- end }}
{{- $vendor := include "aerostat.vendor" . }}
{{- if eq $vendor "aws" }}
{{- range list "region" "vpc" "clusterID" }}
{{- if not (index $values.settings .) }}
{{- fail (printf "settings.%s: nothing is there, and AWS's provider needs it. Next step: --set settings.%s=…" . .) }}
{{- end }}
{{- end }}
{{- if and (eq $values.credentials.aws.source "webIdentity") (not $values.credentials.aws.roleArn) }}
{{- fail "credentials.aws.roleArn: no role is named. Next step: --set credentials.aws.roleArn=arn:…, or another credentials.aws.source" }}
{{- end }}
{{- end }}
{{- if eq $values.provider "azure" }}
{{- range list "subscriptionId" "resourceGroup" "location" }}
{{- if not (index $values.settings .) }}
{{- fail (printf "settings.%s: nothing is there, and Azure's provider needs it. Next step: --set settings.%s=…" . .) }}
{{- end }}
{{- end }}
{{- if ne $values.credentials.entra.source "managedIdentity" }}
{{- range list "tenant" "clientId" }}
{{- if not (index $values.credentials.entra .) }}
{{- fail (printf "credentials.entra.%s: nothing is there. Next step: --set credentials.entra.%s=…, or credentials.entra.source=managedIdentity" . .) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if eq $vendor "gcp" }}
{{- range ternary (list "project") (list "project" "region") (eq $values.provider "gcp-pd") }}
{{- if not (index $values.settings .) }}
{{- fail (printf "settings.%s: nothing is there, and Google Cloud's provider needs it. Next step: --set settings.%s=…" . .) }}
{{- end }}
{{- end }}
{{- if and (eq $values.credentials.google.source "federation") (not $values.credentials.google.workloadIdentityProvider) }}
{{- fail "credentials.google.workloadIdentityProvider: no provider of a pool is named. Next step: --set credentials.google.workloadIdentityProvider=projects/…, or another credentials.google.source" }}
{{- end }}
{{- end }}
{{- if eq $values.provider "alibaba" }}
{{- range list "region" "vpc" }}
{{- if not (index $values.settings .) }}
{{- fail (printf "settings.%s: nothing is there, and Alibaba Cloud's provider needs it. Next step: --set settings.%s=…" . .) }}
{{- end }}
{{- end }}
{{- if eq $values.credentials.alibaba.source "oidc" }}
{{- range list "roleArn" "providerArn" }}
{{- if not (index $values.credentials.alibaba .) }}
{{- fail (printf "credentials.alibaba.%s: nothing is there. Next step: --set credentials.alibaba.%s=acs:ram::…, or another credentials.alibaba.source" . .) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if eq $values.provider "ibm" }}
{{- $classic := include "aerostat.isClassic" . }}
{{- range concat (list "accountID" "clusterID" "region") (ternary list (list "vpcID") (eq $classic "true")) }}
{{- if not (index $values.settings .) }}
{{- fail (printf "settings.%s: nothing is there, and IBM Cloud's provider needs it. Next step: --set settings.%s=…" . .) }}
{{- end }}
{{- end }}
{{- if and $classic $values.settings.vpcID }}
{{- fail "settings.vpcID: there is no VPC on classic infrastructure. Next step: leave out settings.vpcID, or settings.clusterDefaultProvider" }}
{{- end }}
{{- if and (not $classic) (eq $values.credentials.ibm.source "computeResource") (not $values.credentials.ibm.profile) }}
{{- fail "credentials.ibm.profile: no trusted profile is named. Next step: --set credentials.ibm.profile=Profile-…, or another credentials.ibm.source" }}
{{- end }}
{{- end }}
{{- if eq $vendor "openstack" }}
{{- if not $values.settings.region }}
{{- fail "settings.region: nothing is there, and OpenStack's provider needs it. Next step: --set settings.region=RegionOne, say" }}
{{- end }}
{{- if not $values.openstack.authURL }}
{{- fail "openstack.authURL: nothing is there. Next step: --set openstack.authURL=https://keystone.example.com:5000/v3, as OS_AUTH_URL has it" }}
{{- end }}
{{- if and (hasPrefix "http://" $values.openstack.authURL) (not $values.openstack.insecure) }}
{{- fail (printf "openstack.authURL: the secret would go to %s in clear text. Next step: https://, or --set openstack.insecure=true" $values.openstack.authURL) }}
{{- end }}
{{- range $service := ternary (list "compute" "network" "volume") (list "compute" "network" "loadBalancer") (eq $values.provider "openstack-cinder") }}
{{- $origins := index $values.openstack.origins $service }}
{{- if not $origins }}
{{- fail (printf "openstack.origins.%s: nothing is there. Next step: --set openstack.origins.%s={https://…}, as openstack catalog list shows it" $service $service) }}
{{- end }}
{{- range $origins }}
{{- if and (hasPrefix "http://" .) (not $values.openstack.insecure) }}
{{- fail (printf "openstack.origins.%s: tokens would go to %s in clear text. Next step: https://, or --set openstack.insecure=true" $service .) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- $module := $values.module }}
{{- if and (eq $module.source "oci") (not (include "aerostat.moduleDigest" .)) }}
{{- fail "module.oci.digest: this chart was packed without digests. Next step: the chart of a release, or --set module.oci.digest=sha256:… as aerostat module inspect prints it" }}
{{- end }}
{{- if and (eq $module.source "configMap") (not $module.configMap.sha256) }}
{{- fail "module.configMap.sha256: nothing is there. Next step: --set module.configMap.sha256=$(sha256sum FILE | cut -d ' ' -f 1)" }}
{{- end }}
{{- if and (eq $module.source "file") (not (and $module.file.path $module.file.sha256 $module.file.volume)) }}
{{- fail "module.file: path, sha256 and volume belong together. Next step: write all three" }}
{{- end }}
{{- $has := (include "aerostat.presets" . | fromYaml).controllers }}
{{- range $name, $on := $values.controllers }}
{{- if and $on (not (has $name $has)) }}
{{- fail (printf "controllers.%s: the provider %s has nothing for it. Next step: leave it out, or false" $name $values.provider) }}
{{- end }}
{{- end }}
{{- $runs := (include "aerostat.controllers" . | fromYaml).runs }}
{{- if and (include "aerostat.suffix" .) (not $runs) }}
{{- fail (printf "controllers: none is on, and the provider %s has nothing else to do. Next step: leave one on, or uninstall this release" $values.provider) }}
{{- end }}
{{- if and (include "aerostat.hasVolumes" .) (eq (toString (index $values.settings "volumes")) "false") }}
{{- fail "settings.volumes: it is false, and a controller that works on volumes is on. Next step: leave it out, or switch the controller off" }}
{{- end }}
{{- if and (has "node-route-controller" $runs) (not $values.clusterCIDR) }}
{{- fail "clusterCIDR: nothing is there, and node-route-controller needs the network of all Pods. Next step: --set clusterCIDR=10.244.0.0/16, say" }}
{{- end }}
{{- if and (has "node-ipam-controller" $runs) (eq $values.nodeIPAM.allocator "RangeAllocator") (not $values.clusterCIDR) }}
{{- fail "clusterCIDR: nothing is there, and node-ipam-controller gives out parts of it. Next step: --set clusterCIDR=10.244.0.0/16, say" }}
{{- end }}
{{- if and $values.networkPolicy.kind $values.hostNetwork }}
{{- fail "networkPolicy.kind: no policy binds Pods on the network of their node. Next step: --set hostNetwork=false, or no networkPolicy" }}
{{- end }}
{{- if and (eq $values.metrics.monitor "PodMonitor") (not $values.metrics.tokenSecret.name) }}
{{- fail "metrics.tokenSecret.name: a PodMonitor needs a Secret with the scraper's token. Next step: name one, or metrics.monitor=ServiceMonitor" }}
{{- end }}
{{- $scraper := $values.metrics.scraper }}
{{- if ne (not $scraper.namespace) (not $scraper.serviceAccount) }}
{{- fail "metrics.scraper: namespace and serviceAccount belong together. Next step: write both" }}
{{- end }}
{{- if and $values.webhook.enabled (not (and $values.webhook.driver $values.webhook.caBundle)) }}
{{- fail "webhook: driver and caBundle are missing. Next step: --set webhook.driver=… (of CSI), --set webhook.caBundle=$(base64 -w 0 ca.crt)" }}
{{- end }}
{{- if and $values.webhook.enabled (not (has "persistentvolume-label-controller" $has)) }}
{{- fail (printf "webhook.enabled: the provider %s does not know where volumes are. Next step: leave it out" $values.provider) }}
{{- end }}
{{- end }}

{{- /* What each cloud's provider is called, which controllers can run with it, and the settings and flags that it has anyhow. One that is
beside that of its cloud has volumes alone: they are on, and no other controller is. `vendorLease` is its driver, as the vendor's Leases spell it, where
the vendor's controller is in another namespace than kube-system. */ -}}
{{- define "aerostat.presets" -}}
{{- $volumes := list "volume-provisioner" "volume-attacher" "volume-expander" }}
{{- $all := dict
  "alibaba" (dict "name" "alicloud" "controllers" (list "node-route-controller" "persistentvolume-label-controller") "settings" dict
    "flags" (list "--node-status-update-frequency=30m" "--load-balancer-resync-period=15m"))
  "aws" (dict "name" "aws" "controllers" (list "node-route-controller" "persistentvolume-label-controller") "settings" dict)
  "aws-ebs" (dict "name" "aws-ebs" "beside" "aws" "controllers" $volumes "settings" dict)
  "azure" (dict "name" "azure" "controllers" (list "node-route-controller" "persistentvolume-label-controller") "settings" dict)
  "digitalocean" (dict "name" "digitalocean" "controllers" $volumes "settings" dict)
  "gcp" (dict "name" "gce" "controllers" (list "node-route-controller" "persistentvolume-label-controller") "settings" dict)
  "gcp-pd" (dict "name" "gcp-pd" "beside" "gcp" "controllers" $volumes "settings" dict "vendorLease" "pd-csi-storage-gke-io")
  "hetzner" (dict "name" "hcloud"
    "controllers" (concat (list "node-route-controller" "persistentvolume-label-controller") $volumes)
    "settings" (dict "loadBalancers.location" "fsn1"))
  "ibm" (dict "name" "ibm" "controllers" (list "node-route-controller" "persistentvolume-label-controller") "settings" dict
    "flags" (list "--node-status-update-frequency=30m" "--load-balancer-resync-period=15m"))
  "openstack" (dict "name" "openstack" "controllers" (list "node-route-controller") "settings" dict)
  "openstack-cinder" (dict "name" "openstack-cinder" "beside" "openstack" "controllers" $volumes "settings" dict) }}
{{- /* A provider is always named, but where helm lint goes on after a failure. */ -}}
{{- $preset := index $all (.Values.provider | default "digitalocean") }}
{{- $everywhere := list "cloud-node-controller" "cloud-node-lifecycle-controller" "service-lb-controller" "node-ipam-controller" }}
{{- if $preset.beside }}{{ $everywhere = list }}{{ end }}
{{- set $preset "controllers" (concat $everywhere $preset.controllers) | toYaml }}
{{- end }}

{{- /* The controllers that run, those that --controllers switches off, and those that it has to name. */ -}}
{{- define "aerostat.controllers" -}}
{{- $values := .Values }}
{{- $runs := list }}
{{- $off := list }}
{{- $named := list }}
{{- $preset := include "aerostat.presets" . | fromYaml }}
{{- range $preset.controllers }}
{{- $given := hasKey $values.controllers . | ternary (index $values.controllers .) "" | toString }}
{{- $ofVolumes := has . (list "volume-provisioner" "volume-attacher" "volume-expander") }}
{{- $optional := or (and $ofVolumes (not $preset.beside)) (has . (list "node-route-controller" "node-ipam-controller")) }}
{{- if or (eq $given "true") (and (ne $given "false") (not $optional)) }}
{{- $runs = append $runs . }}
{{- if $ofVolumes }}{{ $named = append $named . }}{{ end }}
{{- else if not $optional }}
{{- $off = append $off . }}
{{- end }}
{{- end }}
{{- dict "runs" $runs "off" $off "named" $named "alone" (not (not $preset.beside)) | toYaml }}
{{- end }}

{{- /* The rule by which a controller of volumes reads the Lease of the vendor's, where that is in another namespace than kube-system: by its name
alone, since no Role can be in a namespace that is not there. `prefix` is what the name begins with. */ -}}
{{- define "aerostat.vendorLease" -}}
{{- with (include "aerostat.presets" .top | fromYaml).vendorLease }}
  # Whether the vendor's own controller runs, which is in a namespace of its own: its Lease, by its name.
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [{{ $.prefix }}{{ . }}]
    verbs: [get]
{{- end }}
{{- end }}

{{- /* Whether the provider works on volumes: then it has the setting and the rules for them. */ -}}
{{- define "aerostat.hasVolumes" -}}
{{- if or (include "aerostat.controllers" . | fromYaml).named (eq (toString (index .Values.settings "volumes")) "true") }}true{{ end }}
{{- end }}

{{- define "aerostat.hasRobot" -}}
{{- if and (eq .Values.provider "hetzner") (eq (toString (index .Values.settings "robot.enabled")) "true") }}true{{ end }}
{{- end }}

{{- define "aerostat.settings" -}}
{{- $preset := (include "aerostat.presets" . | fromYaml).settings }}
{{- $settings := dict }}
{{- range $key, $value := $preset }}{{ $_ := set $settings $key $value }}{{ end }}
{{- /* What has volumes alone has no switch for them. */ -}}
{{- if and (include "aerostat.hasVolumes" .) (not (include "aerostat.presets" . | fromYaml).beside) }}
{{- $_ := set $settings "volumes" "true" }}
{{- end }}
{{- range $key, $value := .Values.settings }}{{ $_ := set $settings $key (toString $value) }}{{ end }}
{{- /* Hetzner builds in a location or in a network zone: a zone of the values takes the preset's place. */ -}}
{{- if and (hasKey .Values.settings "loadBalancers.networkZone") (not (hasKey .Values.settings "loadBalancers.location")) }}
{{- $settings = omit $settings "loadBalancers.location" }}
{{- end }}
{{- dict "settings" $settings | toYaml }}
{{- end }}

{{- define "aerostat.moduleImage" -}}
{{- .Values.module.oci.image | default (printf "%s/%s:%s" .Values.registry .Values.provider .Chart.AppVersion) }}
{{- end }}

{{- define "aerostat.moduleDigest" -}}
{{- .Values.module.oci.digest | default (index .Values.digests .Values.provider) }}
{{- end }}

{{- define "aerostat.moduleConfigMap" -}}
{{- .Values.module.configMap.name | default (printf "%s-provider" .Values.provider) }}
{{- end }}

{{- /* The Secret with the login at the registry, where there is one. */ -}}
{{- define "aerostat.loginSecret" -}}
{{- $login := .Values.module.oci.login }}
{{- if eq .Values.module.source "oci" }}
{{- $login.existingSecret | default (ternary (printf "%s-registry" (include "aerostat.name" .)) "" (ne $login.dockerConfigJson "")) }}
{{- end }}
{{- end }}

{{- /* The ConfigMap with the registry's authority and the keys of signers, where there is one. */ -}}
{{- define "aerostat.registryConfigMap" -}}
{{- $oci := .Values.module.oci }}
{{- if eq .Values.module.source "oci" }}
{{- $oci.signedBy.existingConfigMap | default (ternary (printf "%s-registry" (include "aerostat.name" .)) "" (or (ne $oci.ca "") (ne (len $oci.signedBy.keys) 0))) }}
{{- end }}
{{- end }}

{{- /* provider.module of cloud.yaml. */ -}}
{{- define "aerostat.module" -}}
module:
{{- with .Values.module }}
{{- if eq .source "configMap" }}
  configMap: { name: {{ include "aerostat.moduleConfigMap" $ | quote }}, key: provider.wasm, sha256: {{ .configMap.sha256 | quote }} }
{{- else if eq .source "file" }}
  file: { path: {{ .file.path | quote }}, sha256: {{ .file.sha256 | quote }} }
{{- else }}
  oci:
    image: {{ include "aerostat.moduleImage" $ | quote }} # the tag is for people
    digest: {{ include "aerostat.moduleDigest" $ | quote }}
    {{- if include "aerostat.loginSecret" $ }}
    login: { file: /etc/aerostat-registry/.dockerconfigjson }
    {{- end }}
    {{- if .oci.tokenServices }}
    {{- dict "tokenServices" .oci.tokenServices | toYaml | nindent 4 }}
    {{- else }}
    # tokenServices: [auth.example.com] # who besides the registry may be sent the login
    {{- end }}
    {{- if .oci.addresses }}
    {{- dict "addresses" .oci.addresses | toYaml | nindent 4 }}
    {{- else }}
    # addresses: [10.0.0.0/8] # where the registry has a private address
    {{- end }}
    {{ if not .oci.ca }}# {{ end }}tls: { caFile: /etc/aerostat-registry/ca.pem } # where its certificate is of a private authority
    {{- if .oci.previous }}
    previous: {{ .oci.previous | quote }}
    {{- else }}
    # previous: sha256:… # the version before
    {{- end }}
{{- if .oci.signedBy.keys }}
  signedBy:
    keys:
      {{- range $name, $_ := .oci.signedBy.keys }}
      - {{ printf "/etc/aerostat-registry/%s" $name | quote }}
      {{- end }}
    {{- if .oci.signedBy.as }}
    as: {{ .oci.signedBy.as | quote }}
    {{- end }}
{{- else }}
  # signedBy: { keys: [/etc/aerostat-registry/release.pub] } # who must have signed it
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* cloud.yaml. Where config has nothing, the preset as it is written, with its comments. */ -}}
{{- define "aerostat.cloud" -}}
{{- include "aerostat.check" . -}}
{{- $text := include (printf "aerostat.preset.%s" (.Values.provider | default "digitalocean")) . }}
{{- if or .Values.config .Values.proxy.url }}
{{- $merged := fromYaml $text }}
{{- include "aerostat.merge" (dict "base" $merged "over" .Values.config) }}
{{- if .Values.proxy.url }}{{ include "aerostat.throughProxy" (dict "cloud" $merged "values" .Values.proxy) }}{{ end }}
{{- toYaml $merged }}
{{- else }}
{{- $text }}
{{- end }}
{{- end }}

{{- /* Puts what is in over into base. A list takes the place of a list, also an empty one. */ -}}
{{- define "aerostat.merge" -}}
{{- range $key, $value := .over }}
{{- $old := index $.base $key }}
{{- if and (kindIs "map" $value) (kindIs "map" $old) }}
{{- include "aerostat.merge" (dict "base" $old "over" $value) }}
{{- else }}
{{- $_ := set $.base $key $value }}
{{- end }}
{{- end }}
{{- end }}

{{- /* What of cloud.yaml is read at start alone. */ -}}
{{- define "aerostat.readAtStart" -}}
{{- $cloud := include "aerostat.cloud" . | fromYaml }}
{{- $_ := unset $cloud.provider "module" }}
{{- printf "%s%s%s" (toJson $cloud) .Values.openstack.ca (include "aerostat.googleFederation" .) | sha256sum }}
{{- end }}

{{- /* The address that /healthz and /metrics are served at. */ -}}
{{- define "aerostat.bindAddress" -}}
{{- $open := or (not .Values.hostNetwork) .Values.metrics.monitor }}
{{- .Values.bindAddress | default (ternary "0.0.0.0" "127.0.0.1" (not (not $open))) }}
{{- end }}

{{- /* Another tag is another image than the one that digests names. */ -}}
{{- define "aerostat.image" -}}
{{- $digest := .Values.image.digest | default (ternary .Values.digests.image "" (not .Values.image.tag)) }}
{{- printf "%s:%s" (.Values.image.repository | default .Values.registry) (.Values.image.tag | default .Chart.AppVersion) }}
{{- if $digest }}@{{ $digest }}{{ end }}
{{- end }}

{{- /* The cloud of the provider: that of the release beside which it runs, or its own name. */ -}}
{{- define "aerostat.vendor" -}}
{{- (include "aerostat.presets" . | fromYaml).beside | default .Values.provider }}
{{- end }}

{{- /* What tells the names of two releases apart, of which one is beside the other. */ -}}
{{- define "aerostat.suffix" -}}
{{- if (include "aerostat.presets" . | fromYaml).beside }}{{ printf "-%s" .Values.provider }}{{ end }}
{{- end }}

{{- /* The name of the Deployment, and of what belongs to it. */ -}}
{{- define "aerostat.name" -}}
aerostat{{ include "aerostat.suffix" . }}
{{- end }}

{{- /* The name of the ServiceAccount, of its roles and of its Lease. */ -}}
{{- define "aerostat.account" -}}
cloud-controller-manager{{ include "aerostat.suffix" . }}
{{- end }}

{{- /* The name of the Secret with the credential. */ -}}
{{- define "aerostat.secret" -}}
{{- .Values.credentials.existingSecret | default (include "aerostat.name" .) }}
{{- end }}

{{- /* The port of /healthz and /metrics: two on the network of one node cannot share it. */ -}}
{{- define "aerostat.port" -}}
{{- .Values.port | default (ternary 10268 10258 (ne (include "aerostat.suffix" .) "")) | int }}
{{- end }}
