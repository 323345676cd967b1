{{- /* Puts the proxy of the values wherever cloud.yaml may have one and says nothing of it. The metadata of a machine are beside it. */ -}}
{{- define "aerostat.throughProxy" -}}
{{- $proxy := dict "url" .values.url }}
{{- if .values.addresses }}{{ $_ := set $proxy "addresses" .values.addresses }}{{ end }}
{{- if .values.existingSecret }}
{{- $_ := set $proxy "login" (dict "userFile" "/etc/aerostat/proxy-user" "passwordFile" "/etc/aerostat/proxy-password") }}
{{- end }}
{{- $places := .cloud.endpoints | default list }}
{{- range .cloud.credentials | default list }}
{{- if .keystone }}{{ $places = append $places .keystone }}{{ end }}
{{- if and .entra (not (hasKey (.entra | default dict) "managedIdentity")) }}{{ $places = append $places .entra }}{{ end }}
{{- if and .google (not (hasKey (.google | default dict) "metadata")) }}{{ $places = append $places .google }}{{ end }}
{{- if and .ibmIam (not (hasKey (.ibmIam | default dict) "instanceIdentity")) }}{{ $places = append $places .ibmIam }}{{ end }}
{{- if and .acs3 (or .acs3.oidc .acs3.assumeRole) }}
{{- if not .acs3.sts }}{{ $_ := set .acs3 "sts" dict }}{{ end }}
{{- $places = append $places .acs3.sts }}
{{- end }}
{{- if and .sigv4 (or .sigv4.webIdentity .sigv4.assumeRole) }}
{{- if not .sigv4.sts }}{{ $_ := set .sigv4 "sts" dict }}{{ end }}
{{- $places = append $places .sigv4.sts }}
{{- end }}
{{- end }}
{{- with .cloud.provider.module.oci }}{{ $places = append $places . }}{{ end }}
{{- range $places }}{{ if not (hasKey . "proxy") }}{{ $_ := set . "proxy" $proxy }}{{ end }}{{ end }}
{{- end }}

{{- /* Where an endpoint may be: its URL, or the origins that a catalogue chooses among. */ -}}
{{- define "aerostat.urls" -}}
{{- $urls := list }}
{{- if .baseUrl }}{{ $urls = append $urls .baseUrl }}{{ end }}
{{- range .origins }}{{ $urls = append $urls (kindIs "string" . | ternary . (get (kindIs "string" . | ternary dict .) "url")) }}{{ end }}
{{- toYaml $urls }}
{{- end }}

{{- /* Where aerostat goes beside API server and DNS: names and ports of endpoints, registry, givers of tokens, and what was added. */ -}}
{{- define "aerostat.destinations" -}}
{{- $cloud := include "aerostat.cloud" . | fromYaml }}
{{- $urls := .Values.networkPolicy.origins }}
{{- if .Values.proxy.url }}{{ $urls = append $urls .Values.proxy.url }}{{ end }}
{{- range $cloud.endpoints }}{{ $urls = concat $urls (include "aerostat.urls" . | fromYamlArray) }}{{ end }}
{{- if eq .Values.module.source "oci" }}
{{- $hosts := concat (list (include "aerostat.moduleImage" .)) .Values.module.oci.tokenServices }}
{{- range $hosts }}{{ $urls = append $urls (printf "https://%s" (regexFind "^[^/]+" .)) }}{{ end }}
{{- end }}
{{- range $cloud.credentials }}
{{- if .keystone }}{{ $urls = append $urls .keystone.baseUrl }}{{ end }}
{{- with .entra }}
{{- if not (hasKey . "managedIdentity") }}
{{- $all := dict "azurepubliccloud" "https://login.microsoftonline.com" "azureusgovernmentcloud" "https://login.microsoftonline.us"
  "azurechinacloud" "https://login.chinacloudapi.cn" }}
{{- $urls = append $urls (.authority | default (index $all (.cloud | default "AzurePublicCloud" | lower))) }}
{{- end }}
{{- end }}
{{- with .google }}
{{- if .federation }}{{ $urls = append (append $urls "https://sts.googleapis.com") "https://iamcredentials.googleapis.com" }}{{ end }}
{{- if dig "serviceAccountKey" "exchange" false . }}{{ $urls = append $urls "https://oauth2.googleapis.com" }}{{ end }}
{{- $urls = concat $urls (.tokenOrigins | default list) }}
{{- end }}
{{- if and .acs3 (or .acs3.oidc .acs3.assumeRole) }}
{{- $urls = append $urls (dig "sts" "baseUrl" (printf "https://sts.%s.aliyuncs.com" .acs3.region) .acs3) }}
{{- end }}
{{- with .ibmIam }}
{{- if not (hasKey . "instanceIdentity") }}{{ $urls = append $urls (.baseUrl | default "https://iam.cloud.ibm.com") }}{{ end }}
{{- end }}
{{- if and .sigv4 (or .sigv4.webIdentity .sigv4.assumeRole) }}
{{- $domain := ternary "amazonaws.com.cn" "amazonaws.com" (hasPrefix "cn-" .sigv4.region) }}
{{- $sts := printf "https://sts.%s.%s" .sigv4.region $domain }}
{{- $urls = append $urls (dig "sts" "baseUrl" $sts .sigv4) }}
{{- end }}
{{- end }}
{{- $names := dict }}
{{- $networks := dict }}
{{- range $urls | uniq }}
{{- $url := urlParse . }}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (ternary "80" "443" (eq $url.scheme "http")) }}
{{- $host := regexReplaceAll ":[0-9]+$" $url.host "" | trimAll "[]" }}
{{- $to := $names }}
{{- if contains ":" $host }}{{ $host = printf "%s/128" $host }}{{ $to = $networks }}{{ end }}
{{- if regexMatch "^[0-9.]+$" $host }}{{ $host = printf "%s/32" $host }}{{ $to = $networks }}{{ end }}
{{- $_ := set $to $port (append (index $to $port | default list) $host | uniq | sortAlpha) }}
{{- end }}
{{- /* Keys and tokens of the machine or of EKS: only aerostat asks for them, and no provider. */ -}}
{{- range $cloud.credentials }}
{{- if and .google (hasKey (.google | default dict) "metadata") }}{{ $_ := set $networks "80" (list "169.254.169.254/32") }}{{ end }}
{{- if and .entra (hasKey (.entra | default dict) "managedIdentity") }}{{ $_ := set $networks "80" (list "169.254.169.254/32") }}{{ end }}
{{- if and .acs3 (hasKey (.acs3 | default dict) "instanceMetadata") }}{{ $_ := set $networks "80" (list "100.100.100.200/32") }}{{ end }}
{{- if and .ibmIam (hasKey (.ibmIam | default dict) "instanceIdentity") }}{{ $_ := set $networks "80" (list "169.254.169.254/32") }}{{ end }}
{{- if .sigv4 }}
{{- if hasKey .sigv4 "instanceMetadata" }}{{ $_ := set $networks "80" (list "169.254.169.254/32") }}{{ end }}
{{- if hasKey .sigv4 "podIdentity" }}{{ $_ := set $networks "80" (list "169.254.170.23/32" "fd00:ec2::23/128") }}{{ end }}
{{- end }}
{{- end }}
{{- dict "names" $names "networks" $networks | toYaml }}
{{- end }}
