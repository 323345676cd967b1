# Cuts the published examples out of a vendor's description that the tests compare answers with:
#
#     jq --from-file examples.jq digitalocean-openapi.json > digitalocean-examples.json

.components.examples
| with_entries(select(.key | IN(
    "load_balancer_ssl_termination_create_request",
    "load_balancer_ssl_termination_response",
    "load_balancer_update_response"
  )) | .value |= .value)
