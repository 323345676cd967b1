//! What the operator says about load balancers.

use std::time::Duration;

use aerostat_sdk::{Error, Result, Setting, settings};

use crate::api::load_balancers::Kind;
use crate::cluster::Cluster;

const VPC: &str = "vpcId";
const REGION: &str = "region";
const DEFAULT_TYPE: &str = "defaultLoadBalancerType";
const POLL_INTERVAL: &str = "pollInterval";
const CREATE_AGAIN_AFTER: &str = "createAgainAfter";
pub(crate) const ADOPT_BY_ID: &str = "adoptById";

/// The settings, parsed.
pub(crate) struct Settings {
    /// Whose droplets and load balancers they are.
    pub(crate) cluster: Cluster,
    /// The VPC of new load balancers; absent for the region's default one.
    pub(crate) vpc: Option<String>,
    /// Where new load balancers are built; absent for where the nodes are.
    pub(crate) region: Option<String>,
    /// The type of new load balancers whose Service does not say.
    pub(crate) default_kind: Kind,
    /// How long to wait before a load balancer that is being built is looked at again.
    pub(crate) poll_interval: Duration,
    /// How long a load balancer must have been absent, once the cloud did not say what became of its creation, before
    /// it is created again, and before its deletion is done.
    pub(crate) create_again_after: Duration,
    /// Whether an id annotation alone is proof of ownership.
    pub(crate) adopt_by_id: bool,
}

impl Settings {
    /// What the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and what may stand there.
    pub(crate) fn read() -> Result<Self> {
        Ok(Self {
            cluster: Cluster::from_settings()?,
            vpc: find(VPC, "the UUID of a VPC", uuid)?,
            region: find(REGION, "a region's slug such as nyc3", slug)?,
            default_kind: find(DEFAULT_TYPE, "REGIONAL or REGIONAL_NETWORK", kind)?.unwrap_or(Kind::RegionalNetwork),
            poll_interval: find(POLL_INTERVAL, "between 1s and 5m", |it| {
                duration(it).filter(|it| (1..=300).contains(&it.as_secs()))
            })?
            .unwrap_or(Duration::from_secs(15)),
            create_again_after: find(CREATE_AGAIN_AFTER, "between 1s and 1h", |it| {
                duration(it).filter(|it| (1..=3_600).contains(&it.as_secs()))
            })?
            .unwrap_or(Duration::from_secs(60)),
            adopt_by_id: find(ADOPT_BY_ID, "true or false", |it| it.parse().ok())?.unwrap_or(false),
        })
    }

    /// What there is to set, beside the cluster's id.
    pub(crate) fn described() -> [Setting; 6] {
        [
            Setting::optional(
                VPC,
                "UUID of the VPC in which load balancers are built. Needed where the nodes are not in the default one.",
            )
            .default("the region's default VPC"),
            Setting::optional(REGION, "Slug of the region in which load balancers are built.")
                .default("where the nodes are"),
            Setting::optional(
                DEFAULT_TYPE,
                "Type of load balancers whose Service does not say: REGIONAL or REGIONAL_NETWORK.",
            )
            .default("REGIONAL_NETWORK"),
            Setting::optional(
                POLL_INTERVAL,
                "How long to wait before a load balancer that is being built is looked at again: 1s to 5m.",
            )
            .default("15s"),
            Setting::optional(
                CREATE_AGAIN_AFTER,
                "After a creation of which the cloud did not say what became of it: how long the load balancer must \
                 be absent before it is created again, 1s to 1h. Longer than the cloud's lists may lag.",
            )
            .default("60s"),
            Setting::optional(
                ADOPT_BY_ID,
                "Whether a Service may take over any load balancer of the account by its id annotation. Whoever may \
                 write Services can then take each of them that no other Service has.",
            )
            .default("false"),
        ]
    }
}

fn find<T>(name: &str, allowed: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>> {
    let Some(text) = settings::find::<String>(name)? else { return Ok(None) };
    let parsed = parse(&text);
    let refused = || Error::invalid(format_args!("setting {name}: {text:?} is not {allowed}"));
    parsed.map(Some).ok_or_else(refused)
}

/// A UUID in its usual form, in lower case.
pub(crate) fn uuid(text: &str) -> Option<String> {
    let groups: Vec<_> = text.split('-').collect();
    let lengths: Vec<_> = groups.iter().map(|it| it.len()).collect();
    let hexadecimal = groups.iter().all(|it| it.bytes().all(|it| it.is_ascii_hexdigit()));
    (hexadecimal && lengths == [8, 4, 4, 4, 12]).then(|| text.to_ascii_lowercase())
}

fn slug(text: &str) -> Option<String> {
    let allowed = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
    (!text.is_empty() && text.bytes().all(allowed)).then(|| text.to_owned())
}

/// A type that serves Services.
pub(crate) fn kind(text: &str) -> Option<Kind> {
    match text {
        "REGIONAL" => Some(Kind::Regional),
        "REGIONAL_NETWORK" => Some(Kind::RegionalNetwork),
        _ => None,
    }
}

/// A number of seconds, minutes or hours: "90s", "5m", "1h".
fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return None,
    };
    let number: u64 = number.parse().ok()?;
    Some(Duration::from_secs(number.checked_mul(seconds)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("90s"), Some(Duration::from_secs(90)));
        assert_eq!(duration("5m"), Some(Duration::from_secs(300)));
        assert_eq!(duration("1h"), Some(Duration::from_secs(3_600)));
        for text in ["", "s", "15", "1.5s", "-1s", "1d", "99999999999999999999h", "5 m", "5µ"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn uuids_are_taken_in_any_case() {
        let id = "4DE7AC8B-495B-4884-9A69-1050C6793CD6";
        assert_eq!(uuid(id), Some(id.to_ascii_lowercase()));
        for text in ["", "4de7ac8b", "4de7ac8b-495b-4884-9a69-1050c6793cdg", "../../../../etc/passwd-0000-000000000"] {
            assert_eq!(uuid(text), None, "{text}");
        }
    }
}
