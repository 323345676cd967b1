# Cuts methods out of Google's description of Compute Engine, with all schemas that they refer to. Which ones is said in a file beside this one:
#
#     jq --slurpfile wanted google-compute-operations.json --from-file google.jq gcp-compute-v1.schema.json > google-compute.json

def references: [.. | objects | .["$ref"]? | strings | ltrimstr("#/$defs/")] | unique;

def closure($schemas):
  (. + [.[] as $name | $schemas[$name] | references[]] | unique) as $more
  | if $more == . then . else $more | closure($schemas) end;

.["$defs"] as $schemas
| (.["x-methods"] | with_entries(select(.key | IN($wanted[0][])))) as $methods
| ([$methods[] | .request, .response | strings] | unique | closure($schemas)) as $names
| { "$schema": .["$schema"], "$defs": ($schemas | with_entries(select(.key | IN($names[])))), "x-methods": $methods }
