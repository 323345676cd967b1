#!/usr/bin/env bash
# Records what cosign stores in a registry: tests/registry/cosign/recorded/, in which each file is a blob or a manifest with its
# SHA-256 as its name, `tags` says which manifest has which tag, and *.pub are the keys. Private keys are thrown away.
# It builds cosign from the module that go.mod pins (minutes), and needs curl and openssl. Tests do not run it.
set -euo pipefail
cd "$(dirname "$0")"

../build.sh
work=$(mktemp -d)
registry=
trap '[ -z "$registry" ] || kill "$registry" 2>/dev/null || true; rm -rf "$work"' EXIT

cosign=${COSIGN:-$work/cosign}
if [ ! -x "$cosign" ]; then
	printf '==> Building cosign (minutes)\n'
	CGO_ENABLED=0 go build -trimpath -o "$cosign" github.com/sigstore/cosign/v3/cmd/cosign
fi

host=localhost:5000
printf 'version: 0.1\nlog: { level: error }\nstorage: { filesystem: { rootdirectory: %s/storage } }\nhttp: { addr: %s }\n' \
	"$work" "$host" >"$work/config.yml"
export OTEL_TRACES_EXPORTER=none
../../../target/registries/distribution serve "$work/config.yml" >/dev/null 2>&1 &
registry=$!
curl --silent --retry 20 --retry-connrefused --retry-delay 1 "http://$host/v2/" >/dev/null

push_blob() { # repository, file
	local location
	location=$(curl -sS -X POST -D - -o /dev/null "http://$host/v2/$1/blobs/uploads/" | tr -d '\r' | awk 'tolower($1) == "location:" { print $2 }')
	curl -sS --fail -X PUT -H 'content-type: application/octet-stream' --data-binary "@$2" \
		"$location&digest=sha256:$(sha256sum "$2" | cut -d ' ' -f 1)"
}

# Every repository has the same module, and so the same digest.
printf 'a module' >"$work/module"
printf '{}' >"$work/empty"
describe() { printf '{"mediaType":"%s","digest":"sha256:%s","size":%s}' "$1" "$(sha256sum "$2" | cut -d ' ' -f 1)" "$(stat -c %s "$2")"; }
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/vnd.wasm.config.v0+json","config":%s,"layers":[%s]}' \
	"$(describe application/vnd.oci.empty.v1+json "$work/empty")" "$(describe application/wasm "$work/module")" >"$work/manifest"
digest=sha256:$(sha256sum "$work/manifest" | cut -d ' ' -f 1)

push() { # repository
	push_blob "$1" "$work/module"
	push_blob "$1" "$work/empty"
	curl -sS --fail -X PUT -H 'content-type: application/vnd.oci.image.manifest.v1+json' --data-binary "@$work/manifest" \
		"http://$host/v2/$1/manifests/$digest"
}

export COSIGN_PASSWORD=
(
	cd "$work"
	"$cosign" generate-key-pair
	mv cosign.key p256.key && mv cosign.pub p256.pub
	openssl ecparam -name secp384r1 -genkey -noout -out p384.pem
	openssl genrsa -out rsa.pem 3072
	for key in p384 rsa; do
		"$cosign" import-key-pair --key "$key.pem" --output-key-prefix "$key"
	done
	"$cosign" signing-config create --out config.json
	"$cosign" trusted-root create --out root.json
	printf '{"ok":false}' >predicate.json
)
for key in p256 p384 rsa; do
	push "acme/$key-bundle"
	"$cosign" sign --yes --allow-http-registry --key "$work/$key.key" --signing-config "$work/config.json" \
		--trusted-root "$work/root.json" "$host/acme/$key-bundle@$digest"
	push "acme/$key-tag"
	"$cosign" sign --yes --allow-http-registry --key "$work/$key.key" --new-bundle-format=false --use-signing-config=false \
		--tlog-upload=false "$host/acme/$key-tag@$digest"
done
push acme/attested
"$cosign" attest --yes --allow-http-registry --key "$work/p256.key" --signing-config "$work/config.json" \
	--trusted-root "$work/root.json" --type https://example.com/scan --predicate "$work/predicate.json" "$host/acme/attested@$digest"

rm -rf recorded && mkdir recorded
cp "$work"/*.pub recorded/
find "$work/storage/docker/registry/v2/blobs" -name data | while read -r blob; do
	cp "$blob" "recorded/$(sha256sum "$blob" | cut -d ' ' -f 1)"
done
(
	cd "$work/storage/docker/registry/v2/repositories"
	find . -path '*/_manifests/tags/*/current/link' | sort | while read -r link; do
		tag=${link#./}
		printf '%s %s\n' "${tag%/current/link}" "$(cat "$link")"
	done
) | sed 's|/_manifests/tags/|:|' >recorded/tags
printf '%s\n' "$digest" >recorded/digest
printf 'recorded with %s\n' "$("$cosign" version 2>&1 | awk '/GitVersion|devel/ { print $2 }' | head -n 1)"
du -sh recorded
