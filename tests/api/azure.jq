# Cuts schemas out of Azure's descriptions: those of the bodies that the operations in a file beside this one have, with all that they refer to:
#
#     jq --compact-output --arg part network --slurpfile operations azure-operations.json --from-file azure.jq azure-network-2024-05-01.schema.json > azure-network.json
#     jq --compact-output --arg part compute --slurpfile operations azure-operations.json --from-file azure.jq azure-compute.schema.json > azure-compute.json

def references: [.. | objects | .["$ref"]? | strings | ltrimstr("#/$defs/")] | unique;

def closure($schemas):
  (. + [.[] as $name | $schemas[$name] | references[]] | unique) as $more
  | if $more == . then . else $more | closure($schemas) end;

.["$defs"] as $schemas
| ([$operations[0][] | .request, .answer | strings | select(startswith($part + "/")) | ltrimstr($part + "/")] | unique | closure($schemas)) as $names
| { "$schema": .["$schema"], "$defs": ($schemas | with_entries(select(.key | IN($names[])))) }
