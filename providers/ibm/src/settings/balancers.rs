//! The settings of load balancers.

use std::time::Duration;

use aerostat_sdk::allowed::{self, Allowed};
use aerostat_sdk::backend::Pauses;
use aerostat_sdk::form::{Bool, Custom, List, Span};
use aerostat_sdk::{Error, Result, settings};

const SECOND: Duration = Duration::from_secs(1);

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    SUBNET_NAMES: List<Custom<String>> = ("g2VpcSubnetNames",
        List { of: Custom { allowed: "no empty item", parse: item }, what: "names or ids of subnets", example: "sub-1,sub-2" },
        "The subnets of the VPC that load balancers are in, by their exact names. Needed for load balancers.");
    RESOURCE_GROUP: Custom<String> = ("resourceGroupID", Custom { allowed: "the id of a resource group", parse: super::id },
        "The resource group of new load balancers.").otherwise("the account's default");
    ALLOWED_GROUPS: List<Custom<String>> = ("allowedSecurityGroups", allowed::names("security groups", "clients,r006-group"),
        "Which security groups authors of Services may name, as they write them in annotation `vpc-security-group`: by id or by name. What a \
         security group lets in is decided elsewhere. `none` allows none, `*` all, `clients-*` those that begin so.").default("none");
    OWN_GROUPS: Bool = ("sourceRangeGroups", Bool,
        "Whether a Service with loadBalancerSourceRanges gets a security group of its own, with a rule for each range, in the place of the \
         VPC's default one. Needs rights to make, change and delete security groups.").default("false");
    OUTBOUND_GROUP: Custom<String> = ("outboundSecurityGroup", Custom { allowed: "the id of a security group", parse: super::id },
        "The security group of the nodes, in which annotation `vpc-allow-outbound-traffic` makes rules. Without it the annotation is refused. Needs \
         rights to change security groups.");
    POLL_INTERVAL: Span = ("pollInterval", Span::between(SECOND, Duration::from_mins(5)),
        "How long to wait before a load balancer that is being built or changed is read again.").default("15s");
    CREATE_AGAIN_AFTER: Span = ("createAgainAfter", Span::between(SECOND, Duration::from_hours(1)),
        "After a creation without a clear answer: how long the load balancer must be absent from the list before it is created again.")
        .default("60s");
}

/// The settings of load balancers.
pub(crate) struct IbmBalancerSettings {
    /// Names or ids.
    pub(crate) subnets: Vec<String>,
    pub(crate) resource_group: Option<String>,
    pub(crate) allowed_groups: Allowed,
    /// Whether source ranges make security groups.
    pub(crate) own_groups: bool,
    /// The id of the nodes' security group.
    pub(crate) outbound_group: Option<String>,
    pub(crate) pauses: Pauses,
}

impl IbmBalancerSettings {
    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        Ok(Self {
            subnets: settings::read(&SUBNET_NAMES)?.unwrap_or_default(),
            resource_group: settings::read(&RESOURCE_GROUP)?,
            allowed_groups: Allowed::read(&ALLOWED_GROUPS)?,
            own_groups: settings::get(&OWN_GROUPS)?,
            outbound_group: settings::read(&OUTBOUND_GROUP)?,
            pauses: Pauses { poll: settings::get(&POLL_INTERVAL)?, create_again: settings::get(&CREATE_AGAIN_AFTER)? },
        })
    }

    /// Whether a load balancer has a place.
    ///
    /// # Errors
    ///
    /// `invalid`, if no subnet is configured.
    pub(crate) fn can_create(&self) -> Result<()> {
        if self.subnets.is_empty() {
            return Err(Error::invalid(format_args!(
                "setting {} is missing, and so load balancers have no place: write it under provider.settings",
                SUBNET_NAMES.name
            )));
        }
        Ok(())
    }
}

fn item(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
