//! The flags, compared with upstream's.

use std::collections::BTreeSet;

use aerostat::{FlagsError, RunSettings};
use clap::Arg;

use crate::recording::{self, Flag, Reasons, reason};

/// Flags whose default is another on purpose.
const OTHER_DEFAULTS: Reasons = &[
    ("concurrent-node-syncs", "10 workers: with upstream's one, nodes that join wait for each other's questions"),
    ("concurrent-service-syncs", "10 workers: with upstream's one, each Service waits for the calls of all before it"),
    ("kube-api-qps", "no limit unless one is given"),
    ("kube-api-burst", "no limit unless one is given"),
    ("route-reconciliation-period", "10 minutes: changes of nodes are followed at once, and need no list"),
    ("help", "an action has no default"),
    ("version", "an action has no default"),
];

/// Flags that upstream registers elsewhere: in other versions, with its JSON log, or in providers' own programs.
const FURTHER: Reasons = &[
    ("cloud-node-lifecycle-monitor-nodes-workers", "in later versions"),
    ("log-json-*", "where the JSON log is registered"),
    ("node-cidr-mask-size*", "with node IPAM"),
    ("node-deletion-*", "ours: what upstream does at once, or does not ask"),
    ("route-deletion-*", "ours: what upstream deletes at once"),
    ("service-retry-base-delay", "ours: upstream's is a constant"),
    ("load-balancer-resync-period", "ours: upstream never looks"),
    ("delete-orphaned-load-balancers", "ours: upstream never looks"),
    ("load-balancer-class", "ours: upstream leaves Services with any class to others"),
    ("service-cluster-ip-range", "with node IPAM"),
    ("module-*", "ours: upstream loads no modules"),
];

/// The answer to a flag of upstream's that has no effect here.
#[derive(Debug, PartialEq)]
enum FlagAnswer {
    /// One sentence in the log.
    Warning,
    /// An error that says why.
    Refusal,
}

use FlagAnswer::{Refusal, Warning};

/// Flags of upstream's without an effect, each with a value that asks for something, and the answer to it.
const WITHOUT_EFFECT: &[(&str, &str, FlagAnswer)] = &[
    ("allow-untagged-cloud", "true", Warning),
    ("authentication-kubeconfig", "/etc/kubernetes/ccm.conf", Warning),
    ("authentication-skip-lookup", "true", Warning),
    ("authentication-token-webhook-cache-ttl", "2m", Warning),
    ("authentication-token-webhook-cache-ttl", "9s", Refusal),
    ("authentication-tolerate-lookup-failure", "true", Warning),
    ("authorization-always-allow-paths", "/healthz,/metrics", Refusal),
    ("authorization-kubeconfig", "/etc/kubernetes/ccm.conf", Warning),
    ("authorization-webhook-cache-authorized-ttl", "5m", Warning),
    ("authorization-webhook-cache-authorized-ttl", "1s", Refusal),
    ("authorization-webhook-cache-unauthorized-ttl", "30s", Warning),
    ("authorization-webhook-cache-unauthorized-ttl", "0s", Refusal),
    ("cert-dir", "/var/run/kubernetes", Warning),
    ("client-ca-file", "/etc/kubernetes/pki/ca.crt", Refusal),
    ("cloud-node-lifecycle-monitor-nodes-workers", "5", Warning),
    ("contention-profiling", "true", Warning),
    ("controller-start-interval", "5s", Warning),
    ("disable-http2-serving", "true", Warning),
    ("external-cloud-volume-plugin", "aws", Warning),
    ("http2-max-streams-per-connection", "100", Warning),
    ("kube-api-content-type", "application/json", Warning),
    ("log-flush-frequency", "1s", Warning),
    ("log-text-info-buffer-size", "1Ki", Warning),
    ("log-text-split-stream", "true", Refusal),
    ("min-resync-period", "1h", Warning),
    ("node-sync-period", "10s", Warning),
    ("permit-address-sharing", "true", Refusal),
    ("permit-port-sharing", "true", Refusal),
    ("profiling", "false", Warning),
    ("requestheader-allowed-names", "front-proxy-client", Warning),
    ("requestheader-client-ca-file", "/etc/kubernetes/pki/front-proxy-ca.crt", Refusal),
    ("requestheader-extra-headers-prefix", "X-Remote-Extra-", Warning),
    ("requestheader-group-headers", "X-Remote-Group", Warning),
    ("requestheader-uid-headers", "X-Remote-Uid", Warning),
    ("requestheader-username-headers", "X-Remote-User", Warning),
    ("tls-cipher-suites", SUITES, Warning),
    ("tls-cipher-suites", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", Refusal),
    ("tls-curve-preferences", "X25519", Refusal),
    ("tls-min-version", "VersionTLS12", Warning),
    ("tls-min-version", "VersionTLS13", Refusal),
    ("tls-sni-cert-key", "/a.crt,/a.key", Refusal),
    ("use-service-account-credentials", "true", Warning),
    ("vmodule", "node*=4", Warning),
    ("webhook-disable-http2-serving", "true", Warning),
    ("webhook-tls-cipher-suites", SUITES, Warning),
    ("webhook-tls-cipher-suites", "TLS_RSA_WITH_AES_128_CBC_SHA", Refusal),
    ("webhook-tls-curve-preferences", "X25519", Refusal),
    ("webhook-tls-min-version", "VersionTLS12", Warning),
    ("webhook-tls-min-version", "VersionTLS13", Refusal),
    ("webhook-tls-sni-cert-key", "/a.crt,/a.key", Refusal),
];

/// A list for hardened clusters, with Go's older names for two.
const SUITES: &str = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,\
    TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,\
    TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_RSA_WITH_AES_128_GCM_SHA256";

/// The command lines of vendors' own example manifests, behind the program's name.
const MANIFESTS: &[(&str, &str)] = &[
    (
        "alicloud",
        "--allow-untagged-cloud=true --leader-elect=true --cloud-provider=alicloud --allocate-node-cidrs=true \
         --cluster-cidr=172.20.0.0/16 --use-service-account-credentials=true --route-reconciliation-period=30s --v=5",
    ),
    (
        "ibm",
        "--authentication-skip-lookup --bind-address=127.0.0.1 --use-service-account-credentials=true \
         --configure-cloud-routes=false --cloud-provider=ibm --profiling=false --leader-elect=true \
         --leader-elect-lease-duration=137s --leader-elect-renew-deadline=107s --leader-elect-retry-period=26s \
         --tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,\
         TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,\
         TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,\
         TLS_AES_128_GCM_SHA256,TLS_CHACHA20_POLY1305_SHA256",
    ),
    (
        "azure",
        "--allocate-node-cidrs=true --cloud-provider=azure --cluster-cidr=10.244.0.0/16 \
         --cluster-name=prod --configure-cloud-routes=false --controllers=*,-cloud-node \
         --leader-elect=true --route-reconciliation-period=10s --secure-port=10268 --v=2",
    ),
    ("digitalocean", "--cloud-provider=digitalocean --leader-elect=true"),
    ("aws", "--v=2 --cloud-provider=aws --use-service-account-credentials=true --configure-cloud-routes=false"),
    (
        "kOps at AWS",
        "--allocate-node-cidrs=true --cluster-cidr=100.96.0.0/11 --cluster-name=k8s.example.com --cloud-provider=aws \
         --configure-cloud-routes=false --leader-elect=true --use-service-account-credentials=true --v=2",
    ),
    (
        "hcloud",
        "--allow-untagged-cloud --cloud-provider=hcloud --route-reconciliation-period=30s --webhook-secure-port=0 \
         --leader-elect=false",
    ),
    (
        "openstack",
        "--v=1 --cluster-name=prod --cloud-provider=openstack --use-service-account-credentials=false \
         --bind-address=127.0.0.1",
    ),
    (
        "gce",
        "--cloud-provider=gce --leader-elect=true --v=2 --allocate-node-cidrs --cluster-cidr=10.0.0.0/14 \
         --authentication-skip-lookup=true --cidr-allocator-type=RangeAllocator --use-service-account-credentials",
    ),
];

fn args() -> Vec<Arg> {
    let mut command = aerostat::command();
    command.build();
    command.get_arguments().filter(|it| !it.is_positional()).cloned().collect()
}

/// Upstream writes lists in brackets.
fn default(arg: &Arg, flag: &Flag) -> String {
    let values: Vec<_> = arg.get_default_values().iter().map(|it| it.to_string_lossy()).collect();
    let value = values.join(",");
    match flag.kind.ends_with("Slice") && !value.starts_with('[') {
        true => format!("[{value}]"),
        false => value,
    }
}

/// Cases: case 229, flags
#[test]
fn every_flag_of_upstream_is_known_with_its_default() {
    let args = args();
    for flag in recording::flags() {
        let arg = args.iter().find(|it| it.get_long() == Some(&flag.name));
        let arg = arg.unwrap_or_else(|| panic!("--{} is not known", flag.name));
        assert_eq!(arg.get_short(), flag.shorthand, "--{}", flag.name);
        match reason(OTHER_DEFAULTS, &flag.name) {
            None => assert_eq!(default(arg, &flag), flag.default, "--{}", flag.name),
            Some(_) => assert_ne!(default(arg, &flag), flag.default, "--{} is listed, and no other", flag.name),
        }
    }
}

/// Cases: flags
#[test]
fn no_other_flag_is_known() {
    let known: BTreeSet<String> = recording::flags().into_iter().map(|it| it.name).collect();
    for arg in args() {
        let name = arg.get_long().expect("every flag has a long name");
        assert!(known.contains(name) || reason(FURTHER, name).is_some(), "--{name} is not upstream's");
    }
}

/// Cases: flags
#[test]
fn each_flag_of_upstream_counts_warns_or_is_refused() {
    let counting: Vec<_> = args().into_iter().filter(|it| !it.is_hide_set()).collect();
    let listed: BTreeSet<&str> = WITHOUT_EFFECT.iter().map(|(name, ..)| *name).collect();
    for Flag { name, .. } in recording::flags() {
        let counts = counting.iter().any(|it| it.get_long() == Some(&name));
        assert_ne!(counts, listed.contains(name.as_str()), "--{name} has an effect, or an answer");
    }
    let Err(FlagsError::Asked(help)) = RunSettings::parse(["aerostat", "run", "--help"]) else { panic!("no help") };
    for name in &listed {
        assert!(help.contains(&format!("\n  --{name}: ")), "--{name} is in no list of the help");
    }
    for (name, value, answer) in WITHOUT_EFFECT {
        let flag = format!("--{name}={value}");
        let sentence = match (RunSettings::parse(["aerostat", "--cloud-config=/c.yaml", &flag]), answer) {
            (Ok(settings), Warning) => {
                assert_eq!(settings.warnings.len(), 1, "{flag}: {:?}", settings.warnings);
                settings.warnings[0].clone()
            }
            (Err(FlagsError::Invalid(sentence)), Refusal) => sentence,
            (other, _) => panic!("{flag}: {other:?}, and not {answer:?}"),
        };
        assert!(sentence.starts_with(&format!("--{name}")), "{sentence}");
        let (_, because) = sentence.split_once(": ").unwrap();
        assert!(help.contains(because.split(". Leave the flag out").next().unwrap()), "{sentence}\nis not in\n{help}");
    }
}

/// Cases: flags
#[test]
fn manifests_of_vendors_name_no_flag_that_is_refused() {
    for (vendor, flags) in MANIFESTS {
        let settings = RunSettings::parse(["aerostat", "--cloud-config=/c.yaml"].into_iter().chain(flags.split(' ')));
        let warnings = settings.unwrap_or_else(|error| panic!("{vendor}: {error}")).warnings;
        let warned = warnings.iter().any(|it| it.starts_with("--use-service-account-credentials"));
        assert_eq!(warned, flags.contains("--use-service-account-credentials"), "{vendor}: {warnings:?}");
    }
}
