# Cuts operations out of a published OpenAPI description, with all that they refer to. Which ones is said in a file beside this one:
#
#     jq --slurpfile wanted digitalocean-operations.json --from-file extract.jq digitalocean-openapi.json > digitalocean.json
#
# Prose and examples stay behind. They check nothing, and are the larger part of the file.

$wanted[0] as $wanted

# A name inside an object of properties is a name, whatever it is called; elsewhere it is a keyword.
| def without_prose($names_follow):
    if type == "object" then
      with_entries(
        select($names_follow or (.key | IN("description", "summary", "example", "examples", "externalDocs", "x-codeSamples") | not))
        | .key as $key
        | .value |= without_prose(($names_follow | not) and ($key | IN("properties", "schemas", "parameters", "responses", "headers")))
      )
    elif type == "array" then map(without_prose(false))
    else . end;

  def references: [.. | objects | .["$ref"]? | strings] | unique;

  def at($reference): getpath($reference | ltrimstr("#/") | split("/") | map(gsub("~1"; "/") | gsub("~0"; "~")));

  # The set of references that can be reached from the given ones.
  def closure($description):
    (. + [.[] as $reference | $description | at($reference) | references[]] | unique) as $more
    | if $more == . then . else $more | closure($description) end;

  without_prose(false) as $description
| ($wanted | with_entries(.value as $methods | .value = ($description.paths[.key] | with_entries(select(.key | IN($methods[], "parameters")))))) as $operations
| {
    openapi: $description.openapi,
    info: ($description.info | {title, version, license} | with_entries(select(.value != null))),
    servers: [$description.servers[]? | {url}],
    paths: $operations,
  }
| reduce ($operations | references | closure($description))[] as $reference (.;
    setpath($reference | ltrimstr("#/") | split("/"); $description | at($reference)))
