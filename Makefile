# Two commands need nothing before them: `make demo` and `make test`.
# Everything is built into target/; nothing is installed outside it but the Rust target wasm32-wasip2.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
CARGO ?= cargo

.PHONY: help
help: ## Show this help.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{ printf "  make %-18s %s\n", $$1, $$2 }'

CLOUDS := alibaba aws azure digitalocean gcp hetzner ibm openstack

# For the demo alone: etcd and kube-apiserver, and kubectl for whoever looks around. An existing cluster has its own.
DEMO_PROGRAMS := etcd kube-apiserver $(if $(filter-out 0,$(KEEP)),kubectl)
# The cloud's module, that of its disks where it has one, and two that show an attack and another version.
DISKS_aws := aws-ebs
DISKS_gcp := gcp-pd
DISKS_openstack := openstack-cinder
DEMO_GUESTS := $(or $(CLOUD),digitalocean) $(DISKS_$(CLOUD)) hostile versioned
DEMO_CLUSTER := $(if $(CLUSTER),,$(if $(filter-out 0,$(POD)),control-plane,demo-control-plane))

.PHONY: demo
demo: known-cloud preflight $(DEMO_CLUSTER) $(if $(filter aws,$(CLOUD)),moto) $(if $(filter-out 0,$(POD)),registries helm machine) ## Show the main job: nodes, a load balancer, a disk that moves, a dead machine, a refused attack, another module. CLOUD=hetzner, aws, gcp or openstack shows that cloud, and routes; alibaba or azure that cloud without the disk; ibm without both. KEEP=1 stays up. CLUSTER=KUBECONFIG plays in a part of that cluster, which goes afterwards. POD=1 shows aerostat in Pods, as test-pod does.
	@printf '\n==> Building aerostat, the providers and the demo (minutes at the first time)\n'
	@AEROSTAT_GUESTS='$(DEMO_GUESTS)' $(CARGO) build --locked -p aerostat -p tests --bin aerostat --bin demo
	@exec target/debug/demo

.PHONY: demo-control-plane
demo-control-plane: preflight
	@tests/cluster/build.sh $(DEMO_PROGRAMS)

# Before anything is built.
.PHONY: known-cloud
known-cloud:
	@if [ -n '$(CLUSTER)' ] && [ -n '$(filter-out 0,$(POD) $(KEEP))$(filter-out digitalocean,$(CLOUD))' ]; then \
		echo 'CLUSTER shows DigitalOcean, and goes again: it knows no POD, KEEP and CLOUD' >&2; exit 1; \
	elif [ -n '$(CLUSTER)' ] && [ ! -f '$(CLUSTER)' ]; then \
		printf 'CLUSTER=%s: there is no such file\n  next: name a kubeconfig, as in CLUSTER=$$HOME/.kube/config make demo\n' '$(CLUSTER)' >&2; exit 1; \
	fi
	@$(if $(filter-out $(CLOUDS),$(CLOUD)),echo 'there is no cloud "$(CLOUD)" to show: CLOUD is one of $(CLOUDS)' >&2; exit 1)
	@$(if $(filter-out 0,$(POD)),$(if $(filter-out digitalocean,$(CLOUD)),echo 'POD=1 shows DigitalOcean alone' >&2; exit 1))

# Machines with a real kubelet, where `make test-pod` has made them before: then its story is a part of `make test`.
MACHINES := $(if $(filter 0,$(shell id -u)),$(if $(wildcard target/machine-program/*),$(if $(wildcard target/machine/pause),machine)))

# What target/ takes when all tests have run, in gigabytes.
.PHONY: room
room:
	@tests/room.sh 10

# Some of them wait for the network, and some for a processor.
.PHONY: third-parties
third-parties: preflight room
	@+$(MAKE) --no-print-directory --jobs=3 control-plane registries moto keystone google azure ibm alibaba helm proxy wkg $(MACHINES)

.PHONY: test
test: third-parties ## Run all tests, against a real control plane, real registries, moto for AWS, a real Keystone, and Google's, Microsoft's, IBM's and Alibaba Cloud's own clients.
	@printf '\n==> Building aerostat, the providers and the tests (minutes at the first time)\n'
	@# All targets at once: the same choice of packages as the tests', so that no dependency is compiled twice.
	@$(CARGO) build --locked --workspace --all-targets
	@CARGO='$(CARGO)' MACHINES=$(MACHINES) tests/run.py

# Rows of AWS are measured beside its own manager, and the others beside the baseline.
BESIDE := $(if $(filter alibaba alibaba-% aws aws-% azure azure-% gcp gcp-% ibm ibm-% openstack openstack-% volumes volumes-%,$(ROW)),,baseline) $(if $(filter-out aws aws-%,$(ROW)),,moto cloud-provider-aws)

.PHONY: bench
bench: control-plane $(BESIDE) ## Measure beside the baselines (4 hours). ROW=… for one row, ROW=alibaba for those of Alibaba Cloud, ROW=aws for those of AWS, ROW=gcp for those of Google Cloud, ROW=azure for those of Azure, ROW=ibm for those of IBM Cloud, ROW=openstack for those of OpenStack, ROW=volumes for volumes of claims.
	@printf '\n==> Building aerostat, the providers and the benchmark with optimisations (minutes at the first time)\n'
	@$(CARGO) build --locked --release -p aerostat -p tests --bin aerostat --bin bench
	@exec target/release/bench $(ROW)

.PHONY: compare-aws
compare-aws: control-plane moto cloud-provider-aws ## Play one story with AWS's own manager and with aerostat, and show how they differ. RECORD=1 records for `make test`.
	@printf '\n==> Building aerostat, the providers and the comparison (minutes at the first time)\n'
	@$(CARGO) build --locked --workspace --bins
	@RECORD=$(RECORD) exec target/debug/compare_aws

.PHONY: compare-gcp
compare-gcp: control-plane cloud-provider-gcp ## Play the recorded stories with Google's own provider package and with aerostat, and show how they differ.
	@printf '\n==> Building aerostat, the providers and the comparison (minutes at the first time)\n'
	@$(CARGO) build --locked --workspace --bins
	@exec target/debug/compare_gcp

.PHONY: compare-volumes
compare-volumes: control-plane csi-sidecars ## Play one story of volumes with the sidecars of CSI and with aerostat, and show how they differ. RECORD=1 records for `make test`.
	@printf '\n==> Building aerostat, the providers and the comparison (minutes at the first time)\n'
	@$(CARGO) build --locked --workspace --bins
	@RECORD=$(RECORD) exec target/debug/compare_volumes

.PHONY: compare-openstack
compare-openstack: control-plane ## Play the recorded stories of OpenStack's own controller manager with MANAGER=program, and show what differs.
	@$(CARGO) build --locked --workspace --bins
	@MANAGER=$(MANAGER) exec target/debug/compare_openstack

CIRCLES := target/tools/import-circles

.PHONY: lint
lint: preflight $(CIRCLES) ## Check words, import circles, format and lints, warnings denied, and pack the SDK.
	@tests/words.sh
	@$(CIRCLES) $(wildcard deploy/*/src runtime/src runtime/*/src guest-sdk/src guest-sdk/*/src providers/*/src providers/*/*/src tests/src)
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	@$(CARGO) doc --locked --workspace --no-deps --quiet
	@$(CARGO) package --locked --offline --no-verify --allow-dirty --quiet -p aerostat-sdk

$(CIRCLES): tests/lint/import_circles/main.rs $(wildcard tests/lint/import_circles/*.rs)
	@mkdir -p $(@D)
	@rustc --edition 2024 -O -o $@ $<

# Pinned, so that the gate judges alike everywhere.
DENY_VERSION := 0.20.2
DENY := target/tools/cargo-deny-$(DENY_VERSION)/bin/cargo-deny
# As in deny.toml: a git repository, which no package registry has.
RUSTSEC := https://github.com/RustSec/advisory-db

.PHONY: audit
audit: preflight $(DENY) ## Check dependencies: known vulnerabilities, bans, licences, sources, and who may import whom. ADVISORIES=1 insists on the first.
	@advisories=advisories; \
	if [ -z "$(ADVISORIES)" ] && ! GIT_TERMINAL_PROMPT=0 timeout 30 git ls-remote --exit-code $(RUSTSEC) HEAD >/dev/null 2>&1; then \
		printf '==> Known vulnerabilities are NOT checked: %s cannot be reached. CONTRIBUTING.md says how a mirror is used\n' $(RUSTSEC); \
		advisories=; \
	fi; \
	$(DENY) --workspace check $$advisories bans licenses sources

$(DENY):
	@printf '==> Building cargo-deny into target/tools (2 minutes, once)\n'
	@$(CARGO) install --locked --no-default-features --debug --root $(@D)/.. --target-dir target/tools/build cargo-deny@$(DENY_VERSION)
	@rm -rf target/tools/build

MDBOOK_VERSION := 0.5.4
MDBOOK := target/tools/mdbook-$(MDBOOK_VERSION)/bin/mdbook

.PHONY: docs
docs: preflight $(MDBOOK) ## Make the book of all pages in target/book/html.
	@docs/build.sh $(MDBOOK)

.PHONY: picture
picture: control-plane ## Record the demo and draw docs/demo.svg (needs npm).
	@docs/picture.sh

$(MDBOOK):
	@printf '==> Building mdBook into target/tools (3 minutes, once)\n'
	@$(CARGO) install --locked --no-default-features --features search --debug --root $(@D)/.. --target-dir target/tools/build-mdbook mdbook@$(MDBOOK_VERSION)
	@rm -rf target/tools/build-mdbook

# Pinned, so that the same sources have the same SBOM.
CYCLONEDX_VERSION := 0.5.9
CYCLONEDX := target/tools/cargo-cyclonedx-$(CYCLONEDX_VERSION)/bin/cargo-cyclonedx

# The C compiler of releases, as deploy/zig.txt pins it.
ZIG := target/tools/zig/zig

.PHONY: release
release: preflight $(CYCLONEDX) $(ZIG) ## Build programs, image, modules, chart, SBOMs, provenance and checksums into target/release-artifacts/ (40 minutes). ARCHITECTURES=amd64 for one.
	@CYCLONEDX=$(CYCLONEDX) ZIG=$(ZIG) deploy/release.sh

.PHONY: release-twice
release-twice: preflight $(CYCLONEDX) $(ZIG) ## Build the release in two folders, from nothing, and compare all bytes (80 minutes).
	@CYCLONEDX=$(CYCLONEDX) ZIG=$(ZIG) deploy/release-twice.sh

.PHONY: publish
publish: ## Push the release: REGISTRY=registry.example.com, LOGIN=FILE, CA=FILE.
	@deploy/publish.sh $(REGISTRY)

$(ZIG): deploy/zig.txt
	@printf '==> Installing zig, a C compiler, into target/tools (a minute, once)\n'
	@rm -rf $(@D)
	@python3 -m venv $(@D)
	@$(@D)/bin/python -m pip install --disable-pip-version-check --no-input --quiet --require-hashes --only-binary :all: -r $<
	@ln -s "$$(find $(CURDIR)/$(@D)/lib -path '*/ziglang/zig')" $@
	@touch $@

$(CYCLONEDX):
	@printf '==> Building cargo-cyclonedx into target/tools (2 minutes, once)\n'
	@$(CARGO) install --locked --debug --root $(@D)/.. --target-dir target/tools/build-cyclonedx cargo-cyclonedx@$(CYCLONEDX_VERSION)
	@rm -rf target/tools/build-cyclonedx

# As images call it.
OWN_ARCHITECTURE := $(if $(filter aarch64,$(shell uname -m)),arm64,amd64)

.PHONY: machine
machine: preflight $(ZIG) ## Prepare machines with a real kubelet and containerd, and aerostat as a static program, in target/ (15 minutes, once). It needs Debian's apt-get and root.
	@tests/machine/build.sh
	@# A quarter of the time of a release's: it is not optimised.
	@PROFILE=dev OUT=target/machine-program ZIG=$(ZIG) deploy/release.sh program $(OWN_ARCHITECTURE)

.PHONY: test-pod
test-pod: control-plane registries helm machine ## Install the chart on machines with a real kubelet: as root, a few minutes. `make test` has it, too, once this made them.
	@printf '\n==> Building aerostat, the providers and the test (minutes at the first time)\n'
	@$(CARGO) build --locked -p aerostat --bins
	@$(CARGO) test --locked -p tests --test pod -- --nocapture

# The architecture of releases that is not this machine's.
OTHER_ARCHITECTURE := $(if $(filter arm64,$(OWN_ARCHITECTURE)),amd64,arm64)

.PHONY: test-other
test-other: preflight $(ZIG) ## Build the program for the other architecture, arm64 on x86_64, and start it under qemu (Debian: qemu-user-static; 15 minutes at the first time). It is no part of make test.
	@PROFILE=dev OUT=target/other-program ZIG=$(ZIG) deploy/release.sh program $(OTHER_ARCHITECTURE)
	@deploy/starts.sh target/other-program/aerostat-linux-$(OTHER_ARCHITECTURE) "$$(awk -F '"' '/^version = / { print $$2; exit }' Cargo.toml)"

.PHONY: test-openstack
test-openstack: control-plane openstack ## Try the providers for OpenStack on a real one, on this machine: as root on Debian, a quarter of an hour. It is no part of make test.
	@printf '\n==> Building aerostat, the providers and the test (minutes at the first time)\n'
	@$(CARGO) build --locked --workspace --bins
	@# One after the other: they share the cloud.
	@$(CARGO) test --locked --workspace --test real_openstack -- --nocapture --test-threads=1 $(ONLY)

# Pinned, as all that judges.
WKG_VERSION := 0.16.1
WKG := target/tools/wkg-$(WKG_VERSION)/bin/wkg

.PHONY: wkg
wkg: preflight $(WKG) ## Build wkg, with which people get packages of WIT out of registries, into target/ (2 minutes, once).

$(WKG):
	@printf '==> Building wkg into target/tools (2 minutes, once)\n'
	@env -u MAKEFLAGS -u MFLAGS CARGO_PROFILE_DEV_DEBUG=0 $(CARGO) install --locked --debug --root $(@D)/.. --target-dir target/tools/build-wkg wkg@$(WKG_VERSION)
	@rm -rf target/tools/build-wkg

.PHONY: publish-sdk
publish-sdk: preflight ## Try whether the SDK could go to crates.io, and compile what its package holds (a minute, once). Nothing is sent.
	@$(CARGO) publish --dry-run --locked --allow-dirty -p aerostat-sdk

.PHONY: control-plane
control-plane: preflight ## Build etcd, kube-apiserver, kube-controller-manager and kubectl into target/ (8 minutes, once).
	@tests/cluster/build.sh

.PHONY: registries
registries: preflight ## Build the registries that tests pull modules from into target/ (a minute, once).
	@tests/registry/build.sh

.PHONY: proxy
proxy: ## Unpack the HTTP proxy that tests connect through into target/ (seconds, once). It needs Debian's apt-get.
	@tests/proxy/build.sh

GO_GUEST ?= guest-sdk/examples/acme-go

.PHONY: go-guest
go-guest: preflight ## Build a provider in Go into target/go-guests (the example; GO_GUEST=FOLDER for another). Tests build theirs themselves. It needs Go 1.26.
	@mkdir -p target/go-guests
	@$(CARGO) run --locked --quiet -p go-component -- build $(GO_GUEST) target/go-guests/$(notdir $(GO_GUEST)).wasm
	@printf 'target/go-guests/%s.wasm\n' $(notdir $(GO_GUEST))

.PHONY: go-bindings
go-bindings: preflight ## Write the side of the contract that guest-sdk has, in Go and for one world in Rust: whoever changes wit/ runs this.
	@$(CARGO) run --locked --quiet -p go-component -- bindings guest-sdk/go
	@mkdir -p guest-sdk/src/bindings
	@$(CARGO) run --locked --quiet -p go-component -- world guest-sdk/src/bindings/load_balancer_batches.world

.PHONY: helm
helm: preflight ## Build helm, and the one before, into target/ (4 minutes, once).
	@tests/helm/build.sh

.PHONY: manifests
manifests: helm ## Write the manifests of deploy/: what the chart makes with its default values.
	@deploy/manifests.sh

.PHONY: moto
moto: preflight ## Install moto's server, which stands for AWS, and AWS's SDK into target/ (a minute, once). It needs Python 3.11.
	@tests/venv.sh moto "moto, and the SDK of AWS" "a minute"

.PHONY: keystone
keystone: preflight ## Install Keystone, OpenStack's identity service, into target/ (two minutes, once). It needs Python 3.11.
	@tests/venv.sh keystone "Keystone" "two minutes"

.PHONY: google
google: preflight ## Install Google's own clients, google-cloud-compute and google-auth, into target/ (two minutes, once). It needs Python 3.11.
	@tests/venv.sh google "Clients of Google" "two minutes"

.PHONY: azure
azure: preflight ## Install Microsoft's own clients, azure-identity and the SDKs of Network and Compute, into target/ (half a minute, once). It needs Python 3.11.
	@tests/venv.sh azure "Clients of Microsoft" "half a minute"

.PHONY: ibm
ibm: preflight ## Install IBM's own client, the SDK of the VPC, into target/ (half a minute, once). It needs Python 3.11.
	@tests/venv.sh ibm "Client of IBM" "half a minute"

.PHONY: alibaba
alibaba: preflight ## Install Alibaba Cloud's own clients, the SDKs of ECS, CLB, NLB and VPC, into target/ (a minute, once). It needs Python 3.11.
	@tests/venv.sh alibaba "Clients of Alibaba Cloud" "a minute"

.PHONY: openstack
openstack: keystone ## Install Nova, Placement, Glance, Neutron, Octavia, Cinder, MariaDB and RabbitMQ into target/ (three minutes, once). It needs Debian's apt-get and root.
	@tests/openstack/build.sh

.PHONY: baseline
baseline: preflight ## Build the Go program that the benchmark measures against into target/ (2 minutes, once).
	@tests/baseline/build.sh

.PHONY: cloud-provider-aws
cloud-provider-aws: preflight ## Build AWS's own manager, which aerostat is compared with, into target/ (5 minutes, once).
	@tests/cloud-provider-aws/build.sh

.PHONY: cloud-provider-gcp
cloud-provider-gcp: preflight ## Build a manager of Google's own provider package, which aerostat is compared with, into target/ (3 minutes, once).
	@tests/cloud-provider-gcp/build.sh

.PHONY: csi-sidecars
csi-sidecars: preflight ## Build the sidecars of CSI and a driver for them, which aerostat is compared with, into target/ (5 minutes, once).
	@tests/csi-sidecars/build.sh

# make's slots are not Rust's, which has its own.
.PHONY: preflight
preflight:
	@env -u MAKEFLAGS -u MFLAGS tests/preflight.sh
