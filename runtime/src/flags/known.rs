//! Flags of upstream's cloud-controller-manager that this release knows and does not have.
//!
//! A manifest written for upstream starts here unchanged when its flags ask for nothing that is missing. Such a flag is
//! one warning; any other is an error, because ignoring it would run a cluster otherwise than its operator wrote. `--help` lists
//! both.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches};
use rustls::crypto::ring;

use super::values;

/// A flag that is known and has no effect.
struct KnownFlag {
    name: &'static str,
    kind: ValueKind,
    /// Upstream's, in its own spelling. Giving it explicitly asks for nothing.
    default: &'static str,
    answer: FlagAnswer,
}

/// How a value is read before it is compared with the default.
#[derive(Clone, Copy, Eq, PartialEq)]
enum ValueKind {
    Bool,
    Duration,
    List,
    Text,
}

/// The answer to another value than the default.
#[derive(Clone, Copy)]
enum FlagAnswer {
    /// It asks for something that is missing: this.
    Missing(&'static str),
    /// Whatever it says, nothing is missing: because of this.
    Moot(&'static str),
    /// Nothing is missing with the values that this holds for, because of that.
    MootIf(fn(&str) -> bool, &'static str),
}

use FlagAnswer::{Missing, Moot, MootIf};
use ValueKind::{Bool, Duration, List, Text};

/// How long the server keeps answers of the API server about its callers.
const KEPT: std::time::Duration = std::time::Duration::from_secs(10);

const CLIENT_CERTIFICATES: &str =
    "callers of /metrics are known by bearer tokens, not by client certificates or proxy headers";
const LOG_STREAMS: &str = "the log is one unbuffered stream";
const NO_HTTP2: &str = "the server speaks HTTP/1.1";
const OWN_IDENTITY: &str = "callers are reviewed with the identity of --kubeconfig";
const REVIEW_CACHE: &str =
    "answers of TokenReview and SubjectAccessReview are kept for 10s, neither longer nor shorter";
const SOCKET_OPTIONS: &str = "the port and the address are not shared";
const TLS_CHOICE: &str = "the server offers what rustls holds for safe, in TLS 1.2 and 1.3";

#[rustfmt::skip]
const KNOWN: &[KnownFlag] = &[
    known("allow-untagged-cloud", Bool, "false", Moot("a provider says itself which cluster id it needs, as a setting")),
    known("authentication-kubeconfig", Text, "", Moot(OWN_IDENTITY)),
    known("authentication-skip-lookup", Bool, "false", Moot("no certificate authority is looked up")),
    known("authentication-token-webhook-cache-ttl", Duration, "10s", MootIf(is_longer_than_kept, REVIEW_CACHE)),
    known("authentication-tolerate-lookup-failure", Bool, "false", Moot("no certificate authority is looked up")),
    known("authorization-always-allow-paths", List, "[/healthz,/readyz,/livez]", Missing("these three paths are open, and no others")),
    known("authorization-kubeconfig", Text, "", Moot(OWN_IDENTITY)),
    known("authorization-webhook-cache-authorized-ttl", Duration, "10s", MootIf(is_longer_than_kept, REVIEW_CACHE)),
    known("authorization-webhook-cache-unauthorized-ttl", Duration, "10s", MootIf(is_longer_than_kept, REVIEW_CACHE)),
    known("cert-dir", Text, "", Moot("a certificate is given with --tls-cert-file, or made in memory and written nowhere")),
    known("client-ca-file", Text, "", Missing(CLIENT_CERTIFICATES)),
    known("cloud-node-lifecycle-monitor-nodes-workers", Text, "1", Moot("the nodes that are asked about are asked about side by side")),
    known("contention-profiling", Bool, "false", Moot("there is no profiling")),
    known("controller-start-interval", Duration, "0s", Moot("controllers start at once")),
    known("disable-http2-serving", Bool, "false", Moot(NO_HTTP2)),
    known("external-cloud-volume-plugin", Text, "", Moot("no cloud-controller-manager reads it")),
    known("http2-max-streams-per-connection", Text, "0", Moot(NO_HTTP2)),
    known("kube-api-content-type", Text, "application/vnd.kubernetes.protobuf", Moot("requests are JSON")),
    known("log-flush-frequency", Duration, "5s", Moot("every line is written at once")),
    known("log-json-info-buffer-size", Text, "0", Moot(LOG_STREAMS)),
    known("log-json-split-stream", Bool, "false", Missing(LOG_STREAMS)),
    known("log-text-info-buffer-size", Text, "0", Moot(LOG_STREAMS)),
    known("log-text-split-stream", Bool, "false", Missing(LOG_STREAMS)),
    known("min-resync-period", Duration, "12h0m0s", Moot("nodes are not delivered again unless they change; addresses follow --node-status-update-frequency")),
    known("node-sync-period", Duration, "0s", Moot("no cloud-controller-manager reads it")),
    known("permit-address-sharing", Bool, "false", Missing(SOCKET_OPTIONS)),
    known("permit-port-sharing", Bool, "false", Missing(SOCKET_OPTIONS)),
    known("profiling", Bool, "true", Moot("there is no profiling")),
    known("requestheader-allowed-names", List, "[]", Moot(CLIENT_CERTIFICATES)),
    known("requestheader-client-ca-file", Text, "", Missing(CLIENT_CERTIFICATES)),
    known("requestheader-extra-headers-prefix", List, "[x-remote-extra-]", Moot(CLIENT_CERTIFICATES)),
    known("requestheader-group-headers", List, "[x-remote-group]", Moot(CLIENT_CERTIFICATES)),
    known("requestheader-uid-headers", List, "[]", Moot(CLIENT_CERTIFICATES)),
    known("requestheader-username-headers", List, "[x-remote-user]", Moot(CLIENT_CERTIFICATES)),
    known("tls-cipher-suites", List, "[]", MootIf(has_all_suites, TLS_CHOICE)),
    known("tls-curve-preferences", List, "[]", Missing(TLS_CHOICE)),
    known("tls-min-version", Text, "", MootIf(is_before_tls_13, TLS_CHOICE)),
    known("tls-sni-cert-key", Text, "[]", Missing("there is one certificate, --tls-cert-file")),
    known("use-service-account-credentials", Bool, "false", Moot("all controllers have one identity, the Pod's or that of --kubeconfig, with the rights of all")),
    known("vmodule", Text, "", Moot("verbosity is one number, -v")),
    known("webhook-disable-http2-serving", Bool, "false", Moot(NO_HTTP2)),
    known("webhook-tls-cipher-suites", List, "[]", MootIf(has_all_suites, TLS_CHOICE)),
    known("webhook-tls-curve-preferences", List, "[]", Missing(TLS_CHOICE)),
    known("webhook-tls-min-version", Text, "", MootIf(is_before_tls_13, TLS_CHOICE)),
    known("webhook-tls-sni-cert-key", Text, "[]", Missing("there is one certificate, --webhook-tls-cert-file")),
];

const fn known(name: &'static str, kind: ValueKind, default: &'static str, answer: FlagAnswer) -> KnownFlag {
    KnownFlag { name, kind, default, answer }
}

/// The flags as clap reads them. `--help` does not list them.
pub(super) fn args() -> impl Iterator<Item = Arg> {
    KNOWN.iter().map(|flag| {
        let arg = Arg::new(flag.name).long(flag.name).hide(true).default_value(flag.default).value_name("VALUE");
        match flag.kind {
            Bool => values::bool_flag(arg),
            Duration | List | Text => arg.action(ArgAction::Append).allow_hyphen_values(true),
        }
    })
}

/// The list of them all, for `--help`.
pub(super) fn help() -> String {
    let list = |is_moot: bool| {
        let flags = KNOWN.iter().filter(move |it| matches!(it.answer, Moot(_)) == is_moot);
        flags.map(KnownFlag::line).collect::<String>()
    };
    format!(
        "Flags of upstream's cloud-controller-manager that have no effect here; giving one is a warning in the log:\n{}\n\
         Flags of upstream's that are refused, unless they ask for what is done anyway, which is a warning too:\n{}\n\
         Any other flag is an error.",
        list(true),
        list(false)
    )
}

/// Checks every known flag that the command line gives. `Ok` is the warnings, `Err` the errors.
pub(super) fn judge(matches: &ArgMatches) -> Result<Vec<String>, Vec<String>> {
    let mut warnings = Vec::new();
    let mut errors = Vec::new();
    for flag in KNOWN.iter().filter(|it| matches.value_source(it.name) == Some(ValueSource::CommandLine)) {
        let value = flag.value(matches);
        let name = flag.name;
        match flag.answer {
            _ if flag.same(&value, flag.default) => {
                warnings.push(format!("--{name}={value} is the default of a flag that has no effect here"));
            }
            Moot(because) => warnings.push(format!("--{name} has no effect: {because}")),
            MootIf(holds, because) if holds(&value) => {
                warnings.push(format!("--{name} has no effect: {because}"));
            }
            Missing(because) | MootIf(_, because) => errors.push(format!(
                "--{name}={value} is known, but not supported yet: {because}. Leave the flag out{}",
                if flag.default.is_empty() { String::new() } else { format!(" or give its default, {}", flag.default) }
            )),
        }
    }
    if errors.is_empty() { Ok(warnings) } else { Err(errors) }
}

impl KnownFlag {
    /// Its line in the help.
    fn line(&self) -> String {
        let (Missing(because) | Moot(because) | MootIf(_, because)) = self.answer;
        format!("  --{}: {because}\n", self.name)
    }

    /// The value that counts: lists grow with every mention, of all others the last is taken.
    fn value(&self, matches: &ArgMatches) -> String {
        match self.kind {
            Bool => matches.get_one::<bool>(self.name).map(bool::to_string).unwrap_or_default(),
            List => {
                let items: Vec<&str> = matches
                    .get_many::<String>(self.name)
                    .into_iter()
                    .flatten()
                    .flat_map(|it| it.split(','))
                    .filter(|it| !it.is_empty())
                    .collect();
                items.join(",")
            }
            Duration | Text => {
                matches.get_many::<String>(self.name).into_iter().flatten().next_back().cloned().unwrap_or_default()
            }
        }
    }

    /// Whether two spellings are one value.
    fn same(&self, left: &str, right: &str) -> bool {
        match self.kind {
            Bool | Text => left == right,
            Duration => go_duration::parse(left).is_ok_and(|left| go_duration::parse(right) == Ok(left)),
            List => left == right.trim_start_matches('[').trim_end_matches(']'),
        }
    }
}

/// Whether answers that are kept for [`KEPT`] are forgotten soon enough.
fn is_longer_than_kept(value: &str) -> bool {
    go_duration::parse(value).is_ok_and(|it| it >= KEPT)
}

/// Whether a list has all suites that the server offers. Those of TLS 1.3 cannot be chosen upstream either.
fn has_all_suites(list: &str) -> bool {
    let listed = |suite: &str| {
        // Go has an older name for some.
        list.split(',').any(|it| it == suite || suite.strip_suffix("_SHA256") == Some(it))
    };
    let offered = ring::DEFAULT_CIPHER_SUITES.iter().filter(|it| it.tls13().is_none());
    offered.filter_map(|it| it.suite().as_str()).all(listed)
}

fn is_before_tls_13(version: &str) -> bool {
    ["VersionTLS10", "VersionTLS11", "VersionTLS12"].contains(&version)
}
