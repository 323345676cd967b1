//! The settings of load balancers.

use std::time::Duration;

use aerostat_sdk::backend::Pauses;
use aerostat_sdk::form::{Bool, Custom, List, Span};
use aerostat_sdk::{Error, Result, settings};

const SECOND: Duration = Duration::from_secs(1);

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    CLUSTER_ID: Custom<String> = ("clusterID", Custom { allowed: "at most 33 letters, digits and dashes", parse: cluster_id },
        "The cluster's id at Alibaba Cloud. It is in the names of what load balancers are made of, and the tag ack.aliyun.com.")
        .otherwise("the UID of the namespace kube-system, and no tag");
    SWITCHES: List<Custom<String>> = ("vswitches",
        List { of: Custom { allowed: "the id of a vSwitch such as vsw-bp1abc", parse: switch_id }, what: "ids of vSwitches", example: "vsw-1,vsw-2" },
        "The vSwitches that load balancers of the address type intranet may be in. If one has no address left, the next is taken.");
    RESOURCE_GROUP: Custom<String> = ("resourceGroup", Custom { allowed: "the id of a resource group such as rg-1", parse: group_id },
        "The resource group of new load balancers.").otherwise("the account's default");
    NO_INTERNET: Bool = ("disablePublicSLB", Bool, "Services get no load balancer with an address of the internet.").default("false");
    ADOPT_BY_ID: Bool = ("adoptById", Bool,
        "Whether a Service may have its parts in any load balancer of the account by annotation id. Whoever may write Services can then write to each that no cluster has marked.")
        .default("false");
    NETWORKS: Bool = ("networkLoadBalancers", Bool,
        "Whether Services get Network Load Balancers. With false none is looked for where neither a memo nor the Service tells of one: set it where none was ever made.")
        .default("true");
    POLL_INTERVAL: Span = ("pollInterval", Span::between(SECOND, Duration::from_mins(5)),
        "How long to wait before a load balancer that is being built is read again.").default("5s");
    CREATE_AGAIN_AFTER: Span = ("createAgainAfter", Span::between(SECOND, Duration::from_hours(1)),
        "After a creation without a clear answer: how long the load balancer must be absent from the list before it is created again.")
        .default("60s");
}

/// The settings of load balancers.
#[derive(Clone, Debug)]
pub(crate) struct SlbSettings {
    pub(crate) cluster_id: Option<String>,
    pub(crate) switches: Vec<String>,
    pub(crate) resource_group: Option<String>,
    pub(crate) refuses_internet: bool,
    pub(crate) adopts_by_id: bool,
    pub(crate) pauses: Pauses,
}

impl SlbSettings {
    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        Ok(Self {
            cluster_id: settings::read(&CLUSTER_ID)?,
            switches: settings::read(&SWITCHES)?.unwrap_or_default(),
            resource_group: settings::read(&RESOURCE_GROUP)?,
            refuses_internet: settings::get(&NO_INTERNET)?,
            adopts_by_id: settings::get(&ADOPT_BY_ID)?,
            pauses: Pauses { poll: settings::get(&POLL_INTERVAL)?, create_again: settings::get(&CREATE_AGAIN_AFTER)? },
        })
    }

    /// Refuses an address of the internet, which the annotation with this key asks for, where the operator gives Services none.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting and the annotation.
    pub(crate) fn allow_internet(&self, key: &str) -> Result<()> {
        match self.refuses_internet {
            true => Err(Error::invalid(format_args!(
                "setting disablePublicSLB: Services get no address of the internet here: write annotation {key}: intranet"
            ))),
            false => Ok(()),
        }
    }
}

/// Whether there may be Network Load Balancers.
///
/// # Errors
///
/// As [`SlbSettings::read`].
#[inline(never)]
pub(crate) fn has_networks() -> Result<bool> {
    settings::get(&NETWORKS)
}

fn cluster_id(text: &str) -> Option<String> {
    let is_word = text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
    (is_word && (1..=33).contains(&text.len())).then(|| text.to_owned())
}

fn switch_id(text: &str) -> Option<String> {
    super::dashed_id(text, "vsw-")
}

fn group_id(text: &str) -> Option<String> {
    super::dashed_id(text, "rg-")
}
