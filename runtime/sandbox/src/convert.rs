//! Between the words of `wit/` and our own. What comes from a guest is checked here, and nowhere taken on trust.
//!
//! Here text becomes trusted. Each record of a guest is taken apart field by field, without `..`: a new field does not
//! compile until it is decided whether its text is made printable or refused.

pub(crate) mod description;
#[cfg(test)]
mod forged;
pub(crate) mod http;
pub(crate) mod instance;
mod label;
pub(crate) mod load_balancer;
pub(crate) mod load_balancer_batches;
pub(crate) mod load_balancer_inventory;
mod page;
pub(crate) mod persistent_volume;
pub(crate) mod routes;
pub(crate) mod texts;
pub(crate) mod volumes;

pub(crate) use self::label::is_subdomain;

use std::time::Duration;

use cloud_provider::{Cluster, ConfigMapKey, Error};
use ipnet::IpNet;

use crate::bindings::host::aerostat::cloud::types as wit;
use crate::untrusted::printable;

const TEXT_BYTES: usize = 1 << 10;
/// In the cluster's `extra`, before a value in a ConfigMap: the first part of its key.
const CONFIG_MAP: &str = "config-map";
const CLUSTER_ID: &str = "config-map-id";
const IDENTITY_BYTES: usize = 256;

/// A pause of nothing would be a busy loop; one of weeks would be an outage.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// A provider's error: its text on one line, its pause between 100 ms and 1 h.
pub(crate) fn error(it: wit::Error) -> Error {
    match it {
        wit::Error::Invalid(text) => Error::Invalid(printable(&text, TEXT_BYTES)),
        wit::Error::Denied(text) => Error::Denied(printable(&text, TEXT_BYTES)),
        wit::Error::Unavailable(text) => Error::Unavailable(printable(&text, TEXT_BYTES)),
        wit::Error::RetryAfter(pause) => {
            let wit::Pause { milliseconds, reason } = pause;
            let asked = Duration::from_millis(milliseconds.into());
            if asked > LONGEST_PAUSE {
                tracing::warn!(?asked, "a pause of more than an hour is cut to an hour");
            }
            Error::RetryAfter {
                after: asked.clamp(SHORTEST_PAUSE, LONGEST_PAUSE),
                reason: printable(&reason, TEXT_BYTES),
            }
        }
    }
}

/// The cluster that a provider works for, with the values in ConfigMaps that it describes.
pub(crate) fn cluster(it: &Cluster, described: &[ConfigMapKey]) -> wit::Cluster {
    let Cluster { name, uid, pod_cidrs, config_maps } = it.clone();
    let read = config_maps.into_iter().filter(|(key, _)| described.contains(key));
    let extra = read.map(|(key, value)| (format!("{CONFIG_MAP}.{key}"), value)).collect();
    wit::Cluster { name, uid, pod_cidrs, extra }
}

/// The account behind a credential, or a sentence on what is wrong with it. It is compared for ever after, so that
/// nothing of it is cut or escaped.
pub(crate) fn identity(it: Option<String>) -> Result<Option<String>, String> {
    let it = nonempty(it);
    match &it {
        Some(text) if text.len() > IDENTITY_BYTES || !text.bytes().all(|it| it.is_ascii_graphic() || it == b' ') => {
            let text = printable(text, 64);
            Err(format!("the account {text:?} is not up to {IDENTITY_BYTES} visible ASCII characters"))
        }
        _ => Ok(it),
    }
}

/// A network in CIDR notation as the provider spells it, or a sentence on what is wrong with it.
fn cidr(what: &str, text: String) -> Result<String, String> {
    match text.parse::<IpNet>() {
        Ok(_) => Ok(text),
        Err(_) => Err(format!("its {what} {:?} is no network in CIDR notation", printable(&text, 64))),
    }
}

/// `""` and absent are the same.
fn nonempty(text: Option<String>) -> Option<String> {
    text.filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(milliseconds: u32) -> Error {
        error(wit::Error::RetryAfter(wit::Pause { milliseconds, reason: "quota".into() }))
    }

    #[test]
    fn a_pause_is_neither_nothing_nor_weeks() {
        let expected = |after| Error::RetryAfter { after, reason: "quota".into() };
        assert_eq!(pause(0), expected(SHORTEST_PAUSE));
        assert_eq!(pause(2_500), expected(Duration::from_millis(2_500)));
        assert_eq!(pause(u32::MAX), expected(LONGEST_PAUSE));
    }

    #[test]
    fn an_account_is_one_short_line() {
        assert_eq!(identity(None), Ok(None));
        assert_eq!(identity(Some(String::new())), Ok(None));
        let account = Some("9dc7a2c0 (team one)".to_owned());
        assert_eq!(identity(account.clone()), Ok(account));
        for wrong in ["a\nb", "é", &"x".repeat(257)] {
            assert!(identity(Some(wrong.to_owned())).is_err(), "{wrong:?} was taken");
        }
    }

    #[test]
    fn an_error_is_one_short_line() {
        let Error::Unavailable(text) = error(wit::Error::Unavailable(format!("a\nb{}", "x".repeat(1 << 20)))) else {
            panic!("another kind of error");
        };
        assert!(text.starts_with("a\\nbxxx") && text.len() <= TEXT_BYTES);
    }
}
