#!/usr/bin/env bash
# Writes the manifests of this folder, which are what the chart makes with its default values and places to fill in: make manifests.
#
# deploy/manifests.sh                     into this folder
# deploy/manifests.sh FOLDER [FLAG…]      install-CLOUD.yaml alone into another one, by helm with these flags, as in --set registry=…
#
# HELM names another helm than target/helm/helm, which make helm builds.
set -euo pipefail
cd "$(dirname "$0")"
helm=${HELM:-../target/helm/helm}
[ -x "$helm" ] || {
	printf 'manifests: there is no helm at %s\nNext step: make helm\n' "$helm" >&2
	exit 1
}
out=${1:-.}
shift $(($# > 0))

place='DIGEST-OF-THE-MANIFEST'
alibaba=(--set "settings.region=cn-hangzhou,settings.vpc=VPC-OF-THE-CLUSTER"
	--set "credentials.alibaba.roleArn=acs:ram::ACCOUNT-ID:role/NAME-OF-THE-ROLE"
	--set "credentials.alibaba.providerArn=acs:ram::ACCOUNT-ID:oidc-provider/NAME-OF-THE-PROVIDER")
aws=(--set "settings.region=eu-central-1,settings.vpc=VPC-OF-THE-CLUSTER,settings.clusterID=ID-OF-THE-CLUSTER"
	--set "credentials.aws.roleArn=ARN-OF-THE-ROLE")
aws_ebs=(--set "settings.region=eu-central-1,settings.vpc=VPC-OF-THE-CLUSTER,settings.clusterID=ID-OF-THE-CLUSTER"
	--set "credentials.aws.roleArn=ARN-OF-THE-ROLE-FOR-VOLUMES")
azure=(--set "settings.subscriptionId=ID-OF-THE-SUBSCRIPTION,settings.resourceGroup=NAME-OF-THE-RESOURCE-GROUP"
	--set "settings.location=westeurope,settings.vnetName=NAME-OF-THE-NETWORK,settings.subnetName=NAME-OF-THE-SUBNET"
	--set "settings.securityGroupName=NAME-OF-THE-SECURITY-GROUP"
	--set "credentials.entra.tenant=ID-OF-THE-TENANT,credentials.entra.clientId=ID-OF-THE-APPLICATION")
gcp=(--set "settings.project=ID-OF-THE-PROJECT,settings.region=europe-west1"
	--set "credentials.google.workloadIdentityProvider=PROVIDER-OF-THE-POOL")
gcp_pd=(--set "settings.project=ID-OF-THE-PROJECT,credentials.google.workloadIdentityProvider=PROVIDER-OF-THE-POOL")
ibm=(--set "settings.accountID=ID-OF-THE-ACCOUNT,settings.clusterID=ID-OF-THE-CLUSTER,settings.vpcID=ID-OF-THE-VPC"
	--set "settings.region=us-south,settings.g2VpcSubnetNames=NAMES-OF-SUBNETS")
openstack=(--set "settings.region=RegionOne,openstack.authURL=https://keystone.example.com:5000/v3"
	--set "openstack.origins.compute={https://nova.example.com:8774}"
	--set "openstack.origins.network={https://neutron.example.com:9696}"
	--set "openstack.origins.loadBalancer={https://octavia.example.com:9876}")
openstack_cinder=(--set "settings.region=RegionOne,openstack.authURL=https://keystone.example.com:5000/v3"
	--set "openstack.origins.volume={https://cinder.example.com:8776}"
	--set "openstack.origins.compute={https://nova.example.com:8774}"
	--set "openstack.origins.network={https://neutron.example.com:9696}")
of_config_map=(--set "module.source=configMap,module.configMap.sha256=SHA256-OF-THE-MODULE,restartOnChange=false")
of_registry=(--set "module.oci.digest=sha256:$place,module.oci.login.existingSecret=aerostat-registry"
	--set "module.oci.signedBy.existingConfigMap=aerostat-registry,module.oci.signedBy.keys.release\.pub=")

# A template with values, or all of them, as one file without helm's own comment and with no line more than it needs.
render() { # file, flags of helm…
	local file=$out/$1 text
	shift
	mkdir -p "$(dirname "$file")"
	text=$("$helm" template aerostat chart --namespace kube-system "$@")
	# Documents are joined by a line each, whatever helm leaves before, between and behind them.
	awk '
		/^---$/ { body = ""; next }
		/^# Source: / || (body == "" && /^[[:space:]]*$/) { next }
		body == "" { if (some) print "---"; some = body = 1; blank = "" }
		/^[[:space:]]*$/ { blank = blank "\n"; next }
		{ printf "%s%s\n", blank, $0; blank = "" }' <<<"$text" >"$file.unfinished"
	mv "$file.unfinished" "$file"
}

one() { # file, template, flags of helm…
	render "$1" --show-only "templates/$2.yaml" "${@:3}"
}

digitalocean=(--set provider=digitalocean "${of_config_map[@]}" --set "credentials.token=REPLACE-WITH-YOUR-TOKEN")
hetzner=(--set provider=hetzner "${of_config_map[@]}" --set "credentials.token=REPLACE-WITH-YOUR-TOKEN")
keys=(--set "credentials.aws.source=sharedFile"
	--set "credentials.aws.accessKeyId=REPLACE-WITH-YOUR-KEY-ID,credentials.aws.secretAccessKey=REPLACE-WITH-YOUR-SECRET-KEY")

for cloud in digitalocean hetzner alibaba aws aws-ebs azure gcp gcp-pd ibm openstack openstack-cinder; do
	flags=(--set "provider=$cloud,digests.$cloud=sha256:$place")
	[ "$cloud" != alibaba ] || flags+=("${alibaba[@]}")
	[ "$cloud" != aws ] || flags+=("${aws[@]}")
	[ "$cloud" != aws-ebs ] || flags+=("${aws_ebs[@]}")
	[ "$cloud" != azure ] || flags+=("${azure[@]}")
	[ "$cloud" != gcp ] || flags+=("${gcp[@]}")
	[ "$cloud" != gcp-pd ] || flags+=("${gcp_pd[@]}")
	[ "$cloud" != ibm ] || flags+=("${ibm[@]}")
	[ "$cloud" != openstack ] || flags+=("${openstack[@]}")
	[ "$cloud" != openstack-cinder ] || flags+=("${openstack_cinder[@]}")
	render "install-$cloud.yaml" "${flags[@]}" "$@"
done
[ "$out" = . ] || [ $# -eq 0 ] || exit 0 # with flags no more than these

for name in rbac config secret deployment poddisruptionbudget; do
	one "$name.yaml" "$name" "${digitalocean[@]}"
done
one leader-migration.yaml leader-migration "${digitalocean[@]}" --set leaderMigration.enabled=true
for name in config secret; do
	one "hetzner/$name.yaml" "$name" "${hetzner[@]}"
done
one alibaba/config.yaml config --set provider=alibaba "${of_config_map[@]}" "${alibaba[@]}"
one aws/config.yaml config --set provider=aws "${of_config_map[@]}" "${aws[@]}"
one aws/secret.yaml secret --set provider=aws "${of_config_map[@]}" "${aws[@]}" "${keys[@]}"
one azure/config.yaml config --set provider=azure "${of_config_map[@]}" "${azure[@]}"
for name in config rbac; do
	one "gcp/$name.yaml" "$name" --set provider=gcp "${of_config_map[@]}" "${gcp[@]}"
done
one ibm/config.yaml config --set provider=ibm "${of_config_map[@]}" "${ibm[@]}"
one ibm/secret.yaml secret --set provider=ibm "${of_config_map[@]}" "${ibm[@]}" --set credentials.ibm.apiKey=REPLACE-WITH-YOUR-KEY
one openstack/config.yaml config --set provider=openstack "${of_config_map[@]}" "${openstack[@]}"
login=(--set "credentials.openstack.id=REPLACE-WITH-THE-ID,credentials.openstack.secret=REPLACE-WITH-THE-SECRET")
one openstack/secret.yaml secret --set provider=openstack "${of_config_map[@]}" "${openstack[@]}" "${login[@]}"
one registry/config.yaml config --set provider=digitalocean "${of_registry[@]}"
one registry/hetzner-config.yaml config --set provider=hetzner "${of_registry[@]}"
login='{ "auths": { "registry.example.com": { "auth": "REPLACE-WITH-YOUR-LOGIN" } } }'
one registry/secret.yaml registry --set provider=digitalocean "${of_registry[@]}" --set-literal "module.oci.login.dockerConfigJson=$login"
one volumes/rbac.yaml volumes "${digitalocean[@]}" --set controllers.volume-provisioner=true
one volumes/attacher-rbac.yaml volume-attacher "${digitalocean[@]}" --set controllers.volume-attacher=true
one volumes/expander-rbac.yaml volume-expander "${digitalocean[@]}" --set controllers.volume-expander=true
one persistent-volumes/rbac.yaml persistent-volumes "${hetzner[@]}"
one persistent-volumes/webhook.yaml webhook "${hetzner[@]}" --set webhook.enabled=true,webhook.driver=CSI-DRIVER,webhook.caBundle=CA-BUNDLE
