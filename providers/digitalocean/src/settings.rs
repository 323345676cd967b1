//! What the operator says about load balancers.

use std::time::Duration;

use aerostat_sdk::annotations::{Bool, Form, OneOf, Span, Values};
use aerostat_sdk::{Error, Result, Setting, settings};

use crate::api::load_balancers::Kind;
use crate::cluster::Cluster;

const VPC: &str = "vpcId";
const REGION: &str = "region";
const DEFAULT_TYPE: &str = "defaultLoadBalancerType";
const POLL_INTERVAL: &str = "pollInterval";
const CREATE_AGAIN_AFTER: &str = "createAgainAfter";
pub(crate) const ADOPT_BY_ID: &str = "adoptById";

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST_POLL: Duration = Duration::from_mins(5);

/// The types that serve Services.
pub(crate) const KINDS: [(&str, Kind); 2] = [("REGIONAL", Kind::Regional), ("REGIONAL_NETWORK", Kind::RegionalNetwork)];

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
            vpc: find(VPC, &Form { allowed: "the UUID of a VPC", parse: uuid })?,
            region: find(REGION, &Form { allowed: "a region's slug such as nyc3", parse: slug })?,
            default_kind: find(DEFAULT_TYPE, &OneOf(&KINDS))?.unwrap_or(Kind::RegionalNetwork),
            poll_interval: find(POLL_INTERVAL, &Span::between(SHORTEST, LONGEST_POLL))?
                .unwrap_or(Duration::from_secs(15)),
            create_again_after: find(CREATE_AGAIN_AFTER, &Span::between(SHORTEST, Duration::from_hours(1)))?
                .unwrap_or(Duration::from_mins(1)),
            adopt_by_id: find(ADOPT_BY_ID, &Bool)?.unwrap_or(false),
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

fn find<V: for<'a> Values<Value<'a> = T>, T>(name: &str, values: &V) -> Result<Option<T>> {
    let Some(text) = settings::find::<String>(name)? else { return Ok(None) };
    let parsed = values.parse(&text);
    let refused = || Error::invalid(format_args!("setting {name}: {text:?} is not {}", values.allowed()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_taken_in_any_case() {
        let id = "4DE7AC8B-495B-4884-9A69-1050C6793CD6";
        assert_eq!(uuid(id), Some(id.to_ascii_lowercase()));
        for text in ["", "4de7ac8b", "4de7ac8b-495b-4884-9a69-1050c6793cdg", "../../../../etc/passwd-0000-000000000"] {
            assert_eq!(uuid(text), None, "{text}");
        }
    }
}
