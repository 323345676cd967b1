//! The flags of webhooks: which are served, and where.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};

use super::values;

const WEBHOOKS: &str = "Webhooks";

/// The webhook that says on PersistentVolumes where their volumes are, as upstream's labeler calls it.
const PERSISTENT_VOLUME_LABELS: &str = "cloud-pvl-admission";
/// All webhooks.
const KNOWN: [&str; 1] = [PERSISTENT_VOLUME_LABELS];
/// The feature gate without which upstream serves none.
const GATE: &str = "CloudControllerManagerWebhook";
const CERTIFICATE: &str = "--webhook-tls-cert-file";
const KEY: &str = "--webhook-tls-private-key-file";
const FOLDER: &str = "--webhook-cert-dir";
/// Upstream's name for the files of a certificate in `--webhook-cert-dir`.
const PAIR: &str = "cloud-controller-manager-webhook";

/// As clap reads them.
#[derive(Args, Debug)]
pub(super) struct WebhookFlags {
    /// Which webhooks are served: * for all, NAME for one, -NAME for all but one. There is cloud-pvl-admission, at the path
    /// /admit: it puts labels and a node affinity on PersistentVolumes while they are created. Needs
    /// --feature-gates=CloudControllerManagerWebhook=true and a certificate
    #[arg(long, help_heading = WEBHOOKS, value_name = "LIST", action = ArgAction::Append, allow_hyphen_values = true)]
    webhooks: Vec<String>,
    /// Where webhooks listen
    #[arg(long, help_heading = WEBHOOKS, value_name = "IP", default_value = "0.0.0.0", value_parser = values::address)]
    webhook_bind_address: IpAddr,
    /// The port of webhooks, with TLS; 0: none
    #[arg(long, help_heading = WEBHOOKS, value_name = "PORT", default_value = "10260", allow_negative_numbers = true)]
    webhook_secure_port: i64,
    /// The folder with the webhooks' certificate, cloud-controller-manager-webhook.crt, and its key,
    /// cloud-controller-manager-webhook.key. Not read where --webhook-tls-cert-file is given
    #[arg(long, help_heading = WEBHOOKS, value_name = "FOLDER", default_value = "", hide_default_value = true,
          value_parser = values::path())]
    webhook_cert_dir: PathBuf,
    /// The webhooks' certificate, PEM, with intermediates, for the name by which the API server calls them. It is read again
    /// when it changes
    #[arg(long, help_heading = WEBHOOKS, value_name = "FILE", default_value = "", hide_default_value = true,
          value_parser = values::path())]
    webhook_tls_cert_file: PathBuf,
    /// The key of --webhook-tls-cert-file, PEM
    #[arg(long, help_heading = WEBHOOKS, value_name = "FILE", default_value = "", hide_default_value = true,
          value_parser = values::path())]
    webhook_tls_private_key_file: PathBuf,
}

/// The server of webhooks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Webhooks {
    /// `--webhook-bind-address` and `--webhook-secure-port`.
    pub address: SocketAddr,
    /// The file of the certificate, and the flag that names it.
    pub certificate: (PathBuf, &'static str),
    /// The file of its key, and the flag that names it.
    pub key: (PathBuf, &'static str),
}

impl WebhookFlags {
    /// Which webhooks are served, and where; `None` if none is. `gate` is whether their feature gate is on, `secure_port`
    /// the port of `--secure-port`.
    pub(super) fn check(
        &self,
        gate: bool,
        secure_port: i64,
        warnings: &mut Vec<String>,
        errors: &mut Vec<String>,
    ) -> Option<Webhooks> {
        let port = self.port(secure_port, errors)?;
        let names: Vec<&str> =
            self.webhooks.iter().flat_map(|it| it.split(',')).map(str::trim).filter(|it| !it.is_empty()).collect();
        if !gate {
            if !names.is_empty() {
                warnings.push(format!("--webhooks has no effect without --feature-gates={GATE}=true"));
            }
            return None;
        }
        for name in names.iter().map(|it| it.trim_start_matches('-')).filter(|it| *it != "*" && !KNOWN.contains(it)) {
            errors.push(format!(
                "\"{name}\" is not in the list of known webhooks: --webhooks takes * and {}, and a name with - before \
                 it to switch it off",
                KNOWN.join(", ")
            ));
        }
        if port == 0 || !is_enabled(&names, PERSISTENT_VOLUME_LABELS) {
            return None;
        }
        let (certificate, key) = self.files(errors)?;
        Some(Webhooks { address: SocketAddr::new(self.webhook_bind_address, port), certificate, key })
    }

    fn port(&self, secure_port: i64, errors: &mut Vec<String>) -> Option<u16> {
        let Ok(port) = u16::try_from(self.webhook_secure_port) else {
            errors.push(format!(
                "--webhook-secure-port {} must be between 0 and 65535, inclusive. A value of 0 disables the webhook endpoint \
                 entirely.",
                self.webhook_secure_port
            ));
            return None;
        };
        // As upstream, also where no webhook is served.
        if port != 0 && self.webhook_secure_port == secure_port {
            errors.push("--webhook-secure-port cannot be the same value as --secure-port".to_owned());
        }
        Some(port)
    }

    /// The files of the certificate and of its key.
    #[expect(clippy::type_complexity, reason = "two files, each with its flag")]
    fn files(&self, errors: &mut Vec<String>) -> Option<((PathBuf, &'static str), (PathBuf, &'static str))> {
        let is_given = |it: &Path| !it.as_os_str().is_empty();
        match (is_given(&self.webhook_tls_cert_file), is_given(&self.webhook_tls_private_key_file)) {
            (true, true) => Some((
                (self.webhook_tls_cert_file.clone(), CERTIFICATE),
                (self.webhook_tls_private_key_file.clone(), KEY),
            )),
            (false, false) if is_given(&self.webhook_cert_dir) => {
                let file = |ending: &str| self.webhook_cert_dir.join(format!("{PAIR}.{ending}"));
                Some(((file("crt"), FOLDER), (file("key"), FOLDER)))
            }
            // Upstream makes one that signs itself, which no API server can check.
            (false, false) => {
                errors.push(format!(
                    "--webhooks needs a certificate that the API server can check, by the caBundle of the webhook's \
                     configuration: give {CERTIFICATE} and {KEY}, or {FOLDER} with {PAIR}.crt and {PAIR}.key in it"
                ));
                None
            }
            (true, false) | (false, true) => {
                errors.push(format!("{CERTIFICATE} and {KEY} must be given together"));
                None
            }
        }
    }
}

/// Whether a webhook is on. Its first mention decides; without one, `*` does.
fn is_enabled(names: &[&str], webhook: &str) -> bool {
    let mention = names.iter().find_map(|name| match name.strip_prefix('-') {
        Some(off) => (off == webhook).then_some(false),
        None => (*name == webhook).then_some(true),
    });
    mention.unwrap_or_else(|| names.contains(&"*"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        flags: WebhookFlags,
    }

    const FILES: [&str; 2] = ["--webhook-tls-cert-file=/w.crt", "--webhook-tls-private-key-file=/w.key"];

    /// The server, the warnings and the errors that follow from flags.
    fn check(gate: bool, flags: &[&str]) -> (Option<Webhooks>, Vec<String>, Vec<String>) {
        let program = Program::try_parse_from(["aerostat"].iter().chain(flags)).unwrap();
        let (mut warnings, mut errors) = (Vec::new(), Vec::new());
        let webhooks = program.flags.check(gate, 10258, &mut warnings, &mut errors);
        (webhooks, warnings, errors)
    }

    fn with_files<'a>(flags: &[&'a str]) -> Vec<&'a str> {
        FILES.iter().chain(flags).copied().collect()
    }

    #[test]
    fn case_248_webhooks_need_their_gate_and_a_name() {
        assert_eq!(check(true, &[]), (None, vec![], vec![]), "an empty list");
        let (closed, warnings, errors) = check(false, &with_files(&["--webhooks=*"]));
        assert_eq!((closed, errors), (None, vec![]), "the gate is off");
        assert!(warnings[0].starts_with("--webhooks has no effect without --feature-gates="), "{warnings:?}");
        let name = PERSISTENT_VOLUME_LABELS;
        for (list, is_served) in [
            ("*", true),
            (name, true),
            ("cloud-pvl-admission,-cloud-pvl-admission", true),
            ("-cloud-pvl-admission", false),
            ("-cloud-pvl-admission,*", false),
            ("", false),
        ] {
            let (webhooks, warnings, errors) = check(true, &with_files(&[&format!("--webhooks={list}")]));
            assert_eq!((webhooks.is_some(), warnings, errors), (is_served, vec![], vec![]), "{list}");
        }
        let port = with_files(&["--webhooks=*", "--webhook-secure-port=0"]);
        assert_eq!(check(true, &port), (None, vec![], vec![]));
    }

    #[test]
    fn case_248_unknown_names_and_shared_ports_are_errors() {
        for list in ["nope", "-nope", "*,nope"] {
            let (_, _, errors) = check(true, &with_files(&[&format!("--webhooks={list}")]));
            assert!(errors[0].starts_with("\"nope\" is not in the list of known webhooks"), "{errors:?}");
        }
        for gate in [false, true] {
            let (_, _, errors) = check(gate, &["--webhook-secure-port=10258"]);
            assert_eq!(errors, ["--webhook-secure-port cannot be the same value as --secure-port"]);
        }
        assert!(check(true, &["--webhook-secure-port=70000"]).2[0].contains("between 0 and 65535"));
    }

    #[test]
    fn a_webhook_needs_a_certificate_and_its_key() {
        let (_, _, errors) = check(true, &["--webhooks=*"]);
        assert!(errors[0].contains("give --webhook-tls-cert-file and"), "{errors:?}");
        let (_, _, errors) = check(true, &["--webhooks=*", FILES[0]]);
        assert!(errors[0].contains("must be given together"), "{errors:?}");
        let (webhooks, ..) =
            check(true, &["--webhooks=*", "--webhook-cert-dir=/c", "--webhook-bind-address=127.0.0.1"]);
        let folder =
            |ending: &str| (format!("/c/cloud-controller-manager-webhook.{ending}").into(), "--webhook-cert-dir");
        let address = "127.0.0.1:10260".parse().unwrap();
        assert_eq!(webhooks, Some(Webhooks { address, certificate: folder("crt"), key: folder("key") }));
        let (webhooks, ..) = check(true, &with_files(&["--webhooks=*", "--webhook-cert-dir=/c"]));
        assert_eq!(webhooks.unwrap().certificate, ("/w.crt".into(), "--webhook-tls-cert-file"));
    }
}
