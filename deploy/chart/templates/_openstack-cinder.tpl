{{- /* Cinder: its endpoints, which Keystone's catalogue names, the rules of those and the credential, as cloud.yaml has them. It runs beside the
release for openstack. */ -}}
{{- define "aerostat.preset.openstack-cinder" -}}
{{- $openstack := .Values.openstack }}
{{- $region := (include "aerostat.settings" . | fromYaml).settings.region | default "" -}}
apiVersion: aerostat.dev/v1alpha1
kind: CloudConfig
provider:
  {{- include "aerostat.module" . | nindent 2 }}
  # No providerIDPrefixes: it has no nodes.
  {{- include "aerostat.settings" . | nindent 2 }}
    # ignoreVolumeAZ: "true"   where the zones of Cinder are not those of the nodes
endpoints:
  # No path: its URL in the catalogue has the project in it.
  - name: volume
    catalog: { type: {{ $openstack.volumeService }}, interface: {{ $openstack.interface }}, region: {{ $region | quote }} }
    origins: {{ include "aerostat.openstackOrigins" $openstack.origins.volume }}
    credential: openstack
    {{- include "aerostat.openstackWay" $openstack | nindent 4 | trimSuffix "\n    " }}
    headers: [openstack-api-version]
    allow:
      - { methods: [GET], paths: [/volumes, /volumes/detail, /volumes/*, /messages] }
      # No volume begins with another's data.
      - methods: [POST]
        paths:
          - /volumes
        effect: write
        fields:
          - volume.availability_zone
          - volume.description
          - volume.metadata
          - volume.name
          - volume.size
          - volume.volume_type
      # Nothing takes it back that a volume has grown. Other fields would reset states, and delete by force.
      - { methods: [POST], paths: [/volumes/*/action], effect: write, fields: [os-extend.new_size] }
      - { methods: [DELETE], paths: [/volumes/*], effect: delete, only: [] }
  - name: compute
    catalog: { type: compute, interface: {{ $openstack.interface }}, region: {{ $region | quote }}, path: /v2.1 }
    origins: {{ include "aerostat.openstackOrigins" $openstack.origins.compute }}
    credential: openstack
    {{- include "aerostat.openstackWay" $openstack | nindent 4 | trimSuffix "\n    " }}
    headers: [openstack-api-version]
    allow:
      - { methods: [POST], paths: [/servers/*/os-volume_attachments], effect: update, fields: [volumeAttachment.volumeId] }
      - { methods: [DELETE], paths: [/servers/*/os-volume_attachments/*], effect: detach, only: [] }
  - name: network
    catalog: { type: network, interface: {{ $openstack.interface }}, region: {{ $region | quote }}, path: /v2.0 }
    origins: {{ include "aerostat.openstackOrigins" $openstack.origins.network }}
    credential: openstack
    {{- include "aerostat.openstackWay" $openstack | nindent 4 | trimSuffix "\n    " }}
    allow:
      # It tells the project.
      - { methods: [GET], paths: [/quotas/project] }
credentials:
  {{- include "aerostat.openstackCredential" $openstack | nindent 2 }}
# clusterNetworks: { pods: [192.0.2.0/24], nodes: [] }   where pods have public addresses: what providers never reach
{{- end }}
