{{- /* Google Cloud's Persistent Disks: their endpoint, the rules of that and where tokens come from, as cloud.yaml has them. It runs beside the
release for gcp. */ -}}
{{- define "aerostat.preset.gcp-pd" -}}
{{- $project := (include "aerostat.settings" . | fromYaml).settings.project | default "" -}}
apiVersion: aerostat.dev/v1alpha1
kind: CloudConfig
provider:
  {{- include "aerostat.module" . | nindent 2 }}
  # No providerIDPrefixes: it has no nodes.
  {{- include "aerostat.settings" . | nindent 2 }}
endpoints:
  - name: compute
    baseUrl: {{ printf "https://compute.googleapis.com/compute/v1/projects/%s" $project | quote }}
    credential: google
    allow:
      # The project, disks, and the operations at disks and instances.
      - { methods: [GET], paths: [/, /aggregated/disks, /zones/*/disks/*, /zones/*/operations] }
      # No disk begins with a snapshot or an image, and none is forced off an instance.
      - methods: [POST]
        paths: [/zones/*/disks]
        effect: write
        only: [requestId]
        fields:
          - description
          - diskEncryptionKey.kmsKeyName
          - labels
          - name
          - provisionedIops
          - provisionedThroughput
          - sizeGb
          - type
      - methods: [POST]
        paths: [/zones/*/instances/*/attachDisk]
        effect: update
        only: [requestId]
        fields: [deviceName, mode, source, type]
      # Nothing takes it back.
      - { methods: [POST], paths: [/zones/*/disks/*/resize], effect: write, only: [requestId], fields: [sizeGb] }
      - { methods: [POST], paths: [/zones/*/instances/*/detachDisk], effect: detach, only: [deviceName, requestId] }
      - { methods: [DELETE], paths: [/zones/*/disks/*], effect: delete, only: [requestId] }
credentials:
  {{- include "aerostat.googleCredential" . | nindent 2 }}
# clusterNetworks: { pods: [192.0.2.0/24], nodes: [] }   where pods have public addresses: what providers never reach
{{- end }}
