{{- /* AWS EBS: its endpoint, the rules of that and the credential, as cloud.yaml has them. It runs beside the release for aws. */ -}}
{{- define "aerostat.preset.aws-ebs" -}}
{{- $settings := (include "aerostat.settings" . | fromYaml).settings }}
{{- $region := $settings.region | default "" }}
{{- $domain := ternary "amazonaws.com.cn" "amazonaws.com" (hasPrefix "cn-" $region) -}}
apiVersion: aerostat.dev/v1alpha1
kind: CloudConfig
provider:
  {{- include "aerostat.module" . | nindent 2 }}
  # No providerIDPrefixes: it has no nodes.
  {{- include "aerostat.settings" . | nindent 2 }}
endpoints:
  - name: ec2
    baseUrl: {{ printf "https://ec2.%s.%s" $region $domain | quote }}
    credential: aws
    signing: { region: {{ $region | quote }}, service: ec2 }
    operation: { parameter: Action }
    parameters: { Version: 2016-11-15 }
    allow:
      # Volumes and their changes, the devices of instances, and the account, by whom the VPC belongs to.
      - methods: [POST]
        paths: [/]
        operations: [DescribeInstances, DescribeVolumes, DescribeVolumesModifications, DescribeVpcs]
        effect: read
      # No volume begins with a snapshot, and nothing is forced off an instance.
      - methods: [POST]
        paths: [/]
        operations: [CreateVolume]
        effect: write
        only:
          - AvailabilityZone
          - ClientToken
          - Encrypted
          - Iops
          - KmsKeyId
          - Size
          - TagSpecification.1.Tag.*.Key
          - TagSpecification.1.Tag.*.Value
          - Throughput
        where:
          TagSpecification.1.ResourceType: [volume]
          VolumeType: [gp2, gp3, io1, io2, sc1, st1, standard]
      - methods: [POST]
        paths: [/]
        operations: [AttachVolume]
        effect: update
        where: { Device: [/dev/sd*, /dev/xvd*], InstanceId: [i-*], VolumeId: [vol-*] }
      # Nothing takes it back.
      - { methods: [POST], paths: [/], operations: [ModifyVolume], effect: write, only: [Size], where: { VolumeId: [vol-*] } }
      - methods: [POST]
        paths: [/]
        operations: [DetachVolume]
        effect: detach
        where: { InstanceId: [i-*], VolumeId: [vol-*] }
      - { methods: [POST], paths: [/], operations: [DeleteVolume], effect: delete, where: { VolumeId: [vol-*] } }
{{ include "aerostat.awsCredential" . }}
# clusterNetworks: { pods: [192.0.2.0/24], nodes: [] }   where pods have public addresses: what providers never reach
{{- end }}
