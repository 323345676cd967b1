{{- /* Hetzner: its endpoints, their rules and its credentials, as cloud.yaml has them. */ -}}
{{- define "aerostat.preset.hetzner" -}}
apiVersion: aerostat.dev/v1alpha1
kind: CloudConfig
provider:
  {{- include "aerostat.module" . | nindent 2 }}
  # The module is refused if it claims the nodes of any other cloud.
  providerIDPrefixes: ["hcloud://", "hrobot://"]
  # loadBalancerAddresses: [203.0.113.0/24]   where you know them: the vendor publishes no networks of its load balancers
  # loadBalancers.location: where load balancers are built, unless a Service says otherwise.
  {{- include "aerostat.settings" . | nindent 2 }}
  # network: "4711"                 the cluster's network, by id or name: InternalIPs, routes, and whose token it is
  # loadBalancers.usePrivateIP: "true"    nodes are reached through that network
  # loadBalancers.allowedCertificates: shop-*     which certificates authors of Services may name, by id or name: none unless set
  # robot.enabled: "true"           dedicated servers are nodes: with the endpoint and the credential robot below
endpoints:
  - name: hcloud
    baseUrl: https://api.hetzner.cloud/v1
    credential: token
    allow:
      # Nodes: their machines, and in which network they are.
      - { methods: [GET], paths: [/servers, /servers/*] }
      - { methods: [GET], paths: [/networks, /networks/*] }
      # Routes of pods.
      - methods: [POST]
        paths: [/networks/*/actions/add_route]
        effect: update
        fields: [destination, gateway]
      - methods: [POST]
        paths: [/networks/*/actions/delete_route]
        effect: detach
        fields: [destination, gateway]
      # Load balancers of Services.
      - methods: [GET]
        paths: [/load_balancers, /load_balancers/*, /load_balancers/*/actions, /load_balancer_types, /actions]
      - methods: [POST]
        paths: [/load_balancers]
        effect: write
        fields:
          - algorithm
          - labels
          - load_balancer_type
          - location
          - name
          - network
          - network_zone
          - public_interface
          - services
          - targets
      - { methods: [PUT], paths: [/load_balancers/*], effect: detach, fields: [labels, name] } # replaces all labels
      - { methods: [DELETE], paths: [/load_balancers/*], effect: delete, only: [] }
      - { methods: [POST], paths: [/load_balancers/*/actions/change_algorithm], effect: update, fields: [type] }
      # Another type costs more, or is too small for what there is.
      - { methods: [POST], paths: [/load_balancers/*/actions/change_type], effect: write, fields: [load_balancer_type] }
      - { methods: [POST], paths: [/load_balancers/*/actions/change_dns_ptr], effect: update, fields: [dns_ptr, ip] }
      - { methods: [POST], paths: [/load_balancers/*/actions/enable_public_interface], effect: update, only: [] }
      - { methods: [POST], paths: [/load_balancers/*/actions/disable_public_interface], effect: detach, only: [] }
      - methods: [POST]
        paths: [/load_balancers/*/actions/attach_to_network]
        effect: update
        fields: [ip, ip_range, network]
      - { methods: [POST], paths: [/load_balancers/*/actions/detach_from_network], effect: detach, fields: [network] }
      - methods: [POST]
        paths: [/load_balancers/*/actions/add_service, /load_balancers/*/actions/update_service]
        effect: update
        fields: [destination_port, health_check, http, listen_port, protocol, proxyprotocol]
      # Machines, and no choice of machines by label_selector.
      - methods: [POST]
        paths: [/load_balancers/*/actions/add_target]
        effect: update
        fields: [ip, server, type, use_private_ip]
      - methods: [POST]
        paths: [/load_balancers/*/actions/remove_target]
        effect: detach
        fields: [ip, server, type]
      - { methods: [POST], paths: [/load_balancers/*/actions/delete_service], effect: detach, fields: [listen_port] }
      # Certificates that annotations name, or that the cloud issues.
      - { methods: [GET], paths: [/certificates] }
      - { methods: [POST], paths: [/certificates], effect: write, fields: [domain_names, labels, name, type] }
      # Where volumes are.
      - { methods: [GET], paths: [/volumes, /volumes/*] }
      {{- if include "aerostat.hasVolumes" . }}
      # Volumes of claims.
      - { methods: [GET], paths: [/volumes/*/actions] }
      - { methods: [POST], paths: [/volumes], effect: write, fields: [labels, location, name, size] }
      - { methods: [DELETE], paths: [/volumes/*], effect: delete, only: [] }
      - { methods: [POST], paths: [/volumes/*/actions/attach], effect: update, fields: [server] }
      - { methods: [POST], paths: [/volumes/*/actions/resize], effect: write, fields: [size] }
      - { methods: [POST], paths: [/volumes/*/actions/detach], effect: detach, only: [] }
      {{- end }}
  {{- if include "aerostat.hasRobot" . }}
  - name: robot
    baseUrl: https://robot-ws.your-server.de
    credential: robot
    allow:
      - { methods: [GET], paths: [/server, /server/*, /reset/*] }
  {{- else }}
  # - name: robot
  #   baseUrl: https://robot-ws.your-server.de
  #   credential: robot
  #   allow:
  #     - { methods: [GET], paths: [/server, /server/*, /reset/*] }
  {{- end }}
credentials:
  # Each target of a load balancer is a request: as many as nodes come and go at a time, for each Service. Whole load balancers
  # are made and deleted no more often than everywhere.
  - name: token
    bearer: { file: /etc/aerostat/token }
    limits: { detachments: 200, updates: 600 }
  {{- if include "aerostat.hasRobot" . }}
  - name: robot
    basic: { userFile: /etc/aerostat/robot-user, passwordFile: /etc/aerostat/robot-password }
  {{- else }}
  # - name: robot
  #   basic: { userFile: /etc/aerostat/robot-user, passwordFile: /etc/aerostat/robot-password }
  {{- end }}
# clusterNetworks: { pods: [192.0.2.0/24], nodes: [] }   where pods have public addresses: what providers never reach
{{- end }}
