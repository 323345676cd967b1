{{- /* DigitalOcean: its endpoints, their rules and its credentials, as cloud.yaml has them. */ -}}
{{- define "aerostat.preset.digitalocean" -}}
apiVersion: aerostat.dev/v1alpha1
kind: CloudConfig
provider:
  {{- include "aerostat.module" . | nindent 2 }}
  # The module is refused if it claims the nodes of any other cloud.
  providerIDPrefixes: ["digitalocean://"]
  # loadBalancerAddresses: [203.0.113.0/24]   where you know them: the vendor publishes no networks of its load balancers
  {{- include "aerostat.settings" . | nindent 2 }}
  # vpcId: 00000000-0000-4000-8000-000000000000     where the nodes are not in their region's default VPC
  # clusterId: …                                    in clusters of DOKS
  # What authors of Services may name in annotations, which is nothing unless it stands here:
  # allowedCertificates: shop-*                     by id or name
  # allowedReservedIPs: 203.0.113.7
  writesAnnotations:
    - kubernetes.digitalocean.com/load-balancer-id
    - service.beta.kubernetes.io/do-loadbalancer-type
endpoints:
  - name: api
    baseUrl: https://api.digitalocean.com
    credential: token
    allow:
      # Nodes: their machines, and whose account it is.
      - { methods: [GET], paths: [/v2/droplets, /v2/droplets/*] }
      - { methods: [GET], paths: [/v2/account] }
      # Load balancers of Services.
      - { methods: [GET], paths: [/v2/load_balancers, /v2/load_balancers/*] }
      - methods: [POST]
        paths: [/v2/load_balancers]
        effect: write
        fields:
          - algorithm
          - disable_lets_encrypt_dns_records
          - droplet_ids
          - enable_backend_keepalive
          - enable_proxy_protocol
          - firewall
          - forwarding_rules
          - health_check
          - http_idle_timeout_seconds
          - ip
          - name
          - network
          - network_stack
          - project_id
          - redirect_http_to_https
          - region
          - size
          - size_unit
          - sticky_sessions
          - subnet_uuid
          - tags
          - tls_cipher_policy
          - type
          - vpc_uuid
      # All that a load balancer has is replaced, and may be left out.
      - methods: [PUT]
        paths: [/v2/load_balancers/*]
        effect: detach
        fields:
          - algorithm
          - disable_lets_encrypt_dns_records
          - droplet_ids
          - enable_backend_keepalive
          - enable_proxy_protocol
          - firewall
          - forwarding_rules
          - health_check
          - http_idle_timeout_seconds
          - name
          - network
          - network_stack
          - project_id
          - redirect_http_to_https
          - region
          - size
          - size_unit
          - sticky_sessions
          - subnet_uuid
          - tags
          - tls_cipher_policy
          - type
          - vpc_uuid
      - { methods: [DELETE], paths: [/v2/load_balancers/*], effect: delete, only: [] }
      - { methods: [POST], paths: [/v2/load_balancers/*/droplets], effect: update, fields: [droplet_ids] }
      - { methods: [DELETE], paths: [/v2/load_balancers/*/droplets], effect: detach, fields: [droplet_ids] }
      # Certificates that annotations name.
      - { methods: [GET], paths: [/v2/certificates, /v2/certificates/*] }
      # The tag of a DOKS cluster on its load balancers.
      - { methods: [POST], paths: [/v2/tags], effect: update, fields: [name] }
      - { methods: [POST], paths: [/v2/tags/*/resources], effect: update, fields: [resources] }
      {{- if include "aerostat.hasVolumes" . }}
      # Volumes of claims. One path serves attaching, growing and detaching.
      - { methods: [GET], paths: [/v2/volumes, /v2/volumes/*, /v2/volumes/*/actions] }
      - methods: [POST]
        paths: [/v2/volumes]
        effect: write
        fields: [description, name, region, size_gigabytes, tags]
      - { methods: [DELETE], paths: [/v2/volumes/*], effect: delete, only: [] }
      - methods: [POST]
        paths: [/v2/volumes/*/actions]
        effect: update
        fields: [droplet_id, region]
        body: { type: [attach] }
      - methods: [POST]
        paths: [/v2/volumes/*/actions]
        effect: write
        fields: [region, size_gigabytes]
        body: { type: [resize] }
      - methods: [POST]
        paths: [/v2/volumes/*/actions]
        effect: detach
        fields: [droplet_id, region]
        body: { type: [detach] }
      {{- end }}
credentials:
  - { name: token, bearer: { file: /etc/aerostat/token } }
# clusterNetworks: { pods: [192.0.2.0/24], nodes: [] }   where pods have public addresses: what providers never reach
{{- end }}
